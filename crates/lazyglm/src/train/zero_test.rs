//! The last mile for rows that do not fit into memory: a pass for gradient and curvature, then one test a weight.
//!
//! Stochastic steps leave every rare feature with its latest kick; [`crate::optim::shard::zero_test`] knows which of these weights
//! are zero at the minimum. It looks at each weight alone: where features are alike, all of them together may be too much.
//! So the curvature is taken for larger than it is, fewer are set to zero, until F falls.

use super::auto;
use super::evaluate::evaluate;
use super::job::Job;
use super::progress::Progress;
use super::sgd;
use crate::eval::objective;
use crate::model::trained::Trained;
use crate::optim::shard::zero_test;
use crate::problem::heads::Head;
use crate::problem::penalty::WeightedPenalty;
use crate::util::error::Result;
use std::time::Instant;

/// How many times the curvature is taken.
const TIMES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// Trains by stochastic steps; where the loss has no kinks, the test follows.
pub(super) fn train(job: &Job, watch: &mut dyn FnMut(&Progress)) -> Result<Trained> {
    let settings = auto::for_steps(job.settings, job.loss(), job.problem.pairs(), job.columns());
    let job = &Job { settings: &settings, ..*job };
    let (eta0, held_down_by, mut fitted) = sgd::fit_on(job, watch)?;
    if job.loss().second_derivative(0.0, 1.0).is_some() {
        let started = Instant::now();
        for head in &mut fitted.heads {
            let weights = head.dense(job.columns());
            if let Some(fewer) = tested(job, &settings.weighted_penalty(), &weights, head.bias)? {
                *head = Head::of(fewer.into_iter(), head.bias);
            }
        }
        fitted.seconds += started.elapsed().as_secs_f64();
    }
    Ok(Trained { held_down_by, ..evaluate(job, eta0, fitted)? })
}

/// The weights with zeros where the minimum has them, if that lowers F: two passes over the rows, or some more. `None` if
/// there is nothing to gain.
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
            let score = examples.rows.dot(i, weights) + bias;
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
