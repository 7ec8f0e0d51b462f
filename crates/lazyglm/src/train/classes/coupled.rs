//! Classes whose probabilities are learnt together: the loop over epochs of a softmax.

use super::apart::{Fitted, Job};
use super::rate;
use super::task::ClassTask;
use crate::model::report::{Epoch, Stop, Validation};
use crate::optim::sgd::{Diverged, SAMPLED, Sample};
use crate::optim::softmax::Softmax;
use crate::problem::heads::Head;
use crate::util::error::{Kind as Wrong, Place, Result};

/// Rows learnt between two words on how it goes.
const STRIDE: usize = 2048;

/// How far it is.
pub(super) struct Told {
    pub epoch: u64,
    pub rows: u64, // of this epoch
    pub running_loss: f64,
    pub held_out: Option<f64>,
    pub nonzeros: Option<usize>,
}

/// Learns all classes.
pub(super) fn fit(job: &Job, tell: &mut dyn FnMut(Told)) -> Result<Fitted> {
    let (task, settings) = (job.task, job.settings);
    let (columns, classes) = (task.data.rows.columns(), task.names.len());
    let sampled = if task.rows() < 8192 { 1 } else { SAMPLED };
    let width = settings.precision;
    let model = Softmax::new(columns, classes, settings.penalty, settings.method, settings.bias, width);
    let mut model = model.sampling_one_in(sampled);
    let (mut best, mut history, mut stop) = (Best::default(), Vec::new(), Stop::Epochs);
    for epoch in 1..=settings.epochs {
        let order = rate::order(task.rows(), settings, epoch - 1);
        let (mut sample, mut rows) = (Sample::default(), 0);
        for part in order.chunks(STRIDE) {
            let more = model.learn(job.rate, task.examples(), &task.sets.ids, part);
            sample = sample.and(more.map_err(|at| diverged(job, task.data.place(at.row), epoch, at))?);
            rows += part.len() as u64;
            tell(Told { epoch, rows, running_loss: sample.mean(), held_out: None, nonzeros: None });
        }
        let held_out = job.validation.map(|held_out| held_out_loss(&mut model, held_out));
        let running_loss = Some(sample.mean()).filter(|loss| loss.is_finite());
        let validation_loss = held_out.filter(|loss| loss.is_finite());
        history.push(Epoch { running_loss, validation_loss });
        let nonzeros = Some(nonzeros(&model, classes));
        tell(Told { epoch, rows, running_loss: sample.mean(), held_out, nonzeros });
        if let Some(loss) = held_out {
            if best.epoch == 0 || loss < best.loss {
                let heads = settings.early_stop.map(|_| heads(&model, classes));
                best = Best { epoch, loss, heads };
            }
            if settings.early_stop.is_some_and(|patience| epoch - best.epoch >= patience) {
                stop = Stop::EarlyStop;
                break;
            }
        }
    }
    let validation = history.last().and_then(|last| last.validation_loss).map(|last| Validation {
        loss: if best.heads.is_some() { best.loss } else { last },
        best_epoch: best.epoch,
    });
    let heads = best.heads.unwrap_or_else(|| heads(&model, classes));
    if !heads.iter().all(Head::is_finite) {
        let at = Diverged { row: 0, t: model.t(), score: f64::INFINITY, slope: f64::NAN };
        return Err(diverged(job, task.data.file(), history.len() as u64, at));
    }
    Ok(Fitted { heads, history, validation, stop, diverged: Vec::new(), thresholds: None })
}

#[derive(Default)]
struct Best {
    epoch: u64,
    loss: f64,
    heads: Option<Vec<Head>>,
}

fn heads(model: &Softmax, classes: usize) -> Vec<Head> {
    (0..classes).map(|class| Head::of(model.weights(class), model.biases()[class])).collect()
}

fn nonzeros(model: &Softmax, classes: usize) -> usize {
    (0..classes).map(|class| model.weights(class).filter(|w| *w != 0.0).count()).sum()
}

/// The mean of −ln p of the true class.
fn held_out_loss(model: &mut Softmax, held_out: &ClassTask) -> f64 {
    let rows: Vec<u32> = (0..held_out.rows() as u32).collect();
    let mut sum = 0.0;
    model.score(held_out.examples(), &rows, &mut |i, scores| {
        sum += rate::log_loss(scores, held_out.sets.ids[i] as usize);
    });
    sum / rows.len() as f64
}

fn diverged(job: &Job, place: Place, epoch: u64, at: Diverged) -> crate::util::error::Error {
    let eta0 = job.rate.eta(0);
    let hint = format!("lower --eta0 (it was {eta0:?}; auto finds one) or scale the features down");
    Wrong::Diverged { place, epoch, step: at.t, what: format!("a score became {}", at.score), hint }.into()
}
