//! The output of a parser.

use super::{DirtyCells, Lines, NamesRoom, WrongRows};
use crate::data::labels::Labels;
use crate::data::rows::Rows;
use crate::data::vocabulary::Vocabulary;
use serde::{Deserialize, Serialize};

/// Rows parsed so far. Ids are indices as written or numbers of names, not columns yet.
///
/// ```
/// use lazyglm::data::format::{Parsed, Parser, Svmlight};
/// let mut parsed = Parsed { absent: vec![true], ..Parsed::default() }; // pass over the first row
/// Svmlight::default().parse(b"1 1:1\n2:1\n-1 3:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
/// assert_eq!((parsed.file_rows, parsed.rows.len(), parsed.unlabelled), (3, 2, Some(0)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The sparse rows.
    pub rows: Rows,
    /// The names of the ids, if features have names. Otherwise ids are indices as written.
    pub names: Option<Vocabulary>,
    /// What the names of the block may take; `None` without a limit.
    pub names_room: Option<NamesRoom>,
    /// One weight per row, or empty if no row has a weight.
    pub weights: Vec<f64>,
    /// One offset per row, or empty if no row has an offset. NaN marks a row whose offset is missing.
    pub offsets: Vec<f64>,
    /// One target per row. Rows without a target have the empty word.
    pub labels: Labels,
    /// The first row without a target.
    pub unlabelled: Option<usize>,
    /// Number of rows with a query id, which is ignored.
    pub with_query: usize,
    /// Cells of number columns that hold a word and count as missing.
    pub dirty: Vec<DirtyCells>,
    /// The names of these columns, by which they are found.
    pub dirty_columns: Vocabulary,
    /// Rows and cells that cannot be read. If there are any, the rows are not to be used.
    pub wrong: WrongRows,
    /// The line of each row.
    pub lines: Lines,
    /// The lowest and highest feature index seen, including explicit zeros.
    pub span: Option<Span>,
    /// Rows to skip: `absent[k]` for row k of the file. Rows beyond the end are kept.
    pub absent: Vec<bool>,
    /// The cells of the columns to be copied, row after row.
    pub copied: Vec<String>,
    /// Number of rows seen, including absent rows.
    pub file_rows: usize,
    /// Number of rows in earlier blocks, because `absent` counts from the start of the file.
    pub rows_before: usize,
}

/// The lowest and the highest feature index of some rows.
///
/// ```
/// use lazyglm::data::format::{Parsed, Parser, Svmlight};
/// let mut parsed = Parsed::default();
/// Svmlight::default().parse(b"1 4:1 9:1\n-1 2:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
/// let span = parsed.span.unwrap();
/// assert_eq!((span.low.index, span.high.index), (2, 9));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The lowest index.
    pub low: FoundIndex,
    /// The highest index.
    pub high: FoundIndex,
}

/// A feature index and its position in the file.
///
/// ```
/// use lazyglm::data::format::{FoundIndex, Parsed, Parser, Svmlight};
/// let mut parsed = Parsed::default();
/// Svmlight::default().parse(b"1 4:1 9:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
/// assert_eq!(parsed.span.unwrap().high, FoundIndex { index: 9, line: 1, column: 7 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundIndex {
    /// The index as written.
    pub index: u32,
    /// The line, counted from 1.
    pub line: u64,
    /// The byte within the line, counted from 1.
    pub column: u64,
}

impl Span {
    /// The union of two spans.
    pub(crate) fn of_both(a: Option<Span>, b: Option<Span>) -> Option<Span> {
        let (Some(first), Some(second)) = (a, b) else { return a.or(b) };
        let low = if second.low.index < first.low.index { second.low } else { first.low };
        let high = if second.high.index > first.high.index { second.high } else { first.high };
        Some(Span { low, high })
    }
}

impl Parsed {
    /// Starts a row and returns whether to keep it.
    ///
    /// ```
    /// let mut parsed = lazyglm::data::format::Parsed { absent: vec![false, true], ..Default::default() };
    /// assert_eq!([(); 3].map(|()| parsed.begin_row()), [true, false, true]);
    /// assert_eq!(parsed.file_rows, 3);
    /// ```
    pub fn begin_row(&mut self) -> bool {
        let absent = self.absent.get(self.rows_before + self.file_rows).copied().unwrap_or(false);
        self.file_rows += 1;
        !absent
    }

