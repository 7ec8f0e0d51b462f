//! The optimum for a loss with kinks and rows on disk: the loss is smoothed, and ever less.
//!
//! ```text
//! ℓ_μ(s) = max over a in [low, high] of a(t − s) − ε|a| − ½μa²        F_μ ≤ F
//! rounds    w, b ← argmin F_μ, from the last point
//! pass      F(w, b), and the lower bound at the derivatives −a of ℓ_μ, which are between the slopes beside a kink
//! μ ← μ/4, until the gap is within the tolerance, or falls no more
//! ```
//!
//! The bound is that of ℓ itself: −a is in the domain of its conjugate. So smoothing costs μ·a(1 − a) per row near a kink at most,
//! and nothing elsewhere. In memory, multipliers save the last powers of ten of μ; here they would need a number per row.

use super::counted;
use super::rounds::{Outcome, Rounds, Until};
use crate::eval::objective::{Evaluation, NullModel, StreamedGap};
use crate::model::report::Stop;
use crate::model::trained::Trained;
use crate::problem::loss::{Admits, LinearPieces, Loss};
use crate::problem::settings::{Settings, Start};
use crate::problem::source::{About, Pooled, Problem, See, Sequence, Source};
use crate::train::job::Job;
use crate::train::newton::check_kinks;
use crate::train::progress::Progress;
use crate::util::checkpoint::Key;
use crate::util::error::{Kind, Place, Result};
use crate::util::number::positive_part;
use std::borrow::Cow;
use std::sync::Arc;

/// The first width, relative to the loss without weights.
const FIRST: f64 = 0.5;
/// Each width is this share of the last one: the solution for one width is then a good start for the next.
const NARROWER: f64 = 0.25;
/// Largest number of widths.
const WIDTHS: i32 = 12;
/// Widths in a row that may leave more than this share of the gap.
const IDLE: usize = 2;
const LEFT: f64 = 0.8;
/// Tolerance at the first width; it falls with the width,
const ROUGH: f64 = 1e-2;
/// down to this share of the tolerance.
const SHARE: f64 = 0.3;

