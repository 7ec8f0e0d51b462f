//! The columns of CSV, JSON Lines and columnar tables: what each is taken for, and what stands for a missing number.
//!
//! ```text
//! first rows ─FirstCells─▶ kind, and the mean m of its numbers        decided once, kept in the model
//! missing number    zero:       nothing
//!                   mean:       column · m
//!                   indicator:  column · m, column=missing · 1
//! ```
//!
//! The first megabyte of a text file, or the first rows of a columnar file, decide. So the decision is the same for a
//! file, standard input, a cache and rows on disk. A model keeps it, and reads other formats by it.

mod cells;
mod dates;
mod dirty;
mod known;
mod sample;
mod spans;

pub(super) use cells::{NAN, is_missing, is_placeholder, is_silent, number};
pub(super) use dates::When;
#[cfg(feature = "parquet")]
pub(super) use dates::written;
pub use dirty::DirtyCells;
pub(super) use known::{Known, is_inside};
pub(super) use sample::FirstCells;
#[cfg(feature = "parquet")]
pub(super) use spans::{is_clock, push_clock, written_clock, written_duration};

use super::names::push_part;
use super::text::{self, Terms};
use super::{Parsed, ReadOptions, Text};
use crate::util::error::{Error, Result, excerpt};
use crate::util::parameter::Parameter;
use serde::{Deserialize, Serialize};

/// A column of a table.
///
/// ```
/// use lazyglm::data::format::{Column, ColumnKind};
/// let column = Column::new("age", ColumnKind::Number);
/// assert_eq!(serde_json::to_string(&column).unwrap(), r#"{"name":"age","kind":"number"}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name in the header, without surrounding spaces.
    pub name: String,
    /// Kind of the cells.
    pub kind: ColumnKind,
    /// What stands for a missing number. `None` for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Fill>,
    /// Words of this column that stand for a missing number, beside the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placeholders: Vec<String>,
    /// How text becomes features, in a column of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
}

/// Kind of the cells of a column.
///
/// ```
/// use lazyglm::data::format::{Column, ColumnKind, Csv, Parsed, FormatSpec};
/// let kinds = [("y", ColumnKind::Target), ("age", ColumnKind::Number), ("city", ColumnKind::Category)];
/// let columns = kinds.map(|(name, kind)| Column::new(name, kind)).into();
/// let mut parsed = Parsed::default();
/// let spec = FormatSpec::Csv(Csv { delimiter: ',', columns });
/// spec.parser().parse(b"1,31,Oslo\n", "people.csv".as_ref(), &mut parsed).unwrap();
/// assert_eq!(parsed.names.unwrap().iter().collect::<Vec<_>>(), ["age", "city=Oslo"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// The targets.
    Target,
    /// Numbers, or true and false: one feature.
    Number,
    /// Names: one feature per distinct value.
    Category,
    /// Text: one feature per word and pair of words, `column=word`.
    Text,
    /// Dates: the number of years since 2000, and a feature each for year, month and weekday.
    Date,
    /// Dates with a time: the hour in UTC as well.
    Time,
    /// Times of day: the number of hours since midnight, and a feature for the hour.
    Clock,
    /// Durations: the number of seconds.
    Duration,
    /// Offsets of the rows, which are added to their scores.
    Offset,
    /// Ignored.
    Dropped,
}

/// What stands for the missing numbers of a column.
///
/// ```
/// use lazyglm::data::format::Fill;
/// let fill = Fill { value: 38.5, indicator: true };
/// assert_eq!(serde_json::to_string(&fill).unwrap(), r#"{"value":38.5,"indicator":true}"#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// The value of the column's own feature.
    pub value: f64,
    /// Whether the feature `column=missing` is 1.
    pub indicator: bool,
}

/// What a missing number of a table becomes.
///
/// ```
/// use lazyglm::data::format::Missing;
/// assert_eq!(Missing::parse("mean").unwrap(), Missing::Mean);
/// assert!(Missing::parse("median").unwrap_err().to_string().contains("expected zero, mean, indicator"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// Zero: no feature at all.
    Zero,
    /// The mean of the column's numbers in the first rows.
    Mean,
    /// The mean, and a feature `column=missing` with value 1.
    #[default]
    Indicator,
}

