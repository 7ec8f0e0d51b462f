//! Some columns of data that do not fit into memory, in few bytes: row numbers as gaps, values as short as they are.
//!
//! ```text
//! rows      gap to the previous row, seven bits per byte, low bits first        1 byte for gaps below 128
//! values    none if all are 1; two bits each, and a byte for those other than 1, 2 and 3, if all are whole and below 256;
//!           else f32 or f64, the least that is exact for the whole column
//! ```
//!
//! Rows are appended in ascending order, so the columns can be filled in one pass over rows on disk.

use super::column_store::{ColumnStore, unit_of};

/// Columns in few bytes, numbered 0, 1, … in the order in which they were added.
pub(crate) struct CompactColumns {
    columns: Vec<Column>,
    height: usize,
    /// Memory for a copy of some columns in a Newton step, in bytes.
    pub copy: usize,
}

/// Bytes per non-zero of a copy by column, and another by row.
const COPY: usize = 16;

/// The non-zeros of one column.
#[derive(Default)]
struct Column {
    gaps: Vec<u8>,
    values: Values,
    next: u32, // one more than the last row; the first gap counts from row 0
    count: u32,
    unit: f64,
}

/// The values of one column.
#[derive(Default)]
enum Values {
    #[default]
    Ones,
    Counts(Counts),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// Whole numbers from 0 to 255, most of which are 1, 2 or 3.
#[derive(Default)]
struct Counts {
    codes: Vec<u8>, // four codes per byte, low bits first: 1, 2, 3, or 0 for another number
    others: Vec<u8>,
}

impl Counts {
    /// So many ones.
    fn ones(count: usize) -> Counts {
        let mut codes = vec![0b01_01_01_01; count.div_ceil(4)];
        if let Some(last) = codes.last_mut().filter(|_| !count.is_multiple_of(4)) {
            *last &= (1 << (2 * (count % 4))) - 1;
        }
        Counts { codes, others: Vec::new() }
    }

    /// Appends a number after `count` others.
    fn push(&mut self, number: u8, count: usize) {
        if count.is_multiple_of(4) {
            append(&mut self.codes, 0);
        }
        match number {
            1..=3 => self.codes[count / 4] |= number << (2 * (count % 4)),
            _ => append(&mut self.others, number),
        }
    }

    /// Returns a function that gives one number after the other.
    #[inline(always)]
    fn reader(&self) -> impl FnMut() -> u8 {
        let (mut k, mut others) = (0, self.others.iter());
        move || {
            let code = self.codes[k / 4] >> (2 * (k % 4)) & 3;
            k += 1;
            if code == 0 { others.next().copied().unwrap_or(0) } else { code }
        }
    }

    fn bytes(&self) -> usize {
        self.codes.capacity() + self.others.capacity()
    }
}

impl CompactColumns {
    /// No columns, of so many rows.
    pub fn new(height: usize) -> CompactColumns {
        CompactColumns { columns: Vec::new(), height, copy: 0 }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Adds so many empty columns.
    pub fn grow(&mut self, columns: usize) {
        let empty = || Column { unit: 1.0, ..Column::default() };
        self.columns.resize_with(self.columns.len() + columns, empty);
    }

    /// Appends a non-zero to a column. Its row must be above the column's last row, and below the height.
    pub fn push(&mut self, k: usize, row: usize, value: f64) {
        debug_assert!(row < self.height);
        let column = &mut self.columns[k];
        let mut gap = row as u32 - column.next;
        while gap >= 0x80 {
            append(&mut column.gaps, gap as u8 | 0x80);
            gap >>= 7;
        }
        append(&mut column.gaps, gap as u8);
        column.values.push(value, column.count as usize);
        (column.next, column.count) = (row as u32 + 1, column.count + 1);
    }

    /// Ends the filling of columns from `first` on: frees spare memory and finds their units.
    pub fn finish(&mut self, first: usize) {
        for k in first..self.columns.len() {
            self.columns[k].shrink();
            self.columns[k].unit = unit_of(self, k);
        }
    }

    /// Removes the columns for which `keep` is false; the others move up.
    pub fn retain(&mut self, keep: &[bool]) {
        let mut keep = keep.iter();
        self.columns.retain(|_| keep.next().copied().unwrap_or(true));
    }

    /// Memory of all columns, in bytes.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum()
    }
}

impl Column {
    fn bytes(&self) -> usize {
        let values = match &self.values {
            Values::Ones => 0,
            Values::Counts(counts) => counts.bytes(),
            Values::F32(values) => 4 * values.capacity(),
            Values::F64(values) => 8 * values.capacity(),
        };
        size_of::<Column>() + self.gaps.capacity() + values
    }

    fn shrink(&mut self) {
        self.gaps.shrink_to_fit();
        match &mut self.values {
            Values::Ones => {}
            Values::Counts(Counts { codes, others }) => {
                codes.shrink_to_fit();
                others.shrink_to_fit();
            }
            Values::F32(values) => values.shrink_to_fit(),
            Values::F64(values) => values.shrink_to_fit(),
        }
    }