/// Trains to a duality gap within the tolerance, if the columns fit into memory.
pub(super) fn train(job: &Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Outcome> {
    let settings = job.settings;
    check_kinks(job.loss(), settings)?;
    let null = || NullModel::new(&job.problem.pooled(), job.loss(), settings.bias);
    let unit = Some(null().baseline).filter(|baseline| *baseline > 0.0).unwrap_or(1.0);
    let (mut best, mut bound): (Option<Trained>, Option<f64>) = (None, None);
    let (mut passes, mut steps, mut seconds) = (0, 0, 0.0);
    let (mut start, mut last, mut idle) = (settings.start.clone(), f64::INFINITY, 0);
    for k in 0..WIDTHS {
        let share = NARROWER.powi(k);
        let loss: Arc<dyn Loss> =
            Arc::new(Smoothed { of: job.problem.loss().clone(), width: FIRST * unit * share });
        let problem = SmoothedRows { problem: job.problem, loss: &loss, width: share };
        let tolerance = (SHARE * settings.tolerance).max(ROUGH * share);
        let settings = Settings { start: start.clone(), tolerance, ..settings.clone() };
        let of_width = Job { problem: &problem, settings: &settings, ..*job };
        let found = Rounds::begin(&of_width, Until::Gap, watch).and_then(Rounds::run);
        let mut trained = match (found, &mut best) {
            (Ok(Outcome::Done(trained)), _) => *trained,
            (Ok(Outcome::TooLarge { start, passes: more }), _) => {
                return Ok(Outcome::TooLarge { start, passes: passes + more });
            }
            (Err(error), Some(best)) if matches!(error.kind(), Kind::Interrupted) => {
                best.report.stop = Stop::Interrupted;
                break;
            }
            (Err(error), _) => return Err(error),
        };
        let narrowed = evaluate(job, &trained, &*loss, null())?;
        (passes, steps) = (passes + trained.report.passes.unwrap_or(0) + 1, steps + trained.report.epochs);
        seconds += trained.report.seconds_train;
        bound = bound.into_iter().chain(narrowed.bound).reduce(f64::max);
        enter(&mut trained, &narrowed.evaluation);
        start = Some(Arc::new(Start::one(trained.weights.clone(), trained.bias)));
        let stop = trained.report.stop;
        if !best.as_ref().is_some_and(|best| best.report.objective <= trained.report.objective) {
            best = Some(trained);
        }
        let Some(kept) = &mut best else { break };
        (kept.report.dual, kept.report.relative_gap) = (bound, bound.map(|bound| gap(kept, bound)));
        (kept.report.passes, kept.report.epochs, kept.report.seconds_train) = (Some(passes), steps, seconds);
        kept.report.stop = match kept.report.relative_gap {
            _ if stop == Stop::Interrupted => Stop::Interrupted,
            Some(gap) if gap <= job.settings.tolerance => Stop::Gap,
            _ => Stop::Steps,
        };
        let left = kept.report.relative_gap.unwrap_or(f64::INFINITY);
        idle = if left <= LEFT * last { 0 } else { idle + 1 };
        last = last.min(left);
        if kept.report.stop != Stop::Steps || idle == IDLE {
            break;
        }
    }
    let mut trained = best.ok_or(Kind::Interrupted)?;
    trained.report.predicted_decrease = None;
    let note = format!(
        "rows on disk: the loss was smoothed, and ever less, since it has kinks; {} over the rows in all",
        counted(passes)
    );
    trained.notes.push(note);
    Ok(Outcome::Done(Box::new(trained)))
}

/// The distance of a model from a lower bound, relative to its objective.
fn gap(trained: &Trained, bound: f64) -> f64 {
    let gap = positive_part(trained.report.objective - bound);
    if gap == 0.0 { 0.0 } else { gap / trained.report.objective.abs() }
}

/// What a pass found at a point.
struct Narrowed {
    evaluation: Evaluation,
    bound: Option<f64>,
}

/// F at a point, and the lower bound at the derivatives of the smoothed loss.
fn evaluate(job: &Job, trained: &Trained, smooth: &dyn Loss, null: NullModel) -> Result<Narrowed> {
    let (settings, problem) = (job.settings, job.problem);
    let (weighted_penalty, bias) = (settings.weighted_penalty(), settings.bias.then_some(trained.bias));
    let sums = StreamedGap::new(job.loss(), &trained.weights, bias, problem.nonzeros());
    let mut sums = sums.with_null(null).with_derivatives_of(smooth);
    problem.pass(&mut |batch| {
        sums.add(batch.examples());
        Ok(())
    })?;
    let (evaluation, worst, dual) = sums.finish(weighted_penalty);
    let bound = dual.certify(&evaluation, worst, weighted_penalty).dual;
    Ok(Narrowed { evaluation, bound })
}

/// Replaces the figures of the smoothed loss in a report by those of the loss.
fn enter(trained: &mut Trained, evaluation: &Evaluation) {
    let report = &mut trained.report;
    let Evaluation { objective, violation, l1_max, baseline } = evaluation;
    (report.objective, report.loss, report.penalty) = (objective.total(), objective.loss, objective.penalty);
    (report.violation, report.l1_max, report.baseline) = (*violation, *l1_max, *baseline);
}

/// A piecewise-linear loss, smoothed.
#[derive(Debug)]
struct Smoothed {
    of: Arc<dyn Loss>,
    width: f64, // μ
}

impl Smoothed {
    /// The maximiser a, the loss, and whether a is free to move.
    fn dual(&self, score: f64, target: f64) -> (f64, f64, bool) {
        let Some(LinearPieces { centre, epsilon, low, high }) = self.of.linear_pieces(target) else {
            return (-self.of.slope(score, target), self.of.value(score, target), false);
        };
        let short = centre - score;
        let beyond = short.signum() * positive_part(short.abs() - epsilon);
        let a = (beyond / self.width).clamp(low, high);
        let value = a * short - epsilon * a.abs() - 0.5 * self.width * a * a;
        (a, value, low < a && a < high && (a != 0.0 || epsilon == 0.0))
    }
}

impl Loss for Smoothed {
    fn spec(&self) -> String {
        self.of.spec()
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        self.dual(score, target).1
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        -self.dual(score, target).0
    }

    fn curvature(&self) -> Option<f64> {
        Some(1.0 / self.width)
    }

    fn gradient_bound(&self) -> f64 {
        self.of.gradient_bound()
    }

    fn second_derivative(&self, score: f64, target: f64) -> Option<f64> {
        Some(if self.dual(score, target).2 { 1.0 / self.width } else { 0.0 })
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        self.of.conjugate(slope, target) + 0.5 * self.width * slope * slope
    }

    fn inverse_link(&self, score: f64) -> f64 {
        self.of.inverse_link(score)
    }

    fn admits(&self) -> Admits {
        self.of.admits()
    }
}

/// Rows with the smoothed loss.
struct SmoothedRows<'a> {
    problem: &'a dyn Problem,
    loss: &'a Arc<dyn Loss>,
    width: f64,
}

