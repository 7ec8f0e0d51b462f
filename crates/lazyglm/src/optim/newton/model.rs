//! The quadratic model around a point, on a working set of weights, and coordinate descent on it.
//!
//! ```text
//! Q(v) = Σₖ gₖ(vₖ − wₖ) + ½Σᵢ Dᵢ(xᵢ(v − w) + β)² + n·R(v)          X̃ = √D·X,  t = X̃(v − w) + β√D
//!      = Σₖ gₖ(vₖ − wₖ) + ½‖t‖² + n·R(v)                            its slope without λ₁: gₖ + x̃ₖᵀt + nλ₂vₖ
//! ```
//!
//! If values are far from one in magnitude, everything is in other units (`units`): xₖ times uₖ, wₖ/uₖ, gₖuₖ,
//! λ₁uₖ, λ₂uₖ². X̃ is stored, so that a sweep reads one vector, not two. Rows of small Dᵢ are omitted from
//! the sums by column, but their part of the diagonal is kept (`rest`).

use super::descend::Memory;
use super::gains::Gains;
use super::gram::Gram;
use super::kept_gram::KeptGram;
use super::kept_rows::KeptRows;
use super::point::Point;
use super::working_set::working_set;
use super::{Bounds, Newton};
use crate::data::rows::Value;
use crate::optim::kernel::{ColumnStore, ModelColumns};
use crate::problem::penalty::ElasticNet;
use crate::problem::penalty::one::shrunk;
use crate::util::number::positive_part;
use crate::util::random::Random;
use std::sync::Arc;

/// Ratio of successive decreases above which conjugate gradients on the face are worth their passes.
const SLOW: f64 = 0.5;
/// Cost of conjugate gradients on the face, in passes over the columns.
const FACE_PASSES: usize = 10;

/// Maximum number of sweeps,
const MOST_SWEEPS: usize = 1000;
/// and of sweeps if little accuracy suffices.
const FEW_SWEEPS: usize = 50;

/// Ratio of successive decreases above which sweeps are too slow to tell what is left.
const RELIABLE: f64 = 0.8;
/// Ratio of successive decreases up to which sweeps alone tell what is left,
const SOON: f64 = 0.5;
/// if there are so many times as many rows as weights: else Q is nearly flat in some directions, where sweeps are slow.
const MANY: usize = 4;
/// What is left may be this many times what sweeps tell.
const UNSURE: f64 = 8.0;

/// How accurately to minimise Q.
#[derive(Clone, Copy)]
pub(super) struct Accuracy {
    /// The remaining decrease, as a share of the decrease so far.
    pub share: f64,
    /// Whether not to rely on sweeps alone, which may be slow, but to run conjugate gradients on the face as well.
    pub surely: bool,
    /// The remaining decrease that suffices for the last step,
    pub enough: f64,
    /// Whether the model may prove the optimum: then its minimum is wanted closely.
    pub closely: bool,
    /// Whether the optimum is far, so that the minimum of Q is not exact either.
    pub far: bool,
    /// which this step is if F misses less than `enough` of its minimum, as `missed` times the square of the decrease tells.
    pub missed: f64,
}

impl Accuracy {
    /// The remaining decrease at which to end, after this decrease, and whether it must be reliable.
    pub(super) fn for_decrease(&self, decrease: f64) -> (f64, bool) {
        match self.missed * decrease * decrease <= self.enough {
            true => (self.enough.min(self.share * decrease), true),
            false => (self.share * decrease, self.surely),
        }
    }
}

