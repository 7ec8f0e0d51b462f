//! `learn`: some learners, one matrix, without the interpreter's lock.

use crate::clipped::clipped;
use crate::course::{Course, Epoch, Outcome};
use crate::errors::{Halt, raised};
use crate::learner::Learner;
use crate::matrix::{Changed, Lent};
use crate::rate::Rate;
use crate::together;
use crate::units::{Look, Unit, look_for_signals, side_by_side, units};
use crate::window::Lesson;
use lazyglm::loss::{self, Admits};
use lazyglm::{Error, Loss, Place, Result};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::sync::Mutex;
use std::time::Instant;

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
}

/// Targets of one learner among several: +1 for its class, −1 for the rest.
struct Rest {
    code: f64,
    weight: f64,
}

/// Learns a matrix: `y` are targets for one learner, or numbers of classes for several, one class each. Returns for each
/// its running losses and held-out scores, an entry an epoch.
#[pyfunction]
#[pyo3(signature = (x, y, weights, held_out, learners, class_weights, options, watch))]
#[expect(clippy::too_many_arguments, reason = "called from one place, by name")]
pub fn learn(
    py: Python,
    x: Lent,
    y: PyReadonlyArray1<f64>,
    weights: Option<PyReadonlyArray1<f64>>,
    held_out: Option<PyReadonlyArray1<bool>>,
    learners: Vec<Bound<Learner>>,
    class_weights: Option<Vec<f64>>,
    options: Options,
    watch: Option<Py<PyAny>>,
) -> PyResult<Vec<(Vec<f64>, Vec<f64>)>> {
    let changed = Changed::default();
    let slices = x.slices()?;
    let targets = y.as_slice()?;
    let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
    let held_out = held_out.as_ref().map(|held_out| held_out.as_slice()).transpose()?;
    let mut held: Vec<PyRefMut<Learner>> =
        learners.iter().map(|learner| learner.try_borrow_mut()).collect::<std::result::Result<_, _>>()?;
    let held: Vec<&mut Learner> = held.iter_mut().map(|learner| &mut **learner).collect();
    let loss = clipped(loss::parse(&options.loss).map_err(raised)?);
    let outcomes = py.detach(|| {
        changed.guard(|| {
            let matrix = slices.checked(&changed)?;
            let lesson = Lesson { matrix, targets, weights, changed: &changed };
            let (rows, held_rows) = split(&lesson, held_out)?;
            check_targets(targets, &*loss, held.len())?;
            let course = Course {
                loss: &*loss,
                rate: Rate {
                    name: &options.learning_rate,
                    eta0: options.eta0,
                    alpha: options.alpha,
                    power_t: options.power_t,
                },
                epochs: options.epochs,
                tol: options.tol,
                patience: options.patience,
                shuffle: options.shuffle,
                seed: options.seed,
                rows: rows.as_deref(),
                held_out: held_rows.as_deref(),
                watched: watch.is_some(),
            };
            all(held, &lesson, &course, class_weights.as_deref(), options.threads, watch.as_ref())
        })
    })?;
    Ok(outcomes.into_iter().map(|outcome| (outcome.losses, outcome.scores)).collect())
}

/// The rows to learn, if not all, and those held out: rows of weight zero are as if absent.
#[expect(clippy::type_complexity, reason = "two lists")]
fn split(lesson: &Lesson, held_out: Option<&[bool]>) -> Result<(Option<Vec<u32>>, Option<Vec<u32>>)> {
    let (n, weights) = (lesson.matrix.rows(), lesson.weights);
    lesson.check_lengths()?;
    if held_out.is_some_and(|held_out| held_out.len() != n) {
        let what = format!("X has {n} rows, and as many are not held out or learnt");
        return Err(Error::data(Place::file("y"), what, "say it of each row"));
    }
    let present = |row: usize| weights.is_none_or(|weights| weights[row] > 0.0);
    let held = |row: usize| held_out.is_some_and(|held_out| held_out[row]);
    let of = |wanted: bool| {
        (0..n).filter(|&row| present(row) && held(row) == wanted).map(|row| row as u32).collect()
    };
    let rows: Option<Vec<u32>> = (held_out.is_some() || (0..n).any(|row| !present(row))).then(|| of(false));
    if n == 0 || rows.as_ref().is_some_and(Vec::is_empty) {
        let what = "there are no rows to learn, or all their weights are 0";
        return Err(Error::data(Place::file("X"), what, "give some rows a weight above 0"));
    }
    Ok((rows, held_out.map(|_| of(true))))
}

