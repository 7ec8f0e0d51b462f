//! Target statistics: the classes, or the distribution of numbers.

use super::shape::Range;
use crate::data::format::Parsed;
use crate::data::labels::Labels;
use crate::util::number::parse_number;
use crate::util::random::Random;
use hashbrown::HashMap;
use serde::Serialize;
use twox_hash::XxHash3_64;

/// Maximum number of distinct targets that are counted.
const COUNTED: usize = 1000;
/// Maximum number of distinct targets that are listed.
const LISTED: usize = 20;
/// Sample size for quartiles.
const SAMPLE: usize = 1_000_000;

/// Statistics of the targets of a file.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-target-stats.svm");
/// std::fs::write(&file, "spam 1:1\nham 1:1\nspam 1:1\n").unwrap();
/// let targets = lazyglm::stats::stats(&file, &Default::default()).unwrap().targets;
/// assert_eq!((targets.kind, targets.distinct, targets.classes[0].target.as_str()), ("words", 2, "ham"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetStats {
    /// `numbers`, `words` if at least one target is not a number, or `none` if no row has a target.
    pub kind: &'static str,
    /// Number of distinct targets, counted up to 1,000.
    pub distinct: u64,
    /// Whether there are more than 1,000 distinct targets.
    pub and_more: bool,
    /// The targets with their numbers of rows, if at most 20: numbers by value, words alphabetically. If
    /// there are more words, the 20 most frequent.
    pub classes: Vec<ClassStats>,
    /// Distribution of the targets, if they are more than 20 distinct numbers.
    pub spread: Option<NumberStats>,
    /// Number of rows without a target.
    pub missing: u64,
}

/// A target and its number of rows.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-class-stats.svm");
/// std::fs::write(&file, "-1 1:1\n+1 1:1\n-1 1:1\n-1 2:1\n").unwrap();
/// let classes = lazyglm::stats::stats(&file, &Default::default()).unwrap().targets.classes;
/// assert_eq!((classes[0].target.as_str(), classes[0].rows, classes[0].share), ("-1", 3, 0.75));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassStats {
    /// Name of the target.
    pub target: String,
    /// Number of rows with this target.
    pub rows: u64,
    /// Share of this target among the rows with a target.
    pub share: f64,
}

/// Distribution of numeric targets.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-number-stats.svm");
/// std::fs::write(&file, (0..100).map(|y| format!("{y} 1:1\n")).collect::<String>()).unwrap();
/// let spread = lazyglm::stats::stats(&file, &Default::default()).unwrap().targets.spread.unwrap();
/// assert_eq!((spread.min, spread.p25, spread.p50, spread.max, spread.mean), (0.0, 24.0, 49.0, 99.0, 49.5));
/// assert!(!spread.sampled);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberStats {
    /// The minimum.
    pub min: f64,
    /// The first quartile.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// The third quartile.
    pub p75: f64,
    /// The maximum.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// Whether the quartiles are estimates from a random sample of 1,000,000 targets.
    pub sampled: bool,
}

/// The target of one row.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub hash: u64,
    pub number: Option<f64>,
}

impl Target {
    fn number(y: f64) -> Target {
        Target { hash: XxHash3_64::oneshot(&y.to_bits().to_le_bytes()), number: Some(y) }
    }

    /// Parses text as a target. A number is the same target whether or not its block also has words.
    fn word(text: &str) -> Target {
        let word = || Target { hash: XxHash3_64::oneshot(format!("word {text}").as_bytes()), number: None };
        parse_number(text.as_bytes()).map_or_else(word, Target::number)
    }
}

/// Counts of all targets seen so far.
pub(super) struct Targets {
    known: HashMap<u64, usize>,
    counts: Vec<(Target, String, u64)>,
    and_more: bool,
    words: bool,
    rows: u64,
    missing: u64,
    sample: Vec<f64>,
    random: Random,
    range: Range,
    mean: f64,
}