    /// Appends a row on the current line. Pairs are sorted, duplicates are summed in the given order, and
    /// zeros are dropped. The error is the id of a feature whose values sum to infinity.
    ///
    /// ```
    /// let mut parsed = lazyglm::data::format::Parsed::default();
    /// parsed.push_row(&mut vec![(7, 1.0), (2, 0.5), (7, 2.0), (3, 0.0)]).unwrap();
    /// assert_eq!((parsed.rows.ids(), parsed.rows.borrow().dot(0, &[1.0; 8])), (&[2, 7][..], 3.5));
    /// assert_eq!(parsed.push_row(&mut vec![(7, 1e308), (7, 1e308)]), Err(7));
    /// ```
    pub fn push_row(&mut self, pairs: &mut Vec<(u32, f64)>) -> std::result::Result<(), u32> {
        if !pairs.windows(2).all(|two| two[0].0 < two[1].0) {
            pairs.sort_by_key(|&(id, _)| id); // a stable sort keeps the order of duplicates
            pairs.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                kept.1 += if same { next.1 } else { 0.0 };
                same
            });
        }
        if let Some(&(id, _)) = pairs.iter().find(|(_, value)| !value.is_finite()) {
            return Err(id);
        }
        pairs.retain(|&(_, value)| value != 0.0);
        self.lines.is_row(self.rows.len());
        self.rows.push(pairs).map_err(|_| 0)
    }

    /// Declares that the next row to be pushed has no target.
    ///
    /// ```
    /// let mut parsed = lazyglm::data::format::Parsed::default();
    /// parsed.no_target();
    /// parsed.push_row(&mut vec![(7, 1.0)]).unwrap();
    /// assert_eq!((parsed.unlabelled, parsed.labels.len()), (Some(0), 1));
    /// ```
    pub fn no_target(&mut self) {
        self.unlabelled.get_or_insert(self.rows.len());
        self.labels.push_absent();
    }

    /// The id of a feature's name.
    ///
    /// ```
    /// let mut parsed = lazyglm::data::format::Parsed::default();
    /// assert_eq!([parsed.name("age"), parsed.name("sex"), parsed.name("age")], [0, 1, 0]);
    /// ```
    #[inline]
    pub fn name(&mut self, name: &str) -> u32 {
        let names = self.names.get_or_insert_default();
        match &mut self.names_room {
            Some(room) => room.id(names, name),
            None => names.id(name),
        }
    }

    /// Sets the weight of the last row. Rows without a weight have weight 1.
    ///
    /// ```
    /// let mut parsed = lazyglm::data::format::Parsed::default();
    /// for weight in [1.0, 1.0, 0.5] {
    ///     parsed.push_row(&mut vec![(0, 1.0)]).unwrap();
    ///     parsed.weigh(weight);
    /// }
    /// assert_eq!(parsed.weights, [1.0, 1.0, 0.5]);
    /// ```
    pub fn weigh(&mut self, weight: f64) {
        set_last(&mut self.weights, self.rows.len(), weight, 1.0);
    }

    /// Sets the offset of the last row, which is added to its score. Rows without an offset have offset 0.
    ///
    /// ```
    /// let mut parsed = lazyglm::data::format::Parsed::default();
    /// for offset in [0.0, 0.5] {
    ///     parsed.push_row(&mut vec![(0, 1.0)]).unwrap();
    ///     parsed.shift(offset);
    /// }
    /// assert_eq!((parsed.offset(1), parsed.offsets), (0.5, vec![0.0, 0.5]));
    /// ```
    pub fn shift(&mut self, offset: f64) {
        set_last(&mut self.offsets, self.rows.len(), offset, 0.0);
    }

    /// The offset of row `i`: zero if no row has one, NaN if it is missing.
    pub fn offset(&self, i: usize) -> f64 {
        self.offsets.get(i).copied().unwrap_or(0.0)
    }

    /// Records the position of a feature index, for the span.
    ///
    /// ```
    /// use lazyglm::data::format::{FoundIndex, Parsed};
    /// let mut parsed = Parsed::default();
    /// [5, 2, 7].iter().for_each(|&index| parsed.see(FoundIndex { index, line: 1, column: 3 }));
    /// assert_eq!(parsed.span.map(|span| (span.low.index, span.high.index)), Some((2, 7)));
    /// ```
    pub fn see(&mut self, found: FoundIndex) {
        let span = self.span.get_or_insert(Span { low: found, high: found });
        if found.index < span.low.index {
            span.low = found;
        }
        if found.index > span.high.index {
            span.high = found;
        }
    }

    /// Removes the rows and keeps the position in the file, for reading a stream block by block.
    ///
    /// ```
    /// use lazyglm::data::format::{Parsed, Parser, Svmlight};
    /// let (mut parser, mut parsed) = (Svmlight::default(), Parsed::default());
    /// parser.parse(b"1 1:1\n-1 2:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
    /// parsed.clear_rows();
    /// assert_eq!((parsed.rows.len(), parsed.file_rows), (0, 0));
    /// ```
    pub fn clear_rows(&mut self) {
        let (absent, before) = (std::mem::take(&mut self.absent), self.rows_before + self.file_rows);
        self.clear_all();
        (self.absent, self.rows_before) = (absent, before);
    }

    /// Resets everything and keeps the memory.
    pub(crate) fn clear_all(&mut self) {
        self.rows.clear();
        self.labels.clear();
        self.lines.clear();
        self.weights.clear();
        self.offsets.clear();
        self.absent.clear();
        self.dirty.clear();
        self.dirty_columns.clear();
        self.wrong = WrongRows::default();
        self.copied.clear();
        if let Some(names) = &mut self.names {
            names.clear();
        }
        (self.unlabelled, self.span, self.names_room) = (None, None, None);
        (self.with_query, self.file_rows, self.rows_before) = (0, 0, 0);
    }

    /// Shifts all line numbers by `lines` and returns the number of lines.
    pub(crate) fn move_down(&mut self, lines: u64) -> u64 {
        if let Some(span) = &mut self.span {
            span.low.line += lines;
            span.high.line += lines;
        }
        self.dirty.iter_mut().for_each(|cells| cells.line += lines);
        self.lines.move_down(lines)
    }

    /// Appends the rows of the next block, with values rounded to f32 if `as_f32`. The error is the number of
    /// a row with a value too large for `f32`.
    pub(crate) fn append(&mut self, more: &Parsed, as_f32: bool) -> std::result::Result<(), usize> {
        let rows = self.rows.len();
        self.append_besides_rows(more, [rows, more.rows.len()]);
        self.rows.append(&more.rows, as_f32).map_err(|row| rows + row)
    }

    /// Appends what the next block has besides its rows, given the numbers of rows of both.
    pub(crate) fn append_besides_rows(&mut self, more: &Parsed, [rows, more_rows]: [usize; 2]) {
        self.unlabelled = self.unlabelled.or(more.unlabelled.map(|row| rows + row));
        self.lines.append(rows, &more.lines);
        join(&mut self.weights, &more.weights, [rows, more_rows], 1.0);
        join(&mut self.offsets, &more.offsets, [rows, more_rows], 0.0);
        self.labels.append(&more.labels);
        self.with_query += more.with_query;
        DirtyCells::join(&mut self.dirty, &more.dirty);
        self.file_rows += more.file_rows;
        self.span = Span::of_both(self.span, more.span);
    }
}

/// Sets the number of the last of so many rows. The list stays empty as long as all rows have the usual number.
fn set_last(list: &mut Vec<f64>, rows: usize, number: f64, usual: f64) {
    if number != usual || !list.is_empty() {
        list.resize(rows - 1, usual);
        list.push(number);
    }
}

/// Appends the numbers of more rows. An empty list stands for the usual number in every row.
fn join(list: &mut Vec<f64>, more: &[f64], [rows, more_rows]: [usize; 2], usual: f64) {
    if !more.is_empty() || !list.is_empty() {
        list.resize(rows, usual);
        list.extend_from_slice(more);
        list.resize(rows + more_rows, usual);
    }
}
