//! `lazyglm demo --data FOLDER`: writes small data sets to try the program on, the same on every machine.

use crate::print;
use lazyglm::util::files::write_whole;
use lazyglm::util::random::Random;
use lazyglm::{Error, Result};
use std::fmt::Write;
use std::path::Path;

/// Numbers of rows to train on and to test on.
const ROWS: [usize; 2] = [2_000, 500];
/// Words of all messages, of wanted ones, and of unwanted ones.
const COMMON: &str = "the a to you we is on for and in it this with at now today please from me our \
    are your will be have can just all one more out new see get when";
const HAM: &str = "lunch meeting home dinner train mum tonight love late sorry class bus coffee tomorrow \
    weekend report movie kids thanks office birthday sleep";
const SPAM: &str = "prize winner free cash claim urgent call offer reward bonus credit win txt reply \
    guaranteed tone award voucher entry loan pills cheap";
/// Share of the words that tell the class, in per cent, and share of messages with the wrong label.
const TELLING: usize = 22;
const MISLABELLED: usize = 2;

/// Random numbers below a limit.
struct Dice(Random);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }
}

/// Writes the files into a folder, which must exist, and says what they are.
pub fn write(folder: &Path) -> Result<()> {
    if !folder.is_dir() {
        let what = format!("there is no folder '{}'", folder.display());
        return Err(Error::call(what, "make it first, or give one that exists"));
    }
    let mut dice = Dice(Random::new(1));
    let files = [
        ("messages_train.txt", messages(ROWS[0], &mut dice)),
        ("messages_test.txt", messages(ROWS[1], &mut dice)),
        ("houses_train.csv", houses(ROWS[0], &mut dice)),
        ("houses_test.csv", houses(ROWS[1], &mut dice)),
    ];
    if let Some((name, _)) = files.iter().find(|(name, _)| folder.join(name).exists()) {
        let what = format!("'{}' exists", folder.join(name).display());
        return Err(Error::call(what, "give another folder, or remove the file"));
    }
    for (name, text) in &files {
        write_whole(&folder.join(name), |to| to.write_all(text.as_bytes()))?;
        let rows = text.lines().filter(|line| !line.starts_with("price,")).count();
        print::result(|out| writeln!(out, "{name:<20} {rows:>5} rows"))?;
    }
    Ok(())
}

/// Messages, one per line: `spam` or `ham`, a tab, and words.
fn messages(rows: usize, dice: &mut Dice) -> String {
    let words = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
    let (common, ham, spam) = (words(COMMON), words(HAM), words(SPAM));
    let mut text = String::new();
    for _ in 0..rows {
        let is_spam = dice.below(5) == 0;
        let own = if is_spam { &spam } else { &ham };
        let label = if is_spam != (dice.below(100) < MISLABELLED) { "spam" } else { "ham" };
        text += label;
        for k in 0..6 + dice.below(14) {
            let from = match dice.below(100) {
                r if r < TELLING => own,
                r if r < TELLING + 2 => [&ham, &spam][dice.below(2)],
                _ => &common,
            };
            text.push(if k == 0 { '\t' } else { ' ' });
            text += from[dice.below(from.len())];
        }
        text.push('\n');
    }
    text
}

/// Houses with their price in thousands: a table with numbers, categories and missing cells.
fn houses(rows: usize, dice: &mut Dice) -> String {
    const CITIES: [(&str, f64); 5] =
        [("Rome", 60.0), ("Oslo", 140.0), ("Lima", -40.0), ("Pune", -80.0), ("Bern", 170.0)];
    let mut text = String::from("price,city,area,rooms,year,garden\n");
    for _ in 0..rows {
        let (city, extra) = CITIES[dice.below(CITIES.len())];
        let (area, year) = (40 + dice.below(140), 1900 + dice.below(125));
        let (rooms, garden) = (1 + area / 30 + dice.below(2), dice.below(3) == 0);
        let noise: f64 = (0..6).map(|_| dice.below(21) as f64 - 10.0).sum();
        let price = 80.0
            + extra
            + 1.9 * area as f64
            + 0.4 * (year as f64 - 1900.0)
            + 25.0 * f64::from(garden)
            + noise;
        let year = if dice.below(20) == 0 { String::new() } else { year.to_string() };
        let garden = if garden { "yes" } else { "no" };
        let _ = writeln!(text, "{price:.0},{city},{area},{rooms},{year},{garden}"); // a string takes everything
    }
    text
}
