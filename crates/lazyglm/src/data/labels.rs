//! Targets as written: numbers, or words if at least one target is not a number.

use crate::data::vocabulary::Vocabulary;
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::number::parse_number;
use std::collections::HashMap;

/// One target per row, as read.
///
/// ```
/// use lazyglm::Labels;
/// let mut labels = Labels::default();
/// labels.push(b"+1").unwrap();
/// assert_eq!(labels, Labels::Numbers(vec![1.0]));
/// labels.push(b"spam").unwrap();
/// assert!(matches!(&labels, Labels::Words { words, .. } if words == &["1", "spam"]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Labels {
    /// Every target is a number.
    Numbers(Vec<f64>),
    /// At least one target is a word.
    Words {
        /// The word number of each row.
        codes: Vec<u32>,
        /// The distinct words, in order of appearance.
        words: Vec<String>,
        /// Map from word to word number.
        index: HashMap<String, u32>,
    },
}

impl Default for Labels {
    fn default() -> Labels {
        Labels::Numbers(Vec::new())
    }
}

impl Labels {
    /// Whether [`Labels::push`] would reject this text.
    pub(crate) fn is_wrong(&self, text: &[u8]) -> bool {
        text.iter().any(u8::is_ascii_control) || parse_number(text).is_some_and(|number| !number.is_finite())
    }

    /// Appends a target. The error states what is wrong with the text.
    ///
    /// ```
    /// let mut labels = lazyglm::Labels::default();
    /// labels.push(b"2.50").unwrap();
    /// assert_eq!(labels.push(b"nan"), Err("the target 'nan' is not finite".to_string()));
    /// assert_eq!((labels.len(), labels.name(0)), (1, "2.5".to_string()));
    /// ```
    pub fn push(&mut self, text: &[u8]) -> std::result::Result<(), String> {
        if text.iter().any(u8::is_ascii_control) {
            return Err(format!("the target '{}' has a control character in it", excerpt(text)));
        }
        if let Labels::Numbers(numbers) = self {
            match parse_number(text) {
                Some(number) if number.is_finite() => {
                    numbers.push(number + 0.0); // −0 and 0 are the same target
                    return Ok(());
                }
                Some(_) => return Err(format!("the target '{}' is not finite", excerpt(text))),
                None => *self = Labels::to_words(numbers),
            }
        } else if parse_number(text).is_some_and(|number| !number.is_finite()) {
            return Err(format!("the target '{}' is not finite", excerpt(text)));
        }
        self.push_word(&canonical(text));
        Ok(())
    }

    /// Appends the empty word for a row without a target, so that rows and targets stay aligned.
    pub(crate) fn push_absent(&mut self) {
        if let Labels::Numbers(numbers) = self {
            *self = Labels::to_words(numbers);
        }
        self.push_word("");
    }

    /// Whether row `i` has a target.
    ///
    /// ```
    /// use lazyglm::data::format::{Parsed, Parser, Svmlight};
    /// let mut parsed = Parsed::default();
    /// Svmlight::default().parse(b"spam 1:1\n2:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
    /// assert!(parsed.labels.has(0) && !parsed.labels.has(1));
    /// ```
    pub fn has(&self, i: usize) -> bool {
        match self {
            Labels::Numbers(numbers) => i < numbers.len(),
            Labels::Words { codes, words, .. } => !words[codes[i] as usize].is_empty(),
        }
    }

    /// The first row without a target.
    pub fn first_absent(&self) -> Option<usize> {
        match self {
            Labels::Numbers(_) => None,
            Labels::Words { codes, index, .. } => {
                let absent = *index.get("")?;
                codes.iter().position(|&code| code == absent)
            }
        }
    }

    /// Whether a target has a comma, as a set of labels has.
    pub(crate) fn has_commas(&self) -> bool {
        matches!(self, Labels::Words { words, .. } if words.iter().any(|word| word.contains(',')))
    }