/// The quadratic model and the current point of its minimisation.
pub(super) struct QuadraticModel<'c> {
    /// The weights of the working set.
    pub set: Vec<u32>,
    /// Whether the working set contains all weights that would move.
    pub whole: bool,
    /// Factors that convert `from` and `to` to weights.
    pub units: Vec<f64>,
    /// Whether a weight should move but cannot, because the model has no curvature there.
    pub stuck: bool,
    /// Whether curvatures differ by many orders of magnitude, as those of a loss smoothed on a narrow width do.
    pub stiff: bool,
    /// Whether there is memory for conjugate gradients on the face.
    pub on_face: bool,
    /// Whether the minimisation gave up early, so that the predicted decrease is meaningless.
    pub unsolved: bool,
    /// The initial weights, in the model's units.
    pub from: Vec<f64>,
    /// The current weights, in the model's units.
    pub to: Vec<f64>,
    /// The change of the bias.
    pub bias: f64,
    /// The predicted decrease Q(from) − Q(to).
    pub predicted: f64,
    /// An estimate of Q(to) − min Q over the working set; infinity if there is no reliable one.
    pub left: f64,
    pub(super) gradient: Vec<f64>,
    pub(super) weighted_penalty: Vec<ElasticNet>, // times n
    pub(super) ranges: Vec<[f64; 2]>,             // the bounds of the weights, in the model's units
    pub(super) with_bias: bool,
    pub(super) of_bias: [f64; 3], // Σ of derivatives, Σ of second derivatives of rows kept, and of the others
    pub(super) columns: ModelColumns<'c>,
    pub(super) squares: Vec<[f64; 2]>, // Σ D·x² over rows kept, and over the others
    pub(super) roots: Arc<Vec<f32>>,   // √D
    pub(super) tilt: Vec<f32>,         // t
    pub(super) keep: Option<Vec<bool>>, // the rows that the sums by column contain; `None` for all
    pub(super) gram: Option<KeptGram>, // replaces the columns
}

