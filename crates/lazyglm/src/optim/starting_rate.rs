//! Searches the initial learning rate if none is given, by training lanes at several rates on a sample of the
//! rows.
//!
//! The natural unit of rates is 1/(c·mean‖x‖²), with c the curvature of the loss: there a step just about
//! cancels the error of its row. The best rate differs from this by a factor that depends on noise, so no
//! constant is right for all data. So the run is rehearsed: all rates are trained at once on a sample of the
//! rows, for as many epochs. A held-out fifth of the sample gives the objective (mean loss plus penalty) of
//! each rate. The first sample is small and tries sixteen powers of two. The second is larger and tries half
//! powers around the best of them.
//!
//! For a loss with an unbounded derivative (such as squared), the longest row must not cause divergence. At a
//! rate of 2/(c·ω‖x‖²), learning a row flips the sign of its error, and above that the error grows. So no
//! rate is tried that would still exceed this bound for the longest row at the end of the run, or exceeds
//! eight times the bound at the start. The sample always contains the longest row. In all this, ‖x‖² has 1
//! added for the bias. The limit of SGD, ηλ₂ < 1, is kept with a margin.
//!
//! ```
//! use lazyglm::{Settings, synth, train};
//! let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
//! let objective = |eta0| {
//!     let settings = Settings { eta0, ..Settings::default() };
//!     train(&task, None, &settings, &mut |_| {}).unwrap().report.objective
//! };
//! assert!(objective(None) < objective(Some(1e-4)) && objective(None) < objective(Some(100.0)));
//! ```

use super::lane_loss::Same;
use super::lanes::{self, Pass};
use crate::data::rows::{Examples, Rows};
use crate::problem::loss::Loss;
use crate::problem::penalty::{ElasticNet, Method};
use crate::problem::schedule::{Schedule, Setting, Spec};
use crate::problem::settings::Precision;
use crate::util::error::{Kind, Result};
use crate::util::random::Random;
use rayon::prelude::*;

/// Number of rows in the first and in the second sample.
const SAMPLES: [usize; 2] = [5_000, 20_000];
/// Maximum number of epochs of a rehearsal.
const MOST_PASSES: u64 = 5;
/// Exponents of the first rates: powers of two around the natural rate.
const COARSE: std::ops::Range<i32> = -8..8;
/// Exponents of the second rates: half powers of two around the best first rate.
const FINE: std::ops::Range<i32> = -4..4;
/// With fewer held-out rows than this, all rows are used for both training and evaluation.
const FEWEST_JUDGED: usize = 5;
/// Minimum number of steps per rate, if the run has as many.
const FEWEST_STEPS: u64 = 1_000;
/// Number of lanes per block. Each thread trains a block.
const ABREAST: usize = 8;
/// Non-zeros between two looks for a signal: some hundredths of a second.
const STRIDE: usize = 1 << 21;

/// Properties of the run that a rehearsal needs.
///
/// ```
/// use lazyglm::{ElasticNet, Method, Settings, optim::starting_rate::{Extent, Trial, find}, synth};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let Settings { penalty, method, schedule, epochs, bias, .. } = &Settings::default();
/// let (penalty, method, epochs, bias) = (*penalty, *method, *epochs, *bias);
/// let (examples, order, loss) = (task.examples(), &(0..500).collect::<Vec<_>>()[..], &*task.loss);
/// let (rows, extent) = (500, Extent::of(task.examples()));
/// let trial = Trial { examples, order, rows, extent, loss, penalty, method, schedule, epochs, bias, go_on: &|| true };
/// let strong = Trial { penalty: ElasticNet { l2: 100.0, ..penalty }, method: Method::Sgd, ..trial };
/// assert!(find(&strong).unwrap().eta0 <= 0.005, "SGD needs ηλ₂ < 1");
/// assert!(find(&trial).unwrap().eta0 > 0.005);
/// ```
#[derive(Clone, Copy)]
pub struct Trial<'a> {
    /// The first rows of the run.
    pub examples: Examples<'a>,
    /// The order of these rows.
    pub order: &'a [u32],
    /// Total number of rows.
    pub rows: u64,
    /// Magnitudes of the rows, used for losses with an unbounded derivative.
    pub extent: Extent,
    /// The loss.
    pub loss: &'a dyn Loss,
    /// The penalty.
    pub penalty: ElasticNet,
    /// SGD or FoBoS.
    pub method: Method,
    /// The schedule that starts from the rate.
    pub schedule: &'a Spec,
    /// Number of epochs of the run.
    pub epochs: u64,
    /// Whether there is a bias.
    pub bias: bool,
    /// Whether to go on. It is asked after every two million non-zeros; if not, the search ends with an error.
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

