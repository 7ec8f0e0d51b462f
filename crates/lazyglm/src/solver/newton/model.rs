//! The quadratic model around a point, on a working set of weights, and coordinate descent on it.
//!
//! ```text
//! Q(v) = Σₖ gₖ(vₖ − wₖ) + ½Σᵢ Dᵢ(x̃ᵢ(v − w) + β)² + n·R(v)          t = D∘(X(v − w) + β)
//! ```
//!
//! Rows of small Dᵢ are left out of the sums by column: their part of the diagonal is kept (`rest`).

use super::Newton;
use super::anderson::Anderson;
use super::gram::Gram;
use super::point::{Point, total};
use crate::kernel::{Columns, NarrowColumns};
use crate::penalty::ElasticNet;
use crate::random::Random;
use crate::rows::Value;

/// Rows whose curvature is below this share of the largest are left out.
const FAINT: f64 = 4e-3;
/// Every so many sweeps of a long descent, a look at what it has gained: if the last of them gained less than this share of
/// all, what is left is of the order of what there is.
const LOOK: usize = 8;
const LITTLE: f64 = 0.02;
/// The working set grows by at most so many, or by twice the weights that are not zero.
const GROWTH: usize = 1000;

/// The model and where its descent is.
pub(super) struct Model {
    /// The weights that may move.
    pub set: Vec<u32>,
    /// Where they were.
    pub from: Vec<f64>,
    /// Where they are.
    pub to: Vec<f64>,
    /// The move of the bias.
    pub bias: f64,
    /// Q(from) − Q(to): what is to be gained.
    pub promised: f64,
    pub(super) gradient: Vec<f64>,
    pub(super) prices: Vec<ElasticNet>, // times n
    pub(super) nonnegative: bool,
    pub(super) with_bias: bool,
    pub(super) of_bias: [f64; 3], // Σ slopes, Σ bends of rows kept, of the rest
    gram: Option<Gram>,
    columns: NarrowColumns,
    squares: Vec<[f64; 2]>, // Σ D·x² over rows kept, and over the rest
    bends: Vec<f32>,
    tilt: Vec<f32>, // t
}

impl Model {
    pub fn build<V: Value>(newton: &Newton<V>, point: &Point, columns: &Columns<V>, most: f64) -> Model {
        let prices = &newton.problem.prices;
        let set = working_set(newton, point, most);
        let highest = point.bends.iter().copied().fold(0.0, f64::max);
        let (mut place, mut bends) = (vec![u32::MAX; point.bends.len()], Vec::new());
        let mut of_bias = [total(&point.slopes), 0.0, 0.0];
        for (i, &bend) in point.bends.iter().enumerate() {
            if bend > FAINT * highest {
                place[i] = bends.len() as u32;
                bends.push(bend as f32);
                of_bias[1] += bend;
            } else {
                of_bias[2] += bend;
            }
        }
        let nonzeros = set.iter().map(|&j| columns.count(j as usize)).sum();
        let gram =
            Gram::pays(set.len(), nonzeros, bends.len()).then(|| Gram::new(columns, &set, &point.bends));
        let narrow_set = if gram.is_some() { &[] } else { &set[..] };
        let (narrow, squares) = columns.narrowed(narrow_set, &place, bends.len(), &point.bends);
        let of = |from: &[f64]| -> Vec<f64> { set.iter().map(|&j| from[j as usize]).collect() };
        let times_n = |&j: &u32| {
            let ElasticNet { l1, l2 } = prices.at(j as usize);
            ElasticNet { l1: newton.n * l1, l2: newton.n * l2 }
        };
        Model {
            from: of(&point.weights),
            to: of(&point.weights),
            gradient: of(&point.gradient),
            prices: set.iter().map(times_n).collect(),
            set,
            gram,
            bias: 0.0,
            promised: 0.0,
            columns: narrow,
            squares,
            nonnegative: prices.nonnegative,
            with_bias: newton.problem.bias,
            tilt: vec![0.0; bends.len()],
            bends,
            of_bias,
        }
    }

    /// The slope of Q, without λ₁, at weight `k`.
    fn slope(&self, k: usize) -> f64 {
        let [_, rest] = self.squares[k];
        self.gradient[k]
            + self.columns.product(k, &self.tilt)
            + rest * (self.to[k] - self.from[k])
            + self.prices[k].l2 * self.to[k]
    }

    /// Sweeps until the violations have fallen to this share of those of the first sweep, or so many times.
    pub fn solve(&mut self, share: f64, sweeps: usize) {
        if let Some(gram) = self.gram.take() {
            self.solve_gram(&gram, 1e-3 * share);
            return;
        }
        let mut active: Vec<u32> = (0..self.set.len() as u32).collect();
        let (mut first, mut gained, mut anderson) = (0.0, 0.0, Anderson::default());
        for sweep in 0..sweeps {
            let mut violations = self.move_bias();
            active.retain(|&k| {
                let k = k as usize;
                let ElasticNet { l1, l2 } = self.prices[k];
                let bend = self.squares[k][0] + self.squares[k][1] + l2;
                if bend <= 0.0 {
                    self.drop_idle(k);
                    return false;
                }
                let slope = self.slope(k);
                let old = self.to[k];
                let new = shrunk(old - slope / bend, l1 / bend, self.nonnegative);
                if new != old {
                    let moved = new - old;
                    self.to[k] = new;
                    self.columns.add(k, moved as f32, &self.bends, &mut self.tilt);
                    violations += moved.abs() * bend;
                }
                new != 0.0 || slope.abs() >= 0.7 * l1
            });
            if sweep == 0 {
                first = violations;
            } else if violations <= share * first {
                break;
            }
            if let Some(guess) = anderson.see(&self.to, self.bias, &self.tilt) {
                self.try_guess(guess);
            }
            if sweep % LOOK == LOOK - 1 {
                let gain = self.promise();
                if gain - gained <= LITTLE * gain.abs() {
                    break;
                }
                gained = gain;
            }
        }
        self.promised = self.promise().max(0.0);
    }

