//! Dates and times: what a linear model can use of them.
//!
//! ```text
//! when      ↦ when · years since 2000, when=year:2024, when=month:7, when=weekday:Mon      each part · 1
//! with time ↦ when=hour:13 as well                                                        in UTC
//! ```

#[cfg(feature = "parquet")]
use super::spans::fraction;
use crate::data::format::Parsed;
use crate::data::format::names::push_part;

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::data::format) struct When {
    /// Days since 1970-01-01.
    days: i64,
    /// Seconds since midnight.
    seconds: f64,
    /// Whether the text has a time of day.
    pub has_time: bool,
}

const DAY: f64 = 86_400.0;
/// Days from 1970-01-01 to 2000-01-01.
const YEAR_2000: i64 = 10_957;
/// Days per year of the Gregorian calendar.
const YEAR: f64 = 365.2425;
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

impl When {
    /// The point in time that lies so many seconds after 1970-01-01. `None` beyond a hundred thousand years.
    pub fn after_1970(seconds: f64) -> Option<When> {
        let days = (seconds / DAY).floor();
        let near = days.abs() < 3.6525e7;
        near.then_some(When { days: days as i64, seconds: seconds - days * DAY, has_time: true })
    }

    /// The same point, said to have a time of day or none.
    #[cfg(feature = "parquet")]
    pub fn with_time(self, has_time: bool) -> When {
        When { has_time, ..self }
    }

    /// Parses `2024-07-31`, `2024/07/31`, and either with a time: `2024-07-31T13:05:00.5+02:00`.
    pub fn parse(text: &str) -> Option<When> {
        let bytes = text.as_bytes();
        let mark = *bytes.get(4).filter(|mark| matches!(mark, b'-' | b'/'))?;
        if bytes.get(7) != Some(&mark) {
            return None;
        }
        let (year, month, day) = (digits(text, 0, 4)?, digits(text, 5, 7)?, digits(text, 8, 10)?);
        let days = days(year, month, day)?;
        match bytes.get(10) {
            None => Some(When { days, seconds: 0.0, has_time: false }),
            Some(b'T' | b' ' | b't') => {
                let when = When::after_1970(days as f64 * DAY + time(&text[11..])?)?;
                Some(When { has_time: true, ..when })
            }
            Some(_) => None,
        }
    }

    /// Years since the start of 2000.
    pub fn years(self) -> f64 {
        ((self.days - YEAR_2000) as f64 + self.seconds / DAY) / YEAR
    }

    /// Appends the features of a point in time, with the hour if `hour`.
    pub fn push(
        self,
        column: &str,
        hour: bool,
        name: &mut String,
        pairs: &mut Vec<(u32, f64)>,
        into: &mut Parsed,
    ) {
        let (year, month, _) = civil(self.days);
        let whole = When { seconds: if hour { self.seconds } else { 0.0 }, ..self };
        pairs.push((into.name(column), whole.years()));
        let weekday = WEEKDAYS[(self.days + 3).rem_euclid(7) as usize]; // 1970-01-01 was a Thursday
        let of_day = hour.then(|| format!("hour:{}", (self.seconds / 3600.0).floor()));
        let parts = [format!("year:{year}"), format!("month:{month}"), format!("weekday:{weekday}")];
        for part in parts.into_iter().chain(of_day) {
            name.clear();
            push_part(name, column, '=');
            name.push_str(&part);
            pairs.push((into.name(name), 1.0));
        }
    }
}

/// A date, or a time in units of which a second has so many, as ISO 8601 writes it: `2024-07-31`, `2024-07-31T13:05:00.25`.
#[cfg(feature = "parquet")]
pub(in crate::data::format) fn written(ticks: i64, per_second: Option<i64>, in_utc: bool) -> String {
    let Some(unit) = per_second else {
        let (year, month, day) = civil(ticks);
        return format!("{year:04}-{month:02}-{day:02}");
    };
    let (seconds, rest) = (ticks.div_euclid(unit), ticks.rem_euclid(unit));
    let (date, of_day) = (written(seconds.div_euclid(86_400), None, false), seconds.rem_euclid(86_400));
    let (hours, minutes, seconds) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let fraction = fraction(rest, unit);
    format!("{date}T{hours:02}:{minutes:02}:{seconds:02}{fraction}{}", if in_utc { "Z" } else { "" })
}

