//! Arithmetic of the folded frame, for weights in f32 and in f64.

use crate::data::rows::Value;
use crate::util::state::State;

/// Number of partial sums of a score.
pub const PARTS: usize = 8;

/// The storage type of weights: `f32` or `f64`.
///
/// ```
/// use lazyglm::optim::kernel::Weight;
/// assert_eq!(0.75f32.soft_threshold(0.5), 0.25); // a stored weight read under a debt of ½
/// assert_eq!(0.25f32.undo_threshold(0.5), 0.75); // and written back
/// assert_eq!((-0.25f64).soft_threshold(0.5), 0.0, "it owes more than it has");
/// ```
pub trait Weight: State + Copy + Default + Send + Sync + 'static {
    /// Rounds from f64.
    fn from_f64(value: f64) -> Self;
    /// Converts to f64, exactly.
    fn to_f64(self) -> f64;
    /// Converts a feature's value to this precision.
    fn of<V: Value>(value: V) -> Self;
    /// Soft thresholding: sgn(v)·max(|v| − θ, 0).
    fn soft_threshold(self, debt: Self) -> Self;
    /// The inverse of [`Weight::soft_threshold`] for m ≠ 0: m + sgn(m)·θ.
    fn undo_threshold(self, debt: Self) -> Self;
    /// Whether the weight is 0 or −0.
    fn is_zero(self) -> bool;
    /// The sum self + other.
    fn and(self, other: Self) -> Self;
    /// The product self·factor.
    fn times(self, factor: Self) -> Self;
    /// The difference self − amount·value.
    fn minus(self, amount: Self, value: Self) -> Self;
    /// The sum self + a·b.
    fn plus(self, a: Self, b: Self) -> Self;
    /// Adds the partial sums of a row pairwise: ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)).
    fn total(sums: [Self; PARTS]) -> Self;
    /// The larger of self and |other|.
    fn larger(self, other: Self) -> Self;
    /// The largest stretch of a frame before stored magnitudes overflow.
    const MAX_STRETCH: f64;
    /// The number of units in the last place that a weight may lose while it is non-zero.
    const PATIENCE: f64;
    /// Whether a lane must have the same bits as a single model.
    const EXACT: bool;
}

macro_rules! weight {
    ($float:ty, $of:ident, $max_stretch:expr, $patience:expr, $exact:expr) => {
        impl Weight for $float {
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $float
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn of<V: Value>(value: V) -> Self {
                value.$of()
            }
            #[inline(always)]
            fn soft_threshold(self, debt: Self) -> Self {
                let m = self.abs() - debt;
                (if m > 0.0 { m } else { 0.0 }).copysign(self)
            }
            #[inline(always)]
            fn undo_threshold(self, debt: Self) -> Self {
                self + debt.copysign(self)
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0.0
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn times(self, factor: Self) -> Self {
                self * factor
            }
            #[inline(always)]
            fn minus(self, amount: Self, value: Self) -> Self {
                self - amount * value
            }
            #[inline(always)]
            fn plus(self, a: Self, b: Self) -> Self {
                self + a * b
            }
            #[inline(always)]
            fn total([a, b, c, d, e, f, g, h]: [Self; PARTS]) -> Self {
                ((a + b) + (c + d)) + ((e + f) + (g + h))
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if other.abs() > self { other.abs() } else { self }
            }
            const MAX_STRETCH: f64 = $max_stretch;
            const PATIENCE: f64 = $patience;
            const EXACT: bool = $exact;
        }
    };
}

weight!(f32, to_f32, 1e6, 100.0, false);
weight!(f64, to_f64, 1e100, 1e4, true);
