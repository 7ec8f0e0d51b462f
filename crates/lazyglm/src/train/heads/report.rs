//! Evaluation of trained heads, and their report.

use super::{FittedHeads, Job};
use crate::eval::objective::{self, Certificate, Evaluation};
use crate::model::report::{HeadReport, HeadsReport, Report, Stop};
use crate::model::trained::Trained;
use crate::problem::heads::Head;
use crate::problem::settings::Settings;
use crate::problem::solvers::Solver;
use crate::problem::source::Problem;
use crate::train::evaluate::lower_eta0;
use crate::train::holdout::Fitted;
use crate::util::error::{Error, Kind, Place, Result, excerpt};
use crate::util::number::larger_or_nan;
use crate::util::parameter::{Parameter, WARNING};
use std::time::Instant;

/// The evaluation of heads on all rows.
pub(super) struct Found {
    /// The evaluation of each head.
    pub verdicts: Vec<Evaluation>,
    /// The certificate of all heads together.
    pub proof: Option<Certificate>,
    /// The number of rows of each head.
    pub counts: Vec<usize>,
}

/// What a report tells of the run.
pub(super) struct About<'a> {
    pub problem: &'a dyn Problem,
    pub settings: &'a Settings,
    pub eta0: f64,
    /// The place of a row.
    pub place: &'a dyn Fn(usize) -> Place,
}

/// Evaluates the heads on rows in memory and makes the report.
pub(super) fn report(job: &Job, learnt: FittedHeads) -> Result<Trained> {
    let (task, settings, stop) = (job.task, job.settings, learnt.fitted.stop);
    let known = learnt.duals.clone();
    let found = |heads: &[Head]| {
        let evaluation = job.evaluation(task);
        // It takes three passes per head, which is long after a few epochs of SGD or an interruption, and short after the optimum.
        let wanted = settings.certificate && settings.solver == Solver::Newton && stop != Stop::Interrupted;
        let go_on = || !settings.interrupted();
        let judged =
            wanted.then(|| objective::judge_heads_while(&evaluation, heads, &known, &go_on)).flatten();
        let (verdicts, proof) = match judged {
            Some((verdicts, proof)) => (verdicts, Some(proof)),
            None => (objective::of_heads(&evaluation, heads), None),
        };
        Ok(Found { verdicts, proof, counts: job.targets.sets.counts(heads.len()) })
    };
    let about = About { problem: task, settings, eta0: job.eta0, place: &|row| task.data.place(row) };
    reported(&about, learnt, found)
}

/// Makes the report, with the evaluation that `found` computes.
pub(super) fn reported(
    about: &About,
    learnt: FittedHeads,
    found: impl FnOnce(&[Head]) -> Result<Found>,
) -> Result<Trained> {
    let (problem, settings, hint) = (about.problem, about.settings, lower_eta0(about.eta0));
    let Some(targets) = problem.targets().heads() else {
        return Err(Error::call("the task has no heads", "give targets of classes or labels"));
    };
    let FittedHeads { fitted, diverged, untouched, .. } = learnt;
    let Fitted { heads, history, validation, stop, seconds: seconds_train, epochs, .. } = fitted;
    let noun = targets.kind.noun();
    if let (true, Some((_, at))) = (diverged.len() == heads.len(), diverged.first()) {
        let (place, what) = ((about.place)(at.row), format!("every {noun} diverged (NaN or infinity)"));
        return Err(Kind::Diverged { place, epoch: epochs, step: at.t, what, hint }.into());
    }
    let started = Instant::now();
    let Found { verdicts, proof, counts } = found(&heads)?;
    let sum = |of: fn(&Evaluation) -> f64| verdicts.iter().map(of).sum::<f64>();
    let most = |of: fn(&Evaluation) -> f64| verdicts.iter().map(of).fold(0.0, larger_or_nan);
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
        features: problem.features().count,
        rows: problem.rows(),
        epochs,
        solver: settings.solver,
        dual: proof.and_then(|proof| proof.dual),
        relative_gap: proof.and_then(|proof| proof.relative_gap),
        eta0: about.eta0,
        seconds_train,
        seconds_evaluate: started.elapsed().as_secs_f64(),
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
    let figures = [
        ("objective", report.objective),
        ("violation", report.violation),
        ("l1_max", report.l1_max),
        ("baseline", report.baseline),
    ];
    if let Some((name, figure)) = figures.into_iter().find(|(_, figure)| !figure.is_finite()) {
        let what = format!("the {name} of the trained weights is {figure}");
        let (place, step) = (problem.file(), report.epochs * report.rows as u64);
        return Err(Kind::Diverged { place, epoch: report.epochs, step, what, hint }.into());
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
    (trained.heads, trained.notes) = (heads, notes);
    Ok(trained)
}
