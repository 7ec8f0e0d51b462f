//! Parses decimal text to `f64`, bit for bit like the standard library, but faster for short numbers.
//!
//! ```
//! use lazyglm::util::number::parse_number;
//! for text in ["0.3", "-17", "123456.789", "2.5e-310", "+.5"] {
//!     assert_eq!(parse_number(text.as_bytes()), text.parse().ok());
//! }
//! ```

/// Powers of ten that f64 represents exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Parses a number. The results of `inf` and `nan` are not finite, and the caller must reject them.
///
/// Up to 15 digits with at most 22 decimals are an exact integer divided by an exact power of ten. That is
/// one correctly rounded division (Clinger 1990). All other numbers use the standard library.
///
/// ```
/// use lazyglm::util::number::parse_number;
/// assert_eq!(parse_number(b"-12.5"), Some(-12.5));
/// assert_eq!(parse_number(b"0.1"), Some(0.1));
/// assert_eq!(parse_number(b"1e-3"), Some(1e-3));
/// assert_eq!(parse_number(b"12x"), None);
/// ```
pub fn parse_number(text: &[u8]) -> Option<f64> {
    match short(text) {
        Some((number, length)) if length == text.len() => Some(number),
        _ => std::str::from_utf8(text).ok()?.parse().ok(),
    }
}

/// The positive part max(x, 0), or NaN for NaN. `f64::max` would make a zero of a NaN.
pub(crate) fn positive_part(x: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { x }
}

/// The larger number, or NaN if either is NaN. `f64::max` would drop a NaN.
pub(crate) fn larger_or_nan(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}

/// Parses a short number at the start of the text, and returns it with its length. The caller checks what
/// follows.
#[inline(always)]
pub(crate) fn short(text: &[u8]) -> Option<(f64, usize)> {
    let mut at = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let (mut integer, mut digits, mut point) = (0u64, 0, None);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'0'..=b'9' => {
                integer = integer * 10 + u64::from(byte - b'0');
                digits += 1;
                if digits > 15 {
                    return None;
                }
            }
            b'.' if point.is_none() => point = Some(digits),
            _ => break,
        }
        at += 1;
    }
    if digits == 0 {
        return None;
    }
    let decimals = point.map_or(0, |before| digits - before);
    let magnitude = integer as f64 / POWERS[decimals];
    Some((if text[0] == b'-' { -magnitude } else { magnitude }, at))
}
