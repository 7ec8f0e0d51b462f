//! Thresholds of labels, tuned on held-out scores for the largest micro-averaged F1.
//!
//! ```text
//! F  = 2·Σ hits/(Σ given + Σ rows with the label)               sums over all labels
//! gain of moving a threshold over n scores, h with the label    g = ±(2h − F·n),   s.e. = 2·√(n·q(1 − q)),   q = (h + 1)/(n + 2)
//! c  = argmax g − 2·s.e., from 0, for all labels together       on a grid of sixteenths
//! tₖ = argmax g − 2·s.e., from c, for label k
//! θₖ = c + (tₖ − c)·P/(P + 20)                                  P held-out rows have label k
//! ```
//!
//! What few rows seem to gain is noise: a threshold moves only for a gain that is sure, and that of a label of few rows stays
//! near c. If F on the held-out rows is not larger than with thresholds of zero, those are kept.

use super::sets;
use crate::eval::objective::side_by_side;
use crate::model::trained::Trained;
use crate::problem::heads::Head;
use crate::problem::settings::Settings;
use crate::problem::task::Task;
use crate::train::progress::Progress;
use crate::train::search::Folds;
use crate::util::error::Result;
use crate::util::parameter::WARNING;
use rayon::prelude::*;

/// Number of heads scored together.
const WIDE: usize = 8;
/// The grid of thresholds for all labels: so many steps to each side of 0, and steps per unit of the score.
const STEPS: usize = 64;
const PER_UNIT: f64 = 16.0;
/// Number of rows with a label at which its threshold goes half the way.
const HALF: f64 = 20.0;
/// Standard errors that are subtracted from a gain.
const SURE: f64 = 2.0;
/// Least number of rows to tune on.
const FEWEST: usize = 10;
/// Number of folds, and the largest number of rows times labels for which all of them are held out in turn.
const FOLDS: usize = 5;
const FEW: usize = 100_000;

