//! Training by FTRL-Proximal: see [`crate::optim::ftrl`].

use super::adagrad::{averaged, climb, scales};
use super::holdout::sampled;
use super::job::Job;
use super::progress::Progress;
use crate::model::trained::Trained;
use crate::optim::ftrl::Ftrl;
use crate::optim::learning_rate_search::Candidate;
use crate::util::error::Result;
use std::time::Instant;

/// Trains one model by FTRL-Proximal, on rows in memory or on disk.
pub(super) fn train(job: &Job, watch: &mut dyn FnMut(&Progress)) -> Result<Trained> {
    let settings = job.settings;
    let started = Instant::now();
    let scales = scales(job)?;
    let units = scales.units(job.loss(), settings.bias);
    let [rms, max] = [scales.rms(), scales.max()];
    drop(scales);
    let each = settings.weighted_penalty().each(job.columns());
    let of = |columns: &[u32]| {
        each.as_ref().map(|each| columns.iter().map(|&j| each[j as usize]).collect::<Vec<_>>())
    };
    let make = |eta, metrics| Ftrl::new(settings.penalty, eta, metrics, units, settings.bias);
    let candidate = match settings.eta0 {
        Some(eta) => Candidate { kind: 0, eta },
        None => climb(job, 2, |candidate, columns| {
            let metrics = if candidate.kind == 0 { &rms } else { &max };
            make(candidate.eta, columns.iter().map(|&j| metrics[j as usize]).collect()).with_each(of(columns))
        })?,
    };
    let candidate = Candidate { eta: settings.rate_factor * candidate.eta, ..candidate };
    let mut model = make(candidate.eta, if candidate.kind == 0 { rms } else { max }).with_each(each);
    if let Some(start) = &settings.start {
        model = model.starting_from(&start.weights, start.bias);
    }
    averaged(job, candidate.eta, model.sampling_one_in(sampled(job.problem.rows())), started, watch)
}
