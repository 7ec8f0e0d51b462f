//! The first cells of a column, and what they make of it.

use super::cells::{is_code, is_long};
use super::spans::{clock, duration};
use super::{Column, ColumnKind, Wanted, When, is_missing, is_placeholder, number};

use std::collections::HashSet;
use twox_hash::XxHash3_64;

/// Most distinct words that may stand for a missing number in one column, beside the usual ones.
const WORDS: usize = 2;
/// So many numbers for each cell that is neither a number nor a usual placeholder: the column is one of numbers.
const NUMBERS_PER_WORD: usize = 20;

/// More names for each number than this: the numbers are names as well.
const NAMES_PER_NUMBER: usize = 4;

/// Number of cells that are judged to be sentences or names.
const JUDGED: usize = 1000;
/// Fewest cells that can be judged.
const FEWEST: usize = 3;
/// Fewest words per cell of sentences, on average.
const WORDS_PER_CELL: usize = 3;

/// What the first cells of a column hold.
#[derive(Clone, Debug, Default)]
pub(in crate::data::format) struct FirstCells {
    numbers: usize,
    sum: f64,
    codes: usize,
    dates: usize,
    times: usize,  // dates with a time of day
    clocks: usize, // times of day without a date
    durations: usize,
    placeholders: usize,
    others: usize,
    written: usize, // of these, numbers that are written as text where numbers have a type
    written_sum: f64,
    spaced: usize,          // words of the first cells that are judged
    distinct: HashSet<u64>, // hashes of these cells
    words: Vec<String>,     // the first distinct cells that are neither numbers nor placeholders
    structures: bool,       // whether there are arrays or objects
}

impl FirstCells {
    /// Looks at a cell of a table in which all cells are text.
    pub fn see_cell(&mut self, cell: &str) {
        match cell {
            _ if is_missing(cell) && cell != "?" => {}
            _ if is_placeholder(cell) => self.placeholders += 1,
            _ if is_code(cell) => self.codes += 1,
            _ => match number(cell) {
                Some(x) => self.see_number(x),
                None => self.see_word(cell),
            },
        }
    }

    /// Looks at a number of a format that has numbers. NaN is a missing number.
    pub fn see_number(&mut self, x: f64) {
        self.numbers += usize::from(!x.is_nan());
        self.sum += if x.is_finite() { x } else { 0.0 };
    }

    /// Looks at an integer of a format that has integers, as written.
    pub fn see_integer(&mut self, whole: i128) {
        match is_long(whole.unsigned_abs()) {
            true => self.codes += 1,
            false => self.see_number(whole as f64),
        }
    }

    /// Looks at a text of a format that tells text from numbers.
    pub fn see_text(&mut self, text: &str) {
        match number(text).filter(|x| x.is_finite() && !is_code(text)) {
            _ if is_placeholder(text) => self.placeholders += 1,
            Some(x) => {
                (self.written, self.written_sum) = (self.written + 1, self.written_sum + x);
                self.see_other(text); // a name, unless other values are numbers
            }
            None => self.see_word(text),
        }
    }

    fn see_word(&mut self, word: &str) {
        if let Some(when) = When::parse(word) {
            return self.see_when(when);
        }
        if let Some(seconds) = clock(word) {
            return self.see_clock(seconds);
        }
        if let Some(seconds) = duration(word) {
            return self.see_duration(seconds);
        }
        self.see_other(word);
        if self.words.len() <= WORDS && !self.words.iter().any(|known| known == word) {
            self.words.push(word.to_string());
        }
    }

    fn see_other(&mut self, word: &str) {
        self.others += 1;
        if self.others <= JUDGED {
            self.spaced += word.split_whitespace().count();
            self.distinct.insert(XxHash3_64::oneshot(word.as_bytes()));
        }
    }

    /// Looks at a point in time.
    pub fn see_when(&mut self, when: When) {
        *if when.has_time { &mut self.times } else { &mut self.dates } += 1;
        self.sum += when.years();
    }

    /// Looks at a time of day, in seconds since midnight.
    pub fn see_clock(&mut self, seconds: f64) {
        self.clocks += 1;
        self.sum += seconds / 3600.0;
    }

    /// Looks at a duration.
    pub fn see_duration(&mut self, seconds: f64) {
        self.durations += 1;
        self.sum += seconds;
    }

    /// Looks at bytes that are no text. The parser reports their place.
    pub fn see_no_text(&mut self) {
        self.others += 1;
        self.words.resize(WORDS + 1, String::new());
    }

