//! A better point with the same signs. If no weight crosses zero, Q is quadratic, and conjugate gradients
//! approach its minimum in far fewer passes than coordinate descent.
//!
//! ```text
//! H = X̃ᵀX̃ + nλ₂, on the weights that are not zero and the bias       M = its diagonal
//! (H + εM)·e = −(slope + nλ₁·sign)                                    v ← v + e, or a part of it if Q is lower there
//! ```
//!
//! A weight at a bound other than zero is not on the face.
//!
//! The damping ε limits steps in directions in which Q has little curvature. Such steps would be long, cross
//! zero in many weights, and gain nothing. Passes run over rows, because the numbers of some weights fit into
//! the L1 cache, and those of all rows do not.

use super::Bounds;
use super::model::QuadraticModel;
use crate::optim::kernel::F32Rows;
use crate::problem::penalty::one::clip;

/// The damping ε.
const DAMPING: f64 = 0.003;
/// Conjugate gradients stop when the M⁻¹-norm of the gradient has fallen to this share.
const SHARE: f64 = 0.3;
/// Maximum number of passes of conjugate gradients.
const PASSES: usize = 10;
/// The same figures if the minimum is wanted closely,
const CLOSE_SHARE: f64 = 0.2;
const CLOSE_PASSES: usize = 20;
/// and for a stiff model, whose minimum is far from that of a damped one.
const STIFF_SHARE: f64 = 0.03;
const STIFF_PASSES: usize = 100;
/// The step lengths that are tried.
const PARTS: [f64; 3] = [1.0, 0.5, 0.1];

/// A direction: a number per weight of the working set, and one for the bias.
struct Direction {
    weights: Vec<f64>,
    bias: f64,
}

impl Direction {
    fn dot(&self, other: &Direction) -> f64 {
        let weights: f64 = self.weights.iter().zip(&other.weights).map(|(a, b)| a * b).sum();
        weights + self.bias * other.bias
    }

    /// Linear combination self ← c·self + a·other.
    fn combine(&mut self, c: f64, a: f64, other: &Direction) {
        self.weights.iter_mut().zip(&other.weights).for_each(|(v, w)| *v = c * *v + a * w);
        self.bias = c * self.bias + a * other.bias;
    }
}

impl QuadraticModel<'_> {
    /// Moves towards the minimum of Q among points with the same signs, as far as Q decreases. Returns the
    /// decrease of Q.
    pub(super) fn minimise_on_face(&mut self, rows: Option<&F32Rows>, closely: bool, bounds: Bounds) -> f64 {
        let mut left = self.negative_gradient();
        let mut way = self.precondition(&left);
        let mut size = left.dot(&way);
        let (share, passes) = match () {
            () if self.stiff => (STIFF_SHARE, STIFF_PASSES),
            () if closely => (CLOSE_SHARE, CLOSE_PASSES),
            () => (SHARE, PASSES),
        };
        let enough = share * share * size;
        let mut step = Direction { weights: vec![0.0; self.set.len()], bias: 0.0 };
        let mut moved = vec![0.0f32; self.tilt.len()]; // X̃·step
        for _ in 0..passes {
            if size <= enough || bounds.interrupted() {
                break;
            }
            let (curved, along) = self.hessian_product(&way, rows);
            let alpha = size / way.dot(&curved);
            if !alpha.is_finite() {
                break;
            }
            step.combine(1.0, alpha, &way);
            moved.iter_mut().zip(&along).for_each(|(t, u)| *t += alpha as f32 * u);
            left.combine(1.0, -alpha, &curved);
            let next = self.precondition(&left);
            let before = std::mem::replace(&mut size, left.dot(&next));
            way.combine(size / before, 1.0, &next);
        }
        self.step_along(&step, &moved)
    }

    /// The negative gradient −(slope + nλ₁·sign) of the non-zero weights and the bias.
    fn negative_gradient(&self) -> Direction {
        let one = |k: usize| match self.to[k] {
            0.0 => 0.0,
            _ if self.is_at_bound(k) => 0.0,
            to => -(self.slope(k) + self.weighted_penalty[k].l1 * to.signum()),
        };
        let bias = if self.with_bias { -self.slope_of_bias() } else { 0.0 };
        Direction { weights: (0..self.set.len()).map(one).collect(), bias }
    }

    /// The preconditioned direction M⁻¹·way.
    fn precondition(&self, way: &Direction) -> Direction {
        let divided = |v: f64, second_derivative: f64| {
            if second_derivative > 0.0 { v / second_derivative } else { 0.0 }
        };
        let weights =
            way.weights.iter().enumerate().map(|(k, v)| divided(*v, self.second_derivative(k))).collect();
        Direction { weights, bias: divided(way.bias, self.of_bias[1] + self.of_bias[2]) }
    }

    /// The products (H + εM)·way and X̃·way.
    fn hessian_product(&self, way: &Direction, rows: Option<&F32Rows>) -> (Direction, Vec<f32>) {
        let mut weights = vec![0.0; way.weights.len()];
        let mut along: Vec<f32> = self.roots.iter().map(|root| root * way.bias as f32).collect();
        let rounded: Vec<f32> = way.weights.iter().map(|v| *v as f32).collect();
        self.columns.gram_product(rows, &rounded, &mut along, &mut weights);
        let damping = if self.stiff { 0.0 } else { DAMPING };
        for (k, curved) in weights.iter_mut().enumerate() {
            let more = self.squares[k][1] + self.weighted_penalty[k].l2 + damping * self.second_derivative(k);
            let fixed = self.to[k] == 0.0 || self.is_at_bound(k);
            *curved = if fixed { 0.0 } else { *curved + more * way.weights[k] };
        }
        let bias = if self.with_bias { self.tilt_of_bias(&along) + self.of_bias[2] * way.bias } else { 0.0 };
        (Direction { weights, bias }, along)
    }

    /// Takes the first step length at which Q is lower, and returns the decrease of Q or 0. A weight that
    /// would cross zero becomes zero, and one that would cross a bound stays there.
    fn step_along(&mut self, step: &Direction, moved: &[f32]) -> f64 {
        let predicted_decrease = self.predicted_decrease();
        let (to, bias, tilt) = (self.to.clone(), self.bias, self.tilt.clone());
        for part in PARTS {
            self.bias = bias + part * step.bias;
            self.tilt
                .iter_mut()
                .zip(tilt.iter().zip(moved))
                .for_each(|(new, (t, u))| *new = t + part as f32 * u);
            for (k, (&old, by)) in to.iter().zip(&step.weights).enumerate() {
                let reached = old + part * by;
                let kept = if reached * old < 0.0 { 0.0 } else { clip(reached, self.ranges[k]) };
                self.to[k] = kept;
                if kept != reached {
                    self.columns.add(k, (kept - reached) as f32, &mut self.tilt);
                }
            }
            let gain = self.predicted_decrease() - predicted_decrease;
            if gain > 0.0 {
                return gain;
            }
        }
        (self.to, self.bias, self.tilt) = (to, bias, tilt);
        0.0
    }
}