impl<'c> QuadraticModel<'c> {
    pub fn build<V: Value>(
        newton: &Newton<V>,
        point: &Point,
        columns: &'c impl ColumnStore,
        most: f64,
        memory: &mut Memory,
    ) -> QuadraticModel<'c> {
        let (mut set, whole) = working_set(newton, point, most);
        let kept = memory.gram.take().filter(|kept| kept.contains(&set));
        let kept = kept.or_else(|| KeptGram::of(newton, point, columns, &set));
        let rows = match &kept {
            Some(kept) => {
                set.clone_from(&kept.set);
                KeptRows::none(point, kept)
            }
            None => {
                Random::new(point.weights.len() as u64).shuffle(&mut set); // sweeps in order may be slow
                KeptRows::of(newton, point, columns, &set, memory.all_rows)
            }
        };
        QuadraticModel { gram: kept, ..QuadraticModel::on_rows(newton, point, columns, rows, set, whole) }
    }

    /// The model of a working set on some of the rows.
    pub(super) fn on_rows<V: Value>(
        newton: &Newton<V>,
        point: &Point,
        columns: &impl ColumnStore,
        rows: KeptRows<'c>,
        set: Vec<u32>,
        whole: bool,
    ) -> QuadraticModel<'c> {
        let weighted_penalty = &newton.problem.weighted_penalty;
        let KeptRows { columns: kept_columns, squares, roots, of_bias, keep } = rows;
        let units: Vec<f64> = set.iter().map(|&j| columns.unit(j as usize)).collect();
        let from: Vec<f64> =
            set.iter().zip(&units).map(|(&j, unit)| point.weights[j as usize] / unit).collect();
        let gradient = set.iter().zip(&units).map(|(&j, unit)| unit * point.gradient[j as usize]).collect();
        let times_n = |(&j, unit): (&u32, &f64)| {
            let ElasticNet { l1, l2 } = weighted_penalty.at(j as usize);
            // Not infinite, because infinity times a weight of zero is NaN.
            let [l1, l2] = [newton.n * l1 * unit, newton.n * l2 * unit * unit].map(|l| l.min(f64::MAX));
            ElasticNet { l1, l2 }
        };
        let penalties = set.iter().zip(&units).map(times_n).collect();
        let range = |(&j, unit): (&u32, &f64)| weighted_penalty.range(j as usize).map(|bound| bound / unit);
        let ranges = set.iter().zip(&units).map(range).collect();
        let mut model = QuadraticModel {
            to: from.clone(),
            from,
            gradient,
            weighted_penalty: penalties,
            units,
            stuck: false,
            stiff: false,
            on_face: true,
            unsolved: false,
            set,
            whole,
            bias: 0.0,
            predicted: 0.0,
            left: f64::INFINITY,
            columns: kept_columns,
            squares,
            ranges,
            with_bias: newton.problem.bias,
            tilt: vec![0.0; roots.len()],
            roots,
            of_bias,
            keep,
            gram: None,
        };
        let stuck = |k: usize| {
            model.second_derivative(k) <= 0.0 && model.gradient[k].abs() > model.weighted_penalty[k].l1
        };
        model.stuck = (0..model.set.len()).any(stuck);
        model
    }

    /// Whether weight `k` is at a bound other than zero.
    pub(super) fn is_at_bound(&self, k: usize) -> bool {
        let ([low, high], to) = (self.ranges[k], self.to[k]);
        to != 0.0 && (to <= low || to >= high)
    }

    /// The change of weight `k`, in its original units.
    pub fn moved(&self, k: usize) -> f64 {
        self.units[k] * (self.to[k] - self.from[k])
    }

    /// The derivative of Q at weight `k`, without λ₁.
    pub(super) fn slope(&self, k: usize) -> f64 {
        let [_, rest] = self.squares[k];
        self.gradient[k]
            + self.columns.product(k, &self.tilt)
            + rest * (self.to[k] - self.from[k])
            + self.weighted_penalty[k].l2 * self.to[k]
    }

    /// The second derivative of Q at weight `k`.
    pub(super) fn second_derivative(&self, k: usize) -> f64 {
        self.squares[k][0] + self.squares[k][1] + self.weighted_penalty[k].l2
    }

    /// The derivative of Q with respect to the bias.
    pub(super) fn slope_of_bias(&self) -> f64 {
        self.of_bias[0] + self.tilt_of_bias(&self.tilt) + self.of_bias[2] * self.bias
    }

    /// The product √Dᵀt.
    pub(super) fn tilt_of_bias(&self, tilt: &[f32]) -> f64 {
        tilt.iter().zip(self.roots.iter()).map(|(t, root)| f64::from(t * root)).sum()
    }

    /// Minimises Q to some accuracy. Ends early within `bounds`, and returns how many numbers it touched.
    pub fn solve(&mut self, accuracy: Accuracy, bounds: Bounds) -> usize {
        if let Some(kept) = self.gram.take() {
            let touched = self.solve_gram(&kept.gram, accuracy, bounds);
            self.gram = Some(kept);
            return touched;
        }
        let mut gram_after = self.sweeps_before_gram(accuracy);
        if gram_after == Some(0) {
            if let Some(gram) = Gram::of(self) {
                return self.columns.nonzeros() + self.solve_gram(&gram, accuracy, bounds);
            }
            gram_after = None;
        }
        let mut active: Vec<u32> = (0..self.set.len() as u32).collect();
        let (mut gains, mut rows, mut since, mut touched) = (Gains::default(), None, 0, 0);
        for sweep in 0..MOST_SWEEPS {
            let gain = self.sweep(&mut active);
            let left = gains.left_after(gain);
            let (least, surely) = accuracy.for_decrease(gains.all);
            let settled = left <= least;
            touched += self.columns.nonzeros() + self.tilt.len();
            let sweeps_alone = !surely || !self.on_face;
            if sweeps_alone && (settled || sweep == FEW_SWEEPS) {
                break;
            }
            if settled
                && !accuracy.surely
                && gains.ratio() <= SOON
                && MANY * self.set.len() <= self.roots.len()
            {
                self.left = UNSURE * least;
                break;
            }
            if touched >= bounds.work || bounds.interrupted() {
                self.unsolved = !settled;
                break;
            }
            if gram_after.is_some_and(|most| sweep + 1 >= most) {
                if let Some(gram) = Gram::of(self) {
                    return touched + self.solve_gram(&gram, accuracy, bounds);
                }
                gram_after = None;
            }
            since += 1;
            if self.on_face && gram_after.is_none() && (settled || (since >= 3 && gains.ratio() > SLOW)) {
                let rows = rows.get_or_insert_with(|| self.columns.by_rows());
                let gain = self.minimise_on_face(rows.as_ref(), accuracy.closely, bounds);
                gains.add_jump(gain);
                touched += FACE_PASSES * self.columns.nonzeros();
                since = 1;
                if settled && gain <= least {
                    self.left = if gains.ratio() <= RELIABLE { UNSURE * least } else { f64::INFINITY };
                    break;
                }
            }
        }
        self.predicted = positive_part(self.predicted_decrease());
        touched
    }

    /// Moves the bias and each active weight to its minimiser, and returns the decrease of Q. Weights that
    /// stay at zero become inactive.
    fn sweep(&mut self, active: &mut Vec<u32>) -> f64 {
        let mut gain = self.move_bias();
        active.retain(|&k| {
            let k = k as usize;
            let (l1, second_derivative) = (self.weighted_penalty[k].l1, self.second_derivative(k));
            if second_derivative <= 0.0 {
                self.drop_idle(k);
                return false;
            }
            let slope = self.slope(k);
            let old = self.to[k];
            let new = shrunk(old - slope / second_derivative, l1 / second_derivative, self.ranges[k]);
            if new != old {
                let moved = new - old;
                self.to[k] = new;
                self.columns.add(k, moved as f32, &mut self.tilt);
                gain += 0.5 * moved * moved * second_derivative;
            }
            new != 0.0 || slope.abs() >= 0.7 * l1
        });
        gain
    }

    /// Sets a weight to zero if its column has no values in rows with curvature and the weight is penalised.
    pub(super) fn drop_idle(&mut self, k: usize) {
        if self.gradient[k] == 0.0 && self.weighted_penalty[k].l1 > 0.0 {
            self.to[k] = 0.0;
        }
    }

    /// Moves the bias to its minimiser, and returns the decrease of Q.
    fn move_bias(&mut self) -> f64 {
        let [_, kept, rest] = self.of_bias;
        if !self.with_bias || kept + rest <= 0.0 {
            return 0.0;
        }
        let slope = self.slope_of_bias();
        let step = -slope / (kept + rest);
        self.bias += step;
        let rounded = step as f32;
        self.tilt.iter_mut().zip(self.roots.iter()).for_each(|(t, root)| *t += root * rounded);
        -0.5 * slope * step
    }

    /// The predicted decrease Q(from) − Q(to), computed from the tilt.
    pub(super) fn predicted_decrease(&self) -> f64 {
        let mut change = self.of_bias[0] * self.bias + 0.5 * self.of_bias[2] * self.bias * self.bias;
        for k in 0..self.set.len() {
            let (from, to, penalty) = (self.from[k], self.to[k], self.weighted_penalty[k]);
            let moved = to - from;
            change += self.gradient[k] * moved + 0.5 * self.squares[k][1] * moved * moved;
            change += penalty.l1 * (to.abs() - from.abs()) + 0.5 * penalty.l2 * (to * to - from * from);
        }
        change += 0.5 * self.tilt.iter().map(|t| f64::from(*t) * f64::from(*t)).sum::<f64>();
        -change
    }

    /// The directional derivative of F along the move.
    pub fn descent(&self) -> f64 {
        let mut change = self.of_bias[0] * self.bias;
        for k in 0..self.set.len() {
            let (from, to, penalty) = (self.from[k], self.to[k], self.weighted_penalty[k]);
            change += self.gradient[k] * (to - from);
            change += penalty.l1 * (to.abs() - from.abs()) + 0.5 * penalty.l2 * (to * to - from * from);
        }
        change
    }
}