    /// Looks at an array or an object.
    pub fn see_structure(&mut self) {
        self.structures = true;
    }

    /// Whether there are arrays or objects.
    pub fn has_structures(&self) -> bool {
        self.structures
    }

    /// Whether all cells are missing.
    pub fn is_empty(&self) -> bool {
        self.numbers + self.codes + self.placeholders + self.others + self.moments() == 0
    }

    /// Number of dates, times and durations.
    fn moments(&self) -> usize {
        self.dates + self.times + self.clocks + self.durations
    }

    /// Whether all values are text.
    pub fn is_text(&self) -> bool {
        !self.is_empty() && self.numbers + self.codes == 0 && !self.structures
    }

    /// Whether some integers are beyond 2⁵³.
    pub fn has_codes(&self) -> bool {
        self.codes > 0
    }

    /// The mean of the numbers, or 0 without numbers.
    fn mean(&self) -> f64 {
        let written = if self.numbers > 0 { (self.written, self.written_sum) } else { (0, 0.0) };
        let mean = (self.sum + written.1) / (self.numbers + written.0 + self.moments()).max(1) as f64;
        if mean.is_finite() { mean } else { 0.0 }
    }

    /// Whether all cells are numbers, but for a few words that stand for missing numbers.
    fn is_number(&self) -> bool {
        let (words, numbers) = (self.others - self.written, self.numbers + self.written);
        let few = self.words.len() <= WORDS && words * NUMBERS_PER_WORD <= numbers;
        self.codes + self.moments() == 0 && (self.is_empty() || self.numbers > 0 && few)
    }

    /// The kind of a column whose cells are all dates, with or without a time, all times of day, or all durations.
    fn kind_of_time(&self) -> Option<ColumnKind> {
        let (all, others) = (self.moments(), self.numbers + self.codes + self.others);
        match () {
            _ if all == 0 || others > 0 => None,
            _ if self.dates + self.times == all && self.times > 0 => Some(ColumnKind::Time),
            _ if self.dates == all => Some(ColumnKind::Date),
            _ if self.clocks == all => Some(ColumnKind::Clock),
            _ if self.durations == all => Some(ColumnKind::Duration),
            _ => None,
        }
    }

    /// Whether the cells look like sentences: several words each, and few cells alike.
    fn is_prose(&self) -> bool {
        let judged = self.others.min(JUDGED);
        let sentences = self.spaced >= WORDS_PER_CELL * judged && 2 * self.distinct.len() >= judged;
        judged >= FEWEST && sentences && 10 * (self.numbers + self.codes) <= self.others
    }

    /// The column that these cells make.
    pub fn decide(self, name: &str, wanted: &Wanted) -> Column {
        match () {
            _ if self.is_number() => self.into_number(name, wanted),
            _ if self.kind_of_time().is_some() => self.into_time(name, wanted),
            _ if self.is_prose() => wanted.column(name, ColumnKind::Text),
            _ => Column::new(name, ColumnKind::Category),
        }
    }

    /// The column that these values of a format with types make. `None` if their types differ: each is then taken by
    /// its type.
    pub fn decide_typed(self, name: &str, wanted: &Wanted) -> Option<Column> {
        let text_only = self.numbers + self.codes == 0; // dates among them
        match self.is_number() {
            _ if self.structures => None,
            true => Some(self.into_number(name, wanted)),
            false if self.kind_of_time().is_some() => Some(self.into_time(name, wanted)),
            false if text_only && self.is_prose() => Some(wanted.column(name, ColumnKind::Text)),
            false if text_only || self.codes > 0 => Some(Column::new(name, ColumnKind::Category)),
            false if self.others - self.written > NAMES_PER_NUMBER * self.numbers => {
                Some(Column::new(name, ColumnKind::Category)) // a few names are written as numbers
            }
            false => None,
        }
    }

    fn into_time(self, name: &str, wanted: &Wanted) -> Column {
        let kind = self.kind_of_time().unwrap_or(ColumnKind::Category);
        Column { missing: wanted.missing.fill(self.mean()), ..Column::new(name, kind) }
    }

    fn into_number(self, name: &str, wanted: &Wanted) -> Column {
        let missing = wanted.missing.fill(self.mean()).filter(|_| self.numbers > 0); // without numbers there is no mean
        let (name, kind) = (name.to_string(), ColumnKind::Number);
        Column { name, kind, missing, placeholders: self.words, text: None }
    }
}