    /// Goes to where the sweeps seem to lead, if Q is lower there.
    fn try_guess(&mut self, guess: (Vec<f64>, f64, Vec<f32>)) {
        let swap = |model: &mut Model, (to, bias, tilt)| {
            let before = std::mem::replace(&mut model.to, to);
            (before, std::mem::replace(&mut model.bias, bias), std::mem::replace(&mut model.tilt, tilt))
        };
        if self.nonnegative && guess.0.iter().any(|v| *v < 0.0) {
            return;
        }
        let promise = self.promise();
        let before = swap(self, guess);
        let guessed = self.promise();
        if guessed.is_nan() || guessed <= promise {
            swap(self, before);
        }
    }

    /// A weight whose column has no values, in rows that bend: it goes to zero if it costs anything.
    pub(super) fn drop_idle(&mut self, k: usize) {
        if self.gradient[k] == 0.0 && self.prices[k].l1 > 0.0 {
            self.to[k] = 0.0;
        }
    }

    /// One step of the bias.
    fn move_bias(&mut self) -> f64 {
        let [slopes, kept, rest] = self.of_bias;
        if !self.with_bias || kept + rest <= 0.0 {
            return 0.0;
        }
        let tilt: f64 = self.tilt.iter().map(|t| f64::from(*t)).sum();
        let slope = slopes + tilt + rest * self.bias;
        let step = -slope / (kept + rest);
        self.bias += step;
        let narrow = step as f32;
        self.tilt.iter_mut().zip(&self.bends).for_each(|(t, bend)| *t += bend * narrow);
        slope.abs()
    }

    /// Q(from) − Q(to), from the tilt.
    fn promise(&self) -> f64 {
        let mut change = self.of_bias[0] * self.bias + 0.5 * self.of_bias[2] * self.bias * self.bias;
        for k in 0..self.set.len() {
            let (from, to, net) = (self.from[k], self.to[k], self.prices[k]);
            let moved = to - from;
            change += self.gradient[k] * moved + 0.5 * self.squares[k][1] * moved * moved;
            change += net.l1 * (to.abs() - from.abs()) + 0.5 * net.l2 * (to * to - from * from);
        }
        let square = |(t, bend): (&f32, &f32)| f64::from(*t) * f64::from(*t) / f64::from(*bend);
        change += 0.5 * self.tilt.iter().zip(&self.bends).map(square).sum::<f64>();
        -change
    }

    /// The slope of F along the move, without the curvature: what a short step gains by.
    pub fn descent(&self) -> f64 {
        let mut change = self.of_bias[0] * self.bias;
        for k in 0..self.set.len() {
            let (from, to, net) = (self.from[k], self.to[k], self.prices[k]);
            change += self.gradient[k] * (to - from);
            change += net.l1 * (to.abs() - from.abs()) + 0.5 * net.l2 * (to * to - from * from);
        }
        change
    }
}

pub(super) fn shrunk(v: f64, by: f64, nonnegative: bool) -> f64 {
    match v.abs() - by {
        left if left <= 0.0 || (nonnegative && v < 0.0) => 0.0,
        left => left.copysign(v),
    }
}

/// The weights that are not zero, and those that would leave it or nearly; in random order.
fn working_set<V: Value>(newton: &Newton<V>, point: &Point, most: f64) -> Vec<u32> {
    let prices = &newton.problem.prices;
    let (mut set, mut near) = (Vec::new(), Vec::new());
    for (j, &w) in point.weights.iter().enumerate() {
        let l1 = newton.n * prices.at(j).l1;
        let g = point.gradient[j];
        let steep = if prices.nonnegative { -g } else { g.abs() };
        if w != 0.0 {
            set.push(j as u32);
        } else if steep > l1 - (0.5 * most).min(0.1 * l1) && (steep > l1 || l1 > 0.0) {
            near.push((steep - l1, j as u32));
        }
    }
    let growth = GROWTH.max(2 * set.len());
    set.extend(steepest_of(near, growth));
    set.sort_unstable();
    Random::new(point.weights.len() as u64).shuffle(&mut set);
    set
}

/// At most so many of the columns, the steepest; of two as steep, the first.
pub(super) fn steepest_of(mut near: Vec<(f64, u32)>, most: usize) -> impl Iterator<Item = u32> {
    if near.len() > most {
        near.select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        near.truncate(most);
    }
    near.into_iter().map(|(_, j)| j)
}
