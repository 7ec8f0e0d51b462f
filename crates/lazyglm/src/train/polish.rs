//! Coordinate steps at the end of scikit-learn's `fit` with an ℓ₁ penalty, on the weights that the zero test leaves.
//!
//! ```text
//! h(w) = (Σᵢ ωᵢ·xᵢⱼ·ℓ′(sᵢ + (w − wⱼ)xᵢⱼ, yᵢ))/n        the slope of the loss along wⱼ
//! wⱼ ← 0                      if |h(0)| ≤ λ₁
//! wⱼ ← towards the zero of    h(w) + λ₁·sign w + λ₂w,  and not beyond it
//! ```
//!
//! The objective is convex in wⱼ, so that a step towards its minimum never raises it. The bias makes such steps, too, with x = 1 and without a
//! penalty. Columns are gathered some at a time: the memory is at most an eighth of the rows, or 12 MB.
//!
//! Steps of single weights get stuck where a loss has kinks. So they first see the loss as its mean over scores within ±δ, with a δ that falls:
//! its slope is (ℓ(s + δ) − ℓ(s − δ))/2δ. The result has the lowest objective of all these stages, that of the start included.

use super::side_by_side::Look;
use crate::problem::lent::Lent;
use crate::problem::loss::Loss;
use crate::problem::penalty::ElasticNet;
use crate::problem::source::Source;
use crate::util::error::Result;

/// Values of columns that are gathered together, or an eighth of all of them if that is more.
const BLOCK: usize = 1 << 20;
/// The most visits of a block of columns.
const ROUNDS: usize = 6;
/// The most steps of each weight in a visit.
const SWEEPS: usize = 8;
/// The steps end after a round that lowers the objective by a smaller share.
const LITTLE: f64 = 1e-4;
/// The steps for one δ end after looking at so many times the values of all rows,
const WORK: u64 = 2;
/// or at so many values, if that is more: some milliseconds.
const LEAST_WORK: u64 = 1_000_000;
/// The most slopes that a step looks at.
const SLOPES: usize = 5;
/// The values of δ for losses with kinks.
const WIDTHS: [f64; 3] = [0.5, 0.15, 0.0];

/// Weights that are not zero, by column, and the bias.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polished {
    /// The columns, ascending.
    pub columns: Vec<u32>,
    /// Their weights.
    pub weights: Vec<f64>,
    /// The bias.
    pub bias: f64,
}

/// The rows and their scores.
struct Rows<'a> {
    loss: &'a dyn Loss,
    lent: &'a Lent<'a>,
    scores: Vec<f64>, // by number of the row
    n: f64,
    seen: u64,  // values that were looked at
    width: f64, // δ
}

/// Lowers the objective by coordinate steps from weights and bias; only weights that are not zero move, and the bias if `has_bias`.
pub fn polish(
    loss: &dyn Loss,
    lent: &Lent,
    penalty: ElasticNet,
    (weights, bias, has_bias): (&[f64], f64, bool),
    look: Look,
) -> Result<Polished> {
    let kept: Vec<u32> = (0..weights.len() as u32).filter(|&j| weights[j as usize] != 0.0).collect();
    let scores = vec![0.0; lent.targets.len()];
    let mut rows = Rows { loss, lent, scores, n: lent.rows() as f64, seen: 0, width: 0.0 };
    let (counts, values) = rows.score(&kept, weights, bias, look)?;
    let mut model = Model { weights: weights.to_vec(), bias, has_bias, penalty };
    let mut best = (rows.objective(&model), model.clone());
    let plan = Plan { blocks: blocks(&counts), kept: &kept, counts: &counts, values };
    let widths = if loss.has_kinks() { &WIDTHS[..] } else { &WIDTHS[WIDTHS.len() - 1..] };
    for &width in widths {
        (rows.width, rows.seen) = (width, 0);
        rows.rounds(&plan, &mut model, LEAST_WORK.max(WORK * values), look)?;
        rows.width = 0.0;
        let objective = rows.objective(&model);
        if objective <= best.0 {
            best = (objective, model.clone());
        }
    }
    let Model { weights, bias, .. } = best.1;
    let columns: Vec<u32> = kept.into_iter().filter(|&j| weights[j as usize] != 0.0).collect();
    let weights = columns.iter().map(|&j| weights[j as usize]).collect();
    Ok(Polished { columns, weights, bias })
}

/// All weights and the bias.
#[derive(Clone)]
struct Model {
    weights: Vec<f64>,
    bias: f64,
    has_bias: bool,
    penalty: ElasticNet,
}

/// The columns that move, the number of their values, and which of them are gathered together.
struct Plan<'a> {
    blocks: Vec<std::ops::Range<usize>>,
    kept: &'a [u32],
    counts: &'a [usize],
    values: u64, // of all rows
}

