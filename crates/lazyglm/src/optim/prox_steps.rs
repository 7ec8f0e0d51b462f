//! Closed form of many penalty steps at a constant rate.
//!
//! ```text
//! one step     m ← [(m − ηλ₁)/(1 + ηλ₂)]₊                      FoBoS; m = |w|
//! n steps      m ← [R·m − λ₁D]₊     R = (1 + ηλ₂)⁻ⁿ,  D = (1 − R)/λ₂     (n·η if λ₂ = 0)
//! drifting     w ← prox(w − ηg): with a slope g of its own in every step, w may come to zero and stick there, or cross it
//! ```
//!
//! All steps contract towards the same centre −λ₁/λ₂, so their factors multiply (docs/maths/lazy-updates.md). D is computed
//! by series or by `expm1`, and never as a difference of numbers near one.

use crate::problem::penalty::ElasticNet;
use crate::problem::penalty::one::OneWeight;

/// Below this bound, six terms of the series of 1 − e^(−x), and seven of log(1 + y), are exact to the last
/// bit or two.
pub(super) const SMALL: f64 = 0.0078125;

/// R and D of `n` steps at rate `eta`.
///
/// ```
/// use lazyglm::optim::prox_steps::steps;
/// let (r, d) = steps(0.5, 0.1, 3.0);
/// assert!((r - 1.05f64.powi(-3)).abs() < 1e-15 && (d - (1.0 - r) / 0.5).abs() < 1e-15);
/// assert_eq!(steps(0.0, 0.1, 30.0), (1.0, 3.0));
/// ```
#[inline(always)]
pub fn steps(l2: f64, eta: f64, n: f64) -> (f64, f64) {
    let y = eta * l2;
    if n * y < SMALL && y < SMALL {
        return small_steps(y, eta, n);
    }
    if n == 0.0 {
        return (1.0, 0.0);
    }
    let x = n * y.ln_1p();
    let fall = -(-x).exp_m1();
    (1.0 - fall, fall / l2)
}

/// R and D if both y = ηλ₂ and ny are small. Without branches and calls, so that loops over many weights
/// vectorise.
#[inline(always)]
pub(super) fn small_steps(y: f64, eta: f64, n: f64) -> (f64, f64) {
    let log = 1.0 + y * (-1.0 / 2.0 + y * (1.0 / 3.0 + y * (-0.25 + y * (0.2 + y * (-1.0 / 6.0 + y / 7.0)))));
    let x = n * y * log;
    let fall = 1.0 + x * (-0.5 + x * (1.0 / 6.0 + x * (-1.0 / 24.0 + x * (1.0 / 120.0 - x / 720.0))));
    (1.0 - x * fall, n * eta * log * fall)
}

/// A weight after `n` penalty steps.
///
/// ```
/// use lazyglm::{ElasticNet, Method, optim::prox_steps::shrink};
/// let penalty = ElasticNet::new(0.01, 0.5).unwrap();
/// let dense = (0..10).fold(-1.0, |w, _| Method::Fobos.step(penalty, 0.1, w));
/// assert!((shrink(penalty, 0.1, 10.0, -1.0) - dense).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn shrink(penalty: ElasticNet, eta: f64, n: f64, weight: f64) -> f64 {
    let (r, d) = steps(penalty.l2, eta, n);
    soft_shrink(weight, r, penalty.l1 * d)
}

/// Affine shrinkage with soft thresholding: sgn(w)·[R|w| − debt]₊.
#[inline(always)]
pub(super) fn soft_shrink(weight: f64, r: f64, debt: f64) -> f64 {
    (weight.abs() * r - debt).max(0.0).copysign(weight)
}

/// A weight after `n` steps w ← prox(w − ηg), each with the same derivative g.
///
/// With r and d the values of R and D for one step, a step is r·w − (g + λ₁)d while w stays above zero. It is
/// r·w − (g − λ₁)d while w stays below zero. The direction never changes, so w reaches zero at most once. It
/// stays there if |g| ≤ λ₁, and crosses zero otherwise. Each of the three phases has a closed form:
/// docs/maths/adaptive-rates.md.
///
/// ```
/// use lazyglm::{ElasticNet, Method, optim::prox_steps::drift};
/// let penalty = ElasticNet::new(0.1, 0.5).unwrap();
/// for g in [-0.5, 0.0, 0.05, 0.3] {
///     let dense = (0..50).fold(1.0, |w, _| Method::Fobos.step(penalty, 0.1, w - 0.1 * g));
///     assert!((drift(penalty, 0.1, g, 50.0, 1.0) - dense).abs() < 1e-14);
/// }
/// ```
#[inline(always)]
pub fn drift(penalty: ElasticNet, eta: f64, slope: f64, n: f64, weight: f64) -> f64 {
    if n == 0.0 || (weight == 0.0 && slope.abs() <= penalty.l1) {
        return weight;
    }
    // From here on the weight is above zero, or leaves zero upwards.
    let down = weight < 0.0 || (weight == 0.0 && slope > 0.0);
    let (w, g) = if down { (-weight, -slope) } else { (weight, slope) };
    let pull = g + penalty.l1;
    let (r, d) = steps(penalty.l2, eta, n);
    let moved = match r * w - pull * d {
        above if pull <= 0.0 || above > 0.0 || above.is_nan() => above,
        _ if g <= penalty.l1 => 0.0,
        _ => crossed(penalty, eta, g, n, w),
    };
    if down { -moved } else { moved }
}

/// The result of [`drift`] for a positive weight that is negative after n steps.
#[cold]
fn crossed(penalty: ElasticNet, eta: f64, g: f64, n: f64, w: f64) -> f64 {
    let (above, below) = (g + penalty.l1, g - penalty.l1);
    let at = |i: f64| {
        let (r, d) = steps(penalty.l2, eta, i);
        r * w - above * d
    };
    let log = (eta * penalty.l2).ln_1p();
    let time = if log > 0.0 { (w * penalty.l2 / above).ln_1p() / log } else { w / (eta * above) };
    let mut h = time.ceil().clamp(1.0, n); // the step that reaches zero; rounding may be off by one
    if h > 1.0 && at(h - 1.0) <= 0.0 {
        h -= 1.0;
    } else if h < n && at(h) > 0.0 {
        h += 1.0;
    }
    let (r, d) = steps(penalty.l2, eta, 1.0);
    let landed = (r * at(h - 1.0).max(0.0) - below * d).min(0.0);
    let (r, d) = steps(penalty.l2, eta, n - h);
    r * landed - below * d
}

/// A weight after `n` steps that each end with clipping to its bounds, where `steps(n, w)` makes n steps without
/// clipping that go one way or towards zero.
///
/// The first step may begin outside the bounds, after a pull. All others begin inside, and then clipping at the end is
/// clipping at every step: a weight that reaches a bound would be moved beyond it by every later step as well.
#[inline(always)]
pub(super) fn clipped(one: &OneWeight, n: f64, weight: f64, steps: impl Fn(f64, f64) -> f64) -> f64 {
    match n > 0.0 && one.clip(weight) != weight {
        true => one.clip(steps(n - 1.0, one.clip(steps(1.0, weight)))),
        false => one.clip(steps(n, weight)),
    }
}
