//! Elementary functions without branches or tables, which the compiler turns into vector instructions.
//!
//! They use additions, multiplications and divisions alone, so results have the same bits on every processor.

/// ln 2 in two parts. An integer below 2²⁰ times the first is exact.
const LN_2: [f64; 2] = [6.931471803691238e-1, 1.9082149292705877e-10];
/// The coefficients 1/(2k + 1) of artanh.
const INVERSE_ODD: [f64; 10] = [
    1.0,
    1.0 / 3.0,
    1.0 / 5.0,
    1.0 / 7.0,
    1.0 / 9.0,
    1.0 / 11.0,
    1.0 / 13.0,
    1.0 / 15.0,
    1.0 / 17.0,
    1.0 / 19.0,
];

/// The exponential eˣ for x ≤ 0, to two units in the last place. Below −708, where eˣ is about to underflow, it is e⁻⁷⁰⁸;
/// NaN remains NaN.
///
/// ```text
/// eˣ = 2ᵏ·eʳ      k = x/ln 2 rounded,  r = x − k·ln 2,  |r| ≤ ½·ln 2
/// ```
#[inline(always)]
pub(crate) fn exp_of_nonpositive(x: f64) -> f64 {
    const ROUND: f64 = 6755399441055744.0; // 1.5·2⁵²: adding it leaves an integer in the lowest bits
    const INVERSE_FACTORIALS: [f64; 14] = [
        1.0,
        1.0,
        1.0 / 2.0,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5040.0,
        1.0 / 40320.0,
        1.0 / 362880.0,
        1.0 / 3628800.0,
        1.0 / 39916800.0,
        1.0 / 479001600.0,
        1.0 / 6227020800.0,
    ];
    let x = if x < -708.0 { -708.0 } else { x };
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN_2[0]) - k * LN_2[1];
    let series = polynomial(&INVERSE_FACTORIALS, r);
    let power = (shifted.to_bits() << 52).wrapping_add(1f64.to_bits()); // 2ᵏ
    series * f64::from_bits(power)
}

/// The logarithm ln(1 + x) for x in [0, 1], to two units in the last place.
///
/// ```text
/// ln(1 + x) = 2·artanh(t)              t = x/(2 + x)
///           = ln 2 + 2·artanh(t)       t = (x − 1)/(3 + x), if x is large, so that |t| ≤ 0.172
/// ```
#[inline(always)]
pub(crate) fn ln_1p_of_unit(x: f64) -> f64 {
    let large = x > std::f64::consts::SQRT_2 - 1.0;
    let t = if large { x - 1.0 } else { x } / if large { 3.0 + x } else { 2.0 + x };
    let rest = 2.0 * t * polynomial(&INVERSE_ODD, t * t);
    if large { std::f64::consts::LN_2 + rest } else { rest }
}

/// The logarithm ln x for x > 0 that is not subnormal, to two units in the last place of the larger of ln x and 1. For 0
/// it is below −708.
///
/// ```text
/// ln x = k·ln 2 + 2·artanh((m − 1)/(m + 1))       x = 2ᵏ·m,  m in [√½, √2)
/// ```
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    const ROUND: f64 = 4503599627370496.0; // 2⁵²
    let bits = x.to_bits();
    let high = (bits & MANTISSA) > std::f64::consts::SQRT_2.to_bits() & MANTISSA;
    let exponent = (bits >> 52) + u64::from(high);
    let k = f64::from_bits(ROUND.to_bits() | exponent) - (ROUND + 1023.0);
    let m = f64::from_bits((bits & MANTISSA) | (1023 - u64::from(high)) << 52);
    let t = (m - 1.0) / (m + 1.0);
    k * LN_2[0] + (2.0 * t * polynomial(&INVERSE_ODD, t * t) + k * LN_2[1])
}

/// The polynomial Σ cₖ·xᵏ.
#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut k = N - 1;
    while k > 0 {
        k -= 1;
        sum = sum * x + coefficients[k];
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        for i in 0..200_000 {
            let x = -708.0 * (i as f64 / 200_000.0).powi(3);
            let (ours, theirs) = (exp_of_nonpositive(x), x.exp());
            assert!((ours - theirs).abs() <= 4.0 * f64::EPSILON * theirs, "e^{x}: {ours} and {theirs}");
            let x = x.exp();
            let (ours, theirs) = (ln_1p_of_unit(x), x.ln_1p());
            assert!((ours - theirs).abs() <= 4.0 * f64::EPSILON * theirs, "ln(1 + {x}): {ours} and {theirs}");
        }
        for i in 1..200_000 {
            let x = (i as f64 / 100_000.0).powi(7);
            let (ours, theirs) = (ln(x), x.ln());
            let size = theirs.abs().max(1.0);
            assert!((ours - theirs).abs() <= 4.0 * f64::EPSILON * size, "ln {x}: {ours} and {theirs}");
        }
        assert_eq!(ln(1.0), 0.0);
        assert!(ln(0.0) < -708.0);
        assert_eq!(exp_of_nonpositive(0.0), 1.0);
        assert!(exp_of_nonpositive(f64::NEG_INFINITY) < 1e-300);
        assert!(exp_of_nonpositive(f64::NAN).is_nan());
        assert!(ln_1p_of_unit(f64::NAN).is_nan());
    }
}
