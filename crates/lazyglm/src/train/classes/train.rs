//! From a task with many heads to what was learnt and its report.

use super::apart::{self, Fitted, Job};
use super::coupled;
use super::memory::Room;
use super::rate;
use super::task::ClassTask;
use crate::eval::objective::{self, Evaluation, HeadsEvaluation};
use crate::model::report::{HeadReport, HeadsReport, Report};
use crate::problem::heads::{Head, HeadKind};
use crate::problem::settings::{Settings, UpdateName};
use crate::problem::solvers::Solver;
use crate::train::{Progress, Stage};
use crate::util::error::{Error, Kind, Result, excerpt};
use std::sync::mpsc::channel;
use std::time::Instant;

/// A trained model of many heads, by column.
#[derive(Clone, Debug)]
pub struct TrainedHeads {
    /// One a class or label.
    pub heads: Vec<Head>,
    /// Scores above which a label is given, if they were tuned.
    pub thresholds: Option<Vec<f64>>,
    /// The figures of the run.
    pub report: Report,
    /// What a reader may want to know: heads that diverged.
    pub notes: Vec<String>,
}

/// Learns all heads. With `tuned`, a threshold for each label is found on the held-out rows, or else on the training rows.
pub fn train(
    task: &ClassTask,
    validation: Option<&ClassTask>,
    settings: &Settings,
    room: Room,
    tuned: bool,
    watch: &mut dyn FnMut(&Progress),
) -> Result<TrainedHeads> {
    if settings.update != UpdateName::Lazy {
        let hint = "leave --update out: all updates give the same weights";
        return Err(Error::call("many classes or labels are learnt with --update lazy", hint));
    }
    if settings.average.is_some() {
        return Err(Error::call("--average with many classes or labels", "leave it out"));
    }
    if settings.runs != 1 {
        return Err(Error::call("--runs with many classes or labels", "leave it out"));
    }
    if tuned && task.kind != HeadKind::Labels {
        return Err(Error::call(
            "thresholds are for labels, of which a row has any number",
            "leave them out",
        ));
    }
    let started = Instant::now();
    let eta0 = match settings.eta0 {
        _ if !settings.schedule.uses_eta0() => f64::NAN, // never looked at
        Some(eta0) => eta0,
        None => rate::find(task, settings)?,
    };
    let rate = rate::schedule(task, settings, eta0)?;
    settings.method.check(settings.penalty, rate.eta(0))?;
    let job = Job { task, validation, settings, rate: &*rate, room, tuned };
    let fitted = match task.kind {
        HeadKind::Softmax => fit_coupled(&job, watch)?,
        _ => fit_apart(&job, watch)?,
    };
    let seconds = started.elapsed().as_secs_f64();
    finish(&job, fitted, seconds)
}

fn progress(job: &Job, blocks: u64) -> Progress {
    let epochs = job.settings.epochs;
    Progress {
        epoch: 1,
        epochs,
        learnt: 0,
        total: epochs.saturating_mul(job.task.rows() as u64).saturating_mul(blocks),
        running_loss: f64::NAN,
        nonzeros: None,
        validation_loss: None,
        stage: Stage::Learning,
        epoch_ends: false,
    }
}

fn fit_coupled(job: &Job, watch: &mut dyn FnMut(&Progress)) -> Result<Fitted> {
    let mut at = progress(job, 1);
    coupled::fit(job, &mut |told| {
        at.learnt = (told.epoch - 1) * job.task.rows() as u64 + told.rows;
        (at.epoch, at.running_loss) = (told.epoch, told.running_loss);
        (at.nonzeros, at.validation_loss) =
            (told.nonzeros.or(at.nonzeros), told.held_out.or(at.validation_loss));
        at.epoch_ends = told.nonzeros.is_some();
        watch(&at);
    })
}

