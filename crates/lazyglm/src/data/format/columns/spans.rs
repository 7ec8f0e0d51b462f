//! Times of day and durations: what a linear model can use of them.
//!
//! ```text
//! at 13:05          ↦ at · 13.083 (hours since midnight), at=hour:13 · 1
//! took 1:30 hours   ↦ took · 5400                                           in seconds
//! ```

use super::dates::time;
use crate::data::format::Parsed;
use crate::data::format::names::push_part;
use crate::util::number::parse_number;

const DAY: f64 = 86_400.0;

/// Parses a time of day, `13:05`, `13:05:00` or `13:05:00.5`: seconds since midnight.
pub(in crate::data::format) fn clock(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
    (plain && text.len() >= 5).then(|| time(text))?.filter(|seconds| is_clock(*seconds))
}

/// Whether so many seconds are a time of day.
pub(in crate::data::format) fn is_clock(seconds: f64) -> bool {
    (0.0..DAY).contains(&seconds)
}

/// Appends the features of a time of day.
pub(in crate::data::format) fn push_clock(
    seconds: f64,
    column: &str,
    name: &mut String,
    pairs: &mut Vec<(u32, f64)>,
    into: &mut Parsed,
) {
    let hours = seconds / 3600.0;
    pairs.push((into.name(column), hours));
    name.clear();
    push_part(name, column, '=');
    name.push_str("hour:");
    name.push_str(&hours.floor().to_string());
    pairs.push((into.name(name), 1.0));
}

/// Parses a duration as pandas writes it, `-1 days +23:00:05.5`, or as ISO 8601 does, `P1DT2H30M5.5S`: seconds.
pub(in crate::data::format) fn duration(text: &str) -> Option<f64> {
    of_pandas(text).or_else(|| of_iso(text)).filter(|seconds| seconds.is_finite())
}

fn of_pandas(text: &str) -> Option<f64> {
    let (days, rest) = text.split_once(" day")?;
    let days: i64 = days.parse().ok()?;
    let rest = rest.strip_prefix('s').unwrap_or(rest);
    let of_day = match rest {
        "" => 0.0,
        rest => clock(rest.strip_prefix(' ')?.trim_start_matches('+'))?,
    };
    Some(days as f64 * DAY + of_day)
}

fn of_iso(text: &str) -> Option<f64> {
    let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let rest = text.strip_prefix('P').filter(|rest| !rest.is_empty() && !rest.ends_with('T'))?;
    let (days, times) = rest.split_once('T').unwrap_or((rest, ""));
    let sum = parts(days, &[('W', 7.0 * DAY), ('D', DAY)])?
        + parts(times, &[('H', 3600.0), ('M', 60.0), ('S', 1.0)])?;
    Some(sign * sum)
}

/// The sum of numbers with their units behind, each unit at most once and in this order.
fn parts(mut text: &str, mut units: &[(char, f64)]) -> Option<f64> {
    let mut sum = 0.0;
    while !text.is_empty() {
        let end = text.find(|c: char| c.is_ascii_alphabetic())?;
        let place = units.iter().position(|(unit, _)| text[end..].starts_with(*unit))?;
        sum += units[place].1 * parse_number(&text.as_bytes()[..end])?;
        (text, units) = (&text[end + 1..], &units[place + 1..]);
    }
    Some(sum)
}

/// A time of day in units of which a second has so many: `13:05:00.25`.
#[cfg(feature = "parquet")]
pub(in crate::data::format) fn written_clock(ticks: i64, per_second: i64) -> String {
    let (seconds, rest) = (ticks.div_euclid(per_second), ticks.rem_euclid(per_second));
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    clock + &fraction(rest, per_second)
}

/// A duration in units of which a second has so many, as ISO 8601 writes it: `PT5400.5S`.
#[cfg(feature = "parquet")]
pub(in crate::data::format) fn written_duration(ticks: i64, per_second: i64) -> String {
    let (sign, ticks) = (if ticks < 0 { "-" } else { "" }, ticks.unsigned_abs());
    let (seconds, rest) = (ticks / per_second as u64, ticks % per_second as u64);
    format!("{sign}PT{seconds}{}S", fraction(rest as i64, per_second))
}

/// The digits after the point of a part of a second, without zeros at the end.
#[cfg(feature = "parquet")]
pub(super) fn fraction(rest: i64, per_second: i64) -> String {
    let digits = format!("{:0width$}", rest, width = per_second.ilog10() as usize);
    match digits.trim_end_matches('0') {
        "" => String::new(),
        digits => format!(".{digits}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_pandas_and_of_iso_8601() {
        for (text, seconds) in [
            ("0 days 00:00:05", 5.0),
            ("1 day 02:00:00", 93_600.0),
            ("-1 days +23:59:59.5", -0.5),
            ("3 days", 259_200.0),
            ("P1DT2H", 93_600.0),
            ("PT1M0.25S", 60.25),
            ("-PT2S", -2.0),
            ("P2W", 1_209_600.0),
        ] {
            assert_eq!(duration(text), Some(seconds), "{text}");
        }
        for wrong in
            ["", "P", "PT", "PT5", "P1H", "PT1S1M", "5", "1 days x", "1 days 25:00:00", "days", "P1DT"]
        {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_of_day() {
        assert_eq!(
            [clock("13:05"), clock("00:00:00.5"), clock("23:59:59")],
            [Some(47_100.0), Some(0.5), Some(86_399.0)]
        );
        for wrong in ["1:05", "24:00", "13:65", "13:05Z", "13-05", "13:05:", "٣٣:٠٥"] {
            assert_eq!(clock(wrong), None, "{wrong}");
        }
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn what_is_written_reads_back() {
        for ticks in [0, 1, 5_400_250, 86_399_999] {
            assert_eq!(clock(&written_clock(ticks, 1000)), Some(ticks as f64 / 1000.0));
            assert_eq!(duration(&written_duration(-ticks, 1000)).unwrap(), -ticks as f64 / 1000.0);
        }
        assert_eq!([written_clock(47_100_000, 1000), written_duration(-1500, 1000)], ["13:05:00", "-PT1.5S"]);
    }
}
