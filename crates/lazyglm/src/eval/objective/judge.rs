//! What a report says of one model on rows in memory.
//!
//! ```text
//! evaluate    F, violation, null model                  one pass over the rows
//! certify     the same and the dual value D ≤ F*        two passes: scores, from which the bias of the dual point follows, then
//!                                                       all gradients side by side; more for a piecewise-linear loss
//! ```

use super::balance::{balanced_slopes, curvature_of};
use super::evaluator::{Sums, dot, judge_rows};
use super::gap::{CLOSE, close_enough};
use super::gradients::Gradients;
use super::near_kinks::ascend;
use super::{CHUNK, Certificate, Dual, Evaluation, Evaluator, NullFigures, NullModel, ScoredRow, Worst};
use crate::data::rows::Examples;
use crate::problem::dual_point::{DualPoint, FewColumns};
use crate::problem::loss::Loss;
use crate::problem::penalty::WeightedPenalty;
use crate::problem::source::pooled_by_target;
use rayon::prelude::*;

/// Relative gap above which too many columns violate their constraints to look at them one by one.
const HOPEFUL: f64 = 0.9;

/// A model and the rows to judge it by.
pub(crate) struct Judge<'a> {
    pub examples: Examples<'a>,
    pub loss: &'a dyn Loss,
    pub weighted_penalty: WeightedPenalty<'a>,
    pub weights: &'a [f64],
    pub bias: Option<f64>,
    /// The figures of the null model, if they are known. Else the pass over the rows finds them, too.
    pub null: Option<NullFigures>,
}

