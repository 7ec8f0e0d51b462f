//! The last word on a run: what was learnt, judged on all rows, and its figures.

use super::fit::Fitted;
use super::{Job, Trained};
use crate::eval::objective::{Evaluation, Judge};
use crate::model::report::Report;
use crate::problem::settings::Settings;
use crate::util::error::{Kind, Result};

/// Judges what was learnt.
pub(super) fn judge(job: &Job, settings: &Settings, eta0: f64, fitted: Fitted) -> Result<Trained> {
    let Fitted { weights, bias, epochs, stop, seconds, validation, history } = fitted;
    let of_bias = settings.bias.then_some(bias);
    let judge = Judge::new(job.loss, &weights, of_bias, job.blocks.nonzeros());
    let (mut judge, nothing) = job.blocks.ready(judge, job.loss, settings.bias);
    job.blocks.pass(&mut |turn| {
        judge.hear(turn.examples);
        Ok(())
    })?;
    let Evaluation { objective: f, violation, l1_max, baseline } =
        judge.verdict(settings.weighted_penalty(), nothing);
    let figures =
        [("objective", f.total()), ("violation", violation), ("l1_max", l1_max), ("baseline", baseline)];
    for (name, figure) in figures {
        if !figure.is_finite() {
            return Err(Kind::Diverged {
                place: job.blocks.file(),
                epoch: epochs,
                step: epochs * job.blocks.rows() as u64,
                what: format!("the {name} of what was learnt is {figure}"),
                hint: match eta0 > 0.0 {
                    true => format!("lower --eta0 (it was {eta0:?}) or scale the features down"),
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
        dual: None,
        relative_gap: None,
        l1: settings.penalty.l1,
        l2: settings.penalty.l2,
        tried: Vec::new(),
        l1_max,
        nonzeros: nonzeros(&weights),
        features: job.features,
        rows: job.blocks.rows(),
        epochs,
        runs: settings.runs,
        eta0,
        seconds_read: 0.0,
        seconds_train: seconds,
        solver: settings.solver,
        predicted_decrease: None,
        stop,
        validation,
        history,
        heads: None,
    };
    Ok(Trained { weights, bias, report, held_down_by: None })
}

/// How many weights are not zero.
pub(super) fn nonzeros(weights: &[f64]) -> usize {
    weights.iter().filter(|w| **w != 0.0).count()
}
