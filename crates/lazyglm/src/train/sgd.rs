//! Training by SGD: finds the starting learning rate, resolves the schedule, and chooses the update.

use super::evaluate::{evaluate, lower_eta0};
use super::holdout::{Fitted, Holdout, One, sampled};
use super::job::Job;
use super::progress::Progress;
use super::units::Unit;
use crate::model::trained::Trained;
use crate::optim::kernel::{Averaged, FactoredWeights, Folded};
use crate::optim::learner::Scheduled;
use crate::optim::reference::{Dense, Table};
use crate::optim::sgd::Online;
use crate::optim::starting_rate::{self, Extent};
use crate::optim::update::Update;
use crate::problem::penalty::ElasticNet;
use crate::problem::schedule::{Schedule, Setting};
use crate::problem::settings::{Precision, Settings, UpdateName};
use crate::problem::task::Task;
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use std::time::Instant;

/// Trains one model by SGD, on rows in memory or on disk.
pub(super) fn train(job: &Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Trained> {
    let (eta0, held_down_by, fitted) = fit_on(job, watch)?;
    Ok(Trained { held_down_by, ..evaluate(job, eta0, fitted, None)? })
}

/// Trains with the starting learning rate found or given. Returns the rate, the row that limits it, and the model.
pub(super) fn fit_on(
    job: &Job,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<(f64, Option<Place>, Fitted)> {
    let settings = job.settings;
    let started = Instant::now();
    let (eta0, held_down_by) = starting_rate(job)?;
    let eta0 = settings.rate_factor * eta0;
    let rows = job.problem.rows() as u64;
    let setting = Setting { eta0, l2: settings.penalty.l2, rows: Some(rows), epochs: settings.epochs };
    let schedule = settings.schedule.resolve(&setting)?;
    let eta0 = schedule.eta(0);
    let dearest = settings.factors.iter().flat_map(|factors| factors.iter().copied()).fold(1.0, f64::max);
    let gradient_bound = ElasticNet { l2: dearest * settings.penalty.l2, ..settings.penalty };
    settings.method.check(gradient_bound, eta0).map_err(|e| match settings.schedule.uses_eta0() {
        true => e,
        false => Error::call(
            format!(
                "{} needs eta0 · l2 < 1, and schedule '{}' starts at eta0 · l2 = {:?}",
                Parameter::Method.set("sgd"),
                settings.schedule.text(),
                eta0 * settings.penalty.l2
            ),
            format!(
                "raise the schedule's t0 above 1, or use {}, which has no such limit",
                Parameter::Method.set("fobos")
            ),
        ),
    })?;

    let slower = match settings.schedule.uses_eta0() {
        true => lower_eta0(eta0),
        false => format!("raise {} or the schedule's t0, or scale the features down", Parameter::L2),
    };
    let (validation, spent) = (job.validation, started.elapsed().as_secs_f64());
    let rule = Holdout { settings, validation, slower, spent, watch };
    let fitted = fit_by_update(job, rule, &*schedule, eta0)?;
    Ok((eta0, held_down_by, fitted))
}

/// Trains with the update of the settings; each update has its own type of weights.
fn fit_by_update(job: &Job, rule: Holdout, schedule: &dyn Schedule, eta0: f64) -> Result<Fitted> {
    let settings = job.settings;
    let start = settings.start.as_ref().map(|start| start.weights.clone());
    let start = start.unwrap_or_else(|| vec![0.0; job.columns()]);
    let (penalty, method) = (settings.penalty, settings.method);
    let factored = !settings.has_one_penalty();
    let run = Run { job, rule, schedule };
    match (settings.update, settings.precision, penalty.is_none()) {
        (UpdateName::Lazy, ..) if factored && settings.average.is_none() => {
            run.fit(FactoredWeights::new(start, &settings.weighted_penalty(), method)?)
        }
        (UpdateName::Dense, ..) if factored => {
            run.fit(Dense::<false>::with_factors(start, &settings.weighted_penalty(), method))
        }
        (UpdateName::DenseSparsePredict, ..) if factored => {
            run.fit(Dense::<true>::with_factors(start, &settings.weighted_penalty(), method))
        }
        _ if factored => Err(Error::call(
            format!(
                "penalty factors and bounds are not for {}, nor for {}, which keep one penalty for all weights",
                Parameter::Update.set("table"),
                Parameter::Average
            ),
            format!("leave {} and {} out", Parameter::Update, Parameter::Average),
        )),
        (UpdateName::Lazy, ..) if settings.average.is_some() => {
            run.fit(Averaged::new(start, penalty, method, settings.average.unwrap_or(0)))
        }
        (UpdateName::Lazy, Precision::F32, false) => run.fit(Folded::<f32>::new(start, penalty, method)),
        (UpdateName::Lazy, Precision::F64, false) => run.fit(Folded::<f64>::new(start, penalty, method)),
        (UpdateName::Lazy, Precision::F32, true) => {
            run.fit(Folded::<f32, false>::new(start, penalty, method))
        }
        (UpdateName::Lazy, Precision::F64, true) => {
            run.fit(Folded::<f64, false>::new(start, penalty, method))
        }
        (UpdateName::Table, ..) => {
            let constant = schedule.is_constant().then_some(eta0);
            run.fit(Table::new(start, penalty, method, settings.table_budget, constant))
        }
        (UpdateName::Dense, ..) => run.fit(Dense::<false>::new(start, penalty, method)),
        (UpdateName::DenseSparsePredict, ..) => run.fit(Dense::<true>::new(start, penalty, method)),
    }
}

/// A run whose update is not chosen yet.
struct Run<'a, 'r> {
    job: &'a Job<'a>,
    rule: Holdout<'r>,
    schedule: &'a dyn Schedule,
}

impl Run<'_, '_> {
    fn fit<U: Update>(self, update: U) -> Result<Fitted> {
        let Run { job, rule, schedule } = self;
        let mut model = Online::new(update, job.settings.bias).sampling_one_in(sampled(job.problem.rows()));
        if let Some(from) = job.settings.average {
            model = model.averaging_from(from);
        }
        if let (true, Some(start)) = (job.settings.bias, &job.settings.start) {
            model.bias = start.bias;
        }
        let model = Scheduled { model, schedule };
        rule.fit(&mut One::new(job.loss(), model), job.problem)
    }
}

/// The starting learning rate that `train` uses on this task: the one given, or the best of a search. NaN for a schedule
/// without one.
///
/// ```
/// use lazyglm::{Settings, rate, synth};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// assert_eq!(rate(&task, &Settings { eta0: Some(0.25), ..Settings::default() }).unwrap(), 0.25);
/// assert!(rate(&task, &Settings::default()).unwrap() > 0.0);
/// ```
pub fn rate(task: &Task, settings: &Settings) -> Result<f64> {
    let job = Job { problem: task, validation: None, settings, beside: None };
    starting_rate(&job).map(|(eta0, _)| eta0)
}

/// The starting learning rate, and the row that limits it, if one does.
fn starting_rate(job: &Job) -> Result<(f64, Option<Place>)> {
    let settings = job.settings;
    match settings.eta0 {
        _ if !settings.schedule.uses_eta0() => return Ok((f64::NAN, None)), // not used
        Some(eta0) => return Ok((eta0, None)),
        None => {}
    }
    let (extent, longest) = extent(job)?;
    let mut rate: Option<(f64, bool)> = None;
    let key = Unit::of(settings, "rate", job.problem, None)?;
    if let Some(unit) = &key
        && unit.checkpoint.find(unit.key, &mut rate)?
    {
        return Ok(rate.map_or((f64::NAN, None), |(eta0, held)| (eta0, longest.filter(|_| held))));
    }
    job.problem.beginning(job.sequence(), &mut |batch| {
        let found = starting_rate::find(&starting_rate::Trial {
            examples: batch.examples(),
            order: batch.order,
            rows: job.problem.rows() as u64,
            extent,
            loss: job.loss(),
            penalty: settings.penalty,
            method: settings.method,
            schedule: &settings.schedule,
            epochs: settings.epochs,
            bias: settings.bias,
            go_on: &|| !settings.interrupted(),
        })?;
        rate = Some((found.eta0, found.held_down));
        Ok(())
    })?;
    if let Some(unit) = key {
        unit.checkpoint.put(unit.key, &mut rate);
    }
    Ok(rate.map_or((f64::NAN, None), |(eta0, held)| (eta0, longest.filter(|_| held))))
}

/// The extent of the rows and the place of the longest row, found in one pass; only needed for losses of unbounded gradient.
fn extent(job: &Job) -> Result<(Extent, Option<Place>)> {
    let (mut all, mut longest) = (Extent::default(), None);
    if job.loss().gradient_bound().is_finite() {
        return Ok((all, None));
    }
    job.problem.pass(&mut |batch| {
        let some = Extent::of(batch.examples());
        if some.length > all.length {
            longest = some.longest.map(batch.place);
            all.length = some.length;
        }
        all.target = all.target.max(some.target);
        Ok(())
    })?;
    Ok((all, longest))
}