impl Judge<'_> {
    /// F, its violation and the null model.
    pub fn evaluate(&self) -> Evaluation {
        self.evaluate_with_worst().0
    }

    fn evaluate_with_worst(&self) -> (Evaluation, Worst) {
        let nonzeros = self.examples.rows.nonzeros();
        let evaluator = Evaluator::new(self.loss, self.weights, self.bias, nonzeros);
        let mut evaluator = match self.null {
            Some(_) => evaluator,
            None => evaluator.with_null(self.null_model()),
        };
        evaluator.add(self.examples);
        evaluator.finish_all(self.examples, self.weighted_penalty, self.null)
    }

    fn null_model(&self) -> NullModel {
        NullModel::new(&pooled_by_target(self.examples), self.loss, self.bias.is_some())
    }

    /// The same, and a lower bound on F. `known` is a lower bound that the solver found, if any: it saves the passes near kinks.
    pub fn certify(&self, known: Option<f64>) -> (Evaluation, Certificate) {
        let &Judge { examples, loss, weighted_penalty, weights, bias, null } = self;
        if weighted_penalty.penalty.is_none() || examples.is_empty() {
            let (evaluation, worst) = self.evaluate_with_worst();
            return (evaluation, certificate(&evaluation, worst));
        }
        let one = |i: usize| ScoredRow {
            score: dot(examples.rows, i, weights) + bias.unwrap_or(0.0) + examples.offset(i),
            target: examples.targets[i],
            weight: examples.weight(i),
            offset: examples.offset(i),
        };
        let kept: Vec<ScoredRow> =
            (0..examples.len()).into_par_iter().with_min_len(CHUNK / 4).map(one).collect();
        let slopes = balanced_slopes(&kept, loss, bias.is_some());
        // With more columns than non-zeros, sums side by side would take more memory than the rows.
        let (evaluation, worst, gradient) = match null {
            _ if weights.len() > examples.rows.nonzeros() => {
                let (evaluation, worst) = self.evaluate_with_worst();
                (evaluation, worst, self.gradient(|i| kept[i].weight * slopes[i]))
            }
            Some(_) => self.all_gradients::<2>(&kept, &slopes),
            None => self.all_gradients::<4>(&kept, &slopes),
        };
        let bound = |slopes: &[f64], gradient: &[f64]| {
            let dual = Dual { examples, slopes, gradient, loss, weighted_penalty };
            certificate(&evaluation, worst).with_dual(dual)
        };
        let plain = bound(&slopes, &gradient);
        if let Some(known) = known {
            return (evaluation, plain.at_least(known));
        }
        let mut best = self.with_more_constraints(plain, &kept, &slopes, &gradient, &bound);
        let (mut idle, with_bias) = (0, bias.is_some());
        ascend(examples, loss, weighted_penalty, weights, with_bias, &kept, &slopes, &mut |slopes| {
            let before = best.dual;
            let gradient = self.gradient(|i| kept[i].weight * slopes[i]);
            best = bound(slopes, &gradient).dual.map_or(best, |dual| best.at_least(dual));
            idle += usize::from(best.dual <= before);
            idle < 2 && !close_enough(&best)
        });
        (evaluation, best)
    }

    /// A better certificate from derivatives that satisfy the constraints of columns without λ₂, if the plain one is loose but not hopeless.
    fn with_more_constraints(
        &self,
        plain: Certificate,
        kept: &[ScoredRow],
        slopes: &[f64],
        gradient: &[f64],
        bound: &dyn Fn(&[f64], &[f64]) -> Certificate,
    ) -> Certificate {
        let &Judge { examples, loss, weighted_penalty, bias, .. } = self;
        let constrained = weighted_penalty.penalty.l2 == 0.0 || weighted_penalty.factors.is_some();
        let constrained = constrained && !loss.has_kinks();
        let Some(gap) = plain.relative_gap.filter(|gap| constrained && *gap > CLOSE && *gap <= HOPEFUL)
        else {
            return plain;
        };
        let n = examples.len() as f64;
        let own: Vec<f64> = kept.iter().zip(slopes).map(|(row, u)| row.weight * u).collect();
        let curvature = curvature_of(kept, loss);
        let near = DualPoint {
            examples,
            loss,
            weighted_penalty,
            bias: bias.is_some(),
            own: &own,
            curvature: &curvature,
            weights: self.weights,
            objective: plain.objective,
            few: &|columns| Some(FewColumns::of(examples.rows, columns)),
        };
        let sums = |slopes: &[f64]| self.gradient(|i| slopes[i]).iter().map(|g| n * g).collect();
        let known = (gradient.iter().map(|g| n * g).collect(), gap);
        let mut best = plain;
        near.improve(own.clone(), Some(known), CLOSE, sums, |slopes, gradient| {
            let unweighted =
                |(u, row): (&f64, &ScoredRow)| if row.weight == 0.0 { 0.0 } else { u / row.weight };
            let slopes: Vec<f64> = slopes.iter().zip(kept).map(unweighted).collect();
            let gradient: Vec<f64> = gradient.iter().map(|g| g / n).collect();
            let found = bound(&slopes, &gradient);
            best = found.dual.map_or(best, |dual| best.at_least(dual));
            found.relative_gap.unwrap_or(f64::INFINITY)
        });
        best
    }

    /// The evaluation, and the mean gradient of the dual point, in one pass: the gradients at the weights, at the dual point and,
    /// if its figures are not known, of the null model side by side. N is a power of two, so that no group of sums crosses a cache
    /// line.
    fn all_gradients<const N: usize>(
        &self,
        kept: &[ScoredRow],
        slopes: &[f64],
    ) -> (Evaluation, Worst, Vec<f64>) {
        let &Judge { examples, loss, weighted_penalty, weights, bias, null: known } = self;
        let null = (N > 2).then(|| self.null_model());
        let of_null = null.as_ref().map(|null| null.slopes(loss, examples));
        let mut gradients = Gradients::<N>::new(weights.len(), examples.rows.nonzeros());
        let parts = gradients.add(examples.rows, |rows, out, [of_losses, of_slopes]| {
            let first = rows.start;
            judge_rows(
                examples,
                loss,
                rows,
                |i| kept[i].score,
                |i, of_loss, here| {
                    (*of_losses, *of_slopes) = (*of_losses + of_loss, *of_slopes + here);
                    let out = &mut out[i - first];
                    (out[0], out[1]) = (here, kept[i].weight * slopes[i]);
                    if let Some(of_null) = &of_null {
                        out[2] = of_null(i);
                    }
                },
            );
        });
        drop(of_null);
        let (total, n) = (gradients.total(), examples.len() as f64);
        let sums = parts.iter().fold([0.0; 2], |sum, part| [sum[0] + part[0], sum[1] + part[1]]);
        let gradient_of_null = || total.par_iter().map(|sums| sums[2]).collect();
        let null =
            null.map(|null| null.with_gradient(gradient_of_null(), examples, loss).figures()).or(known);
        let found = Sums { total: &total, sums, rows: examples.len() };
        let (evaluation, worst) = found.evaluation(weighted_penalty, weights, bias.is_some(), null);
        (evaluation, worst, total.par_iter().map(|sums| sums[1] / n).collect())
    }

    /// The mean gradient of the given loss derivatives.
    fn gradient(&self, slope: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
        let nonzeros = self.examples.rows.nonzeros();
        let mut evaluator = Evaluator::new(self.loss, self.weights, self.bias, nonzeros);
        evaluator.add_derivatives(self.examples, slope);
        evaluator.total_gradient()
    }
}

/// The certificate without a lower bound.
fn certificate(evaluation: &Evaluation, worst: Worst) -> Certificate {
    Certificate {
        objective: evaluation.objective.total(),
        dual: None,
        relative_gap: None,
        kkt: evaluation.violation,
        worst,
    }
}
