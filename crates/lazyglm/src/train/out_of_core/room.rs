//! The memory of the working set: what columns in memory take, and whether more of them fit.

use crate::data::rows::{RowsRef, ValuesRef};
use crate::optim::kernel::CompactColumns;
use crate::optim::newton::Stored;
use crate::problem::task::Targets;

/// Bytes per row of weights, and the same of offsets, while all terms are stored.
const EXTRA: usize = 8;
/// Bytes per number of a row that is not known yet,
const NUMBER: usize = 8;
/// and per class.
const CLASS: usize = 1;
/// Bytes per column beside its non-zeros.
const COLUMN: f64 = 128.0;
/// Spare memory of columns that are being filled, as a factor.
const FILLING: f64 = 1.1;

/// The values of a column, by what they need in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Ones,
    Counts,
    F32,
    F64,
}

/// The memory for columns, and what is expected of columns that are not in memory yet.
pub(super) struct Room {
    /// The memory in bytes.
    pub bytes: usize,
    /// The number of rows.
    pub rows: usize,
    /// Bytes of the targets, weights and offsets of all rows.
    pub numbers: usize,
    /// How many of weights and offsets the rows have: 0, 1 or 2.
    pub extras: usize,
    /// Non-zeros per column in the sample.
    pub counts: Vec<u32>,
    /// The kind of the values of each column in the sample.
    pub kinds: Vec<Kind>,
    /// Bytes per value of the sample.
    pub width: f64,
    /// Share of values among the counts of the sample that are above 3.
    pub high: f64,
    /// Rows per row of the sample.
    pub ratio: f64,
}

/// The memory that a Newton step needs at least for rows, in bytes.
pub(super) fn of_rows(rows: usize, extras: usize) -> usize {
    (Stored::ShortScores.bytes() + CLASS + NUMBER * extras) * rows
}

/// The most bytes that a target takes.
pub(super) fn of_target(targets: &Targets) -> usize {
    if targets.classes().is_some() { CLASS } else { NUMBER }
}

impl Room {
    /// The memory for columns, before anything is known of them. A target takes so many bytes.
    pub fn new(bytes: usize, rows: usize, [target, extras]: [usize; 2], columns: usize) -> Room {
        let (counts, kinds) = (vec![0; columns], vec![Kind::Ones; columns]);
        let numbers = (target + NUMBER * extras) * rows;
        Room { bytes, rows, numbers, extras, counts, kinds, width: 0.0, high: 0.0, ratio: 1.0 }
    }

    /// Counts the non-zeros of a sample, and how many bytes their values need.
    pub fn see(&mut self, sample: RowsRef) {
        self.ratio = self.rows as f64 / sample.len().max(1) as f64;
        let (mut sums, mut high) = ([0; 4], 0);
        for (k, &j) in sample.ids().iter().enumerate() {
            let value = match sample.values() {
                ValuesRef::F32(values) => f64::from(values[k]),
                ValuesRef::F64(values) => values[k],
            };
            let (kind, j) = (Kind::of(value), j as usize);
            self.counts[j] += 1;
            self.kinds[j] = self.kinds[j].max(kind);
            sums[kind as usize] += 1;
            high += usize::from(kind == Kind::Counts && value > 3.0);
        }
        self.high = high as f64 / (sums[0] + sums[1]).max(1) as f64;
        let all = [Kind::Ones, Kind::Counts, Kind::F32, Kind::F64].into_iter().zip(sums);
        let bytes: f64 = all.map(|(kind, count)| self.bytes_of(kind) * count as f64).sum();
        self.width = bytes / sample.ids().len().max(1) as f64;
    }

    /// The expected bytes of a value.
    fn bytes_of(&self, kind: Kind) -> f64 {
        match kind {
            Kind::Ones => 0.0,
            Kind::Counts => 0.25 + self.high,
            Kind::F32 => 4.0,
            Kind::F64 => 8.0,
        }
    }

    /// The expected bytes of a column that is not in memory yet.
    ///
    /// ```text
    /// gaps      one byte each, two above 127 and three above 16383, which is as likely as so many rows in turn without the column
    /// values    as wide as those of the sample, or as those of all columns, if that is wider: a few values may not tell
    /// ```
    fn expected(&self, j: u32) -> f64 {
        let (count, rows) = (self.counts[j as usize], self.rows as f64);
        let nonzeros = f64::from(count).max(0.5) * self.ratio;
        let without = |gap: f64| (-nonzeros / rows.max(1.0) * gap).exp();
        let gaps = 1.0 + without(128.0) + without(16384.0);
        let values = self.bytes_of(self.kinds[j as usize]).max(self.width);
        COLUMN + FILLING * nonzeros * (gaps + values)
    }

    /// Whether these columns, and expected others, leave enough memory for a Newton step.
    pub fn fits(&self, columns: &CompactColumns, others: impl Iterator<Item = u32>) -> bool {
        let others: f64 = others.map(|j| self.expected(j)).sum();
        self.taken(columns, Stored::ShortScores) as f64 + others <= self.bytes as f64
    }

    /// The memory of a Newton step on these columns, in bytes.
    fn taken(&self, columns: &CompactColumns, stored: Stored) -> usize {
        let extras = if stored == Stored::Terms { EXTRA * self.extras } else { 0 };
        (stored.bytes() + extras) * self.rows + self.numbers + columns.bytes()
    }

    /// What a Newton step on these columns can store per row, and the memory that is left for copies of columns, in bytes.
    pub fn left(&self, columns: &CompactColumns) -> (Stored, usize) {
        let of = |stored: Stored| Some((stored, self.bytes.checked_sub(self.taken(columns, stored))?));
        Stored::ALL.into_iter().find_map(of).unwrap_or((Stored::ShortScores, 0))
    }
}

impl Kind {
    /// The least kind that is exact for a value.
    fn of(value: f64) -> Kind {
        match value {
            1.0 => Kind::Ones,
            _ if f64::from(value as u8) == value => Kind::Counts,
            _ if f64::from(value as f32) == value => Kind::F32,
            _ => Kind::F64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::rows::Rows;
    use crate::util::random::Random;

    /// What is expected after one part of the rows is within a quarter of what columns take, for ones and for counts.
    #[test]
    fn the_expected_bytes_of_columns_are_about_what_they_take() {
        const ROWS: usize = 100_000;
        for most in [1, 5, 1000] {
            let mut random = Random::new(2);
            let (mut sample, mut columns) = (Rows::new(), CompactColumns::new(ROWS));
            columns.grow(3);
            for i in 0..ROWS {
                let row: Vec<(u32, f64)> = (0..3)
                    .filter(|k| random.below([3, 60, 1000][*k as usize]) == 0)
                    .map(|k| (k, (1 + (i as u64 * 7) % most) as f64))
                    .collect();
                row.iter().for_each(|&(k, x)| columns.push(k as usize, i, x));
                if i < ROWS / 10 {
                    sample.push(&row).unwrap();
                }
            }
            columns.finish(0);
            let mut room = Room::new(0, ROWS, [0, 0], 3);
            room.see(sample.borrow());
            let expected: f64 = (0..3).map(|j| room.expected(j) - COLUMN).sum();
            let taken = columns.bytes() as f64;
            assert!(expected > 0.95 * taken && expected < 1.25 * taken, "{most}: {expected} {taken}");
        }
    }
}
