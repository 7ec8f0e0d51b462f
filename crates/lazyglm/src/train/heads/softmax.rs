//! Training of a softmax: all classes together.

use super::{FittedHeads, Job, STRIDE, rate, sets};
use crate::optim::sgd::{Diverged, Sample};
use crate::optim::softmax::Softmax;
use crate::problem::heads::Head;
use crate::problem::schedule::Schedule;
use crate::problem::settings::Settings;
use crate::problem::source::{Batch, Problem};
use crate::problem::task::Task;
use crate::train::epoch_loop::Fit;
use crate::train::holdout::{Evaluated, Evaluation, Holdout, sampled};
use crate::train::progress::Progress;
use crate::util::error::Result;
use crate::util::state::Fields;

/// A softmax with its schedule.
pub(super) struct Coupled<'a> {
    model: Softmax,
    rate: &'a dyn Schedule,
    classes: usize,
}

impl<'a> Coupled<'a> {
    /// An untrained softmax of so many classes.
    pub fn new(
        problem: &dyn Problem,
        settings: &Settings,
        rate: &'a dyn Schedule,
        classes: usize,
    ) -> Coupled<'a> {
        let (columns, Settings { penalty, method, bias, precision, .. }) =
            (problem.features().columns(), settings.clone());
        let model = Softmax::new(columns, classes, penalty, method, bias, precision);
        Coupled { model: model.sampling_one_in(sampled(problem.rows())), rate, classes }
    }
}

impl Fit for Coupled<'_> {
    fn learn(&mut self, batch: &Batch, order: &[u32]) -> std::result::Result<Sample, Diverged> {
        let Some(sets) = batch.sets() else { return Ok(Sample::default()) };
        self.model.learn(self.rate, (batch.rows, batch.weights), &sets.ids, order)
    }

    fn fields(&mut self, fields: &mut Fields) {
        self.model.fields(fields);
    }
}

impl Evaluated for Coupled<'_> {
    fn t(&self) -> u64 {
        self.model.t()
    }

    /// The held-out loss is the mean of −ln p of the true class.
    fn evaluate(&mut self, validation: Option<&Task>) -> Evaluation {
        let mut finite = self.model.biases().iter().all(|bias| bias.is_finite());
        let mut nonzeros = 0;
        for w in (0..self.classes).flat_map(|class| self.model.weights(class)) {
            finite &= w.is_finite();
            nonzeros += usize::from(w != 0.0);
        }
        let losses = validation.map(|task| {
            let (rows, sets): (Vec<u32>, _) = ((0..task.len() as u32).collect(), sets(task));
            let mut sum = 0.0;
            self.model.score(task.data.rows.borrow(), &rows, &mut |i, scores| {
                sum += rate::log_loss(scores, sets.ids[i] as usize);
            });
            vec![sum / rows.len() as f64]
        });
        Evaluation { finite, nonzeros: Some(nonzeros), losses }
    }

    fn heads(&self, _unit: usize) -> Vec<Head> {
        let head = |class| Head::of(self.model.weights(class), self.model.biases()[class]);
        (0..self.classes).map(head).collect()
    }

    fn nonzeros(&self) -> Option<usize> {
        None
    }

    /// A row costs as much as one per class elsewhere. With 10⁵ classes, a row takes milliseconds.
    fn stride(&self) -> usize {
        (STRIDE / self.classes.max(1)).clamp(1, 2048)
    }
}

/// Trains all classes together.
pub(super) fn fit(
    job: &Job,
    rate: &dyn Schedule,
    watch: &mut (dyn FnMut(&Progress) + Send),
) -> Result<FittedHeads> {
    let Job { task, targets, settings, validation, .. } = *job;
    let mut model = Coupled::new(task, settings, rate, targets.names.len());
    let rule = Holdout { settings, validation, slower: job.slower(), spent: 0.0, watch };
    let fitted = rule.fit(&mut model, task)?;
    Ok(FittedHeads { fitted, diverged: Vec::new(), duals: Vec::new(), untouched: 0 })
}