/// Magnitudes of rows and targets.
///
/// ```
/// use lazyglm::{Examples, Rows, optim::starting_rate::Extent};
/// let mut rows = Rows::new();
/// [1.0, 3.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
/// let extent = Extent::of(Examples::new(rows.borrow(), &[-5.0, 2.0], None).unwrap());
/// assert_eq!((extent.length, extent.longest, extent.target), (10.0, Some(1), 5.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extent {
    /// The largest ω(‖x‖² + 1), where 1 is added for the bias.
    pub length: f64,
    /// The row with the largest ω(‖x‖² + 1).
    pub longest: Option<usize>,
    /// The largest |y|.
    pub target: f64,
}

impl Extent {
    /// The magnitudes of some rows.
    pub fn of(examples: Examples) -> Extent {
        let mut extent = Extent::default();
        for i in 0..examples.len() {
            let length = examples.weight(i) * square(examples, i);
            if length > extent.length {
                (extent.length, extent.longest) = (length, Some(i));
            }
            extent.target = extent.target.max(examples.targets[i].abs());
        }
        extent
    }
}

/// The value ‖x‖² + 1 of a row.
fn square(examples: Examples, i: usize) -> f64 {
    let mut square = 1.0;
    examples.rows.for_each(i, |_, x| square += x * x);
    square
}

/// An initial learning rate.
///
/// ```
/// use lazyglm::optim::starting_rate::Rate;
/// let rate = Rate { eta0: 0.1, held_down: false };
/// assert!(rate.eta0 > 0.0 && !rate.held_down);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The rate η₀.
    pub eta0: f64,
    /// Whether a single row, much longer than most, limits the rate.
    pub held_down: bool,
}

