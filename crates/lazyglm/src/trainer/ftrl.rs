//! Training by following the regularised leader: see [`crate::solver::ftrl`].

use super::adagrad::{climb, refuse_online_ways, scales, slower};
use super::epochs::Run;
use super::judge::judge;
use super::{Job, Progress, Trained};
use crate::error::Result;
use crate::settings::Settings;
use crate::solver::ftrl::Ftrl;
use crate::solver::ladder::Rung;
use crate::solver::mean::Mean;
use std::time::Instant;

/// Trains on rows wherever they are.
pub(super) fn train(job: &Job, settings: &Settings, watch: &mut dyn FnMut(&Progress)) -> Result<Trained> {
    refuse_online_ways(settings)?;
    let started = Instant::now();
    let scales = scales(job)?;
    let units = scales.units(job.loss, settings.bias);
    let [rms, max] = [scales.rms(), scales.max()];
    drop(scales);
    let make = |eta, metrics| Ftrl::new(settings.net, eta, metrics, units, settings.bias);
    let rung = match settings.eta0 {
        Some(eta) => Rung { kind: 0, eta },
        None => climb(job, settings, 2, |rung, columns| {
            let metrics = if rung.kind == 0 { &rms } else { &max };
            make(rung.eta, columns.iter().map(|&j| metrics[j as usize]).collect())
        })?,
    };
    let mut model = make(rung.eta, if rung.kind == 0 { rms } else { max });
    if let Some(start) = &settings.start {
        model = model.starting_from(&start.weights, start.bias);
    }
    let run = Run { job, settings, slower: slower(rung.eta), spent: started.elapsed().as_secs_f64() };
    let model = Mean::of(model.sampling_one_in(run.sampled()), settings.runs, settings.seed);
    judge(job, settings, rung.eta, run.fit(model, watch)?)
}