impl QuadraticModel<'_> {
    /// Weight `k` after this share of the move, in the model's units.
    pub(super) fn at(&self, k: usize, alpha: f64) -> f64 {
        self.from[k] + alpha * (self.to[k] - self.from[k])
    }

    /// The penalty n·R after this share of the move. The working set contains all non-zero weights.
    pub(super) fn penalty(&self, alpha: f64) -> f64 {
        let one = |(k, penalty): (usize, &ElasticNet)| penalty.value(&[self.at(k, alpha)]);
        self.weighted_penalty.iter().enumerate().map(one).sum()
    }

    /// The derivative of n·R along the move, after this share of it. At zero, it is the one from before.
    pub(super) fn penalty_derivative(&self, alpha: f64) -> f64 {
        let one = |k: usize| {
            let (from, by, penalty) = (self.from[k], self.to[k] - self.from[k], self.weighted_penalty[k]);
            let at = from + alpha * by;
            let at_zero = at == 0.0 || (alpha == 1.0 && self.to[k] == 0.0);
            let sign = if at_zero { -by.signum() } else { at.signum() };
            by * (penalty.l1 * sign + penalty.l2 * at)
        };
        (0..self.set.len()).filter(|&k| self.to[k] != self.from[k]).map(one).sum()
    }
}
