//! Laws of the cache: what is read from it is what is read from the text, bit for bit; and a cache that is not that of
//! the text, or not whole, is never read.

use lazyglm::data::format::ReadOptions;
use lazyglm::util::random::Random;
use lazyglm::{CacheMode, Dataset, Declared, Load, Result, Settings, Task, train};
use proptest::prelude::*;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of its own with one file in it.
struct Folder(tempfile::TempDir, &'static str);

impl Folder {
    fn with(name: &'static str, text: impl AsRef<[u8]>) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap(), name);
        fs::write(folder.source(), text).unwrap();
        folder
    }

    fn source(&self) -> PathBuf {
        self.0.path().join(self.1)
    }

    fn cache(&self) -> PathBuf {
        self.0.path().join(format!("{}.lazyglm-cache", self.1))
    }
}

fn load(source: &Path, cache: CacheMode) -> Result<Dataset> {
    Dataset::load(source, &Load { cache, ..Load::default() }).map(|(data, _)| data)
}

/// Everything there is in a data set but its notes, as text in which every bit shows.
fn shown(data: &Dataset) -> String {
    let mut text = format!("{:?} {:?} ", data.reading, data.weights.as_ref().map(|w| bits(w)));
    let features = &data.features;
    let _ = writeln!(text, "{} {} {}", features.base, features.count, features.columns());
    for i in 0..data.rows.len() {
        let _ = write!(text, "{} {}", data.place(i), data.labels.name(i));
        data.rows.borrow().for_each(i, |j, x| _ = write!(text, " {}={:x}", features.name(j), x.to_bits()));
        text.push('\n');
    }
    text
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// Off, written, read: all the same, and the second time nothing is written.
fn same_from_text_and_cache(folder: &Folder) -> std::result::Result<(), TestCaseError> {
    let [text, written, read, only] = [CacheMode::Off, CacheMode::Auto, CacheMode::Auto, CacheMode::Only]
        .map(|mode| load(&folder.source(), mode));
    let (text, written) = (text.unwrap(), written.unwrap());
    prop_assert!(written.notes.iter().any(|note| note.contains("wrote")), "{:?}", written.notes);
    let expected = shown(&text);
    prop_assert_eq!(&shown(&written), &expected);
    for cached in [read.unwrap(), only.unwrap()] {
        prop_assert_eq!(&shown(&cached), &expected);
        prop_assert_eq!(&cached.notes, &text.notes);
    }
    Ok(())
}

/// How the values of a file are written.
#[derive(Clone, Copy, Debug)]
enum Values {
    Ones,
    Few,
    Decimals,
    Singles,
    Doubles,
    All,
}

fn value(random: &mut Random, kind: Values) -> f64 {
    let value = match kind {
        Values::Ones => 1.0,
        Values::Few => [0.1, -2.5, 7.0, 1e300][random.below(4) as usize],
        Values::Decimals => (random.below(2_000_001) as f64 - 1e6) / 10f64.powi(random.below(4) as i32),
        Values::Singles => {
            f64::from((random.uniform() as f32 - 0.5) * 10f32.powi(random.below(70) as i32 - 35))
        }
        Values::Doubles => (random.uniform() - 0.5) * 10f64.powi(random.below(600) as i32 - 300),
        Values::All => {
            let kinds = [Values::Ones, Values::Few, Values::Decimals, Values::Singles, Values::Doubles];
            let kind = kinds[random.below(5) as usize];
            return value(random, kind);
        }
    };
    if value == 0.0 { 1.0 } else { value }
}

fn index(random: &mut Random, far: bool) -> u64 {
    match random.below(if far { 4 } else { 2 }) {
        0 => random.below(300),
        1 => random.below(70_000),
        2 => random.below(1 << 32),
        _ => (1 << 32) - 1 - random.below(2),
    }
}

/// svmlight text: blank lines, comments, empty rows, words among the targets, indices up to the highest.
fn svmlight(random: &mut Random, kind: Values) -> String {
    let (rows, words, far) = (1 + random.below(60), random.below(3) == 0, random.below(2) == 0);
    let mut text = String::new();
    for row in 0..rows {
        text += ["", "", "", "\n", "# no row 1:1\n"][random.below(5) as usize];
        match random.below(4) {
            0 if words => text += "spam",
            1 => _ = write!(text, "{:?}", value(random, kind)),
            _ => _ = write!(text, "{}", row % 3),
        }
        if random.below(9) == 0 {
            text += " qid:7";
        }
        for _ in 0..random.below(8) {
            let _ = write!(text, " {}:{:?}", index(random, far), value(random, kind));
        }
        text.push('\n');
    }
    text + "0 3:1 4:0\n1 2:1"
}

/// Vowpal Wabbit text: names, and weights for some rows.
fn vw(random: &mut Random, kind: Values) -> String {
    let mut text = String::new();
    for row in 0..1 + random.below(60) {
        let _ = write!(text, "{}", row % 2);
        if random.below(3) == 0 {
            let _ = write!(text, " {}", random.below(9) as f64 / 4.0);
        }
        text += " |a";
        for _ in 0..random.below(6) {
            let _ = write!(text, " naïve{}:{:?}", random.below(500), value(random, kind));
        }
        text.push('\n');
    }
    text + "1 |a x\n0 |b y:2\n"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn rows_from_a_cache_are_those_of_the_text(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let kinds = [
            Values::Ones, Values::Few, Values::Decimals, Values::Singles, Values::Doubles, Values::All,
        ];
        let kind = kinds[random.below(6) as usize];
        match random.below(3) {
            0 => same_from_text_and_cache(&Folder::with("data.vw", vw(&mut random, kind)))?,
            _ => same_from_text_and_cache(&Folder::with("data.svm", svmlight(&mut random, kind)))?,
        }
    }
}

#[test]
fn rows_of_many_blocks_come_back_from_a_cache() {
    // Some blocks have weights, words or single values and others have none.
    let mut text = String::new();
    for k in 0..120_000 {
        let target = if k > 90_000 && k % 7 == 0 { "word".to_string() } else { (k % 3).to_string() };
        let weight = if (40_000..50_000).contains(&k) { " 0.5" } else { "" };
        let value = if k < 60_000 { 0.5 } else { 0.1 };
        let _ = writeln!(text, "{target}{weight} |f a{}:{value} b{} c{}:{}", k % 1000, k % 77, k / 50, k);
        text += if k % 5000 == 0 { "\n" } else { "" };
    }
    assert!(text.len() > 3 << 20);
    same_from_text_and_cache(&Folder::with("data.vw", text)).unwrap();
}

#[test]
fn every_format_reads_the_same_from_a_cache() {
    for (name, text) in [
        ("data.csv", "age,job,label\n31,cook,yes\n,\"nurse, night\",no\n-0.1,NA,yes\n"),
        ("data.jsonl", "{\"label\": \"yes\", \"a\": 1.5, \"b\": [\"x\"]}\n{\"label\": \"no\", \"a\": 3}\n"),
        ("data.txt", "spam\tbuy now, buy cheap\nham\tsee you at noon\n\nspam\tcheap\n"),
        ("data.vw", "1 2.5 'tag|a x:0.1 y |b z\n-1 |a x\n"),
    ] {
        same_from_text_and_cache(&Folder::with(name, text)).unwrap();
        for hash_bits in [Some(1), Some(10)] {
            let folder = Folder::with(name, text);
            let hashed = |cache| {
                let load = Load {
                    asked: ReadOptions { hash_bits, ..ReadOptions::default() },
                    cache,
                    ..Load::default()
                };
                shown(&Dataset::load(&folder.source(), &load).unwrap().0)
            };
            let off = hashed(CacheMode::Off);
            assert!(
                [CacheMode::Auto, CacheMode::Auto, CacheMode::Only]
                    .into_iter()
                    .all(|mode| hashed(mode) == off)
            );
        }
    }
}

const SMALL: &str = "spam 1:0.5 3:2\n\nham 2:1 3:-1.25\nspam 4294967295:0.1\n# a word\nham\n";

/// A cache of [`SMALL`], and what it must give.
fn small() -> (Folder, Vec<u8>, String) {
    let folder = Folder::with("data.svm", SMALL);
    load(&folder.source(), CacheMode::Auto).unwrap();
    let cache = fs::read(folder.cache()).unwrap();
    let expected = shown(&load(&folder.source(), CacheMode::Off).unwrap());
    (folder, cache, expected)
}

/// Refused with `only`, with its name; made again with `auto`, with a note, and whole then; but a file that does not begin
/// as a cache does is left alone with `auto`, with a note.
fn not_used(folder: &Folder, bad: &[u8], expected: &str, whole: &[u8], made_again: bool) {
    fs::write(folder.cache(), bad).unwrap();
    let refusal = load(&folder.source(), CacheMode::Only).unwrap_err();
    assert!(refusal.to_string().contains("data.svm.lazyglm-cache") && !refusal.is_wrong_call(), "{refusal}");
    if made_again {
        let data = load(&folder.source(), CacheMode::Auto).unwrap();
        assert_eq!(shown(&data), expected);
        if !bad.starts_with(b"lazyglm cache ") {
            assert!(
                data.notes.len() == 1 && data.notes[0].contains("not a cache of lazyglm"),
                "{:?}",
                data.notes
            );
            return assert_eq!(fs::read(folder.cache()).unwrap(), bad);
        }
        let [about, wrote] = &data.notes[..] else { panic!("{:?}", data.notes) };
        assert!(about.contains("data.svm.lazyglm-cache") && about.contains("made again"), "{about}");
        assert!(wrote.contains("wrote"), "{wrote}");
        assert_eq!(fs::read(folder.cache()).unwrap(), whole);
    }
}

#[test]
fn a_cache_with_any_bit_flipped_is_not_used() {
    let (folder, cache, expected) = small();
    for at in 0..cache.len() {
        for bit in 0..8 {
            let mut bad = cache.clone();
            bad[at] ^= 1 << bit;
            not_used(&folder, &bad, &expected, &cache, (at + bit).is_multiple_of(41));
        }
    }
}

#[test]
fn a_cache_cut_short_or_too_long_is_not_used() {
    let (folder, cache, expected) = small();
    for length in 0..cache.len() {
        not_used(&folder, &cache[..length], &expected, &cache, length % 25 == 0);
        not_used(&folder, &cache[cache.len() - length..], &expected, &cache, false);
    }
    not_used(&folder, &[&cache[..], b"\n"].concat(), &expected, &cache, true);
    not_used(&folder, &[&cache[..], &cache[..]].concat(), &expected, &cache, true);
    not_used(&folder, b"lazyglm cache 4\n", &expected, &cache, true);
    not_used(&folder, SMALL.as_bytes(), &expected, &cache, true);
}

#[test]
fn the_cache_of_other_data_is_not_used() {
    let (folder, cache, _) = small();
    let time = fs::metadata(folder.source()).unwrap().modified().unwrap();
    let changed = |text: &str, seconds: u64| {
        fs::write(folder.source(), text).unwrap();
        let file = fs::File::options().write(true).open(folder.source()).unwrap();
        file.set_modified(time + std::time::Duration::from_secs(seconds)).unwrap();
        fs::write(folder.cache(), &cache).unwrap();
    };
    assert!(load(&folder.source(), CacheMode::Only).is_ok(), "all as it was");
    let longer = format!("{SMALL}spam 7:1\n");
    let other = SMALL.replace("0.5", "0.6");
    for (text, seconds) in [(SMALL, 1), (&longer, 0), (&other, 0), ("", 0), (SMALL, 0)] {
        changed(text, seconds);
        let refusal = load(&folder.source(), CacheMode::Only).unwrap_err().to_string();
        assert!(refusal.contains("data have changed"), "{refusal}");
        if !text.is_empty() {
            let expected = shown(&load(&folder.source(), CacheMode::Off).unwrap());
            let data = load(&folder.source(), CacheMode::Auto).unwrap();
            assert_eq!(shown(&data), expected);
            assert!(data.notes[0].contains("data have changed"), "{:?}", data.notes);
            assert_ne!(fs::read(folder.cache()).unwrap(), cache);
        }
    }
}

#[test]
fn a_change_anywhere_in_a_file_of_half_a_megabyte_is_seen_at_its_ends_and_by_its_time() {
    let text = "1 1:1\n-1 2:1\n".repeat(40_000);
    let folder = Folder::with("data.svm", &text);
    load(&folder.source(), CacheMode::Auto).unwrap();
    let time = fs::metadata(folder.source()).unwrap().modified().unwrap();
    for at in [4, text.len() / 3 + 4, text.len() - 2] {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = b'7';
        fs::write(folder.source(), &bytes).unwrap();
        if at != text.len() / 3 + 4 {
            fs::File::options().write(true).open(folder.source()).unwrap().set_modified(time).unwrap();
        }
        assert!(load(&folder.source(), CacheMode::Only).is_err(), "byte {at}");
    }
}

#[test]
#[cfg(unix)]
fn an_edit_that_leaves_size_time_and_samples_alone_is_seen() {
    let text = "1 1:1\n-1 2:1\n".repeat(60_000); // 780 kB, of which the samples are a third
    let folder = Folder::with("data.svm", &text);
    load(&folder.source(), CacheMode::Auto).unwrap();
    let time = fs::metadata(folder.source()).unwrap().modified().unwrap();
    for at in (4..text.len()).step_by(13 * 997) {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = b'7';
        fs::write(folder.source(), &bytes).unwrap();
        fs::File::options().write(true).open(folder.source()).unwrap().set_modified(time).unwrap();
        assert!(load(&folder.source(), CacheMode::Only).is_err(), "byte {at}");
    }
}

#[test]
#[cfg(unix)]
fn a_copy_that_came_with_a_cache_is_read_itself() {
    let (folder, cache, _) = small();
    let other = Folder::with("data.svm", SMALL); // as if unpacked: same bytes, same times, and a cache beside it
    let time = fs::metadata(folder.source()).unwrap().modified().unwrap();
    fs::File::options().write(true).open(other.source()).unwrap().set_modified(time).unwrap();
    fs::write(other.cache(), &cache).unwrap();
    let data = load(&other.source(), CacheMode::Auto).unwrap();
    assert!(
        data.notes[0].contains("were copied") && data.notes[0].contains("made again"),
        "{:?}",
        data.notes
    );
}

#[test]
fn errors_name_the_same_line_from_text_and_cache() {
    // The rate is far too high, so training diverges at some row; and features beyond those declared have a place.
    let mut text = String::from("# a head\n\n");
    for k in 0..500 {
        let _ =
            writeln!(text, "{} 1:{} 2:{}{}", k % 7, k % 5 + 1, k % 3, if k % 10 == 0 { "\n" } else { "" });
    }
    let folder = Folder::with("data.svm", text);
    let settings = Settings { eta0: Some(50.0), ..Settings::default() };
    let diverged = |mode| {
        let task = Task::builder(load(&folder.source(), mode).unwrap()).build().unwrap();
        train(&task, None, &settings, &mut |_| {}).unwrap_err().to_string()
    };
    let beyond = |cache| {
        let declared = Declared { count: Some(1), base: None };
        Dataset::load(&folder.source(), &Load { declared, cache, ..Load::default() }).unwrap_err().to_string()
    };
    let expected = (diverged(CacheMode::Off), beyond(CacheMode::Off));
    assert!(expected.0.contains("data.svm:") && expected.1.contains("data.svm:3:7"), "{expected:?}");
    for mode in [CacheMode::Auto, CacheMode::Auto, CacheMode::Only] {
        assert_eq!((diverged(mode.clone()), beyond(mode)), expected);
    }
}
