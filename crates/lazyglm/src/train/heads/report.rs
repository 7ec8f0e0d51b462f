//! Evaluation of trained heads, and their report.

use super::{FittedHeads, Job};
use crate::eval::objective::{self, Evaluation, HeadsEvaluation};
use crate::model::report::{HeadReport, HeadsReport, Report};
use crate::model::trained::Trained;
use crate::train::holdout::Fitted;
use crate::util::error::{Kind, Result, excerpt};
use crate::util::parameter::{Parameter, WARNING};

/// Evaluates the heads on all rows and makes the report.
pub(super) fn report(job: &Job, learnt: FittedHeads) -> Result<Trained> {
    let (task, targets, settings) = (job.task, job.targets, job.settings);
    let FittedHeads { fitted, diverged, untouched, thresholds } = learnt;
    let Fitted { heads, history, validation, stop, seconds: seconds_train, .. } = fitted;
    let noun = targets.kind.noun();
    if let (true, Some((_, at))) = (diverged.len() == heads.len(), diverged.first()) {
        let (place, what) = (task.data.place(at.row), format!("every {noun} diverged (NaN or infinity)"));
        let (epoch, hint) = (history.len() as u64, job.slower());
        return Err(Kind::Diverged { place, epoch, step: at.t, what, hint }.into());
    }
    let verdicts = objective::of_heads(
        &HeadsEvaluation {
            rows: task.data.rows.borrow(),
            weights: task.weights.as_deref(),
            sets: targets.sets,
            kind: targets.kind,
            loss: &*task.loss,
            penalty: settings.penalty,
            with_bias: settings.bias,
            at_once: job.room.judged_at_once,
        },
        &heads,
    );
    let sum = |of: fn(&Evaluation) -> f64| verdicts.iter().map(of).sum::<f64>();
    let most = |of: fn(&Evaluation) -> f64| verdicts.iter().map(of).fold(0.0, f64::max);
    let counts = targets.sets.counts(heads.len());
    let head = |k: usize| HeadReport {
        name: targets.names[k].clone(),
        rows: counts[k],
        nonzeros: heads[k].weights.len(),
        loss: verdicts[k].objective.loss,
    };
    let dropped: Vec<String> = diverged.iter().map(|(k, _)| targets.names[*k].clone()).collect();
    let report = Report {
        objective: sum(|v| v.objective.loss) + sum(|v| v.objective.penalty),
        loss: sum(|v| v.objective.loss),
        penalty: sum(|v| v.objective.penalty),
        baseline: sum(|v| v.baseline),
        violation: most(|v| v.violation),
        l1_max: most(|v| v.l1_max),
        l1: settings.penalty.l1,
        l2: settings.penalty.l2,
        nonzeros: heads.iter().map(|head| head.weights.len()).sum(),
        features: task.data.features.count,
        rows: task.len(),
        epochs: history.len() as u64,
        eta0: job.rate.eta(0),
        seconds_train,
        stop,
        validation,
        history,
        heads: Some(HeadsReport {
            kind: format!("{:?}", targets.kind).to_lowercase(),
            dropped: dropped.clone(),
            heads: (0..heads.len()).map(head).collect(),
        }),
        ..Report::default()
    };
    if !report.objective.is_finite() {
        let what = format!("the objective of the trained weights is {}", report.objective);
        let (place, step) = (task.data.file(), report.epochs * report.rows as u64);
        return Err(Kind::Diverged { place, epoch: report.epochs, step, what, hint: job.slower() }.into());
    }
    let word = |name: &String| {
        format!(
            "{WARNING}{noun} '{}' diverged and was dropped: it has only a bias. Lower {}, or scale the features down",
            excerpt(name),
            Parameter::Eta0
        )
    };
    let mut notes: Vec<String> = dropped.iter().map(word).collect();
    if untouched > 0 {
        let of = heads.len();
        notes.push(format!(
            "{WARNING}{untouched} of {of} {} were not trained: each of them has only a bias",
            targets.kind.nouns()
        ));
    }
    let mut trained = Trained::one(Vec::new(), 0.0, report);
    (trained.heads, trained.thresholds, trained.notes) = (heads, thresholds, notes);
    Ok(trained)
}