/// Refuses targets that the loss does not admit.
pub fn check_targets(targets: &[f64], loss: &dyn Loss, learners: usize) -> Result<()> {
    let fits = |y: f64| match loss.admits() {
        Admits::Classes => learners > 1 || y == 1.0 || y == -1.0,
        Admits::Reals => y.is_finite(),
        Admits::NonNegative => y.is_finite() && y >= 0.0,
    };
    match targets.iter().position(|&y| !fits(y)) {
        None => Ok(()),
        Some(row) => {
            let what =
                format!("loss '{}' does not admit the target {} of row {row}", loss.spec(), targets[row]);
            Err(Error::data(Place::file("y"), what, "choose another loss, or check the targets"))
        }
    }
}

/// Every learner goes through the course, side by side on as many threads.
fn all(
    learners: Vec<&mut Learner>,
    lesson: &Lesson,
    course: &Course,
    class_weights: Option<&[f64]>,
    threads: usize,
    watch: Option<&Py<PyAny>>,
) -> std::result::Result<Vec<Outcome>, Halt> {
    let several = learners.len() > 1;
    let rest = |k: usize| {
        let weight = class_weights.map_or(1.0, |weights| weights[k]);
        several.then_some(Rest { code: k as f64, weight })
    };
    let tell = |k: usize| {
        move |epoch: &Epoch| match watch {
            None => Ok(()),
            Some(watch) => Python::attach(|py| {
                let Epoch { number, loss, objective, score, norm, nonzeros, bias, t } = *epoch;
                watch.call1(py, (k, number, loss, objective, score, norm, nonzeros, bias, t))?;
                Ok(())
            }),
        }
    };
    let learn = |unit: Unit, look: Look| match <[_; 1]>::try_from(unit) {
        Ok([(k, learner)]) => Ok(vec![teach(learner, lesson, course, rest(k), look, &tell(k))?]),
        Err(unit) => {
            let class = |(code, learner)| {
                let weight = class_weights.map_or(1.0, |weights| weights[code]);
                together::Class { code, weight, learner }
            };
            let mut classes: Vec<together::Class> = unit.into_iter().map(class).collect();
            together::run(course, &mut classes, lesson, look, &|k, epoch| tell(k)(epoch))
        }
    };
    let units = units(learners, course, threads);
    if threads <= 1 || units.len() == 1 {
        let looked = Mutex::new(Instant::now());
        let look = || looked.lock().map_or(Ok(()), |mut looked| look_for_signals(&mut looked));
        let outcomes = units.into_iter().map(|unit| learn(unit, &look));
        return Ok(outcomes.collect::<std::result::Result<Vec<_>, Halt>>()?.into_iter().flatten().collect());
    }
    side_by_side(units, threads, &learn)
}

fn teach(
    learner: &mut Learner,
    lesson: &Lesson,
    course: &Course,
    rest: Option<Rest>,
    look: &dyn Fn() -> std::result::Result<(), Halt>,
    watch: &dyn Fn(&Epoch) -> std::result::Result<(), Halt>,
) -> std::result::Result<Outcome, Halt> {
    let Some(Rest { code, weight }) = rest else { return course.run(learner, lesson, look, watch) };
    let targets: Vec<f64> = lesson.targets.iter().map(|&y| if y == code { 1.0 } else { -1.0 }).collect();
    let given = |row: usize| lesson.weights.map_or(1.0, |weights| weights[row]);
    let weights: Option<Vec<f64>> = (weight != 1.0).then(|| {
        let of_class = |y: f64| if y > 0.0 { weight } else { 1.0 };
        targets.iter().enumerate().map(|(row, &y)| given(row) * of_class(y)).collect()
    });
    let weights = weights.as_deref().or(lesson.weights);
    let lesson = Lesson { targets: &targets, weights, ..*lesson };
    course.run(learner, &lesson, look, watch)
}