/// The number in some bytes that are all digits.
fn digits(text: &str, from: usize, to: usize) -> Option<i64> {
    let part = text.get(from..to)?;
    part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
}

/// Seconds since midnight in UTC of `13:05`, `13:05:00`, `13:05:00.5`, with `Z` or an offset such as `+02:00` behind.
pub(super) fn time(text: &str) -> Option<f64> {
    let (hours, minutes) = (digits(text, 0, 2)?, digits(text, 3, 5)?);
    if text.as_bytes().get(2) != Some(&b':') || hours > 24 || minutes > 59 {
        return None;
    }
    let mut rest = &text[5..];
    let mut seconds = (hours * 3600 + minutes * 60) as f64;
    if let Some(behind) = rest.strip_prefix(':') {
        let end =
            behind.bytes().position(|byte| !byte.is_ascii_digit() && byte != b'.').unwrap_or(behind.len());
        digits(behind, 0, 2)?;
        seconds += behind[..end].parse::<f64>().ok().filter(|seconds| *seconds < 61.0)?;
        rest = &behind[end..];
    }
    match rest.trim_start() {
        "" | "Z" | "z" | "UTC" => Some(seconds),
        zone => {
            let sign = if zone.starts_with('-') { 1.0 } else { -1.0 };
            let zone = zone.strip_prefix(['+', '-'])?;
            let (hours, minutes) = match zone.len() {
                2 => (digits(zone, 0, 2)?, 0),
                4 => (digits(zone, 0, 2)?, digits(zone, 2, 4)?),
                5 if zone.as_bytes()[2] == b':' => (digits(zone, 0, 2)?, digits(zone, 3, 5)?),
                _ => return None,
            };
            Some(seconds + sign * (hours * 3600 + minutes * 60) as f64)
        }
    }
}

/// Days since 1970-01-01 of a date of the Gregorian calendar (Hinnant's algorithm), or `None` if there is no such date.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let shifted = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    ((1..=12).contains(&month) && civil(days) == (year, month, day)).then_some(days)
}

/// Year, month and day of so many days since 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_eight_hundred_years_reads_back() {
        for day in -150_000..150_000 {
            let (year, month, of_month) = civil(day);
            assert_eq!(days(year, month, of_month), Some(day));
        }
        assert_eq!((days(2024, 2, 29).is_some(), days(2023, 2, 29), days(2024, 13, 1)), (true, None, None));
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn what_is_written_reads_back() {
        for (ticks, unit, text) in [
            (0, None, "1970-01-01"),
            (-1, None, "1969-12-31"),
            (47_101_500, Some(1000), "1970-01-01T13:05:01.5"),
            (-1, Some(1_000_000_000), "1969-12-31T23:59:59.999999999"),
            (86_400, Some(1), "1970-01-02T00:00:00"),
        ] {
            assert_eq!(written(ticks, unit, false), text);
            let when = When::parse(text).unwrap();
            let known = unit.map_or(ticks as f64 * DAY, |unit| ticks as f64 / unit as f64);
            assert!((when.days as f64 * DAY + when.seconds - known).abs() < 1e-6, "{text}");
        }
        assert!(written(1, Some(1000), true).ends_with(".001Z"));
    }

    #[test]
    fn times_are_read_in_utc() {
        let parse = |text| When::parse(text).map(|when: When| (when.days, when.seconds, when.has_time));
        assert_eq!(parse("1970-01-02"), Some((1, 0.0, false)));
        assert_eq!(parse("1970/01/02 00:00"), Some((1, 0.0, true)));
        assert_eq!(parse("1970-01-01T13:05:01.5Z"), Some((0, 47_101.5, true)));
        assert_eq!(parse("1970-01-01T01:00:00+02:00"), Some((-1, 82_800.0, true)));
        for wrong in
            ["1970-1-2", "1970-01-32", "1970-01-01T", "1970-01-01 25:00", "1970-01-01x", "1970-01-01 1:00"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(When::parse("2000-01-01").unwrap().years(), 0.0);
    }
}
