//! Evaluation of a trained model on all rows, and its report.

use super::beside::Beside;
use super::holdout::Fitted;
use super::job::Job;
use crate::eval::objective::{self, Certificate, Evaluation, Evaluator, Judge, NullModel, StreamedGap};
use crate::model::report::Report;
use crate::model::trained::Trained;
use crate::util::error::{Kind, Result};
use crate::util::parameter::Parameter;
use std::time::Instant;

/// The advice for a run that diverged with this starting learning rate.
pub(super) fn lower_eta0(eta0: f64) -> String {
    format!(
        "lower {} (it was {eta0:?}; 'auto' searches for one), or divide features by their units with {}",
        Parameter::Eta0,
        Parameter::Scale.set("std")
    )
}

/// Evaluates one trained model on all rows, certifies it, and makes its report. `known` is a lower bound on
/// the objective that the solver found, if any.
pub(super) fn evaluate(job: &Job, eta0: f64, mut fitted: Fitted, known: Option<f64>) -> Result<Trained> {
    let started = Instant::now();
    let (problem, settings, loss) = (job.problem, job.settings, job.loss());
    let head = std::mem::take(&mut fitted.heads).into_iter().next().unwrap_or_default();
    let (weights, bias) = (head.dense(job.columns()), head.bias);
    drop(head);
    let (weighted_penalty, given) = (settings.weighted_penalty(), settings.bias.then_some(bias));
    let (evaluation, proof) = match problem.in_memory() {
        Some(task) => {
            let (examples, weights, bias) = (task.examples(), &weights[..], given);
            let null = job.beside.map(Beside::null);
            let judge = Judge { examples, loss, weighted_penalty, weights, bias, null };
            match settings.certificate {
                true => judge.certify(known),
                false => (judge.evaluate(), Certificate::default()),
            }
        }
        None => on_disk(job, &weights, given, known)?,
    };
    let mut trained = reported(job, eta0, fitted, (weights, bias), evaluation)?;
    (trained.report.dual, trained.report.relative_gap) = (proof.dual, proof.relative_gap);
    trained.report.seconds_evaluate = started.elapsed().as_secs_f64();
    Ok(trained)
}

/// The evaluation and the certificate of weights, in one pass over rows that are not in memory.
fn on_disk(
    job: &Job,
    weights: &[f64],
    bias: Option<f64>,
    known: Option<f64>,
) -> Result<(Evaluation, Certificate)> {
    let (problem, settings, loss) = (job.problem, job.settings, job.loss());
    let (weighted_penalty, nonzeros) = (settings.weighted_penalty(), problem.nonzeros());
    let null = NullModel::new(&problem.pooled(), loss, settings.bias);
    if !settings.certificate {
        let mut sums = Evaluator::new(loss, weights, bias, nonzeros).with_null(null);
        problem.pass(&mut |batch| {
            sums.add(batch.examples());
            Ok(())
        })?;
        return Ok((sums.finish(weighted_penalty), Certificate::default()));
    }
    let mut sums = StreamedGap::new(loss, weights, bias, nonzeros).with_null(null);
    problem.pass(&mut |batch| {
        sums.add(batch.examples());
        Ok(())
    })?;
    let (evaluation, worst, dual) = sums.finish(weighted_penalty);
    let proof = dual.certify(&evaluation, worst, weighted_penalty);
    Ok((evaluation, known.map_or(proof, |known| proof.at_least(known))))
}

/// The trained model and its report, from its evaluation on all rows.
pub(super) fn reported(
    job: &Job,
    eta0: f64,
    fitted: Fitted,
    (weights, bias): (Vec<f64>, f64),
    evaluation: Evaluation,
) -> Result<Trained> {
    let Fitted { epochs, stop, seconds, validation, history, .. } = fitted;
    let (problem, settings) = (job.problem, job.settings);
    let nonzeros = objective::nonzeros(&weights);
    let Evaluation { objective: f, violation, l1_max, baseline } = evaluation;
    let figures =
        [("objective", f.total()), ("violation", violation), ("l1_max", l1_max), ("baseline", baseline)];
    for (name, figure) in figures {
        if !figure.is_finite() {
            return Err(Kind::Diverged {
                place: problem.file(),
                epoch: epochs,
                step: epochs * problem.rows() as u64,
                what: format!("the {name} of the trained weights is {figure}"),
                hint: match eta0 > 0.0 {
                    true => lower_eta0(eta0),
                    false => "scale the features down, and targets as well if they are numbers".to_string(),
                },
            }
            .into());
        }
    }
    let report = Report {
        objective: f.total(),
        loss: f.loss,
        penalty: f.penalty,
        baseline,
        violation,
        l1: settings.penalty.l1,
        l2: settings.penalty.l2,
        l1_max,
        nonzeros,
        features: problem.features().count,
        rows: problem.rows(),
        epochs,
        runs: settings.runs,
        eta0,
        seconds_train: seconds,
        solver: settings.solver,
        stop,
        validation,
        history,
        ..Report::default()
    };
    Ok(Trained::one(weights, bias, report))
}