/// Tunes the thresholds of trained labels on the held-out rows. Without any, a fifth of the rows is scored by heads that were
/// trained on the others; of few rows, each fifth is.
pub(super) fn add(
    trained: &mut Trained,
    task: &Task,
    validation: Option<&Task>,
    settings: &Settings,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<()> {
    let untuned = |why: &str| format!("{WARNING}thresholds are 0: {why}");
    trained.thresholds = Some(vec![0.0; trained.heads.len()]);
    let tuned = match validation {
        Some(held) => tune(&[(trained.heads.clone(), held.clone())]),
        None if settings.interrupted() || task.len() < FOLDS * FEWEST => {
            trained
                .notes
                .push(untuned("there are too few rows to hold some out, or the run was interrupted"));
            return Ok(());
        }
        None => {
            let folds = Folds::stratified(task, FOLDS, settings.seed);
            let settings = Settings { tuned_thresholds: false, ..settings.clone() };
            let few = task.len().saturating_mul(trained.heads.len()) <= FEW;
            let mut scored = |fold: usize| {
                let part = |held: bool| {
                    let rows = (0..task.len()).filter(|&i| (folds.of(i) == fold) == held);
                    task.select(&rows.collect::<Vec<_>>())
                };
                Ok((super::train(&part(false), None, &settings, watch)?.heads, part(true)))
            };
            tune(&(0..if few { FOLDS } else { 1 }).map(&mut scored).collect::<Result<Vec<_>>>()?)
        }
    };
    trained.notes.push(match &tuned {
        Tuned { thresholds: Some(_), f1: [before, after], rows } => format!(
            "thresholds tuned on {rows} held-out rows: micro-F1 there is {after:.4}, and {before:.4} with thresholds of 0"
        ),
        _ => untuned("no others have a larger micro-F1 on held-out rows"),
    });
    if let Some(thresholds) = tuned.thresholds {
        trained.thresholds = Some(thresholds);
    }
    Ok(())
}

/// Thresholds, if they are better than zeros, and the F1 before and after.
struct Tuned {
    thresholds: Option<Vec<f64>>,
    f1: [f64; 2],
    rows: usize,
}

/// Heads, and rows that they have not seen.
type Part = (Vec<Head>, Task);

fn tune(parts: &[Part]) -> Tuned {
    let all = each(parts, |_, scored| Counts::of(scored)).iter().fold(Counts::default(), Counts::and);
    let (best, f1) = all.best();
    let common = shrunk(0.0, best, all.positive);
    let own = |_, scored: &mut [(f64, bool)]| {
        let positive = scored.iter().filter(|(_, has)| *has).count();
        shrunk(common, own_threshold(scored, common, f1), positive)
    };
    let thresholds: Vec<f64> = each(parts, own);
    let counts = each(parts, |k, scored| [0.0, thresholds[k]].map(|at| counted(scored, at)));
    let f1 = [0, 1].map(|which| {
        let sum = counts.iter().fold([0, 0], |[given, hits], of| [given + of[which][0], hits + of[which][1]]);
        f1_of(sum, all.positive)
    });
    let rows = parts.iter().map(|(_, held)| held.len()).sum();
    Tuned { thresholds: (f1[1] > f1[0]).then_some(thresholds), f1, rows }
}

/// A lower bound on the gain of a threshold, given the numbers of scores above it and of those with the label, before and after.
fn sure_gain(before: [usize; 2], after: [usize; 2], f1: f64) -> f64 {
    let [given, hits] = [0, 1].map(|k| after[k] as f64 - before[k] as f64);
    let (n, share) = (given.abs(), (hits.abs() + 1.0) / (given.abs() + 2.0));
    2.0 * hits - f1 * given - SURE * 2.0 * (n * share * (1.0 - share)).sqrt()
}

/// Goes from `from` towards `to`: the farther, the more rows with the label there are.
fn shrunk(from: f64, to: f64, positive: usize) -> f64 {
    from + (to - from) * positive as f64 / (positive as f64 + HALF)
}

fn f1_of([given, hits]: [usize; 2], positive: usize) -> f64 {
    2.0 * hits as f64 / (given + positive).max(1) as f64
}

/// The number of scores above a threshold, and of those with the label.
fn counted(scored: &[(f64, bool)], threshold: f64) -> [usize; 2] {
    let above = scored.iter().filter(|(score, _)| *score > threshold);
    above.fold([0, 0], |[given, hits], (_, has)| [given + 1, hits + usize::from(*has)])
}

/// Calls `of` with the number and the scored rows of each head, on all threads.
fn each<T: Send>(parts: &[Part], of: impl Fn(usize, &mut [(f64, bool)]) -> T + Sync) -> Vec<T> {
    let count = parts.first().map_or(0, |(heads, _)| heads.len());
    let group = |first: usize| {
        let mut all = vec![Vec::new(); WIDE.min(count - first)];
        for (heads, rows) in parts {
            let some = scores(&heads[first..first + all.len()], rows, first);
            all.iter_mut().zip(some).for_each(|(all, some)| all.extend(some));
        }
        all.into_iter().enumerate().map(|(l, mut scored)| of(first + l, &mut scored)).collect::<Vec<T>>()
    };
    let groups: Vec<Vec<T>> = (0..count.div_ceil(WIDE)).into_par_iter().map(|k| group(k * WIDE)).collect();
    groups.into_iter().flatten().collect()
}

/// The scores of all rows and whether they have the label, head by head.
fn scores(heads: &[Head], rows: &Task, first: usize) -> Vec<Vec<(f64, bool)>> {
    let (weights, sets) = (side_by_side(heads, rows.data.rows.columns()), sets(rows));
    let mut all = vec![Vec::with_capacity(rows.len()); heads.len()];
    for i in 0..rows.len() {
        let mut sums = [[0.0; WIDE]];
        rows.data.rows.borrow().gather(i, &weights, &mut sums);
        let [sums] = sums;
        for (l, (all, head)) in all.iter_mut().zip(heads).enumerate() {
            all.push((sums[l] + head.bias, sets.has(i, first + l)));
        }
    }
    all
}

/// For each threshold of the grid, the number of scores above it, and of those with the label.
#[derive(Clone, Debug)]
struct Counts {
    above: Vec<[usize; 2]>,
    positive: usize,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts { above: vec![[0, 0]; 2 * STEPS + 1], positive: 0 }
    }
}

impl Counts {
    fn of(scored: &[(f64, bool)]) -> Counts {
        let mut counts = Counts::default();
        for &(score, has) in scored {
            // The score is above the thresholds 0..cell of the grid.
            let cell = (score * PER_UNIT).ceil() + STEPS as f64;
            let cell = cell.clamp(0.0, 2.0 * STEPS as f64 + 1.0) as usize;
            if let Some(last) = cell.checked_sub(1) {
                let [given, hits] = &mut counts.above[last];
                (*given, *hits) = (*given + 1, *hits + usize::from(has));
            }
            counts.positive += usize::from(has);
        }
        let mut sum = [0, 0];
        for above in counts.above.iter_mut().rev() {
            sum = [sum[0] + above[0], sum[1] + above[1]];
            *above = sum;
        }
        counts
    }

