//! Training by steps of one rate for all weights: the rate, the schedule, and which update does them.

use super::fit::{Fitted, Run};
use super::judge::judge;
use super::{Job, Progress, Trained, adagrad};
use crate::optim::kernel::{Averaged, FactoredWeights, Folded};
use crate::optim::reference::{Dense, Table};
use crate::optim::starting_rate::{self, Extent};
use crate::problem::penalty::ElasticNet;
use crate::problem::schedule::{Schedule, Setting};
use crate::problem::settings::{Precision, Settings, UpdateName};
use crate::util::error::{Error, Place, Result};
use std::time::Instant;

/// Trains by steps of one rate for all weights, on rows wherever they are.
pub(super) fn train(job: &Job, settings: &Settings, watch: &mut dyn FnMut(&Progress)) -> Result<Trained> {
    let (eta0, held_down_by, fitted) = fit_on(job, settings, watch)?;
    Ok(Trained { held_down_by, ..judge(job, settings, eta0, fitted)? })
}

/// Rate, what held it down, and what was learnt with it.
pub(super) fn fit_on(
    job: &Job,
    settings: &Settings,
    watch: &mut dyn FnMut(&Progress),
) -> Result<(f64, Option<Place>, Fitted)> {
    let started = Instant::now();
    let (eta0, held_down_by) = starting_rate(job, settings)?;
    let rows = job.blocks.rows() as u64;
    let setting = Setting { eta0, l2: settings.penalty.l2, rows: Some(rows), epochs: settings.epochs };
    let schedule = settings.schedule.resolve(&setting)?;
    let eta0 = schedule.eta(0);
    let dearest = settings.factors.iter().flat_map(|factors| factors.iter().copied()).fold(1.0, f64::max);
    let gradient_bound = ElasticNet { l2: dearest * settings.penalty.l2, ..settings.penalty };
    settings.method.check(gradient_bound, eta0).map_err(|e| match settings.schedule.uses_eta0() {
        true => e,
        false => Error::call(
            format!(
                "SGD needs eta * l2 < 1, and '{}' starts at {:?}",
                settings.schedule.text(),
                eta0 * settings.penalty.l2
            ),
            "raise the schedule's t0 above 1, or use --method fobos, which has no such limit",
        ),
    })?;

    let slower = match settings.schedule.uses_eta0() {
        true => adagrad::slower(eta0),
        false => "raise --l2 or the schedule's t0, or scale the features down".to_string(),
    };
    let run = Run { job, settings, slower, spent: started.elapsed().as_secs_f64() };
    let fitted = fit_by_update(&run, &*schedule, eta0, watch)?;
    Ok((eta0, held_down_by, fitted))
}

/// Learns with the update asked for: one kind of weights each.
fn fit_by_update(
    run: &Run,
    schedule: &dyn Schedule,
    eta0: f64,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Fitted> {
    let Run { job, settings, .. } = *run;
    let start = settings.start.as_ref().map(|start| start.weights.clone());
    let start = start.unwrap_or_else(|| vec![0.0; job.blocks.columns()]);
    let (penalty, method) = (settings.penalty, settings.method);
    let priced = settings.factors.is_some() || settings.nonnegative;
    match (settings.update, settings.precision, penalty.is_none()) {
        (UpdateName::Lazy, ..) if priced && settings.average.is_none() => run.fit_online(
            FactoredWeights::new(start, &settings.weighted_penalty(), method)?,
            schedule,
            watch,
        ),
        (UpdateName::Dense, ..) if priced => run.fit_online(
            Dense::<false>::priced(start, &settings.weighted_penalty(), method),
            schedule,
            watch,
        ),
        (UpdateName::DenseSparsePredict, ..) if priced => run.fit_online(
            Dense::<true>::priced(start, &settings.weighted_penalty(), method),
            schedule,
            watch,
        ),
        _ if priced => Err(Error::call(
            "--penalty-factor and --nonnegative are not for --update table, nor for --average",
            "leave --update and --average out",
        )),
        (UpdateName::Lazy, ..) if settings.average.is_some() => run.fit_online(
            Averaged::new(start, penalty, method, settings.average.unwrap_or(0)),
            schedule,
            watch,
        ),
        (UpdateName::Lazy, Precision::F32, false) => {
            run.fit_online(Folded::<f32>::new(start, penalty, method), schedule, watch)
        }
        (UpdateName::Lazy, Precision::F64, false) => {
            run.fit_online(Folded::<f64>::new(start, penalty, method), schedule, watch)
        }
        (UpdateName::Lazy, Precision::F32, true) => {
            run.fit_online(Folded::<f32, false>::new(start, penalty, method), schedule, watch)
        }
        (UpdateName::Lazy, Precision::F64, true) => {
            run.fit_online(Folded::<f64, false>::new(start, penalty, method), schedule, watch)
        }
        (UpdateName::Table, ..) => {
            let constant = schedule.is_constant().then_some(eta0);
            run.fit_online(
                Table::new(start, penalty, method, settings.table_budget, constant),
                schedule,
                watch,
            )
        }
        (UpdateName::Dense, ..) => {
            run.fit_online(Dense::<false>::new(start, penalty, method), schedule, watch)
        }
        (UpdateName::DenseSparsePredict, ..) => {
            run.fit_online(Dense::<true>::new(start, penalty, method), schedule, watch)
        }
    }
}

/// The rate to begin with, and the row that holds it down if one does.
pub(super) fn starting_rate(job: &Job, settings: &Settings) -> Result<(f64, Option<Place>)> {
    match settings.eta0 {
        _ if !settings.schedule.uses_eta0() => return Ok((f64::NAN, None)), // never looked at
        Some(eta0) => return Ok((eta0, None)),
        None => {}
    }
    let (extent, longest) = extent(job)?;
    let mut rate = None;
    job.blocks.beginning(&mut |turn| {
        rate = Some(starting_rate::find(&starting_rate::Trial {
            examples: turn.examples,
            order: turn.order,
            rows: job.blocks.rows() as u64,
            extent,
            loss: job.loss,
            penalty: settings.penalty,
            method: settings.method,
            schedule: &settings.schedule,
            epochs: settings.epochs,
            bias: settings.bias,
        })?);
        Ok(())
    })?;
    Ok(rate.map_or((f64::NAN, None), |rate| (rate.eta0, longest.filter(|_| rate.held_down))))
}

/// How far the rows reach, and the place of the longest; a pass over them that only unbounded losses need.
fn extent(job: &Job) -> Result<(Extent, Option<Place>)> {
    let (mut all, mut longest) = (Extent::default(), None);
    if job.loss.gradient_bound().is_finite() {
        return Ok((all, None));
    }
    job.blocks.pass(&mut |turn| {
        let some = Extent::of(turn.examples);
        if some.length > all.length {
            longest = some.longest.map(turn.place);
            all.length = some.length;
        }
        all.target = all.target.max(some.target);
        Ok(())
    })?;
    Ok((all, longest))
}
