//! `learn`: some learners, one lent matrix, without the interpreter's lock. The library's loop over epochs does the work.

use crate::errors::{Pythons, raised};
use crate::learner::Learner;
use crate::matrix::{Changed, MatrixArrays};
use lazyglm::loss;
use lazyglm::optim::resumable::Resumable;
use lazyglm::optim::scikit_learn_rate::Rate;
use lazyglm::problem::lent::{Lent, check_targets};
use lazyglm::problem::source::Sequence;
use lazyglm::train::epoch_loop::Epochs;
use lazyglm::train::plateau::{Course, EpochFigures, Plateau};
use lazyglm::train::scikit_learn::{self, Class, against_rest, can_join};
use lazyglm::train::side_by_side::{Look, side_by_side};
use lazyglm::train::zeros::zeros;
use lazyglm::{Loss, Order, Parameter, Precision, Result};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// What a call of `learn` depends on besides the data.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    loss: String,
    learning_rate: String,
    eta0: f64,
    alpha: f64,
    power_t: f64,
    epochs: u64,
    tol: Option<f64>,
    patience: u64,
    shuffle: bool,
    seed: u64,
    threads: usize,
    intercept_rate: f64, // as a multiple of the rate of the weights
    zero_test: bool,
}

impl Options {
    fn rate(&self) -> Rate<'_> {
        let Options { eta0, alpha, power_t, .. } = *self;
        Rate { name: &self.learning_rate, eta0, alpha, power_t }
    }
}

/// Running losses, held-out scores, and columns whose weights are to be zero.
type Outcome = (Vec<f64>, Vec<f64>, Vec<u32>);

/// Learners that go through the rows together, each with its number.
type Unit<'l> = Vec<(usize, &'l mut Resumable)>;

/// Learns a matrix. `y` are targets for one learner, or numbers of classes for several, one class each. Returns the running
/// losses and held-out scores of each learner, one entry per epoch, and the columns whose weights the zero test sets to zero.
#[pyfunction]
#[pyo3(signature = (x, y, weights, offsets, held_out, learners, class_weights, options, watch))]
#[expect(clippy::too_many_arguments, reason = "called from one place, by name")]
pub fn learn(
    py: Python,
    x: MatrixArrays,
    y: PyReadonlyArray1<f64>,
    weights: Option<PyReadonlyArray1<f64>>,
    offsets: Option<PyReadonlyArray1<f64>>,
    held_out: Option<PyReadonlyArray1<bool>>,
    learners: Vec<Bound<Learner>>,
    class_weights: Option<Vec<f64>>,
    options: Options,
    watch: Option<Py<PyAny>>,
) -> PyResult<Vec<Outcome>> {
    let (changed, pythons) = (Changed::default(), Pythons::default());
    let slices = x.slices()?;
    let targets = y.as_slice()?;
    let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
    let offsets = offsets.as_ref().map(|offsets| offsets.as_slice()).transpose()?;
    let held_out = held_out.as_ref().map(|held_out| held_out.as_slice()).transpose()?;
    let mut held: Vec<PyRefMut<Learner>> =
        learners.iter().map(|learner| learner.try_borrow_mut()).collect::<std::result::Result<_, _>>()?;
    let mut held: Vec<&mut Resumable> = held.iter_mut().map(|learner| &mut learner.0).collect();
    held.iter_mut().for_each(|model| model.set_bias_rate(options.intercept_rate));
    let loss = loss::clipped(loss::parse(&options.loss).map_err(raised)?);
    let courses = py.detach(|| {
        changed.guard(|| {
            let matrix = slices.checked(&changed)?;
            matrix.lend(|rows| {
                let (columns, check) = (matrix.columns(), || changed.check());
                let check = &check;
                let lent = Lent { rows, columns, targets, weights, offsets, subset: None, check };
                lent.check_lengths(matrix.rows())?;
                let (subset, held_rows) = lent.split(held_out)?;
                check_targets(targets, &*loss, held.len())?;
                let call = Call {
                    options: &options,
                    loss: &*loss,
                    lent: Lent { subset: subset.as_deref(), ..lent },
                    held_rows: held_rows.as_deref(),
                    class_weights: class_weights.as_deref(),
                    several: held.len() > 1,
                    watch: watch.as_ref(),
                    pythons: &pythons,
                };
                let courses = call.learn_all(&mut held)?;
                Ok((courses, call.zeros(&held)?))
            })
        })
    });
    let (courses, zeros) = courses.map_err(|error| pythons.or(error))?;
    Ok(courses.into_iter().zip(zeros).map(|(course, zeros)| (course.losses, course.scores, zeros)).collect())
}

