//! Maps rows to line numbers.

/// The line number of each row, in memory proportional to the number of interruptions by other lines.
///
/// ```
/// let mut lines = lazyglm::data::format::Lines::default();
/// lines.begin(); // a comment
/// for row in 0..1000 {
///     lines.begin();
///     lines.is_row(row);
/// }
/// assert_eq!((lines.of(0), lines.of(999)), (2, 1001));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Runs of rows on consecutive lines, each as (first row, its line).
    starts: Vec<(usize, u64)>,
    pub(super) next: u64, // number of lines seen so far
}

impl Lines {
    /// Starts a line and returns its number, counted from 1.
    ///
    /// ```
    /// let mut lines = lazyglm::data::format::Lines::default();
    /// assert_eq!((lines.begin(), lines.begin()), (1, 2));
    /// ```
    pub fn begin(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Declares that the current line is row `row`.
    ///
    /// ```
    /// let mut lines = lazyglm::data::format::Lines::default();
    /// lines.begin();
    /// lines.is_row(0);
    /// lines.begin(); // blank: no row
    /// lines.begin();
    /// lines.is_row(1);
    /// assert_eq!(lines.of(1), 3);
    /// ```
    pub fn is_row(&mut self, row: usize) {
        if row == 0 || self.of(row) != self.next {
            self.starts.push((row, self.next));
        }
    }

    /// The line of a row, counted from 1.
    ///
    /// ```
    /// use lazyglm::data::format::{Parsed, Parser, Svmlight};
    /// let mut parsed = Parsed::default();
    /// Svmlight::default().parse(b"1 1:1\n# a word\n-1 2:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
    /// assert_eq!((parsed.lines.of(0), parsed.lines.of(1)), (1, 3));
    /// ```
    pub fn of(&self, row: usize) -> u64 {
        let after = self.starts.partition_point(|&(start, _)| start <= row);
        match after.checked_sub(1).map(|k| self.starts[k]) {
            Some((start, line)) => line + (row - start) as u64,
            None => row as u64 + 1,
        }
    }

    /// The lines of the selected rows.
    ///
    /// ```
    /// use lazyglm::data::format::{Parsed, Parser, Svmlight};
    /// let mut parsed = Parsed::default();
    /// Svmlight::default().parse(b"1 1:1\n2 1:1\n\n3 1:1\n", "mail.svm".as_ref(), &mut parsed).unwrap();
    /// let lines = parsed.lines.select(&[2, 0]);
    /// assert_eq!((lines.of(0), lines.of(1)), (4, 1));
    /// ```
    pub fn select(&self, rows: &[usize]) -> Lines {
        let mut lines = Lines::default();
        for (new, &old) in rows.iter().enumerate() {
            lines.next = self.of(old);
            lines.is_row(new);
        }
        lines
    }

    /// Shifts all line numbers by `lines` and returns the number of lines.
    pub(super) fn move_down(&mut self, lines: u64) -> u64 {
        self.starts.iter_mut().for_each(|(_, line)| *line += lines);
        self.next += lines;
        self.next - lines
    }

    /// Appends the lines of more rows, given the number of rows so far.
    pub(super) fn append(&mut self, rows: usize, more: &Lines) {
        for &(row, line) in &more.starts {
            self.next = line;
            self.is_row(rows + row);
        }
        self.next = more.next;
    }

    /// Removes all rows and restarts at line 1.
    pub(super) fn clear(&mut self) {
        self.starts.clear();
        self.next = 0;
    }

    /// The runs of rows on consecutive lines, each as (first row, its line).
    pub(crate) fn runs(&self) -> &[(usize, u64)] {
        &self.starts
    }

    /// The inverse of [`Lines::runs`].
    pub(crate) fn from_runs(starts: Vec<(usize, u64)>) -> Lines {
        Lines { starts, next: 0 }
    }
}