    /// Whether any row has a target.
    pub(crate) fn any(&self) -> bool {
        match self {
            Labels::Numbers(numbers) => !numbers.is_empty(),
            Labels::Words { words, .. } => words.iter().any(|word| !word.is_empty()),
        }
    }

    /// Appends more targets, as if they were pushed one by one.
    pub(crate) fn append(&mut self, more: &Labels) {
        if let (Labels::Numbers(numbers), Labels::Words { .. }) = (&*self, more) {
            *self = Labels::to_words(numbers);
        }
        match (&mut *self, more) {
            (Labels::Numbers(numbers), Labels::Numbers(more)) => numbers.extend_from_slice(more),
            (_, Labels::Numbers(more)) => more.iter().for_each(|number| self.push_word(&number.to_string())),
            (_, Labels::Words { codes, words, .. }) => {
                codes.iter().for_each(|&code| self.push_word(&words[code as usize]));
            }
        }
    }

    /// Writes booleans as `true` and `false` if all targets are booleans, so that they are the same classes in every
    /// format: Python writes `True` and R writes `TRUE`.
    pub(crate) fn unify_booleans(&mut self) {
        if let Labels::Words { codes, words, .. } = self
            && words.iter().any(|word| !word.is_empty() && boolean(word).is_none_or(|yes| word != yes))
            && words.iter().all(|word| word.is_empty() || boolean(word).is_some())
        {
            let (codes, words) = (std::mem::take(codes), std::mem::take(words));
            *self = Labels::to_words(&[]);
            let spelt: Vec<&str> = words.iter().map(|word| boolean(word).unwrap_or_default()).collect();
            codes.iter().for_each(|&code| self.push_word(spelt[code as usize]));
        }
    }

    /// Builds targets from word numbers and the list of words.
    pub(crate) fn of_words(numbers: &[u32], list: &Vocabulary) -> Labels {
        let mut used = numbers.to_vec(); // and not a table of all words: there may be more of them than rows
        used.sort_unstable();
        used.dedup();
        let mut local = vec![u32::MAX; used.len()];
        let (mut codes, mut words, mut index) =
            (Vec::with_capacity(numbers.len()), Vec::new(), HashMap::new());
        for &number in numbers {
            let code = &mut local[used.partition_point(|&other| other < number)];
            if *code == u32::MAX {
                *code = words.len() as u32;
                words.push(list.name(number).to_string());
                index.insert(list.name(number).to_string(), *code);
            }
            codes.push(*code);
        }
        Labels::Words { codes, words, index }
    }

    /// Removes all targets.
    pub(crate) fn clear(&mut self) {
        match self {
            Labels::Numbers(numbers) => numbers.clear(),
            Labels::Words { .. } => *self = Labels::default(),
        }
    }

    fn to_words(numbers: &[f64]) -> Labels {
        let mut words = Labels::Words { codes: Vec::new(), words: Vec::new(), index: HashMap::new() };
        numbers.iter().for_each(|number| words.push_word(&number.to_string()));
        words
    }

    fn push_word(&mut self, word: &str) {
        if let Labels::Words { codes, words, index } = self {
            let code = index.get(word).copied().unwrap_or_else(|| {
                words.push(word.to_string());
                index.insert(word.to_string(), words.len() as u32 - 1);
                words.len() as u32 - 1
            });
            codes.push(code);
        }
    }

    /// Number of targets.
    pub fn len(&self) -> usize {
        match self {
            Labels::Numbers(numbers) => numbers.len(),
            Labels::Words { codes, .. } => codes.len(),
        }
    }

    /// Whether there are no targets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of row `i`'s target. Numbers use their shortest form, so `+1`, `1` and `1.0` are the same
    /// target.
    ///
    /// ```
    /// let mut labels = lazyglm::Labels::default();
    /// ["+1", "1.0", "ham"].iter().for_each(|text| labels.push(text.as_bytes()).unwrap());
    /// assert_eq!([0, 1, 2].map(|i| labels.name(i)), ["1", "1", "ham"]);
    /// ```
    pub fn name(&self, i: usize) -> String {
        match self {
            Labels::Numbers(numbers) => numbers[i].to_string(),
            Labels::Words { codes, words, .. } => words[codes[i] as usize].clone(),
        }
    }