/// One call of `learn`, checked.
struct Call<'a> {
    options: &'a Options,
    loss: &'a dyn Loss,
    lent: Lent<'a>,
    held_rows: Option<&'a [u32]>,
    class_weights: Option<&'a [f64]>,
    several: bool,
    watch: Option<&'a Py<PyAny>>,
    pythons: &'a Pythons,
}

impl Call<'_> {
    /// All learners, in units: as lanes where that changes no bit, and not more of them together than leave work for every thread.
    fn learn_all(&self, learners: &mut [&mut Resumable]) -> Result<Vec<Course>> {
        let threads = self.options.threads.max(1);
        let joins = self.held_rows.is_none() && self.options.rate().passive_aggressive().is_none();
        let size = match joins && can_join(learners) {
            true => learners.len().div_ceil(threads).min(Precision::F64.most_lanes()),
            false => 1,
        };
        let mut units: Vec<Unit> = Vec::new();
        for (k, learner) in learners.iter_mut().enumerate() {
            match units.last_mut() {
                Some(unit) if unit.len() < size => unit.push((k, &mut **learner)),
                _ => units.push(vec![(k, &mut **learner)]),
            }
        }
        let courses =
            side_by_side(units, threads, &|| self.pythons.look(), |unit, look| self.learn_unit(unit, look))?;
        Ok(courses.into_iter().flatten().collect())
    }

    /// The columns of each learner whose weights are zero at their own optimum, if that is asked for.
    fn zeros(&self, learners: &[&mut Resumable]) -> Result<Vec<Vec<u32>>> {
        if !self.options.zero_test {
            return Ok(vec![Vec::new(); learners.len()]);
        }
        let units = (0..learners.len()).collect();
        side_by_side(units, self.options.threads, &|| self.pythons.look(), |k: usize, look| {
            let (penalty, weights, bias) =
                (learners[k].manner.penalty, learners[k].latest(), learners[k].bias());
            let check = &|| (self.lent.check)();
            let test = |lent: &Lent| zeros(self.loss, lent, penalty, &weights, bias, look);
            let lent = Lent { check, ..self.lent };
            match self.several {
                true => against_rest(&lent, k, self.class_weight(k), test),
                false => test(&lent),
            }
        })
    }

    fn class_weight(&self, k: usize) -> f64 {
        self.class_weights.map_or(1.0, |weights| weights[k])
    }

    fn learn_unit(&self, mut unit: Unit, look: Look) -> Result<Vec<Course>> {
        let Options { tol, patience, eta0, seed, shuffle, epochs, .. } = *self.options;
        let numbers: Vec<usize> = unit.iter().map(|(k, _)| *k).collect();
        let score = |weights: &[f64], bias: f64| {
            self.held_rows.map_or(Ok(f64::NAN), |rows| {
                // Of several learners, each scores its own class.
                let own = |&y: &f64| if y == numbers[0] as f64 { 1.0 } else { -1.0 };
                let signs: Option<Vec<f64>> =
                    self.several.then(|| self.lent.targets.iter().map(own).collect());
                let targets = signs.as_deref().unwrap_or(self.lent.targets);
                scikit_learn::score(self.loss, &Lent { targets, ..self.lent }, rows, weights, bias)
            })
        };
        let watch = |k: usize, figures: &EpochFigures| self.tell(numbers[k], figures);
        let (l2, eta) = (Parameter::L2, Parameter::Eta0);
        let rule = Plateau {
            tol,
            patience,
            eta0,
            adaptive: self.options.learning_rate == "adaptive",
            score: self.held_rows.is_some().then_some(&score),
            watch: self.watch.is_some().then_some(&watch),
            look,
            slower: format!("lower {eta}, raise {l2}, or scale the features down"),
        };
        let order = if shuffle { Order::Shuffled } else { Order::Sequential };
        let sequence = Sequence { order, seed };
        let epochs = Epochs { before: 0, most: epochs, sequence, stride: usize::MAX };
        let how = (self.loss, self.options.rate());
        if !self.several
            && let Some((_, model)) = unit.pop()
        {
            return scikit_learn::fit_one(model, how, &self.lent, &rule, &epochs);
        }
        let classes =
            unit.into_iter().map(|(code, model)| Class { code, weight: self.class_weight(code), model });
        scikit_learn::fit_classes(classes.collect(), how, &self.lent, &rule, &epochs)
    }

    /// Calls Python after an epoch.
    fn tell(&self, k: usize, figures: &EpochFigures) -> Result<()> {
        let EpochFigures { epoch, loss, objective, score, norm, nonzeros, bias, steps } = *figures;
        let told = Python::attach(|py| match self.watch {
            Some(watch) => {
                watch.call1(py, (k, epoch, loss, objective, score, norm, nonzeros, bias, steps)).map(drop)
            }
            None => Ok(()),
        });
        self.pythons.keep(told)
    }
}
