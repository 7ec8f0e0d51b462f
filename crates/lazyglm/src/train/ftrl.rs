//! Training by FTRL-Proximal: see [`crate::optim::ftrl`].

use super::adagrad::{climb, fit_average, scales};
use super::evaluate::evaluate;
use super::holdout::{Fitted, sampled};
use super::job::Job;
use super::progress::Progress;
use crate::model::trained::Trained;
use crate::optim::ftrl::Ftrl;
use crate::optim::learning_rate_search::Candidate;
use crate::optim::scales::Units;
use crate::problem::penalty::one::OneWeight;
use crate::problem::settings::Settings;
use crate::util::error::Result;
use std::time::Instant;

/// Trains one model by FTRL-Proximal, on rows in memory or on disk.
pub(super) fn train(job: &Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<Trained> {
    let (eta, fitted) = fit(job, watch)?;
    evaluate(job, eta, fitted, None)
}

/// The learning rate and the trained weights, without an evaluation on the training rows.
pub(super) fn fit(job: &Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<(f64, Fitted)> {
    let (settings, started) = (job.settings, Instant::now());
    let metrics = Metrics::of(job)?;
    let candidate = match settings.eta0 {
        Some(eta) => Candidate { kind: 0, eta },
        None => metrics.search(job)?,
    };
    let candidate = Candidate { eta: settings.rate_factor * candidate.eta, ..candidate };
    let Metrics { rms, max, units, each } = metrics;
    let metrics = if candidate.kind == 0 { rms } else { max };
    let mut model = Ftrl::new(settings.penalty, candidate.eta, metrics, units, settings.bias).with_each(each);
    if let Some(start) = &settings.start {
        model = model.starting_from(&start.weights, start.bias);
    }
    let model = model.sampling_one_in(sampled(job.problem.rows()));
    Ok((candidate.eta, fit_average(job, candidate.eta, model, started, watch)?))
}

/// The learning rate that the search on the first batch finds, for steps in units of the root mean square of each feature.
pub(super) fn rate(job: &Job) -> Result<f64> {
    let (metrics, settings) = (Metrics::of(job)?, job.settings);
    climb(job, 1, |candidate, columns| metrics.model(settings, candidate, columns)).map(|found| found.eta)
}

/// What the steps of all weights depend on.
struct Metrics {
    rms: Vec<f64>,
    max: Vec<f64>,
    units: Units,
    each: Option<Vec<OneWeight>>,
}

impl Metrics {
    fn of(job: &Job) -> Result<Metrics> {
        let scales = scales(job)?;
        let units = scales.units(job.loss(), job.settings.bias);
        let [rms, max] = [scales.rms(), scales.max()];
        Ok(Metrics { rms, max, units, each: job.settings.weighted_penalty().each(job.columns()) })
    }

    /// Searches for the best learning rate, in units of the root mean square or of the maximum of each feature.
    fn search(&self, job: &Job) -> Result<Candidate> {
        let settings = job.settings;
        climb(job, 2, |candidate, columns| self.model(settings, candidate, columns))
    }

    /// A model of some columns.
    fn model(&self, settings: &Settings, candidate: Candidate, columns: &[u32]) -> Ftrl {
        let metrics = if candidate.kind == 0 { &self.rms } else { &self.max };
        let metrics = columns.iter().map(|&j| metrics[j as usize]).collect();
        let each = self.each.as_ref();
        let each = each.map(|each| columns.iter().map(|&j| each[j as usize]).collect());
        Ftrl::new(settings.penalty, candidate.eta, metrics, self.units, settings.bias).with_each(each)
    }
}
