//! Rows whose invariants the caller guarantees.

use super::{Rows, Values, rounds_well};
use rayon::prelude::*;

impl Rows {
    /// Appends a row of ids and values. The caller guarantees that ids increase strictly and values are
    /// finite.
    #[inline]
    pub(crate) fn push_known(&mut self, ids: &[u32], values: &[f64]) {
        debug_assert!(ids.len() == values.len() && ids.windows(2).all(|two| two[0] < two[1]));
        if !self.hold(values) {
            self.convert_to_f64();
        }
        self.ids.extend_from_slice(ids);
        self.extend_values(values);
        if let Some(&last) = ids.last() {
            self.columns = self.columns.max(last as usize + 1);
        }
        self.offsets.push(self.ids.len());
    }

    /// Appends rows with these numbers of ids, as [`Rows::push_known`] does one by one.
    pub(crate) fn push_all_known(&mut self, counts: &[u32], ids: &[u32], values: &[f64]) {
        let rows = counts.iter().scan(0, |end, &count| {
            let start = std::mem::replace(end, *end + count as usize);
            Some(start..*end)
        });
        if !self.hold(values) {
            return rows.for_each(|row| self.push_known(&ids[row.clone()], &values[row]));
        }
        let before = self.ids.len();
        let lasts = rows.clone().filter_map(|row| ids[row].last());
        self.columns = lasts.map(|&last| last as usize + 1).fold(self.columns, usize::max);
        self.offsets.extend(rows.map(|row| before + row.end));
        self.ids.extend_from_slice(ids);
        self.extend_values(values);
    }

    /// Rows whose invariants the caller guarantees: where each ends, after a 0, and ids and values of all.
    pub(crate) fn of_known(offsets: Vec<usize>, ids: Vec<u32>, values: Vec<f32>) -> Rows {
        debug_assert!(offsets.last() == Some(&ids.len()) && ids.len() == values.len());
        let rows = offsets.par_windows(2).with_min_len(1 << 12);
        let lasts = rows.filter_map(|two| ids[two[0]..two[1]].last());
        let columns = lasts.map(|&last| last as usize + 1).max().unwrap_or(0);
        Rows { offsets, ids, values: Values::F32(values), columns, ..Rows::new() }
    }

    /// Whether the present type of values can hold these.
    #[inline]
    fn hold(&self, values: &[f64]) -> bool {
        // Without early exit, the compiler can vectorise this test.
        match (&self.values, self.as_f32) {
            (Values::F64(_), _) => true,
            (Values::F32(_), true) => values.iter().fold(true, |fits, &x| fits & rounds_well(x)),
            (Values::F32(_), false) => values.iter().fold(true, |fits, &x| fits & (f64::from(x as f32) == x)),
        }
    }

    #[inline]
    fn extend_values(&mut self, values: &[f64]) {
        match &mut self.values {
            Values::F32(values_f32) => values_f32.extend(values.iter().map(|&x| x as f32)),
            Values::F64(values_f64) => values_f64.extend_from_slice(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn many_rows_at_once_are_the_rows_one_by_one(
            rows in prop::collection::vec(prop::collection::btree_map(
                any::<u32>(), prop_oneof![Just(1.0), Just(0.1), Just(1e300), Just(1e-300)], 0..6), 0..9),
            (before, as_f32) in any::<(bool, bool)>(),
        ) {
            let mut one_by_one = Rows::new();
            if as_f32 {
                one_by_one.round_to_f32();
            }
            if before {
                one_by_one.push_known(&[7], &[0.5]);
            }
            let mut at_once = one_by_one.clone();
            let (mut counts, mut all_ids, mut all_values) = (vec![], vec![], vec![]);
            for row in &rows {
                let (ids, values): (Vec<u32>, Vec<f64>) = row.iter().unzip();
                one_by_one.push_known(&ids, &values);
                counts.push(ids.len() as u32);
                all_ids.extend(ids);
                all_values.extend(values);
            }
            at_once.push_all_known(&counts, &all_ids, &all_values);
            prop_assert_eq!(one_by_one, at_once);
        }
    }
}
