//! Training by variance-reduced SGD (prox-SVRG): see [`crate::optim::svrg`].

use super::adagrad::scales;
use super::evaluate::{evaluate, lower_eta0};
use super::holdout::{Holdout, One, sampled};
use super::job::Job;
use super::progress::Progress;
use super::units::Unit;
use crate::model::report::Stop;
use crate::model::trained::Trained;
use crate::optim::adagrad::{Adagrad, AdagradOptions};
use crate::optim::learner::Learner;
use crate::optim::scales::Scales;
use crate::optim::svrg::{Svrg, SvrgOptions};
use crate::util::error::Result;
use std::time::Instant;

/// Default learning rate, in units of 1/L̄.
const STEP: f64 = 1.0;
/// Learning rate of the first epoch, which is AdaGrad.
const FIRST: f64 = 0.1;

/// Trains one model by prox-SVRG, on rows in memory or on disk.
pub(super) fn train(job: &Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Trained> {
    let (mut trained, _) = with_gap(job, false, watch)?;
    let report = &mut trained.report;
    // The solver ends at its estimate of the gap. The certificate says whether that is a proof.
    if report.stop == Stop::Gap && report.relative_gap.is_some_and(|gap| gap > job.settings.tolerance) {
        report.stop = Stop::PredictedDecrease;
    }
    Ok(trained)
}

/// Trains one model by prox-SVRG, with less memory per column if `lean`. Also returns the estimate of the relative duality
/// gap at the last snapshot.
pub(super) fn with_gap(
    job: &Job,
    lean: bool,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<(Trained, f64)> {
    let settings = job.settings;
    let started = Instant::now();
    let scales = scales(job)?;
    let step = settings.rate_factor * settings.eta0.unwrap_or(STEP);
    let rule =
        SvrgOptions { penalty: settings.penalty, step, tolerance: settings.tolerance, seed: settings.seed };
    let (weights, bias) = match &settings.start {
        Some(start) => (start.weights.clone(), start.bias),
        None => first(job, &scales)?,
    };
    let model = Svrg::new(rule, scales.spreads(), settings.bias).weighted(&settings.weighted_penalty());
    let model = model.starting_from(&weights, bias);
    drop((weights, scales));
    let model = model.sampling_one_in(sampled(job.problem.rows()));
    let mut model = One::new(job.loss(), if lean { model.in_little_memory() } else { model });
    let spent = started.elapsed().as_secs_f64();
    let rule = Holdout { settings, validation: job.validation, slower: lower_eta0(step), spent, watch };
    let fitted = rule.fit(&mut model, job.problem)?;
    let gap = model.model.gap();
    drop(model); // the evaluation needs the memory
    Ok((evaluate(job, step, fitted, None)?, gap))
}

/// Runs one epoch of AdaGrad, which is faster far from the optimum, where variance reduction gains little.
fn first(job: &Job, scales: &Scales) -> Result<(Vec<f64>, f64)> {
    let settings = job.settings;
    let unit = Unit::of(settings, "first epoch", job.problem, None)?;
    let mut known: (Vec<f64>, f64) = Default::default();
    if let Some(unit) = &unit
        && unit.checkpoint.find(unit.key, &mut known)?
        && known.0.len() == job.columns()
    {
        return Ok(known);
    }
    let rule = AdagradOptions { penalty: settings.penalty, eta: FIRST, aware: true };
    let units = scales.units(job.loss(), settings.bias);
    let model = Adagrad::new(rule, scales.rms(), units, settings.bias).sampling_one_in(u64::MAX);
    let mut model = model.weighted(&settings.weighted_penalty());
    let mut fine = true;
    job.problem.epoch(job.sequence(), 0, &mut |batch| {
        fine &= model.learn(job.loss(), batch.examples(), batch.order).is_ok();
        Ok(())
    })?;
    let (weights, bias) = (model.weights(), model.bias());
    let mut start = match fine && bias.is_finite() && weights.iter().all(|w| w.is_finite()) {
        true => (weights, bias),
        false => (vec![0.0; weights.len()], if settings.bias { units.start } else { 0.0 }),
    };
    if let Some(unit) = unit {
        unit.checkpoint.put(unit.key, &mut start);
    }
    Ok(start)
}
