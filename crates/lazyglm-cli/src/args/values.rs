//! Parsers of values with a unit or a range.

use std::time::Duration;

/// Parses a number of bytes, with K, M, G or T for powers of 1024.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let bare = text.trim_end_matches(['b', 'B']).trim_end_matches('i');
    let unit = bare.chars().last().and_then(|c| "KMGT".find(c.to_ascii_uppercase()));
    let (digits, power) = unit.map_or((bare, 0), |unit| (&bare[..bare.len() - 1], unit as i32 + 1));
    let bytes = digits.parse().map_or(f64::NAN, |number: f64| number * 1024f64.powi(power));
    let fits = (1.0..1e18).contains(&bytes);
    fits.then_some(bytes as usize).ok_or("write a number of bytes, or one with K, M, G or T: 2G, 500M".into())
}

/// Parses a duration in seconds, minutes or hours.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.chars().last() {
        Some('s') => (&text[..text.len() - 1], 1.0),
        Some('m') => (&text[..text.len() - 1], 60.0),
        Some('h') => (&text[..text.len() - 1], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = digits.parse().map_or(f64::NAN, |number: f64| number * unit);
    let fits = seconds > 0.0 && seconds < 1e9;
    fits.then(|| Duration::from_secs_f64(seconds)).ok_or("write a time above 0: 60s, 5m, 1h".into())
}

/// Parses a time that may be 0.
pub(super) fn interval(text: &str) -> Result<Duration, String> {
    match text.trim_end_matches(['s', 'm', 'h']).parse() {
        Ok(0.0) => Ok(Duration::ZERO),
        _ => duration(text).map_err(|_| "write a time, at least 0: 60s, 5m, 1h".into()),
    }
}

/// Parses a relative distance from the optimum.
pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().unwrap_or(f64::NAN);
    (number > 0.0 && number < 1.0).then_some(number).ok_or("give a number above 0 and below 1".into())
}
