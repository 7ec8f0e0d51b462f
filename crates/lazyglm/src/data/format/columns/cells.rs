//! What a cell of text says: a number, a name that is written in digits, or that nothing is known.

use crate::util::number::parse_number;

/// A value of a format with numbers that is no number, in warnings.
pub(in crate::data::format) const NAN: &str = "NaN";

/// Whether a trimmed cell means a missing value in a column of any kind.
pub(in crate::data::format) fn is_missing(cell: &str) -> bool {
    matches!(cell, "" | "NA" | "NaN" | "nan" | "null" | "NULL" | "?")
}

/// Whether a cell that counts as missing is so common that no warning counts it.
pub(in crate::data::format) fn is_silent(cell: &str) -> bool {
    matches!(cell, "" | "NA" | "null" | "NULL")
}

/// Words that people write into a column of numbers where the number is not known.
const PLACEHOLDERS: [&str; 21] = [
    "?",
    "-",
    "--",
    "---",
    ".",
    "..",
    "n/a",
    "#n/a",
    "na",
    "n.a.",
    "nan",
    "none",
    "nil",
    "null",
    "unknown",
    "unk",
    "missing",
    "undefined",
    "not available",
    "not applicable",
    "\\n",
];

/// Whether a trimmed cell of a number column stands for a missing number, and says so in a word.
pub(in crate::data::format) fn is_placeholder(cell: &str) -> bool {
    PLACEHOLDERS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// The number that a trimmed cell means. True is 1 and false is 0, as in formats that have booleans.
///
/// The number may be infinite or NaN: the caller rejects it with its place.
pub(in crate::data::format) fn number(cell: &str) -> Option<f64> {
    match cell {
        "true" | "True" | "TRUE" => Some(1.0),
        "false" | "False" | "FALSE" => Some(0.0),
        _ => parse_number(cell.as_bytes()),
    }
}

/// Whether digits are a name rather than a number: leading zeros as in 00501, or more than f64 holds exactly.
pub(super) fn is_code(cell: &str) -> bool {
    let digits = cell.strip_prefix(['-', '+']).unwrap_or(cell);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    whole
        && (digits.len() > 1 && digits.starts_with('0')
            || digits.parse().is_ok_and(is_long)
            || digits.len() > 38)
}

/// Whether an integer is beyond 2⁵³, where f64 no longer tells neighbours apart.
pub(in crate::data::format) fn is_long(whole: u128) -> bool {
    whole > 1 << f64::MANTISSA_DIGITS
}
