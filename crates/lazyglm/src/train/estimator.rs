//! One call of `fit` or `partial_fit` of scikit-learn's estimators: one model, or one per class, on lent rows.
//!
//! Classes that learn from the same rows are lanes of one pass where that changes no bit. No more of them go together than leave
//! work for every thread.

use super::epoch_loop::Epochs;
use super::plateau::{Course, EpochFigures, Plateau};
use super::polish::{Polished, polish};
use super::scikit_learn::{Class, can_join, fit_classes, fit_one, score, with_signs};
use super::side_by_side::{Look, side_by_side};
use super::zeros::zeros;
use crate::optim::resumable::Resumable;
use crate::optim::scikit_learn_rate::Rate;
use crate::problem::lent::Lent;
use crate::problem::loss::Loss;
use crate::problem::settings::Precision;
use crate::problem::source::Sequence;
use crate::util::error::{Error, Result};
use crate::util::parameter::Parameter;

/// Called with the number of a model and the figures of its epoch, on any thread.
pub type Tell<'a> = dyn Fn(usize, &EpochFigures) -> Result<()> + Sync + 'a;

/// A call, whose arrays are checked.
pub struct Call<'a> {
    /// The loss.
    pub loss: &'a dyn Loss,
    /// The learning rate.
    pub rate: Rate<'a>,
    /// The rows to learn. Of several models, targets are numbers of classes.
    pub lent: Lent<'a>,
    /// The rows that score each epoch, if there are any.
    pub held_rows: Option<&'a [u32]>,
    /// The rows of each label, if models learn one label each: those of label k are `rows[ends[k]..ends[k + 1]]` of (ends, rows).
    pub labels: Option<(&'a [usize], &'a [usize])>,
    /// The weight of the rows of each class; 1 if not given.
    pub class_weights: Option<&'a [f64]>,
    /// The order of rows.
    pub sequence: Sequence,
    /// The largest number of epochs.
    pub epochs: u64,
    /// The improvement that counts; all epochs if not given.
    pub tol: Option<f64>,
    /// Epochs without improvement before the end.
    pub patience: u64,
    /// The number of threads.
    pub threads: usize,
    /// Called after each epoch of each model.
    pub tell: Option<&'a Tell<'a>>,
    /// Called between batches, on the calling thread; an error ends the call.
    pub look: &'a (dyn Fn() -> Result<()> + Sync),
}

/// Models that go through the rows together, each with its number.
type Unit<'m> = Vec<(usize, &'m mut Resumable)>;