    /// Calls `see(row)` for each non-zero, in ascending order.
    #[inline(always)]
    fn rows(&self, mut see: impl FnMut(usize)) {
        let mut next = 0u32;
        let mut gaps = self.gaps.iter();
        while let Some(&byte) = gaps.next() {
            let (mut gap, mut shift, mut last) = (u32::from(byte & 0x7F), 7, byte);
            while last >= 0x80 {
                last = gaps.next().copied().unwrap_or(0);
                gap |= u32::from(last & 0x7F) << shift;
                shift += 7;
            }
            next += gap;
            see(next as usize);
            next += 1;
        }
    }
}

impl Values {
    /// Appends a value after `count` others, in a longer form if this one cannot represent it exactly.
    fn push(&mut self, value: f64, count: usize) {
        loop {
            match self {
                Values::Ones if value == 1.0 => return,
                Values::Counts(counts) if f64::from(value as u8) == value => {
                    return counts.push(value as u8, count);
                }
                Values::F32(values) if f64::from(value as f32) == value => {
                    return append(values, value as f32);
                }
                Values::F64(values) => return append(values, value),
                _ => self.lengthen(count),
            }
        }
    }

    /// Converts to the next longer form.
    fn lengthen(&mut self, count: usize) {
        *self = match std::mem::take(self) {
            Values::Ones => Values::Counts(Counts::ones(count)),
            Values::Counts(counts) => {
                let mut next = counts.reader();
                Values::F32((0..count).map(|_| f32::from(next())).collect())
            }
            Values::F32(values) => Values::F64(values.into_iter().map(f64::from).collect()),
            last => last,
        };
    }
}

/// Appends with little spare memory: doubling would take up to twice what is needed.
fn append<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() {
        items.reserve_exact(8 + items.len() / 8);
    }
    items.push(item);
}

impl ColumnStore for CompactColumns {
    fn count(&self, j: usize) -> usize {
        self.columns[j].count as usize
    }

    fn unit(&self, j: usize) -> f64 {
        self.columns[j].unit
    }

    fn instead_of_copy(&self, columns: &[u32]) -> Option<&CompactColumns> {
        let nonzeros: usize = columns.iter().map(|&j| self.count(j as usize)).sum();
        (COPY * nonzeros > self.copy).then_some(self)
    }

    #[inline(always)]
    fn for_each(&self, j: usize, mut see: impl FnMut(usize, f64)) {
        let (column, mut k) = (&self.columns[j], 0);
        let mut next = || {
            k += 1;
            k - 1
        };
        match &column.values {
            Values::Ones => column.rows(|i| see(i, 1.0)),
            Values::Counts(counts) => {
                let mut next = counts.reader();
                column.rows(|i| see(i, f64::from(next())));
            }
            Values::F32(values) => column.rows(|i| see(i, f64::from(values[next()]))),
            Values::F64(values) => column.rows(|i| see(i, values[next()])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::random::Random;

    /// The kinds of values, each with the bytes per value that it needs at most.
    const KINDS: [(&[f64], f64); 5] = [
        (&[1.0], 0.0),
        (&[1.0, 2.0, 3.0], 0.26),
        (&[1.0, 0.0, 255.0, 3.0], 1.25),
        (&[1.0, 2.0, -0.5, 256.0], 4.0),
        (&[1.0, 0.1, 1e300], 8.0),
    ];

    #[test]
    fn what_was_pushed_is_read_back_in_few_bytes() {
        let mut random = Random::new(1);
        for (values, bytes) in KINDS {
            for widest in [1, 100, 1 << 12, 1 << 26] {
                let (mut pushed, mut row) = (Vec::new(), 0);
                for _ in 0..50 {
                    row += random.below(widest) as usize;
                    pushed.push((row, values[random.below(values.len() as u64) as usize]));
                    row += 1;
                }
                pushed.push((row, values[values.len() - 1]));
                let mut columns = CompactColumns::new(row + 1);
                columns.grow(2);
                pushed.iter().for_each(|&(i, x)| columns.push(1, i, x));
                columns.finish(0);
                let mut read = Vec::new();
                columns.for_each(1, |i, x| read.push((i, x)));
                assert_eq!(read, pushed);
                assert_eq!((columns.count(0), columns.count(1)), (0, 51));
                let gaps = if widest <= 127 { 51 } else { 4 * 51 };
                let most = 2 * size_of::<Column>() + gaps + (51.0 * bytes).ceil() as usize;
                assert!(columns.bytes() <= most, "{values:?} {widest}");
            }
        }
    }

    #[test]
    fn columns_that_are_removed_leave_the_others_as_they_were() {
        let mut columns = CompactColumns::new(9);
        columns.grow(3);
        (0..9).for_each(|i| columns.push(i % 3, i, i as f64));
        columns.finish(0);
        columns.retain(&[true, false, true]);
        let sums: Vec<f64> = (0..columns.len()).map(|k| columns.product(k, &[1.0; 9])).collect();
        assert_eq!(sums, [9.0, 15.0]);
    }
}
