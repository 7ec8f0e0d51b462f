//! Parsers of values with a unit or a range.

use lazyglm::{Error, Solver};
use std::str::FromStr;
use std::time::Duration;

/// A solver, and the former name that it was given by.
#[derive(Clone, Copy)]
pub struct NamedSolver {
    /// The solver.
    pub solver: Solver,
    /// The former name, if the solver was given by it.
    pub alias: Option<&'static str>,
}

/// Former names of solvers.
const ALIASES: [&str; 2] = ["online", "saga"];

impl FromStr for NamedSolver {
    type Err = Error;

    fn from_str(text: &str) -> Result<NamedSolver, Error> {
        let alias = ALIASES.into_iter().find(|alias| *alias == text);
        Ok(NamedSolver { solver: text.parse()?, alias })
    }
}

/// The least memory, in bytes: a limit below it is a number whose unit was left out.
const LEAST: f64 = 1_048_576.0;

/// Parses a number of bytes, with K, M, G or T for powers of 1024.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let bare = text.trim_end_matches(['b', 'B']).trim_end_matches('i');
    let unit = bare.chars().last().and_then(|c| "KMGT".find(c.to_ascii_uppercase()));
    let (digits, power) = unit.map_or((bare, 0), |unit| (&bare[..bare.len() - 1], unit as i32 + 1));
    let bytes = digits.parse().map_or(f64::NAN, |number: f64| number * 1024f64.powi(power));
    match bytes {
        LEAST..1e18 => Ok(bytes as usize),
        1.0..LEAST => Err("expected at least 1M, with its unit, as in 2G or 500M".into()),
        _ => Err("expected a number of bytes, or one with K, M, G or T, as in 2G or 500M".into()),
    }
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
    fits.then(|| Duration::from_secs_f64(seconds))
        .ok_or("expected a time above 0, as in 60s, 5m or 1h".into())
}

/// Parses a time that may be 0.
pub(super) fn interval(text: &str) -> Result<Duration, String> {
    match text.trim_end_matches(['s', 'm', 'h']).parse() {
        Ok(0.0) => Ok(Duration::ZERO),
        _ => duration(text).map_err(|_| "expected a time, at least 0, as in 60s, 5m or 1h".into()),
    }
}

/// Parses a relative distance from the optimum.
pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().unwrap_or(f64::NAN);
    (number > 0.0 && number < 1.0).then_some(number).ok_or("expected a number above 0 and below 1".into())
}

/// Parses the number of passes over rows that are read once.
pub(super) fn one_pass(text: &str) -> Result<u64, String> {
    match text {
        "1" => Ok(1),
        _ => Err("expected 1, a single pass in constant memory; for several passes, use --epochs".into()),
    }
}
