//! Thresholds of labels, tuned for the largest F1.

use super::sets;
use crate::problem::heads::Head;
use crate::problem::task::Task;

/// Number of heads scored together.
const WIDE: usize = 8;

/// The thresholds of heads `first`, `first` + 1, … on these rows; 0 for a label that no row has.
pub(super) fn tune(heads: &[Head], rows: &Task, first: usize) -> Vec<f64> {
    let (mut thresholds, sets) = (Vec::with_capacity(heads.len()), sets(rows));
    for (group, some) in heads.chunks(WIDE).enumerate() {
        let scores = scores(some, rows);
        for (l, scores) in scores.iter().enumerate() {
            let head = first + group * WIDE + l;
            let mut scored: Vec<(f64, bool)> =
                scores.iter().enumerate().map(|(i, &score)| (score, sets.has(i, head))).collect();
            thresholds.push(best_f1(&mut scored));
        }
    }
    thresholds
}

/// The scores of all rows, head by head.
fn scores(heads: &[Head], rows: &Task) -> Vec<Vec<f64>> {
    let mut weights = vec![[0.0; WIDE]; rows.data.rows.columns()];
    for (l, head) in heads.iter().enumerate() {
        head.columns.iter().zip(&head.weights).for_each(|(&column, &w)| weights[column as usize][l] = w);
    }
    let mut all = vec![Vec::with_capacity(rows.len()); heads.len()];
    for i in 0..rows.len() {
        let mut sums = [0.0; WIDE];
        rows.data.rows.borrow().for_each(i, |j, x| (0..WIDE).for_each(|l| sums[l] += x * weights[j][l]));
        all.iter_mut().zip(heads).zip(sums).for_each(|((all, head), sum)| all.push(sum + head.bias));
    }
    all
}

/// The midpoint between two scores at which F1 = 2·hits/(predicted + rows with the label) is largest.
pub(super) fn best_f1(scored: &mut [(f64, bool)]) -> f64 {
    let positive = scored.iter().filter(|(_, has)| *has).count();
    if positive == 0 {
        return 0.0;
    }
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let (mut best, mut threshold) = (0.0, 0.0);
    let (mut given, mut hits) = (0, 0);
    for tied in scored.chunk_by(|a, b| a.0 == b.0) {
        given += tied.len();
        hits += tied.iter().filter(|(_, has)| *has).count();
        let f1 = 2.0 * hits as f64 / (given + positive) as f64;
        if f1 > best {
            let score = tied[0].0;
            let next = scored.get(given).map_or(score - 1.0, |(next, _)| *next);
            let middle = 0.5 * score + 0.5 * next;
            (best, threshold) = (f1, if middle < score { middle } else { next });
        }
    }
    threshold
}

#[cfg(test)]
mod tests {
    use super::best_f1;
    use proptest::prelude::*;

    fn f1(scored: &[(f64, bool)], threshold: f64) -> f64 {
        let given = scored.iter().filter(|(score, _)| *score > threshold);
        let (count, hits) =
            given.fold((0, 0), |(count, hits), (_, has)| (count + 1, hits + usize::from(*has)));
        2.0 * hits as f64 / (count + scored.iter().filter(|(_, has)| *has).count()) as f64
    }

    proptest! {
        #[test]
        fn no_threshold_has_a_greater_f1(scored in prop::collection::vec((-20i32..20, any::<bool>()), 1..60)) {
            let mut scored: Vec<(f64, bool)> = scored.into_iter().map(|(score, has)| (f64::from(score) / 4.0, has)).collect();
            let threshold = best_f1(&mut scored);
            prop_assert!(threshold.is_finite());
            if scored.iter().any(|(_, has)| *has) {
                let best = (-30..30).map(|t| f1(&scored, f64::from(t) / 4.0 + 0.125)).fold(0.0, f64::max);
                prop_assert_eq!(f1(&scored, threshold), best);
            } else {
                prop_assert_eq!(threshold, 0.0);
            }
        }

        #[test]
        fn neighbours_are_told_apart(score in -1e9f64..1e9) {
            let next = score.next_down();
            let threshold = best_f1(&mut [(score, true), (next, false)]);
            prop_assert!(score > threshold && next <= threshold);
        }
    }
}
