//! The set of features that occurred in training, including those without a weight.

use crate::data::features::Features;

/// A set of features, stored as runs of consecutive indices.
///
/// ```
/// use lazyglm::{Model, Settings, synth, train};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let trained = train(&task, None, &Settings::default(), &mut |_| {}).unwrap();
/// let model = Model::new(&task, &Settings::default(), trained);
/// assert_eq!(model.seen.runs, [(0, 99)], "every word occurred, also those whose weight is zero");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// (first, last) of each run, both inclusive, in ascending order and not adjacent.
    pub runs: Vec<(u32, u32)>,
}

impl Seen {
    /// The set of features that occur.
    pub(super) fn of(names: &Features, occurs: &[bool]) -> Seen {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for column in names.sorted().filter(|&column| occurs[column]) {
            let index = names.index(column);
            match runs.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(index) => *last = index,
                _ => runs.push((index, index)),
            }
        }
        Seen { runs }
    }

    /// The features in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.iter().flat_map(|&(first, last)| first..=last)
    }

    /// The number of features. At most 2³², since runs do not overlap.
    pub(crate) fn len(&self) -> u64 {
        self.runs.iter().map(|&(first, last)| u64::from(last - first) + 1).sum()
    }

    /// Whether a feature is in the set.
    ///
    /// ```
    /// let seen = lazyglm::Seen { runs: vec![(1, 3), (7, 7)] };
    /// assert!([1, 2, 3, 7].iter().all(|&index| seen.contains(index)));
    /// assert!([0, 4, 8].iter().all(|&index| !seen.contains(index)));
    /// ```
    pub fn contains(&self, index: u32) -> bool {
        let after = self.runs.partition_point(|&(first, _)| first <= index);
        after.checked_sub(1).is_some_and(|run| index <= self.runs[run].1)
    }
}
