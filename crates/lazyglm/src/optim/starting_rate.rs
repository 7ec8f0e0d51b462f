//! The starting rate, when none is given: rates tried as lanes on some of the rows.
//!
//! The natural unit of rates is 1/(c·mean‖x‖²), with c the curvature of the loss: there a step just about undoes
//! the error of its row. How far from it the best rate lies depends on noise, not on scale, and no constant is right for
//! all data. So the run is rehearsed: a sample of the rows is learnt for as many epochs, at all rates at once, and a fifth of
//! it, held out, says which rate was best: mean loss and penalty together, for that is what is minimised. First sixteen powers of two on a small sample, then half powers around the
//! best of them on a larger one.
//!
//! A loss that is steep without bound (squared, say) must not be thrown about by its longest row. At a rate of
//! 2/(c·ω‖x‖²) learning a row flips its error, and above it makes it larger, again and again. So no rate is tried
//! that would still be above that for the longest row when the run ends, nor one that starts at more than eight times
//! that; and the longest row is always in the sample. In all this ‖x‖² has 1 added, the bias's. SGD's own limit, ηλ₂ < 1,
//! is kept with room to spare.
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
use crate::util::error::Result;
use crate::util::random::Random;
use rayon::prelude::*;

/// How many rows are learnt and judged on, first and then.
const SAMPLES: [usize; 2] = [5_000, 20_000];
/// A run of more epochs is rehearsed in so many.
const MOST_PASSES: u64 = 5;
/// Rates tried first, in powers of two around the natural rate.
const COARSE: std::ops::Range<i32> = -8..8;
/// And then, in half powers of two around the best of those.
const FINE: std::ops::Range<i32> = -4..4;
/// With fewer than so many rows to judge on, all are learnt and judged on.
const FEWEST_JUDGED: usize = 5;
/// A rate is tried for at least so many steps, if the run has them.
const FEWEST_STEPS: u64 = 1_000;
/// Lanes that are tried side by side, a block on each thread.
const ABREAST: usize = 8;

/// What a trial shares with the run it stands for.
///
/// ```
/// use lazyglm::{ElasticNet, Method, Settings, optim::starting_rate::{Extent, Trial, find}, synth};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let Settings { penalty, method, schedule, epochs, bias, .. } = &Settings::default();
/// let (penalty, method, epochs, bias) = (*penalty, *method, *epochs, *bias);
/// let (examples, order, loss) = (task.examples(), &(0..500).collect::<Vec<_>>()[..], &*task.loss);
/// let (rows, extent) = (500, Extent::of(task.examples()));
/// let trial = Trial { examples, order, rows, extent, loss, penalty, method, schedule, epochs, bias };
/// let strong = Trial { penalty: ElasticNet { l2: 100.0, ..penalty }, method: Method::Sgd, ..trial };
/// assert!(find(&strong).unwrap().eta0 <= 0.005, "SGD needs ηλ₂ < 1");
/// assert!(find(&trial).unwrap().eta0 > 0.005);
/// ```
#[derive(Clone, Copy)]
pub struct Trial<'a> {
    /// The rows the run begins with.
    pub examples: Examples<'a>,
    /// Their order.
    pub order: &'a [u32],
    /// How many rows there are in all.
    pub rows: u64,
    /// How far they reach; looked at for losses that are steep without bound.
    pub extent: Extent,
    /// The loss.
    pub loss: &'a dyn Loss,
    /// The penalty.
    pub penalty: ElasticNet,
    /// SGD or FoBoS.
    pub method: Method,
    /// The schedule that will start from the rate.
    pub schedule: &'a Spec,
    /// How many epochs there will be.
    pub epochs: u64,
    /// Whether there is a bias.
    pub bias: bool,
}

/// How far rows reach.
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
    /// The largest of ω(‖x‖² + 1), the 1 being the bias's.
    pub length: f64,
    /// The row that has it.
    pub longest: Option<usize>,
    /// The largest |y|.
    pub target: f64,
}

impl Extent {
    /// That of some rows.
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

/// ‖x‖² + 1 of a row.
fn square(examples: Examples, i: usize) -> f64 {
    let mut square = 1.0;
    examples.rows.for_each(i, |_, x| square += x * x);
    square
}

/// A starting rate.
///
/// ```
/// use lazyglm::optim::starting_rate::Rate;
/// let rate = Rate { eta0: 0.1, held_down: false };
/// assert!(rate.eta0 > 0.0 && !rate.held_down);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// η₀.
    pub eta0: f64,
    /// Whether one row, so much longer than most, holds the rate down.
    pub held_down: bool,
}