impl Source for SmoothedRows<'_> {
    fn rows(&self) -> usize {
        self.problem.rows()
    }

    fn epoch(&self, sequence: Sequence, epoch: u64, see: &mut See) -> Result<()> {
        self.problem.epoch(sequence, epoch, see)
    }

    fn pass(&self, see: &mut See) -> Result<()> {
        self.problem.pass(see)
    }

    fn fingerprint(&self) -> Result<Key> {
        Ok(self.problem.fingerprint()?.and_bytes(b"smoothed").and_numbers(&[self.width]))
    }
}

impl Problem for SmoothedRows<'_> {
    fn about(&self) -> About<'_> {
        About { loss: self.loss, ..self.problem.about() }
    }

    fn occurring(&self) -> Cow<'_, [bool]> {
        self.problem.occurring()
    }

    fn nonzeros(&self) -> usize {
        self.problem.nonzeros()
    }

    fn pooled(&self) -> Vec<Pooled> {
        self.problem.pooled()
    }

    fn beginning(&self, sequence: Sequence, see: &mut See) -> Result<()> {
        self.problem.beginning(sequence, see)
    }

    fn file(&self) -> Place {
        self.problem.file()
    }

    fn spare_memory(&self) -> usize {
        self.problem.spare_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::loss;

    #[test]
    fn the_smoothed_loss_is_convex_below_the_loss_and_conjugate_to_itself() {
        for spec in ["hinge", "absolute", "quantile:tau=0.2", "epsilon-insensitive:epsilon=0.3", "perceptron"]
        {
            let of = loss::parse(spec).unwrap();
            for width in [2.0, 0.3, 1e-3] {
                let smooth = Smoothed { of: of.clone(), width };
                for (k, target) in (-40..40).flat_map(|k| [(k, 1.0), (k, -1.0)]) {
                    let (s, step) = (0.1 * f64::from(k) + 0.003, 1e-6);
                    let (value, slope) = (smooth.value(s, target), smooth.slope(s, target));
                    let above = of.value(s, target) - value;
                    assert!(
                        (-1e-12..=0.5 * width + 1e-12).contains(&above),
                        "{spec} {width} at {s}: {above}"
                    );
                    let young = value + smooth.conjugate(slope, target) - slope * s;
                    assert!(young.abs() < 1e-9, "{spec} {width} at {s}: {young}");
                    let ahead = smooth.value(s + step, target);
                    assert!(ahead >= value + step * slope - 1e-12, "{spec} {width} at {s}: convex");
                    let change = smooth.slope(s + step, target) - slope;
                    let second = smooth.second_derivative(s, target).unwrap();
                    let between = smooth.second_derivative(s + step, target).unwrap();
                    let [low, high] = [second.min(between), second.max(between)].map(|h| h * step);
                    assert!(change >= low - 1e-9 && change <= high + 1e-9, "{spec} {width} at {s}: {change}");
                }
            }
        }
    }
}