/// Searches an initial learning rate.
///
/// ```
/// use lazyglm::{ElasticNet, Examples, Method, Rows, loss, schedule::Spec, optim::starting_rate::{Extent, Trial, find}};
/// let (mut rows, penalty) = (Rows::new(), ElasticNet::new(0.0, 0.0).unwrap());
/// [1.0, 2.0, 3.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
/// let examples = Examples::new(rows.borrow(), &[1.0, 2.0, 3.0], None).unwrap();
/// let (loss, schedule) = (&*loss::parse("squared").unwrap(), &Spec::parse("constant").unwrap());
/// let (order, method, epochs, bias) = (&[0, 1, 2][..], Method::Fobos, 5, false);
/// let (rows, extent) = (3, Extent::of(examples));
/// let trial = Trial { examples, order, rows, extent, loss, penalty, method, schedule, epochs, bias, go_on: &|| true };
/// let rate = find(&trial).unwrap();
/// assert!(rate.eta0 <= 0.2, "above 2/(3² + 1) the longest row would be thrown about");
/// assert!(find(&Trial { go_on: &|| false, ..trial }).is_err(), "the caller ended the search");
/// ```
pub fn find(trial: &Trial) -> Result<Rate> {
    let (natural, safe) = scale(trial)?;
    let most = trial.most(safe);
    let mut best = natural;
    for (size, exponents, base) in [(SAMPLES[0], COARSE, 2f64), (SAMPLES[1], FINE, 2f64.sqrt())] {
        let mut rates: Vec<f64> =
            exponents.map(|candidate| (best * base.powi(candidate)).min(most)).collect();
        rates.dedup(); // several may equal the limit
        // If the rows do not fit into memory, both samples have the size of the first.
        let size = if (trial.order.len() as u64) < trial.rows { SAMPLES[0] } else { size };
        let (rows, held_out) = trial.chosen(size);
        let losses = smoothed(&trial.rehearse(&rates, &RowSample::of(trial.examples, &rows, held_out))?);
        let lowest = (0..rates.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
        best = lowest.filter(|&k| losses[k].is_finite()).map_or(rates[0], |k| rates[k]);
    }
    Ok(Rate { eta0: rounded(best), held_down: safe < natural / 2.0 })
}

/// The natural rate, or the highest that the loss and the method allow.
pub(crate) fn natural(trial: &Trial) -> Result<f64> {
    let (natural, safe) = scale(trial)?;
    Ok(natural.min(trial.most(safe)))
}

/// The natural rate, and the highest safe rate for this loss.
fn scale(trial: &Trial) -> Result<(f64, f64)> {
    let Trial { examples, extent, loss, .. } = *trial;
    let bounded = loss.gradient_bound().is_finite();
    let curvature = loss.curvature().unwrap_or_else(|| match bounded {
        true => 1.0,
        false => extent.target.max(1.0), // log link: below e^s or y, which are near each other for a good fit
    });
    let (tried, _) = trial.chosen(SAMPLES[0]);
    let mean = tried.iter().map(|&i| square(examples, i as usize)).sum::<f64>() / tried.len() as f64;
    let rate = |square: f64| (1.0 / (curvature * square)).max(f64::MIN_POSITIVE);
    if bounded {
        return Ok((rate(mean), f64::INFINITY));
    }
    let last = trial.schedule(1.0)?.eta(trial.rows.saturating_mul(trial.epochs) - 1);
    Ok((rate(mean), (2.0 / last).min(16.0) * rate(extent.length.max(1.0))))
}

/// A sample of rows, restricted to the columns that occur in it, because many lanes of all columns may need
/// too much memory.
pub(super) struct RowSample {
    rows: Rows,
    targets: Vec<f64>,
    weights: Vec<f64>,
    offsets: Option<Vec<f64>>,
    pub columns: Vec<u32>, // original column numbers
    pub learnt: Vec<u32>,  // the rows to learn, in order
    judged: Vec<u32>,
}

impl RowSample {
    pub fn of(examples: Examples, chosen: &[u32], held_out: usize) -> RowSample {
        let mut column = vec![0; examples.rows.columns()];
        chosen.iter().for_each(|&i| examples.rows.for_each(i as usize, |j, _| column[j] = 1));
        let mut columns = Vec::new();
        for (j, place) in column.iter_mut().enumerate().filter(|(_, place)| **place == 1) {
            *place = columns.len() as u32;
            columns.push(j as u32);
        }
        let (mut rows, mut ids, mut values) = (Rows::new(), Vec::new(), Vec::new());
        for &i in chosen {
            ids.clear();
            values.clear();
            examples.rows.for_each(i as usize, |j, x| {
                ids.push(column[j]);
                values.push(x);
            });
            rows.push_known(&ids, &values);
        }
        rows.declare_columns(columns.len());
        let of = |i: &u32| (examples.targets[*i as usize], examples.weight(*i as usize));
        let (targets, weights) = chosen.iter().map(of).unzip();
        let offsets = examples.offsets.map(|offsets| chosen.iter().map(|&i| offsets[i as usize]).collect());
        let all: Vec<u32> = (0..chosen.len() as u32).collect();
        let (learnt, judged) = match held_out {
            0 => (all.clone(), all), // too few to hold any out
            held_out => {
                let (learnt, judged) = all.split_at(all.len() - held_out);
                (learnt.to_vec(), judged.to_vec())
            }
        };
        RowSample { rows, targets, weights, offsets, columns, learnt, judged }
    }

    /// Some of the rows, in pieces after which a signal is looked for. All of them are one piece, unless they are long.
    pub fn pieces<'a>(&self, order: &'a [u32]) -> std::slice::Chunks<'a, u32> {
        let per_row = self.rows.nonzeros() / self.rows.len().max(1);
        order.chunks((STRIDE / per_row.max(1)).max(1))
    }

    pub fn examples(&self) -> Examples<'_> {
        let (weights, offsets) = (Some(&self.weights[..]), self.offsets.as_deref());
        Examples { rows: self.rows.borrow(), targets: &self.targets, weights, offsets }
    }
}