/// Finds a starting rate.
///
/// ```
/// use lazyglm::{ElasticNet, Examples, Method, Rows, loss, schedule::Spec, optim::starting_rate::{Extent, Trial, find}};
/// let (mut rows, penalty) = (Rows::new(), ElasticNet::new(0.0, 0.0).unwrap());
/// [1.0, 2.0, 3.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
/// let examples = Examples::new(rows.borrow(), &[1.0, 2.0, 3.0], None).unwrap();
/// let (loss, schedule) = (&*loss::parse("squared").unwrap(), &Spec::parse("constant").unwrap());
/// let (order, method, epochs, bias) = (&[0, 1, 2][..], Method::Fobos, 5, false);
/// let (rows, extent) = (3, Extent::of(examples));
/// let rate = find(&Trial { examples, order, rows, extent, loss, penalty, method, schedule, epochs, bias }).unwrap();
/// assert!(rate.eta0 <= 0.2, "above 2/(3² + 1) the longest row would be thrown about");
/// ```
pub fn find(trial: &Trial) -> Result<Rate> {
    let (natural, safe) = scale(trial)?;
    let most = match trial.method {
        Method::Sgd => safe.min(0.5 / trial.penalty.l2), // 0.5/0 is no limit
        Method::Fobos => safe,
    };
    let mut best = natural;
    for (size, rungs, base) in [(SAMPLES[0], COARSE, 2f64), (SAMPLES[1], FINE, 2f64.sqrt())] {
        let mut rates: Vec<f64> = rungs.map(|candidate| (best * base.powi(candidate)).min(most)).collect();
        rates.dedup(); // many may be at the limit
        // Of rows that do not all fit into memory, a sample as large as the first will do.
        let size = if (trial.order.len() as u64) < trial.rows { SAMPLES[0] } else { size };
        let (rows, held_out) = trial.chosen(size);
        let losses = smoothed(&trial.rehearse(&rates, &Sample::of(trial.examples, &rows, held_out))?);
        let lowest = (0..rates.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
        best = lowest.filter(|&k| losses[k].is_finite()).map_or(rates[0], |k| rates[k]);
    }
    Ok(Rate { eta0: rounded(best), held_down: safe < natural / 2.0 })
}

/// The natural rate, and the highest that is safe for this loss.
fn scale(trial: &Trial) -> Result<(f64, f64)> {
    let Trial { examples, extent, loss, .. } = *trial;
    let bounded = loss.gradient_bound().is_finite();
    let curvature = loss.curvature().unwrap_or_else(|| match bounded {
        true => 1.0,
        false => extent.target.max(1.0), // Poisson: e^s, which is about the target where the fit is good
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

/// Some of the rows, with the columns they have alone: many lanes of all columns may be too many.
pub(super) struct Sample {
    rows: Rows,
    targets: Vec<f64>,
    weights: Vec<f64>,
    pub columns: Vec<u32>, // which of all
    pub learnt: Vec<u32>,  // in their order
    judged: Vec<u32>,
}

impl Sample {
    pub fn of(examples: Examples, chosen: &[u32], held_out: usize) -> Sample {
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
        let all: Vec<u32> = (0..chosen.len() as u32).collect();
        let (learnt, judged) = match held_out {
            0 => (all.clone(), all), // too few to hold any out
            held_out => {
                let (learnt, judged) = all.split_at(all.len() - held_out);
                (learnt.to_vec(), judged.to_vec())
            }
        };
        Sample { rows, targets, weights, columns, learnt, judged }
    }

    pub fn examples(&self) -> Examples<'_> {
        Examples { rows: self.rows.borrow(), targets: &self.targets, weights: Some(&self.weights) }
    }
}

impl Trial<'_> {
    /// The run's schedule, from this rate.
    fn schedule(&self, eta0: f64) -> Result<Box<dyn Schedule>> {
        let rows = Some(self.rows);
        self.schedule.resolve(&Setting { eta0, l2: self.penalty.l2, rows, epochs: self.epochs })
    }

    /// Rows from all over the order, which may be sorted, shuffled; how many of them, the last, are to be judged on.
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

    /// What F seems to be by the judged rows, after learning the others at each of these rates; infinite if that diverges.
    fn rehearse(&self, rates: &[f64], sample: &Sample) -> Result<Vec<f64>> {
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
            let mut lane_loss = Same { loss: self.loss, targets: examples.targets };
            let (rows, weights) = (examples.rows, examples.weights);
            for _ in 0..epochs {
                let pass = Pass { rates: &schedules, rows, weights, order: &sample.learnt };
                block.learn(&mut lane_loss, &pass);
            }
            let (mut sums, mut weights) = (vec![0.0; rates.len()], 0.0);
            block.score(examples.rows, &sample.judged, &mut |i, scores| {
                let weight = examples.weight(i);
                weights += weight;
                for (sum, &score) in sums.iter_mut().zip(scores) {
                    *sum += weight * self.loss.value(score, examples.targets[i]);
                }
            });
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

/// The mean of each mark and its neighbours': marks are noisy, and losses rise faster above the best rate than below, so
/// this leans to the safe side. At an end, the mark stands for the neighbour it lacks.
fn smoothed(marks: &[f64]) -> Vec<f64> {
    let at = |k: usize| marks[k.min(marks.len() - 1)];
    (0..marks.len()).map(|k| (at(k.saturating_sub(1)) + at(k) + at(k + 1)) / 3.0).collect()
}

/// Two digits: nobody should think a found rate is more exact than that.
fn rounded(rate: f64) -> f64 {
    format!("{rate:.1e}").parse().unwrap_or(rate)
}