/// Which columns are gathered together, by the number of their values.
fn blocks(counts: &[usize]) -> Vec<std::ops::Range<usize>> {
    let most = BLOCK.max(counts.iter().sum::<usize>().div_ceil(8));
    let (mut blocks, mut start, mut values) = (Vec::new(), 0, 0);
    for (k, count) in counts.iter().enumerate() {
        if k > start && values + count > most {
            blocks.push(start..k);
            (start, values) = (k, 0);
        }
        values += count;
    }
    blocks.push(start..counts.len());
    blocks
}

/// Columns of the rows, one after the other.
#[derive(Default)]
struct Columns {
    ids: Vec<u32>,
    ends: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f64>,
}

impl Columns {
    /// The rows and values of a column.
    fn entries(&self, k: usize) -> impl Iterator<Item = (usize, f64)> + Clone + '_ {
        let start = if k == 0 { 0 } else { self.ends[k - 1] };
        let range = start..self.ends[k];
        self.rows[range.clone()].iter().zip(&self.values[range]).map(|(&i, &x)| (i as usize, x))
    }
}

/// All rows as the column of the bias.
fn all<'a>(lent: &'a Lent<'a>) -> impl Iterator<Item = (usize, f64)> + Clone + 'a {
    let number = |k| lent.subset.map_or(k, |subset| subset[k] as usize);
    (0..lent.rows()).map(move |k| (number(k), 1.0))
}

impl Rows<'_> {
    /// Scores all rows. Returns the number of values of each column of a list, and that of all columns.
    fn score(&mut self, kept: &[u32], weights: &[f64], bias: f64, look: Look) -> Result<(Vec<usize>, u64)> {
        let (mut counts, mut values) = (vec![0_usize; weights.len()], 0);
        self.lent.pass(&mut |batch| {
            look()?;
            let examples = batch.examples();
            for i in batch.order.iter().map(|&i| i as usize) {
                self.scores[(batch.number)(i) as usize] = examples.score(i, weights, bias);
                examples.rows.for_each(i, |j, _| {
                    counts[j] += 1;
                    values += 1;
                });
            }
            Ok(())
        })?;
        Ok((kept.iter().map(|&j| counts[j as usize]).collect(), values))
    }

    /// Steps of all weights, round by round, until they lower the objective by little.
    fn rounds(&mut self, plan: &Plan, model: &mut Model, most: u64, look: Look) -> Result<()> {
        let (mut before, mut block) = (self.objective(model), Columns::default());
        let nothing = ElasticNet { l1: 0.0, l2: 0.0 };
        for _ in 0..ROUNDS {
            for part in &plan.blocks {
                if plan.blocks.len() > 1 || block.ids.is_empty() {
                    let (kept, counts) = (&plan.kept[part.clone()], &plan.counts[part.clone()]);
                    block = self.gather(kept, counts, model.weights.len(), look)?;
                    self.seen += plan.values;
                }
                for _ in 0..SWEEPS {
                    look()?;
                    let moved = self.sweep(&block, model.penalty, &mut model.weights, look)?;
                    if model.has_bias {
                        model.bias = self.step(all(self.lent), nothing, model.bias);
                    }
                    if !moved || self.seen > most {
                        break;
                    }
                }
            }
            let after = self.objective(model);
            if self.seen > most || before - after <= LITTLE * before.abs() {
                break;
            }
            before = after;
        }
        Ok(())
    }

    /// The values of some columns.
    fn gather(&self, ids: &[u32], counts: &[usize], columns: usize, look: Look) -> Result<Columns> {
        let mut next = vec![usize::MAX; columns]; // where the next value of a column goes
        let (mut ends, mut end) = (Vec::with_capacity(ids.len()), 0);
        for (&j, count) in ids.iter().zip(counts) {
            next[j as usize] = end;
            end += count;
            ends.push(end);
        }
        let (mut rows, mut values) = (vec![0; end], vec![0.0; end]);
        self.lent.pass(&mut |batch| {
            look()?;
            for i in batch.order.iter().map(|&i| i as usize) {
                let row = (batch.number)(i) as u32;
                batch.rows.for_each(i, |j, x| {
                    if next[j] != usize::MAX {
                        (rows[next[j]], values[next[j]]) = (row, x);
                        next[j] += 1;
                    }
                });
            }
            Ok(())
        })?;
        Ok(Columns { ids: ids.to_vec(), ends, rows, values })
    }

    /// A step of each weight of a block; whether any moved by a thousandth of itself.
    fn sweep(
        &mut self,
        block: &Columns,
        penalty: ElasticNet,
        weights: &mut [f64],
        look: Look,
    ) -> Result<bool> {
        let mut moved = false;
        for (k, &j) in block.ids.iter().enumerate() {
            if k % 256 == 255 {
                look()?;
            }
            let weight = &mut weights[j as usize];
            let now = self.step(block.entries(k), penalty, *weight);
            moved |= (now - *weight).abs() > 1e-3 * weight.abs();
            *weight = now;
        }
        Ok(moved)
    }

    /// A step of the weight of a column, after which scores are up to date; the weight.
    fn step(
        &mut self,
        entries: impl Iterator<Item = (usize, f64)> + Clone,
        penalty: ElasticNet,
        weight: f64,
    ) -> f64 {
        let second = self.second_derivative(entries.clone()) + penalty.l2;
        let mut seen = 0;
        let mut slope = |w: f64| {
            let of_row = |(i, x): (usize, f64)| {
                seen += 1;
                self.weight(i) * x * self.slope(self.scores[i] + (w - weight) * x, self.lent.targets[i])
            };
            entries.clone().map(of_row).sum::<f64>() / self.n
        };
        let now = nearer(&mut slope, second, penalty, weight);
        self.seen += seen;
        if now != weight {
            entries.for_each(|(i, x)| self.scores[i] += (now - weight) * x);
        }
        now
    }

    /// ℓ′, or that of its mean over scores within ±δ.
    fn slope(&self, score: f64, target: f64) -> f64 {
        match self.width > 0.0 {
            true => {
                (self.loss.value(score + self.width, target) - self.loss.value(score - self.width, target))
                    / (2.0 * self.width)
            }
            false => self.loss.slope(score, target),
        }
    }

    /// The second derivative of the loss along a weight. For a loss with kinks, a guess: how fast its slope changes nearby.
    fn second_derivative(&self, entries: impl Iterator<Item = (usize, f64)>) -> f64 {
        let near = if self.width > 0.0 { self.width } else { 0.5 };
        let of_row = |(i, x): (usize, f64)| {
            let (weight, score) = (self.weight(i), self.scores[i]);
            let target = self.lent.targets[i];
            let second = self.loss.second_derivative(score, target).unwrap_or_else(|| {
                (self.loss.slope(score + near, target) - self.loss.slope(score - near, target)) / (2.0 * near)
            });
            weight * x * x * second.max(1e-6)
        };
        entries.map(of_row).sum::<f64>() / self.n
    }

    fn weight(&self, i: usize) -> f64 {
        self.lent.weights.map_or(1.0, |weights| weights[i])
    }

    fn objective(&self, model: &Model) -> f64 {
        let of_row =
            |(i, _): (usize, f64)| self.weight(i) * self.mean_loss(self.scores[i], self.lent.targets[i]);
        all(self.lent).map(of_row).sum::<f64>() / self.n + model.penalty.value(&model.weights)
    }

    /// ℓ, or about its mean over scores within ±δ, by Simpson's rule.
    fn mean_loss(&self, score: f64, target: f64) -> f64 {
        let at = |shift: f64| self.loss.value(score + shift, target);
        match self.width > 0.0 {
            true => (at(-self.width) + 4.0 * at(0.0) + at(self.width)) / 6.0,
            false => at(0.0),
        }
    }
}