    fn and(mut self, other: &Counts) -> Counts {
        self.above.iter_mut().zip(&other.above).for_each(|(a, b)| *a = [a[0] + b[0], a[1] + b[1]]);
        self.positive += other.positive;
        self
    }

    /// The threshold of the grid with the largest sure gain, and the largest F1 of the grid, which is the price of a score.
    fn best(&self) -> (f64, f64) {
        let f1 = self.above.iter().map(|above| f1_of(*above, self.positive)).fold(0.0, f64::max);
        let gain = |cell: usize| sure_gain(self.above[STEPS], self.above[cell], f1);
        let cells = 0..self.above.len();
        let best = cells.fold(STEPS, |best, cell| if gain(cell) > gain(best) { cell } else { best });
        ((best as f64 - STEPS as f64) / PER_UNIT, f1)
    }
}

/// The midpoint between two scores, or the highest score, with the largest sure gain over `common`, if there is a gain.
fn own_threshold(scored: &mut [(f64, bool)], common: f64, f1: f64) -> f64 {
    let before = counted(scored, common);
    let (mut best, mut threshold) = (0.0, common);
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let never = sure_gain(before, [0, 0], f1);
    if let (true, Some(&(highest, _))) = (never > best, scored.first()) {
        (best, threshold) = (never, highest); // no score is above it
    }
    let (mut given, mut hits) = (0, 0);
    for tied in scored.chunk_by(|a, b| a.0 == b.0) {
        given += tied.len();
        hits += tied.iter().filter(|(_, has)| *has).count();
        let gain = sure_gain(before, [given, hits], f1);
        if gain > best {
            let score = tied[0].0;
            let next = scored.get(given).map_or(score - 1.0, |(next, _)| *next);
            let middle = 0.5 * score + 0.5 * next;
            (best, threshold) = (gain, if middle < score { middle } else { next });
        }
    }
    threshold
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scored() -> impl Strategy<Value = Vec<(f64, bool)>> {
        let one = (-40i32..40, any::<bool>()).prop_map(|(score, has)| (f64::from(score) / 8.0, has));
        prop::collection::vec(one, 1..60)
    }

    proptest! {
        #[test]
        fn counts_of_the_grid_are_those_of_a_count(scored in scored()) {
            let counts = Counts::of(&scored);
            for (cell, above) in counts.above.iter().enumerate() {
                prop_assert_eq!(*above, counted(&scored, (cell as f64 - STEPS as f64) / PER_UNIT));
            }
        }

        #[test]
        fn no_threshold_has_a_larger_sure_gain(scored in scored(), f1 in 0.01f64..1.0, common in -2.0f64..2.0) {
            let gain = |at: f64| sure_gain(counted(&scored, common), counted(&scored, at), f1);
            let own = own_threshold(&mut scored.clone(), common, f1);
            let best = (-40..=40).map(|t| gain(f64::from(t) / 8.0 - 1e-3)).fold(0.0, f64::max);
            prop_assert!(own.is_finite() && (gain(own) - best).abs() < 1e-9);
        }

        #[test]
        fn neighbours_are_told_apart(score in -1e9f64..1e9) {
            let mut scored = [vec![(score, true); 50], vec![(score.next_down(), false); 50]].concat();
            let threshold = own_threshold(&mut scored, score + 1.0, 0.5);
            prop_assert!(score > threshold && score.next_down() <= threshold);
        }
    }

    #[test]
    fn a_gain_of_one_row_is_not_sure_and_that_of_many_is() {
        assert!(sure_gain([0, 0], [1, 1], 0.6) < 0.0 && sure_gain([0, 0], [20, 12], 0.6) > 0.0);
        assert!(sure_gain([20, 1], [0, 0], 0.6) > 0.0, "fewer wrong ones");
    }

    #[test]
    fn few_rows_with_a_label_move_its_threshold_little() {
        assert_eq!([0, 20, 180].map(|rows| shrunk(0.0, -1.0, rows)), [0.0, -0.5, -0.9]);
    }
}