impl Missing {
    /// The choices, by name.
    pub const ALL: [(&'static str, Missing); 3] =
        [("zero", Missing::Zero), ("mean", Missing::Mean), ("indicator", Missing::Indicator)];

    /// Looks a choice up by its name.
    pub fn parse(name: &str) -> Result<Missing> {
        let found = Missing::ALL.iter().find(|(known, _)| *known == name).map(|(_, missing)| *missing);
        let names = || Missing::ALL.map(|(name, _)| name).join(", ");
        found.ok_or_else(|| Error::parameter(Parameter::Missing, name, names()))
    }

    /// What stands for a missing number of a column with this mean.
    fn fill(self, mean: f64) -> Option<Fill> {
        (self != Missing::Zero).then_some(Fill { value: mean, indicator: self == Missing::Indicator })
    }
}

impl Column {
    /// A column whose missing cells give no feature.
    ///
    /// ```
    /// use lazyglm::data::format::{Column, ColumnKind};
    /// assert_eq!(Column::new("age", ColumnKind::Number).missing, None);
    /// ```
    pub fn new(name: impl Into<String>, kind: ColumnKind) -> Column {
        Column { name: name.into(), kind, missing: None, placeholders: Vec::new(), text: None }
    }

    /// Appends the features of a date, a time or a duration. Returns false if the cell is none, or the column holds others.
    pub(super) fn push_time(
        &self,
        cell: &str,
        name: &mut String,
        pairs: &mut Vec<(u32, f64)>,
        into: &mut Parsed,
    ) -> bool {
        let hour = self.kind == ColumnKind::Time;
        let pushed = match self.kind {
            ColumnKind::Date | ColumnKind::Time => {
                When::parse(cell).map(|when| when.push(&self.name, hour, name, pairs, into))
            }
            ColumnKind::Clock => {
                spans::clock(cell).map(|seconds| spans::push_clock(seconds, &self.name, name, pairs, into))
            }
            ColumnKind::Duration => {
                let seconds = spans::duration(cell).or_else(|| number(cell).filter(|x| x.is_finite()));
                seconds.map(|seconds| pairs.push((into.name(&self.name), seconds)))
            }
            _ => None,
        };
        pushed.is_some()
    }

    /// What is wrong with a word in a column of numbers or dates, and what to do about it.
    #[cold]
    pub(super) fn no_number(&self, cell: &str) -> (String, String) {
        let (cell, name) = (excerpt(cell), excerpt(&self.name));
        let what = match self.kind {
            ColumnKind::Number => format!("'{cell}' in the number column '{name}' is not a finite number"),
            ColumnKind::Clock => {
                format!(
                    "'{cell}' in the column '{name}' of times of day is not one such as 13:05 or 13:05:00"
                )
            }
            ColumnKind::Duration => format!(
                "'{cell}' in the column '{name}' of durations is not one such as 1 days 02:30:00, P1DT2H30M or a number of seconds"
            ),
            _ => format!(
                "'{cell}' in the column '{name}' of dates is not a date such as 2024-07-31 or 2024-07-31T13:05:00"
            ),
        };
        let categorical = Parameter::Categorical.set(name);
        (what, format!("mend or empty the cell, or train with {categorical}"))
    }

    /// Whether the cell stands for a missing number, though it is not an ordinary missing cell.
    pub(super) fn is_placeholder(&self, cell: &str) -> bool {
        is_placeholder(cell) || self.placeholders.iter().any(|word| word == cell)
    }
}

impl ColumnKind {
    /// Whether cells of this kind become features.
    pub(super) fn is_feature(self) -> bool {
        !matches!(self, ColumnKind::Target | ColumnKind::Offset | ColumnKind::Dropped)
    }
}

/// What is asked of columns that the data decide.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub missing: Missing,
    text: Text,
    columns: Vec<(String, Text)>, // columns of text that were asked for
}

impl Wanted {
    /// The options for columns.
    pub fn of(asked: &ReadOptions) -> Result<Wanted> {
        let text = text::read_options(Text::default(), asked.text.as_deref().unwrap_or_default())?;
        let of_entry = |entry: &String| {
            let (name, options) = text::of_column(entry);
            Ok((name.to_string(), text::read_options(text.clone(), options)?))
        };
        let columns = asked.text_columns.iter().map(of_entry).collect::<Result<_>>()?;
        Ok(Wanted { missing: asked.missing.unwrap_or_default(), text, columns })
    }

    /// How a column of text becomes features, if the column was asked for.
    pub fn text_column(&self, name: &str) -> Option<&Text> {
        self.columns.iter().find(|(known, _)| known == name).map(|(_, text)| text)
    }

    /// A column that was asked for.
    pub fn column(&self, name: &str, kind: ColumnKind) -> Column {
        let text = (kind == ColumnKind::Text).then(|| self.text_column(name).unwrap_or(&self.text).clone());
        Column { text, ..Column::new(name, kind) }
    }
}

impl Column {
    /// Appends the terms of a cell, if the column holds text.
    pub(super) fn push_terms(
        &self,
        cell: &str,
        terms: &mut Terms,
        pairs: &mut Vec<(u32, f64)>,
        into: &mut Parsed,
    ) {
        if let Some(spec) = &self.text {
            terms.of_column(&self.name, cell, spec, into, pairs);
        }
    }
}

/// Appends the features that stand for a missing number of a column.
pub(super) fn fill_in(
    column: &str,
    fill: Option<Fill>,
    name: &mut String,
    pairs: &mut Vec<(u32, f64)>,
    into: &mut Parsed,
) {
    let Some(Fill { value, indicator }) = fill else { return };
    if value != 0.0 {
        pairs.push((into.name(column), value));
    }
    if indicator {
        name.clear();
        push_part(name, column, '=');
        name.push_str(MISSING);
        pairs.push((into.name(name), 1.0));
    }
}

/// The value that the indicator of a missing number has in its name: `age=missing`.
pub(super) const MISSING: &str = "missing";
