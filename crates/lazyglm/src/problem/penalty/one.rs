//! The penalty of one weight, and the interval that the weight must lie in.
//!
//! ```text
//! r(w) = λ₁|w| + ½λ₂w² for low ≤ w ≤ high, else +∞          low ≤ 0 ≤ high
//! prox: clip(soft(v, λ₁)/(1 + λ₂), low, high)                the interval contains 0, towards which the penalty moves
//! r*(−g) = max over w of −gw − r(w), at |w| = min(e/λ₂, bound)     e = (|g| − λ₁)₊, bound: high or −low, by the sign of g
//! ```

use super::ElasticNet;
use crate::util::number::positive_part;

/// A weight this near to a bound, relative to the bound, counts as at the bound: weights may be rounded to f32.
const AT_BOUND: f64 = 1e-6;

/// λ₁, λ₂ and the bounds of one weight.
#[derive(Clone, Copy, Debug)]
pub struct OneWeight {
    /// λ₁ and λ₂, with the penalty factor of the weight.
    pub penalty: ElasticNet,
    /// The lowest and the highest value, with 0 between them.
    pub range: [f64; 2],
}

impl OneWeight {
    /// The nearest value within the bounds, or NaN for NaN.
    #[inline]
    pub fn clip(&self, weight: f64) -> f64 {
        clip(weight, self.range)
    }

    /// Whether a weight lies within the bounds, up to rounding.
    pub fn admits(&self, weight: f64) -> bool {
        let [low, high] = self.range.map(|bound| bound * (1.0 + AT_BOUND));
        low <= weight && weight <= high
    }

    /// The rate at which the loss falls when the weight leaves zero in the better allowed direction, for the gradient
    /// `g` of the loss.
    #[inline]
    pub fn steepness(&self, g: f64) -> f64 {
        let [low, high] = self.range;
        match (low < 0.0, high > 0.0) {
            (true, true) => g.abs(),
            (false, true) => -g,
            (true, false) => g,
            (false, false) => f64::NEG_INFINITY,
        }
    }

    /// The excess of the gradient over λ₁, in the directions that the bounds allow.
    #[inline]
    pub fn excess_gradient(&self, g: f64) -> f64 {
        positive_part(self.steepness(g) - self.penalty.l1)
    }

    /// The distance from 0 to the subdifferential of F, given the gradient `g` of the loss.
    pub fn violation(&self, weight: f64, g: f64) -> f64 {
        let (ElasticNet { l1, l2 }, [low, high]) = (self.penalty, self.range);
        let derivative = |w: f64| g + l2 * w + l1.copysign(w);
        match weight {
            0.0 => self.excess_gradient(g),
            w if w > 0.0 && w >= high * (1.0 - AT_BOUND) => positive_part(derivative(w)),
            w if w < 0.0 && w <= low * (1.0 - AT_BOUND) => positive_part(-derivative(w)),
            w => derivative(w).abs(),
        }
    }

    /// The magnitude of the weight that attains the conjugate. Infinite if λ₂ = 0, the gradient exceeds λ₁ and there
    /// is no bound.
    #[inline]
    pub fn reply(&self, g: f64) -> f64 {
        let beyond = self.excess_gradient(g);
        if beyond == 0.0 {
            return 0.0;
        }
        let (reached, bound) =
            (beyond / self.penalty.l2, if g < 0.0 { self.range[1] } else { -self.range[0] });
        if reached > bound { bound } else { reached }
    }

    /// The conjugate r*(−g). A weight with λ₂ = 0 and no bound has a constraint instead, |g| ≤ λ₁, which the caller
    /// keeps by [`OneWeight::share`].
    #[inline]
    pub fn conjugate(&self, g: f64) -> f64 {
        let (beyond, l2) = (self.excess_gradient(g), self.penalty.l2);
        match self.reply(g) {
            f64::INFINITY | 0.0 => 0.0,
            w if w == beyond / l2 => beyond * beyond / (2.0 * l2),
            w => w * (beyond - 0.5 * l2 * w),
        }
    }

    /// The largest share of the gradient, up to 1, at which the conjugate is finite.
    pub fn share(&self, g: f64) -> f64 {
        match self.reply(g) {
            f64::INFINITY => self.penalty.l1 / (self.penalty.l1 + self.excess_gradient(g)),
            _ => 1.0,
        }
    }
}

/// The nearest number in an interval, or NaN for NaN.
#[inline]
pub fn clip(weight: f64, [low, high]: [f64; 2]) -> f64 {
    match weight {
        below if below < low => low,
        above if above > high => high,
        inside => inside,
    }
}

/// Soft thresholding: moves `v` towards zero by an amount, or to zero, and then into an interval that contains zero.
#[inline]
pub fn shrunk(v: f64, by: f64, range: [f64; 2]) -> f64 {
    match v.abs() - by {
        left if left <= 0.0 => 0.0,
        left => clip(left.copysign(v), range),
    }
}
