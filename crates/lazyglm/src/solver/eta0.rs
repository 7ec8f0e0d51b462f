//! The starting rate, when none is given: a ladder of rates tried on the first rows.
//!
//! The natural unit of rates is 1/(c·mean‖x‖²), with c the curvature of the loss: there a step just about undoes
//! the error of its row. How far from it the best rate lies depends on noise, not on scale, and no constant is right
//! for all data, so powers of two around it each learn the first rows, and the one whose predictions were best,
//! each made before its row was learnt, wins.
//!
//! A loss that is steep without bound (squared, say) must not be thrown about by its longest row. At a rate of
//! 2/(c·ω‖x‖²) learning a row flips its error, and above it makes it larger, again and again. So no rate is tried
//! that would still be above that for the longest row when the run ends, nor one that starts at more than twice that. In
//! all this ‖x‖² has 1 added, the bias's. SGD's own limit, ηλ₂ < 1, is kept with as much room.
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

use super::online::{Online, Rule, Sample};
use crate::error::Result;
use crate::kernel::Folded;
use crate::loss::Loss;
use crate::penalty::{ElasticNet, Method};
use crate::rows::Examples;
use crate::schedule::{Schedule, Setting, Spec};
use rayon::prelude::*;

/// How many rows a rate is tried on.
const TRIED_ROWS: usize = 10_000;
/// A rate is tried for at least so many steps, if the run has them.
const FEWEST_STEPS: u64 = 1_000;
/// The ladder, in powers of two around the natural rate.
const RUNGS: std::ops::RangeInclusive<i32> = -8..=8;

/// What a trial shares with the run it stands for.
///
/// ```
/// use lazyglm::{ElasticNet, Method, Settings, solver::eta0::{Extent, Trial, find}, synth};
/// let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
/// let Settings { net, method, schedule, epochs, bias, .. } = &Settings::default();
/// let (net, method, epochs, bias) = (*net, *method, *epochs, *bias);
/// let (examples, order, loss) = (task.examples(), &(0..500).collect::<Vec<_>>()[..], &*task.loss);
/// let (rows, extent) = (500, Extent::of(task.examples()));
/// let trial = Trial { examples, order, rows, extent, loss, net, method, schedule, epochs, bias };
/// let strong = Trial { net: ElasticNet { l2: 100.0, ..net }, method: Method::Sgd, ..trial };
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
    pub net: ElasticNet,
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
/// use lazyglm::{Examples, Rows, solver::eta0::Extent};
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
/// use lazyglm::solver::eta0::Rate;
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
/// use lazyglm::{ElasticNet, Examples, Method, Rows, loss, schedule::Spec, solver::eta0::{Extent, Trial, find}};
/// let (mut rows, net) = (Rows::new(), ElasticNet::new(0.0, 0.0).unwrap());
/// [1.0, 2.0, 3.0].iter().for_each(|&x| rows.push(&[(0, x)]).unwrap());
/// let examples = Examples::new(rows.borrow(), &[1.0, 2.0, 3.0], None).unwrap();
/// let (loss, schedule) = (&*loss::parse("squared").unwrap(), &Spec::parse("constant").unwrap());
/// let (order, method, epochs, bias) = (&[0, 1, 2][..], Method::Fobos, 5, false);
/// let (rows, extent) = (3, Extent::of(examples));
/// let rate = find(&Trial { examples, order, rows, extent, loss, net, method, schedule, epochs, bias }).unwrap();
/// assert!(rate.eta0 <= 0.2, "above 2/(3² + 1) the longest row would be thrown about");
/// ```
pub fn find(trial: &Trial) -> Result<Rate> {
    let (natural, safe) = scale(trial)?;
    let most = match trial.method {
        Method::Sgd => safe.min(0.5 / trial.net.l2), // 0.5/0 is no limit
        Method::Fobos => safe,
    };
    let mut best = (f64::INFINITY, most.min(natural * f64::powi(2.0, *RUNGS.start())));
    let mut worse = 0;
    let rates: Vec<f64> = RUNGS.map(|rung| (natural * f64::powi(2.0, rung)).min(most)).collect();
    // As many at a time as there are threads; some are tried that one thread would not have come to, and ignored.
    'ladder: for some in rates.chunks(rayon::current_num_threads()) {
        let losses: Vec<Result<f64>> = some.par_iter().map(|&eta0| progressive_loss(trial, eta0)).collect();
        for (&eta0, loss) in some.iter().zip(losses) {
            let loss = loss?;
            if loss < best.0 {
                (best, worse) = ((loss, eta0), 0);
            } else {
                worse += 1;
            }
            if worse == 2 || eta0 == most {
                break 'ladder; // losses fall and then rise along the ladder
            }
        }
    }
    Ok(Rate { eta0: rounded(best.1), held_down: safe < natural / 8.0 })
}

/// The natural rate, and the highest that is safe for this loss.
fn scale(trial: &Trial) -> Result<(f64, f64)> {
    let Trial { examples, extent, loss, .. } = *trial;
    let bounded = loss.steepest().is_finite();
    let curvature = loss.curvature().unwrap_or_else(|| match bounded {
        true => 1.0,
        false => extent.target.max(1.0), // Poisson: e^s, which is about the target where the fit is good
    });
    let tried = &trial.order[..trial.order.len().min(TRIED_ROWS)];
    let mean = tried.iter().map(|&i| square(examples, i as usize)).sum::<f64>() / tried.len() as f64;
    let rate = |square: f64| (1.0 / (curvature * square)).max(f64::MIN_POSITIVE);
    if bounded {
        return Ok((rate(mean), f64::INFINITY));
    }
    let last = trial.schedule(1.0)?.eta(trial.rows.saturating_mul(trial.epochs) - 1);
    Ok((rate(mean), (2.0 / last).min(4.0) * rate(extent.length.max(1.0))))
}

impl Trial<'_> {
    /// The run's schedule, from this rate.
    fn schedule(&self, eta0: f64) -> Result<Box<dyn Schedule>> {
        let rows = Some(self.rows);
        self.schedule.resolve(&Setting { eta0, l2: self.net.l2, rows, epochs: self.epochs })
    }
}

/// The mean loss of the first rows, each taken before the row is learnt; infinite if the run diverges.
fn progressive_loss(trial: &Trial, eta0: f64) -> Result<f64> {
    let schedule = trial.schedule(eta0)?;
    let rule = Rule { loss: trial.loss, schedule: &*schedule };
    let start = vec![0.0; trial.examples.rows.columns()];
    let mut model =
        Online::new(Folded::<f32>::new(start, trial.net, trial.method), trial.bias).sampling_one_in(1);
    let tried = &trial.order[..trial.order.len().min(TRIED_ROWS)];
    // So few rows say nothing in one pass: they are gone through again, as the run will.
    let passes = FEWEST_STEPS.div_ceil(tried.len() as u64).min(trial.epochs);
    let mut sample = Sample::default();
    for _ in 0..passes {
        match model.learn(&rule, trial.examples, tried) {
            Ok(more) => sample = sample.and(more),
            Err(_) => return Ok(f64::INFINITY),
        }
    }
    Ok(if sample.sum.is_finite() { sample.mean() } else { f64::INFINITY })
}

/// Two digits: nobody should think a found rate is more exact than that.
fn rounded(rate: f64) -> f64 {
    format!("{rate:.1e}").parse().unwrap_or(rate)
}