/// A weight nearer to the minimum of a convex function, on the same side of it, or zero if that is the minimum. `slope` is the slope of the loss,
/// and `second` its second derivative, or a guess.
fn nearer(slope: &mut dyn FnMut(f64) -> f64, second: f64, penalty: ElasticNet, weight: f64) -> f64 {
    let ElasticNet { l1, l2, .. } = penalty;
    let here = slope(weight);
    let mut side = weight.signum();
    if weight == 0.0 {
        if here.abs() <= l1 {
            return 0.0;
        }
        side = -here.signum();
    }
    let mut near = (weight, here + l1 * side + l2 * weight);
    let mut far: Option<(f64, f64)> = None;
    if l1 > 0.0 && weight != 0.0 && near.1 * side > 0.0 {
        let there = slope(0.0);
        if there.abs() <= l1 {
            return 0.0;
        }
        match there * side < 0.0 {
            true => far = Some((0.0, there + l1 * side)),
            false => {
                side = -side;
                near = (0.0, there + l1 * side);
            }
        }
    }
    let (enough, mut second) = (0.1 * near.1.abs(), second);
    for k in 0..SLOPES {
        if near.1.abs() <= enough || second <= 0.0 || second.is_nan() {
            break;
        }
        let guess = match far {
            None => near.0 - near.1 / second,
            Some((w, _)) if k % 2 == 1 => 0.5 * (near.0 + w),
            Some((w, d)) => near.0 - near.1 * (w - near.0) / (d - near.1),
        };
        let d = slope(guess) + l1 * side + l2 * guess;
        match d * near.1 >= 0.0 {
            true => {
                near = (guess, d);
                second *= 0.5;
            }
            false => far = Some((guess, d)),
        }
    }
    if near.0.is_finite() { near.0 } else { weight }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, blocks};

    #[test]
    fn columns_are_gathered_in_blocks_of_an_eighth_or_a_million_values() {
        assert_eq!(blocks(&[])[..], vec![0..0; 1]);
        assert_eq!(blocks(&[3, 0, 5])[..], vec![0..3; 1]);
        assert_eq!(blocks(&[BLOCK, 1, BLOCK - 1, 2 * BLOCK]), [0..1, 1..3, 3..4]);
        let many = blocks(&vec![BLOCK; 80]);
        assert_eq!((many.len(), many[0].clone()), (8, 0..10));
    }
}
