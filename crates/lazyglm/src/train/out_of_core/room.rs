//! The memory of the working set: what columns in memory take, and whether more of them fit.

use crate::optim::kernel::CompactColumns;

/// Bytes per row: target, score, derivatives, and what a Newton step computes per row.
const ROW: usize = 96;
/// Additional bytes per row with row weights, and the same with offsets.
const EXTRA: usize = 8;
/// Expected bytes per non-zero of a column that is not in memory yet.
const EXPECTED: f64 = 2.5;
/// Bytes per column beside its non-zeros.
const COLUMN: f64 = 128.0;

/// The memory for columns, and the expected number of non-zeros per column.
pub(super) struct Room {
    /// The memory in bytes.
    pub bytes: usize,
    /// The number of rows.
    pub rows: usize,
    /// How many of weights and offsets the rows have: 0, 1 or 2.
    pub extras: usize,
    /// Non-zeros per column in the sample.
    pub counts: Vec<u32>,
    /// Rows per row of the sample.
    pub ratio: f64,
}

/// The memory that a Newton step needs for rows, in bytes.
pub(super) fn of_rows(rows: usize, extras: usize) -> usize {
    (ROW + EXTRA * extras) * rows
}

impl Room {
    /// Whether these columns, and expected others, leave enough memory for a Newton step.
    pub fn fits(&self, columns: &CompactColumns, others: impl Iterator<Item = u32>) -> bool {
        let one = |j: u32| {
            let nonzeros = f64::from(self.counts[j as usize]).max(0.5) * self.ratio;
            COLUMN + nonzeros * EXPECTED
        };
        self.taken(columns) as f64 + others.map(one).sum::<f64>() <= self.bytes as f64
    }

    /// The memory of a Newton step on these columns, in bytes, without copies of columns.
    fn taken(&self, columns: &CompactColumns) -> usize {
        of_rows(self.rows, self.extras) + columns.bytes()
    }

    /// The memory that is left for copies of columns, in bytes.
    pub fn left(&self, columns: &CompactColumns) -> usize {
        self.bytes.saturating_sub(self.taken(columns))
    }
}
