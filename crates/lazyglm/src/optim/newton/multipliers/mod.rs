//! The optimum of F for a piecewise-linear loss, with a certificate: dual coordinate ascent, then the proximal
//! method of multipliers with Newton steps.
//!
//! ```text
//! ωᵢℓ(s) = max over a in [loᵢ, hiᵢ] of a(tᵢ − s) − ε|a|              A = Xᵀa
//! n·D(a) = Σ (aᵢtᵢ − ε|aᵢ|) − Σⱼ (|Aⱼ| − nλ₁)₊²/(2nλ₂)               Σa = 0 if there is a bias
//! ```
//!
//! Dual coordinate ascent (`ascent`) is fastest if λ₁ = 0 and either there are many columns, as in text, or λ₂ is not
//! small. Otherwise a few epochs of it give a starting point. The method of multipliers (`steps`) replaces the loss by a smooth one, whose
//! Newton steps use the quadratic model of this solver. Both offer points and dual variables to `bound`, which keeps
//! the best of each: D falls after each multiplier step and recovers.
//!
//! The solver stops at a gap of the tolerance times max(F, F₀/1000), where F₀ is the objective of the null model.

mod ascent;
mod bound;
mod pieces;
mod steps;

use super::{From, Newton, NewtonProgress, NewtonStop, Reached, Solution};
use crate::data::rows::Value;
use crate::optim::kernel::Columns;
use crate::problem::penalty::ElasticNet;
use ascent::Ascent;
use bound::Best;
pub(super) use pieces::Pieces;
use rayon::prelude::*;
use std::sync::OnceLock;
use steps::{Limits, Multipliers};

/// Epochs of dual coordinate ascent before the method of multipliers.
const EPOCHS: usize = 5;
/// With more than one column per this many rows, dual coordinate ascent may run to the end.
const WIDE: usize = 20;
/// With fewer columns, dual coordinate ascent may do so if nλ₂ is at least this share of mean‖x‖².
const CONDITION: f64 = 0.05;
/// Patience with dual coordinate ascent if there are many columns: the method of multipliers then takes as long as
/// hundreds of passes.
const PATIENT: Patience = Patience { trial: 100.0, most: 1000.0 };
/// Patience with dual coordinate ascent if there are few columns.
const IMPATIENT: Patience = Patience { trial: 15.0, most: 100.0 };
/// An evaluation follows once epochs have cost this many passes since the last one.
const EVALUATE_AFTER: f64 = 3.3;
/// An evaluation follows once the violation among active rows has fallen to this share.
const SOLVED: f64 = 0.03;
/// Maximum number of epochs between evaluations.
const MOST_EPOCHS: usize = 100;

/// How long dual coordinate ascent may run, in passes over all rows.
#[derive(Clone, Copy)]
struct Patience {
    /// After this many passes, the gaps so far must promise an end.
    trial: f64,
    /// The passes within which they must promise it.
    most: f64,
}

