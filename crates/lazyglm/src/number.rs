//! Decimal text to `f64`, bit for bit as the standard library does it, but faster for the short numbers that
//! data files are made of.
//!
//! ```
//! use lazyglm::number::parse_number;
//! for text in ["0.3", "-17", "123456.789", "2.5e-310", "+.5"] {
//!     assert_eq!(parse_number(text.as_bytes()), text.parse().ok());
//! }
//! ```

/// Powers of ten that f64 holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The number written here, if it is one; `inf` and `nan` are numbers here too, and the caller's to refuse.
///
/// Up to 15 digits with at most 22 after the point make an exact integer divided by an exact power of ten: one
/// correctly rounded division (Clinger 1990). Everything else goes the long way.
///
/// ```
/// use lazyglm::number::parse_number;
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

/// The short number this text begins with, and how many bytes it takes; what follows it is the caller's to judge.
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

/// The digits, up to eight, that eight bytes (the first in the lowest place) begin with: their number and how many.
///
/// Eight bytes are worked on at once. A digit XOR `0` is 0 to 9, and adding 0x76 to that leaves the top bit clear; the
/// first byte whose top bit is set ends the number. Its digits are moved to the high end, with zeros before them, and
/// summed up pairwise: tens and ones, then hundreds, then ten thousands. No branch depends on how many there are.
#[inline(always)]
pub(crate) fn digits8(bytes: u64) -> (u64, usize) {
    let digits = bytes ^ 0x3030_3030_3030_3030;
    let ends = (digits | digits.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080;
    let count = (ends.trailing_zeros() / 8) as usize; // 64/8 = 8 when all are digits
    // A carry out of a byte that is no digit reaches later bytes alone, which are behind the end anyway.
    let shifted = if count == 0 { 0 } else { digits << (64 - 8 * count) };
    let pairs = (shifted & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(10 * 256 + 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100 * 65536 + 1) >> 16 & 0x0000_ffff_0000_ffff;
    let eight = fours.wrapping_mul(10_000 * (1 << 32) + 1) >> 32;
    (eight, count)
}

/// The eight bytes from `at` on; `None` near the end.
#[inline(always)]
pub(crate) fn eight(text: &[u8], at: usize) -> Option<u64> {
    text.get(at..at + 8).and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)))
}

/// The number that stands at `at`, and where it ends: bit for bit what the standard library makes of it. Up to eight
/// digits before the point and eight behind it, 15 in all, take a few instructions; others go the long way. `None` if
/// there is none, or none that ends at white space, or too near the end of the text.
#[inline(always)]
pub(crate) fn number_at(text: &[u8], at: usize) -> Option<(f64, usize)> {
    if let &[digit @ b'0'..=b'9', b' ' | b'\n', ..] = text.get(at..)? {
        return Some((f64::from(digit - b'0'), at + 1)); // counts: a guess that frees the next pair from waiting
    }
    let negative = *text.get(at)? == b'-';
    let start = at + usize::from(negative);
    let (whole, count) = digits8(eight(text, start)?);
    let mut end = start + count;
    let mut magnitude = whole as f64;
    let mut plain = count > 0 && count < 8;
    if *text.get(end)? == b'.' {
        let (part, decimals) = digits8(eight(text, end + 1)?);
        end += 1 + decimals;
        // 15 digits or fewer and an exact power of ten: one division, rounded correctly.
        magnitude = (whole * TENS[decimals] + part) as f64 / POWERS[decimals];
        plain &= decimals > 0 && decimals < 8;
    }
    if plain && matches!(*text.get(end)?, b' ' | b'\n') {
        return Some((if negative { -magnitude } else { magnitude }, end));
    }
    long_number_at(text, at)
}

const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

#[cold]
fn long_number_at(text: &[u8], at: usize) -> Option<(f64, usize)> {
    let end = at + text[at..].iter().position(u8::is_ascii_whitespace)?;
    parse_number(&text[at..end]).map(|number| (number, end))
}