impl Default for Targets {
    fn default() -> Targets {
        Targets {
            known: HashMap::new(),
            counts: Vec::new(),
            and_more: false,
            words: false,
            rows: 0,
            missing: 0,
            sample: Vec::new(),
            random: Random::new(1),
            range: Range::default(),
            mean: 0.0,
        }
    }
}

impl Targets {
    /// Counts the targets of a block and returns them.
    pub fn add_block(&mut self, block: &Parsed) -> Vec<Option<Target>> {
        let targets: Vec<Target> = match &block.labels {
            Labels::Numbers(numbers) => numbers.iter().map(|&y| Target::number(y)).collect(),
            Labels::Words { codes, words, .. } => {
                let known: Vec<Target> = words.iter().map(|word| Target::word(word)).collect();
                codes.iter().map(|&code| known[code as usize]).collect()
            }
        };
        let has = |(i, target): (usize, Target)| block.labels.has(i).then_some(target);
        let targets: Vec<Option<Target>> = targets.into_iter().enumerate().map(has).collect();
        for (i, target) in targets.iter().enumerate() {
            match target {
                Some(target) => self.count(*target, || block.labels.name(i)),
                None => self.missing += 1,
            }
        }
        targets
    }

    fn count(&mut self, target: Target, name: impl FnOnce() -> String) {
        self.rows += 1;
        match self.known.get(&target.hash) {
            Some(&k) => self.counts[k].2 += 1,
            None if self.counts.len() == COUNTED => self.and_more = true,
            None => {
                self.known.insert(target.hash, self.counts.len());
                self.counts.push((target, name(), 1));
            }
        }
        let Some(y) = target.number else { return self.words = true };
        self.range.add(y);
        self.mean += (y - self.mean) / self.rows as f64;
        if self.sample.len() < SAMPLE {
            self.sample.push(y);
        } else if let Some(place) = self.sample.get_mut(self.random.below(self.rows) as usize) {
            *place = y; // reservoir sampling: each target has the same probability
        }
    }

    pub fn has_words(&self) -> bool {
        self.words
    }

    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// Whether some rows have a target and others have none.
    pub fn is_mixed(&self) -> bool {
        self.missing > 0 && self.rows > 0
    }

    pub fn stats(mut self) -> TargetStats {
        let distinct = self.counts.len();
        let few = distinct <= LISTED;
        let spread = (!few && !self.words).then(|| self.spread());
        match self.words {
            true => self.counts.sort_by(|a, b| a.1.cmp(&b.1)),
            false => self.counts.sort_by(|a, b| a.0.number.partial_cmp(&b.0.number).unwrap_or(a.1.cmp(&b.1))),
        }
        if !few {
            self.counts.sort_by_key(|(.., rows)| std::cmp::Reverse(*rows)); // a stable sort keeps ties in order
            self.counts.truncate(if self.words { LISTED } else { 0 });
        }
        let share = |rows: u64| rows as f64 / self.rows as f64;
        let class =
            |(_, target, rows): (Target, String, u64)| ClassStats { target, rows, share: share(rows) };
        TargetStats {
            kind: match (self.rows, self.words) {
                (0, _) => "none",
                (_, true) => "words",
                (_, false) => "numbers",
            },
            distinct: distinct as u64,
            and_more: self.and_more,
            classes: self.counts.into_iter().map(class).collect(),
            spread,
            missing: self.missing,
        }
    }

    fn spread(&mut self) -> NumberStats {
        self.sample.sort_by(f64::total_cmp);
        let at_most = |percent: usize| self.sample[(self.sample.len() * percent).div_ceil(100).max(1) - 1];
        let Range(min, max) = self.range;
        let (p25, p50, p75) = (at_most(25), at_most(50), at_most(75));
        NumberStats { min, p25, p50, p75, max, mean: self.mean, sampled: self.rows > SAMPLE as u64 }
    }
}