impl<V: Value> Newton<'_, V> {
    /// The minimiser of a problem with a piecewise-linear loss.
    pub(super) fn run_on_kinks(
        &self,
        view: &OnceLock<Columns<V>>,
        pieces: &Pieces,
        from: From,
        watch: &mut dyn FnMut(&NewtonProgress) -> bool,
    ) -> Solution {
        let width = self.problem.examples.rows.columns();
        let mut best = Best::new(pieces, width, self.problem.bias);
        let mut limits = Limits { steps: 0, most_steps: self.options.steps, work: self.bounds.work };
        let mut look = |best: &Best, steps: usize| {
            let nonzeros = best.weights.iter().filter(|w| **w != 0.0).count();
            let (objective, gap) = (best.objective / self.n, best.relative_gap());
            watch(&NewtonProgress { steps, objective, nonzeros, gap })
        };
        let stop = self.minimise(view, from, pieces, &mut best, &mut limits, &mut look);
        let dual = (!self.problem.weighted_penalty.penalty.is_none() && self.n > 0.0)
            .then(|| best.verified_dual(self, pieces) / self.n);
        let (weights, bias, predicted_decrease) = (best.weights, best.bias, best.estimate);
        Solution { weights, bias, stop, steps: limits.steps, predicted_decrease, dual }
    }

    fn minimise(
        &self,
        view: &OnceLock<Columns<V>>,
        from: From,
        pieces: &Pieces,
        best: &mut Best,
        limits: &mut Limits,
        look: &mut dyn FnMut(&Best, usize) -> bool,
    ) -> NewtonStop {
        let (penalty, rows) = (&self.problem.weighted_penalty, self.problem.examples.rows);
        if rows.is_empty() || best.relative_gap() == 0.0 {
            return NewtonStop::Gap; // the perceptron's loss is zero without weights
        }
        let ElasticNet { l1, l2 } = penalty.penalty;
        let ridge = l1 == 0.0 && l2 > 0.0 && penalty.factors.is_none_or(|factors| !factors.contains(&0.0));
        let wide = rows.columns() * WIDE > rows.len();
        let From { weights: start, reached } = from;
        let at = match (reached.take(), start) {
            (Some(here), _) if !(ridge && wide) => here,
            // Dual coordinate ascent has no use for weights.
            (None, Some((weights, bias))) if !(ridge && wide) => {
                Reached::on_kinks(weights.to_vec(), bias, vec![0.0; rows.len()])
            }
            (here, _) => {
                let square = |i: usize| rows.row(self.values, i).iter().map(|(_, x)| x * x).sum::<f64>();
                let squares: Vec<f64> = (0..rows.len()).map(square).collect();
                let mean = squares.iter().sum::<f64>() / self.n;
                let patience = match () {
                    () if ridge && wide => Some(PATIENT),
                    () if ridge && self.n * l2 >= CONDITION * mean => Some(IMPATIENT),
                    () => None,
                };
                let least = patience.map_or(mean.clamp(f64::MIN_POSITIVE, f64::MAX), |_| 0.0);
                let mut ascent = Ascent::new(self, squares, least, best.bias);
                if let Some(here) = here {
                    ascent.begin_at(self, here.duals(), here.point.bias);
                }
                let stop = self.ascend(&mut ascent, patience, pieces, best, limits, look);
                let here = Reached::on_kinks(ascent.weights(), ascent.bias(), ascent.duals);
                if let Some(stop) = stop {
                    *reached = Some(here);
                    return stop;
                }
                here
            }
        };
        let mut multipliers = Multipliers::new(self, pieces, self.columns(view), at);
        let stop = multipliers.run(best, limits, look);
        *reached = (stop != NewtonStop::Diverged).then(|| multipliers.end());
        stop
    }

    /// Runs dual coordinate ascent for a few epochs, or with patience until it ends or does not promise to. `None` if
    /// the method of multipliers should go on.
    fn ascend(
        &self,
        ascent: &mut Ascent,
        patience: Option<Patience>,
        pieces: &Pieces,
        best: &mut Best,
        limits: &mut Limits,
        look: &mut dyn FnMut(&Best, usize) -> bool,
    ) -> Option<NewtonStop> {
        let alone = patience.is_some();
        let nonzeros = self.problem.examples.rows.nonzeros().max(1);
        let (mut passes, mut gaps) = (0.0, vec![(0.0, best.relative_gap())]);
        loop {
            let (mut since, mut epochs, first) = (0, 0, ascent.violation);
            let most = if alone { MOST_EPOCHS } else { EPOCHS };
            while epochs < most && (!alone || (since as f64) < EVALUATE_AFTER * nonzeros as f64) {
                since += ascent.epoch(self, pieces);
                epochs += 1;
                if self.bounds.interrupted() || since >= limits.work {
                    break;
                }
                if first.is_finite() && ascent.violation <= SOLVED * first {
                    break;
                }
            }
            ascent.evaluate(self, pieces, best);
            limits.steps += 1;
            passes += since as f64 / nonzeros as f64 + 1.0;
            limits.work = limits.work.saturating_sub(since + nonzeros);
            let gap = best.relative_gap();
            gaps.push((passes, gap));
            if !look(best, limits.steps) || self.bounds.interrupted() {
                return Some(NewtonStop::Interrupted);
            }
            if gap <= self.options.tolerance && limits.steps >= self.bounds.least_steps {
                return Some(NewtonStop::Gap);
            }
            if limits.steps >= limits.most_steps || limits.work == 0 {
                return Some(NewtonStop::Steps);
            }
            // The gap falls geometrically, so two of them tell when it will be small enough.
            let then = gaps.iter().rev().find(|(then, _)| *then <= 0.5 * passes).unwrap_or(&gaps[0]);
            let rate = (then.1 / gap).ln() / (passes - then.0);
            let needed = passes + (gap / self.options.tolerance).ln() / rate.max(0.0);
            if !patience.is_some_and(|patience| needed <= patience.most || passes < patience.trial) {
                return None;
            }
        }
    }

    /// The scores without bias.
    fn scores(&self, weights: &[f64]) -> Vec<f64> {
        let rows = self.problem.examples.rows;
        let one = |i: usize| rows.row(self.values, i).dot_in_four_sums(|j| weights[j]);
        (0..rows.len()).into_par_iter().with_min_len(1024).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bounds, From, NewtonStop, Options, Problem, View, solve_on};
    use crate::problem::penalty::{ElasticNet, WeightedPenalty};
    use crate::problem::synth;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn an_interrupt_ends_the_steps_on_kinks_without_another_evaluation() {
        let shape = synth::Shape { rows: 600, features: 300, ..Default::default() };
        let task = synth::documents(&shape).task;
        let loss = crate::problem::loss::parse("hinge").unwrap();
        for (l1, l2) in [(1e-4, 0.0), (0.0, 1e-7), (1e-4, 1e-4)] {
            for call in 0..3 {
                let flag = AtomicBool::new(false);
                let weighted_penalty = WeightedPenalty::of(ElasticNet { l1, l2 });
                let problem =
                    Problem { examples: task.examples(), loss: &*loss, weighted_penalty, bias: true };
                let options = Options { tolerance: 1e-12, steps: 1000 };
                let bounds = Bounds { interrupt: Some(&flag), ..Bounds::none() };
                let mut calls = 0;
                let from = From { weights: None, reached: &mut None };
                let found = solve_on(&View::default(), &problem, from, &options, bounds, &mut |_| {
                    flag.fetch_or(calls == call, Ordering::Relaxed);
                    calls += 1;
                    true
                });
                assert_eq!(found.stop, NewtonStop::Interrupted, "{l1} {l2} at call {call}");
                assert_eq!(calls, call + 1, "{l1} {l2}: the step after the interrupt was finished");
            }
        }
    }
}