/// Blocks are learnt elsewhere, so that whoever watches can do so from here.
fn fit_apart(job: &Job, watch: &mut dyn FnMut(&Progress)) -> Result<Fitted> {
    let mut at = progress(job, job.task.names.len().div_ceil(job.room.lanes) as u64);
    let (tell, told) = channel::<apart::Told>();
    std::thread::scope(|scope| {
        let fitted = scope.spawn(move || apart::fit(job, tell));
        for told in told {
            match told.nonzeros {
                Some(nonzeros) => at.nonzeros = Some(at.nonzeros.unwrap_or(0) + nonzeros),
                None => {
                    at.learnt += job.task.rows() as u64;
                    (at.epoch, at.running_loss) = (told.epoch, told.running_loss);
                }
            }
            watch(&at);
        }
        fitted.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn finish(job: &Job, fitted: Fitted, seconds_train: f64) -> Result<TrainedHeads> {
    let (task, settings) = (job.task, job.settings);
    let Fitted { heads, history, validation, stop, diverged, thresholds } = fitted;
    let noun = task.kind.noun();
    if let (true, Some((_, at))) = (diverged.len() == heads.len(), diverged.first()) {
        let hint =
            format!("lower --eta0 (it was {:?}; auto finds one) or scale the features down", job.rate.eta(0));
        let (place, what) = (task.data.place(at.row), format!("every {noun} left the finite numbers"));
        return Err(Kind::Diverged { place, epoch: history.len() as u64, step: at.t, what, hint }.into());
    }
    let verdicts = objective::of_heads(
        &HeadsEvaluation {
            examples: task.examples(),
            ends: &task.sets.ends,
            ids: &task.sets.ids,
            kind: task.kind,
            loss: &*task.loss,
            penalty: settings.penalty,
            with_bias: settings.bias,
            at_once: job.room.judged_at_once,
        },
        &heads,
    );
    let sum = |of: fn(&Evaluation) -> f64| verdicts.iter().map(of).sum::<f64>();
    let most = |of: fn(&Evaluation) -> f64| verdicts.iter().map(of).fold(0.0, f64::max);
    let counts = task.sets.counts(heads.len());
    let head = |k: usize| HeadReport {
        name: task.names[k].clone(),
        rows: counts[k],
        nonzeros: heads[k].weights.len(),
        loss: verdicts[k].objective.loss,
    };
    let dropped: Vec<String> = diverged.iter().map(|(k, _)| task.names[*k].clone()).collect();
    let report = Report {
        objective: sum(|v| v.objective.loss) + sum(|v| v.objective.penalty),
        loss: sum(|v| v.objective.loss),
        penalty: sum(|v| v.objective.penalty),
        baseline: sum(|v| v.baseline),
        violation: most(|v| v.violation),
        l1_max: most(|v| v.l1_max),
        dual: None,
        relative_gap: None,
        predicted_decrease: None,
        l1: settings.penalty.l1,
        l2: settings.penalty.l2,
        tried: Vec::new(),
        nonzeros: heads.iter().map(|head| head.weights.len()).sum(),
        features: task.data.features.count,
        rows: task.rows(),
        epochs: history.len() as u64,
        runs: 1,
        eta0: job.rate.eta(0),
        seconds_read: 0.0,
        seconds_train,
        solver: Solver::Sgd,
        stop,
        validation,
        history,
        heads: Some(HeadsReport {
            kind: format!("{:?}", task.kind).to_lowercase(),
            dropped: dropped.clone(),
            heads: (0..heads.len()).map(head).collect(),
        }),
    };
    if !report.objective.is_finite() {
        let hint = format!("lower --eta0 (it was {:?}) or scale the features down", report.eta0);
        let what = format!("the objective of what was learnt is {}", report.objective);
        let (place, step) = (task.data.file(), report.epochs * report.rows as u64);
        return Err(Kind::Diverged { place, epoch: report.epochs, step, what, hint }.into());
    }
    let word = |name: &String| {
        format!(
            "{noun} '{}' diverged and was dropped: it has a bias alone. Lower --eta0, or scale the features down",
            excerpt(name)
        )
    };
    let notes = dropped.iter().map(word).collect();
    Ok(TrainedHeads { heads, thresholds, report, notes })
}