impl Call<'_> {
    /// Trains the models, one or one per class. Models that are interrupted keep what they have learnt.
    pub fn fit(&self, models: &mut [&mut Resumable]) -> Result<Vec<Course>> {
        self.check_labels(models.len())?;
        let (threads, several) = (self.threads.max(1), models.len() > 1);
        let joins =
            self.held_rows.is_none() && self.labels.is_none() && self.rate.passive_aggressive().is_none();
        let size = match joins && can_join(models) {
            true => models.len().div_ceil(threads).min(Precision::F64.most_lanes()),
            false => 1,
        };
        let mut numbered = models.iter_mut().enumerate().map(|(k, model)| (k, &mut **model)).peekable();
        let mut units: Vec<Unit> = Vec::new();
        while numbered.peek().is_some() {
            units.push(numbered.by_ref().take(size).collect());
        }
        let fit = |unit, look: Look| self.fit_unit(unit, several, look);
        Ok(side_by_side(units, threads, self.look, fit)?.into_iter().flatten().collect())
    }

    /// What each model is with an ℓ₁ penalty at the end of `fit`: without the weights that are zero at their own optimum (see [`zeros`]), and
    /// after some coordinate steps on the others (see [`polish`]).
    pub fn polished(&self, models: &[&mut Resumable]) -> Result<Vec<Polished>> {
        let each = (0..models.len()).collect();
        side_by_side(each, self.threads, self.look, |k: usize, look| {
            let (model, check) = (&models[k], &|| (self.lent.check)());
            let lent = Lent { check, ..self.lent };
            match models.len() > 1 {
                true => with_signs(&lent, &self.signs(k), self.class_weight(k), |lent| {
                    self.polish_one(model, lent, look)
                }),
                false => self.polish_one(model, &lent, look),
            }
        })
    }

    fn polish_one(&self, model: &Resumable, lent: &Lent, look: Look) -> Result<Polished> {
        let (penalty, bias) = (model.manner.penalty, model.bias());
        let mut weights = model.latest();
        for j in zeros(self.loss, lent, penalty, &weights, bias, look)? {
            weights[j as usize] = 0.0;
        }
        polish(self.loss, lent, penalty, (&weights, bias, model.manner.bias), look)
    }

    /// The targets of one of several models: +1 for the rows of its class or label, −1 for the rest.
    fn signs(&self, k: usize) -> Vec<f64> {
        let own = |&y: &f64| if y == k as f64 { 1.0 } else { -1.0 };
        let Some((ends, rows)) = self.labels else { return self.lent.targets.iter().map(own).collect() };
        let mut signs = vec![-1.0; self.lent.targets.len()];
        rows[ends[k]..ends[k + 1]].iter().for_each(|&row| signs[row] = 1.0);
        signs
    }

    /// Whether the rows of labels are rows of the matrix, and there are as many labels as models.
    fn check_labels(&self, models: usize) -> Result<()> {
        let fits = self.labels.is_none_or(|(ends, rows)| {
            ends.len() == models + 1
                && ends[0] == 0
                && ends.is_sorted()
                && ends[models] == rows.len()
                && rows.iter().all(|&row| row < self.lent.targets.len())
        });
        let wrong = || Error::call("the labels are not those of these rows", "give the labels of each row");
        if fits { Ok(()) } else { Err(wrong()) }
    }

    fn class_weight(&self, k: usize) -> f64 {
        self.class_weights.map_or(1.0, |weights| weights[k])
    }

    fn fit_unit(&self, mut unit: Unit, several: bool, look: Look) -> Result<Vec<Course>> {
        let numbers: Vec<usize> = unit.iter().map(|(k, _)| *k).collect();
        let score = |weights: &[f64], bias: f64| {
            self.held_rows.map_or(Ok(f64::NAN), |rows| {
                let signs = several.then(|| self.signs(numbers[0])); // each scores its own class
                let targets = signs.as_deref().unwrap_or(self.lent.targets);
                score(self.loss, &Lent { targets, ..self.lent }, rows, weights, bias)
            })
        };
        let watch =
            |k: usize, figures: &EpochFigures| self.tell.map_or(Ok(()), |tell| tell(numbers[k], figures));
        let rule = Plateau {
            tol: self.tol,
            patience: self.patience,
            eta0: self.rate.eta0,
            adaptive: self.rate.name == "adaptive",
            score: self.held_rows.is_some().then_some(&score),
            watch: self.tell.is_some().then_some(&watch),
            look,
            slower: format!("lower {}, raise {}, or scale the features down", Parameter::Eta0, Parameter::L2),
        };
        let epochs = Epochs { before: 0, most: self.epochs, sequence: self.sequence, stride: usize::MAX };
        let how = (self.loss, self.rate);
        if !several && let Some((_, model)) = unit.pop() {
            return fit_one(model, how, &self.lent, &rule, &epochs);
        }
        if self.labels.is_some()
            && let Some((label, model)) = unit.pop()
        {
            let fit = |lent: &Lent| fit_one(model, how, lent, &rule, &epochs);
            return with_signs(&self.lent, &self.signs(label), 1.0, fit);
        }
        let class = |(code, model)| Class { code, weight: self.class_weight(code), model };
        fit_classes(unit.into_iter().map(class).collect(), how, &self.lent, &rule, &epochs)
    }
}