impl Trial<'_> {
    /// The highest rate that the method allows, below the highest safe rate of the loss.
    fn most(&self, safe: f64) -> f64 {
        match self.method {
            Method::Sgd => safe.min(0.5 / self.penalty.l2), // no limit if λ₂ = 0
            Method::Fobos => safe,
        }
    }

    /// The schedule of the run, starting from this rate.
    fn schedule(&self, eta0: f64) -> Result<Box<dyn Schedule>> {
        let rows = Some(self.rows);
        self.schedule.resolve(&Setting { eta0, l2: self.penalty.l2, rows, epochs: self.epochs })
    }

    /// A shuffled sample of rows from the whole order, which may be sorted. The returned number of last rows
    /// is held out.
    fn chosen(&self, size: usize) -> (Vec<u32>, usize) {
        let all = self.order.len();
        let size = all.min(size);
        let place = |k: usize| (k as u128 * all as u128 / size as u128) as usize;
        let mut rows: Vec<u32> = (0..size).map(|k| self.order[place(k)]).collect();
        Random::new(size as u64).shuffle(&mut rows);
        let held_out = Some(size / 5).filter(|&count| count >= FEWEST_JUDGED).unwrap_or(0);
        if !self.loss.gradient_bound().is_finite() {
            let length = |&i: &u32| self.examples.weight(i as usize) * square(self.examples, i as usize);
            let longest = self.order.iter().max_by(|a, b| length(a).total_cmp(&length(b)));
            let learnt = &mut rows[..size - held_out];
            let middle = learnt.len() / 2;
            longest.filter(|row| !learnt.contains(row)).into_iter().for_each(|&row| learnt[middle] = row);
        }
        (rows, held_out)
    }

    fn check_signal(&self) -> Result<()> {
        if (self.go_on)() { Ok(()) } else { Err(Kind::Interrupted.into()) }
    }

    /// The objective on the held-out rows after training at each rate, or infinity on divergence.
    fn rehearse(&self, rates: &[f64], sample: &RowSample) -> Result<Vec<f64>> {
        let few = FEWEST_STEPS.div_ceil(sample.learnt.len() as u64).min(self.epochs);
        let epochs = self.epochs.min(MOST_PASSES).max(few);
        let examples = sample.examples();
        let some = |rates: &[f64]| {
            let rows = Some(sample.learnt.len() as u64);
            let schedules = rates
                .iter()
                .map(|&eta0| self.schedule.resolve(&Setting { eta0, l2: self.penalty.l2, rows, epochs }));
            let schedules = schedules.collect::<Result<Vec<_>>>()?;
            let schedules: Vec<&dyn Schedule> = schedules.iter().map(|schedule| &**schedule).collect();
            let penalties = vec![self.penalty; rates.len()];
            let columns = examples.rows.columns();
            let mut block = lanes::block(columns, &penalties, self.method, self.bias, Precision::F32);
            let mut lane_loss = Same { loss: self.loss, examples };
            let (rows, weights) = (examples.rows, examples.weights);
            for order in (0..epochs).flat_map(|_| sample.pieces(&sample.learnt)) {
                self.check_signal()?;
                block.learn(&mut lane_loss, &Pass { rates: &schedules, rows, weights, order });
            }
            let (mut sums, mut weights) = (vec![0.0; rates.len()], 0.0);
            for judged in sample.pieces(&sample.judged) {
                self.check_signal()?;
                block.score(examples.rows, judged, &mut |i, scores| {
                    let (weight, offset) = (examples.weight(i), examples.offset(i));
                    weights += weight;
                    for (sum, &score) in sums.iter_mut().zip(scores) {
                        *sum += weight * self.loss.value(score + offset, examples.targets[i]);
                    }
                });
            }
            let mean = |(lane, sum): (usize, &f64)| match block.diverged(lane) {
                None if sum.is_finite() => {
                    sum / weights + self.penalty.value(&block.weights(lane).collect::<Vec<f64>>())
                }
                _ => f64::INFINITY,
            };
            Ok(sums.iter().enumerate().map(mean).collect::<Vec<f64>>())
        };
        let losses: Vec<Result<Vec<f64>>> = rates.par_chunks(ABREAST).map(some).collect();
        losses.into_iter().collect::<Result<Vec<_>>>().map(|losses| losses.concat())
    }
}

/// The mean of each score and its neighbours. Scores are noisy, and losses rise faster above the best rate
/// than below, so this favours smaller rates. At an end, the score replaces the missing neighbour.
fn smoothed(marks: &[f64]) -> Vec<f64> {
    let at = |k: usize| marks[k.min(marks.len() - 1)];
    (0..marks.len()).map(|k| (at(k.saturating_sub(1)) + at(k) + at(k + 1)) / 3.0).collect()
}

/// The rate rounded to two digits, because the search is no more precise.
pub(crate) fn rounded(rate: f64) -> f64 {
    format!("{rate:.1e}").parse().unwrap_or(rate)
}