    /// Up to `most` distinct targets with their numbers of rows, sorted: numbers by value, words
    /// alphabetically.
    ///
    /// ```
    /// let labels = lazyglm::Labels::Numbers(vec![10.0, 9.0, 10.0]);
    /// assert_eq!(labels.distinct(3), [("9".to_string(), 1), ("10".to_string(), 2)]);
    /// ```
    pub fn distinct(&self, most: usize) -> Vec<(String, usize)> {
        match self {
            Labels::Numbers(numbers) => {
                let mut seen: Vec<(f64, usize)> = Vec::new();
                for &number in numbers {
                    match seen.iter().position(|(value, _)| *value == number) {
                        Some(k) => seen[k].1 += 1,
                        None if seen.len() < most => seen.push((number, 1)),
                        None => {}
                    }
                }
                seen.sort_by(|a, b| a.0.total_cmp(&b.0));
                seen.into_iter().map(|(value, count)| (value.to_string(), count)).collect()
            }
            Labels::Words { codes, words, .. } => {
                let mut counts = vec![0; words.len()];
                codes.iter().for_each(|&code| counts[code as usize] += 1);
                let mut seen: Vec<_> = words.iter().cloned().zip(counts).filter(|(_, n)| *n > 0).collect();
                seen.sort();
                seen.truncate(most);
                seen
            }
        }
    }

    /// The targets of the selected rows, in the given order.
    ///
    /// ```
    /// use lazyglm::Labels;
    /// assert_eq!(Labels::Numbers(vec![1.0, 2.0, 3.0]).select(&[2, 0]), Labels::Numbers(vec![3.0, 1.0]));
    /// ```
    pub fn select(&self, rows: &[usize]) -> Labels {
        match self {
            Labels::Numbers(numbers) => Labels::Numbers(rows.iter().map(|&i| numbers[i]).collect()),
            Labels::Words { codes, words, index } => Labels::Words {
                codes: rows.iter().map(|&i| codes[i]).collect(),
                words: words.clone(),
                index: index.clone(),
            },
        }
    }
}

/// The classes that a target names: one, or `many` labels with commas between them.
pub(crate) fn parts(word: &str, many: bool, place: impl Fn() -> Place) -> Result<Vec<String>> {
    if !many {
        return Ok(vec![word.to_string()]);
    }
    if word.is_empty() {
        return Ok(Vec::new());
    }
    let part = |part: &str| match (part.trim(), parse_number(part.trim().as_bytes())) {
        ("", _) => {
            let what = format!("the labels '{}' have an empty one among them", excerpt(word));
            Err(Error::data(place(), what, "write them with one comma between two, as in 3,17"))
        }
        (_, Some(number)) if !number.is_finite() => {
            let what = format!("the label '{}' is not finite", excerpt(part));
            Err(Error::data(place(), what, "labels are finite numbers or words"))
        }
        (_, Some(number)) => Ok((number + 0.0).to_string()),
        (text, None) => Ok(text.to_string()),
    };
    word.split(',').map(part).collect()
}

/// The canonical form of a target: numbers in their shortest form, words unchanged.
fn canonical(text: &[u8]) -> String {
    match parse_number(text) {
        Some(number) => (number + 0.0).to_string(),
        None => String::from_utf8_lossy(text).into_owned(),
    }
}

/// The boolean that a word means, as it is spelt in classes: `true` or `false`.
pub(crate) fn boolean(word: &str) -> Option<&'static str> {
    match word {
        "true" | "True" | "TRUE" => Some("true"),
        "false" | "False" | "FALSE" => Some("false"),
        _ => None,
    }
}

/// Whether a target is of this class: the same name, or the same boolean in another spelling.
pub(crate) fn is_of_class(target: &str, class: &str) -> bool {
    target == class || boolean(target).is_some_and(|yes| boolean(class) == Some(yes))
}
