//! The zero test for rows on disk: after SGD, one pass for gradient and curvature, then one test per weight.
//!
//! SGD leaves rare features with the weight of their latest step; [`crate::optim::shard::zero_test`] finds those that are zero
//! at the optimum. It tests each weight alone, so that too many correlated features may be set to zero. The curvature is
//! therefore multiplied by growing factors, which sets fewer weights to zero, until the objective decreases.

use super::auto;
use super::evaluate::evaluate;
use super::job::Job;
use super::progress::Progress;
use super::retry::until_finite;
use super::sgd;
use crate::eval::objective;
use crate::model::trained::Trained;
use crate::optim::shard::zero_test;
use crate::problem::heads::Head;
use crate::problem::penalty::WeightedPenalty;
use crate::util::error::Result;
use std::time::Instant;

/// The factors of the curvature, tried in this order.
pub(super) const TIMES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// Trains by SGD, followed by the zero test if the loss is smooth.
pub(super) fn train(job: &Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Trained> {
    until_finite(job.settings, &mut |settings| once(&Job { settings, ..*job }, watch))
}

fn once(job: &Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Trained> {
    let settings = auto::for_steps(job.settings, job.loss(), job.problem.pooled(), job.columns());
    let job = &Job { settings: &settings, ..*job };
    let (eta0, held_down_by, mut fitted) = sgd::fit_on(job, watch)?;
    if !job.loss().has_kinks() {
        let started = Instant::now();
        for head in &mut fitted.heads {
            let weights = head.dense(job.columns());
            if let Some(fewer) = tested(job, &settings.weighted_penalty(), &weights, head.bias)? {
                *head = Head::of(fewer.into_iter(), head.bias);
            }
        }
        fitted.seconds += started.elapsed().as_secs_f64();
    }
    Ok(Trained { held_down_by, ..evaluate(job, eta0, fitted, None)? })
}

/// The weights after the zero test, if it lowers the objective, in two passes over the rows or more; `None` if there is no
/// gain.
fn tested(
    job: &Job,
    weighted_penalty: &WeightedPenalty,
    weights: &[f64],
    bias: f64,
) -> Result<Option<Vec<f64>>> {
    let (mut loss, mut gradient) = (0.0, vec![0.0; weights.len()]);
    let mut curvature = vec![0.0; weights.len()];
    let n = job.problem.rows() as f64;
    job.problem.pass(&mut |batch| {
        let examples = batch.examples();
        for i in 0..examples.len() {
            let score = examples.score(i, weights, bias);
            let [value, slope, second_derivative] =
                job.loss().taylor(score, examples.targets[i]).map(|of| examples.weight(i) * of);
            loss += value;
            examples.rows.for_each(i, |j, x| {
                gradient[j] += slope * x;
                curvature[j] += second_derivative * x * x;
            });
        }
        Ok(())
    })?;
    gradient.iter_mut().chain(&mut curvature).for_each(|sum| *sum /= n);
    let before = loss / n + weighted_penalty.value(weights);
    for times in TIMES {
        let mut fewer = weights.to_vec();
        let curvature: Vec<f64> = curvature.iter().map(|h| times * h).collect();
        if zero_test(&mut fewer, &gradient, &curvature, weighted_penalty) == 0 {
            break;
        }
        let mut loss = 0.0;
        job.problem.pass(&mut |batch| {
            let rows = batch.examples().len() as f64;
            loss += rows * objective::mean_loss(batch.examples(), job.loss(), &fewer, bias);
            Ok(())
        })?;
        if loss / n + weighted_penalty.value(&fewer) < before {
            return Ok(Some(fewer));
        }
    }
    Ok(None)
}
