//! Training with a learning rate per weight: see [`crate::optim::adagrad`].

use super::evaluate::{evaluate, lower_eta0};
use super::holdout::{Fitted, Holdout, One, sampled};
use super::job::Job;
use super::progress::Progress;
use super::units::Unit;
use crate::model::trained::Trained;
use crate::optim::adagrad::{Adagrad, AdagradOptions};
use crate::optim::learner::Learner;
use crate::optim::learning_rate_search::{Candidate, LearningRateSearch};
use crate::optim::run_average::RunAverage;
use crate::optim::scales::Scales;
use crate::util::error::Result;
use std::time::Instant;

/// Kinds of steps in the search: two scales of features (root mean square, maximum), each with and without look-ahead.
const KINDS: usize = 4;

/// Trains one model by AdaGrad, on rows in memory or on disk.
pub(super) fn train(job: &Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Trained> {
    let settings = job.settings;
    let started = Instant::now();
    let scales = scales(job)?;
    let units = scales.units(job.loss(), settings.bias);
    let metrics = [scales.rms(), scales.max()];
    drop(scales);
    let each = settings.weighted_penalty().each(job.columns());
    let of = |columns: &[u32]| {
        each.as_ref().map(|each| columns.iter().map(|&j| each[j as usize]).collect::<Vec<_>>())
    };
    let make = |candidate: Candidate, metrics: Vec<f64>| {
        let rule = AdagradOptions {
            penalty: settings.penalty,
            eta: candidate.eta,
            aware: candidate.kind.is_multiple_of(2),
        };
        Adagrad::new(rule, metrics, units, settings.bias)
    };
    let candidate = match settings.eta0 {
        Some(eta) => Candidate { kind: 0, eta },
        None => {
            let slides = job.loss().slide(0.0, 1.0, 1.0).is_some();
            let kind = |kind: usize| if slides { kind } else { 2 * kind + 1 };
            let kinds = if slides { KINDS } else { KINDS / 2 };
            let found = climb(job, kinds, |candidate, columns| {
                let candidate = Candidate { kind: kind(candidate.kind), ..candidate };
                make(candidate, columns.iter().map(|&j| metrics[candidate.kind / 2][j as usize]).collect())
                    .with_each(of(columns))
            })?;
            Candidate { kind: kind(found.kind), ..found }
        }
    };
    let candidate = Candidate { eta: settings.rate_factor * candidate.eta, ..candidate };
    let [rms, max] = metrics;
    let mut model = make(candidate, if candidate.kind / 2 == 0 { rms } else { max }).with_each(each);
    if let Some(start) = &settings.start {
        model = model.starting_from(&start.weights, start.bias);
    }
    let model = model.sampling_one_in(sampled(job.problem.rows()));
    evaluate(job, candidate.eta, fit_average(job, candidate.eta, model, started, watch)?, None)
}

/// Trains the model, or the average of several runs in different row orders.
pub(super) fn fit_average<L: Learner + Clone + Send>(
    job: &Job,
    eta: f64,
    model: L,
    started: Instant,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Fitted> {
    let (settings, validation) = (job.settings, job.validation);
    let model = RunAverage::of(model, settings.runs, settings.seed);
    let spent = started.elapsed().as_secs_f64();
    let rule = Holdout { settings, validation, slower: lower_eta0(eta), spent, watch };
    rule.fit(&mut One::new(job.loss(), model), job.problem)
}

/// Searches for the best kind of steps and learning rate on the first batch.
pub(super) fn climb<L: Learner>(
    job: &Job,
    kinds: usize,
    make: impl Fn(Candidate, &[u32]) -> L + Sync,
) -> Result<Candidate> {
    let mut best = Candidate { kind: 0, eta: 0.1 };
    let unit = Unit::of(job.settings, "climb", job.problem, None)?;
    if let Some(unit) = &unit
        && unit.checkpoint.find(unit.key, &mut best)?
        && best.kind < kinds
    {
        return Ok(best);
    }
    job.problem.beginning(job.sequence(), &mut |batch| {
        let (examples, order, epochs) = (batch.examples(), batch.order, job.settings.epochs);
        let go_on = &|| !job.settings.interrupted();
        best = LearningRateSearch { examples, order, loss: job.loss(), kinds, epochs, go_on }.best(&make)?;
        Ok(())
    })?;
    if let Some(unit) = unit {
        unit.checkpoint.put(unit.key, &mut best);
    }
    Ok(best)
}

/// The scales of all features, found in one pass over the rows.
pub(super) fn scales(job: &Job) -> Result<Scales> {
    let mut scales = Scales::new(job.columns());
    job.problem.pass(&mut |batch| {
        scales.see(batch.examples());
        Ok(())
    })?;
    Ok(scales)
}
