//! Training of classes and labels to the optimum by Newton's method.

use super::{FittedHeads, Job};
use crate::eval::objective;
use crate::model::report::{Stop, Validation};
use crate::train::newton::minimise;
use crate::train::progress::Progress;
use crate::util::error::{Kind, Result};

/// Trains all heads to the optimum, within the tolerance.
pub(super) fn fit(job: &Job, watch: &mut (dyn FnMut(&Progress) + Send)) -> Result<FittedHeads> {
    let (mut found, seconds) = minimise(job.task, job.settings, watch)?;
    if found.stop == Stop::Interrupted && found.steps == 0 {
        return Err(Kind::Interrupted.into()); // no head made a step
    }
    let held_out = job.validation.map(|held| {
        let heads = objective::of_heads(&job.evaluation(held), &found.heads);
        let loss = heads.iter().map(|head| head.objective.loss).sum();
        Validation { loss, best_epoch: found.steps as u64 }
    });
    let (untouched, duals) = (found.untouched, std::mem::take(&mut found.duals));
    Ok(FittedHeads { fitted: found.fitted(seconds, held_out), diverged: Vec::new(), duals, untouched })
}
