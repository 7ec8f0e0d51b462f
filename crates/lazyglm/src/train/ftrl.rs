//! Training by following the regularised leader: see [`crate::optim::ftrl`].

use super::adagrad::{climb, refuse_online_ways, scales, slower};
use super::fit::Run;
use super::judge::judge;
use super::{Job, Progress, Trained};
use crate::optim::ftrl::Ftrl;
use crate::optim::learning_rate_search::Candidate;
use crate::optim::run_average::RunAverage;
use crate::problem::settings::Settings;
use crate::util::error::Result;
use std::time::Instant;

/// Trains on rows wherever they are.
pub(super) fn train(job: &Job, settings: &Settings, watch: &mut dyn FnMut(&Progress)) -> Result<Trained> {
    refuse_online_ways(settings)?;
    let started = Instant::now();
    let scales = scales(job)?;
    let units = scales.units(job.loss, settings.bias);
    let [rms, max] = [scales.rms(), scales.max()];
    drop(scales);
    let make = |eta, metrics| Ftrl::new(settings.penalty, eta, metrics, units, settings.bias);
    let candidate = match settings.eta0 {
        Some(eta) => Candidate { kind: 0, eta },
        None => climb(job, settings, 2, |candidate, columns| {
            let metrics = if candidate.kind == 0 { &rms } else { &max };
            make(candidate.eta, columns.iter().map(|&j| metrics[j as usize]).collect())
        })?,
    };
    let mut model = make(candidate.eta, if candidate.kind == 0 { rms } else { max });
    if let Some(start) = &settings.start {
        model = model.starting_from(&start.weights, start.bias);
    }
    let run = Run { job, settings, slower: slower(candidate.eta), spent: started.elapsed().as_secs_f64() };
    let model = RunAverage::of(model.sampling_one_in(run.sampled()), settings.runs, settings.seed);
    judge(job, settings, candidate.eta, run.fit(model, watch)?)
}
