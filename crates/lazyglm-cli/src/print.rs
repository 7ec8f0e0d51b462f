//! Errors, warnings, notes and results: how each is printed.

use crate::harmless::Harmless;
use crate::messages::{Level, is_silent};
use lazyglm::simd::standard_output_was_closed;
use lazyglm::{Error, Parameter, Report, Result, excerpt, spelled};
use std::io::{self, BufWriter, IsTerminal, Write};

/// Prints an error on standard error, and what to do about it on a line of its own.
pub fn error(error: &Error) {
    let (what, hint) = error.spelled(flag);
    line("error", "\x1b[1;31m", &what);
    if !hint.is_empty() {
        line("help", "\x1b[1m", &hint);
    }
}

/// Prints a note on standard error, unless quiet or silenced. A note of the library that warns is printed as a warning.
pub fn note(quiet: bool, text: &str) {
    if let Some(text) = text.strip_prefix(lazyglm::WARNING) {
        return warning(text);
    }
    let text = spelled(text, flag);
    if !is_silent(Level::Note, &text) && !quiet {
        line("note", "", &text);
    }
}

/// Prints a warning on standard error, unless silenced: the result may not be what the user wants.
pub fn warning(text: &str) {
    let text = spelled(text, flag);
    if !is_silent(Level::Warning, &text) {
        line("warning", "\x1b[1;33m", &text);
    }
}

/// Prints what to do next.
pub fn help(text: &str) {
    line("help", "\x1b[1m", text);
}

fn line(level: &str, colour: &str, text: &str) {
    let (clear, on, off) = match io::stderr().is_terminal() {
        true => ("\r\x1b[2K", colour, if colour.is_empty() { "" } else { "\x1b[0m" }), // a spinner may have the line
        false => ("", "", ""),
    };
    let _ = writeln!(io::stderr(), "{clear}{on}{level}:{off} {text}"); // with standard error gone, there is nobody to tell
}

/// A parameter as the program spells it: `--hash-bits`, `--solver sgd`.
pub fn flag(parameter: Parameter, value: Option<&str>) -> String {
    let name = match parameter {
        Parameter::Prediction => "as".to_string(),
        Parameter::OutputFormat => "to".to_string(),
        other => other.name().replace('_', "-"),
    };
    value.map_or(format!("--{name}"), |value| format!("--{name} {value}"))
}

/// A note about features that do not occur in training: the first of them, and the number of their values. If these are all values
/// of the data, it is a warning.
pub fn unseen_note((feature, values): (&str, u64), all: u64) -> String {
    let feature = excerpt(feature);
    if values >= all {
        return format!(
            "{}no feature of these rows occurs in the model (the first is '{feature}'): every prediction is the bias alone. Check that \
             these are the right data",
            lazyglm::WARNING
        );
    }
    format!(
        "{values} values belong to features that never occurred in training, the first of them '{feature}': they count as zero"
    )
}

/// Writes a result to standard output.
pub fn result(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = standard_output();
    fill(&mut out).and_then(|()| out.flush()).map_err(cannot_print)
}

/// Rejects a run whose results would be lost because standard output is closed.
pub fn check_standard_output() -> Result<()> {
    match standard_output_was_closed() {
        false => Ok(()),
        true => {
            let closed = io::Error::other("it is closed, and the results would be lost");
            let hint = "leave it open, or send it to /dev/null to discard the results";
            Err(Error::io("standard output", closed, hint))
        }
    }
}

/// Standard output. On a terminal, control characters are escaped.
pub fn standard_output() -> BufWriter<Box<dyn Write>> {
    let out: Box<dyn Write> = match io::stdout().is_terminal() {
        true => Box::new(Harmless::new(io::stdout().lock())),
        false => Box::new(io::stdout().lock()),
    };
    BufWriter::with_capacity(1 << 16, out)
}

/// The error for a failed write to standard output.
pub fn cannot_print(e: io::Error) -> Error {
    Error::io("standard output", e, "the output is incomplete: check where it goes")
}

/// Prints the objective; `rest` names the model without weights ("the bias").
pub fn objective(out: &mut dyn Write, report: &Report, rest: &str) -> io::Result<()> {
    let Report { objective, loss, penalty, baseline, .. } = report;
    let [objective, loss, penalty, baseline] = [objective, loss, penalty, baseline].map(|x| decimals(*x, 8));
    writeln!(out, "objective  {objective} = loss {loss} + penalty {penalty}; with {rest} alone {baseline}")
}

/// A number with so many decimals, or in exponent form if that would be a long row of digits or hardly any: `0.52627440`,
/// `1.23400000e17`, `5.1234e-6`.
pub fn decimals(number: f64, digits: usize) -> String {
    match number.abs() {
        size if size >= 1e15 => format!("{number:.digits$e}"),
        size if size > 0.0 && size < 1e-4 => format!("{number:.4e}"),
        _ => format!("{number:.digits$}"),
    }
}

/// A number with four significant digits: `0.9313`.
pub fn significant(number: f64) -> String {
    format!("{:?}", format!("{number:.3e}").parse().unwrap_or(number))
}

/// How far an objective is above the optimum at most, given a lower bound: `at most 0.005 % above the optimum`.
pub fn above_optimum(objective: f64, bound: f64) -> String {
    let above = (objective - bound).max(0.0);
    match bound > 0.0 {
        true => format!("at most {} above the optimum", percent(above / bound)),
        false => format!("at most {above:.1e} above the optimum"), // a share of a negative number means little
    }
}

/// A share as a percentage with two significant digits: `0.0051 %`, `3.5e-9 %`.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        p if p == 0.0 || p >= 10.0 => format!("{p:.0} %"),
        p if p >= 1e-4 => {
            let digits = 1 - p.log10().floor() as i32;
            format!("{p:.0$} %", digits.max(0) as usize)
        }
        p => format!("{p:.1e} %"),
    }
}

/// A number with separators: 1,234,567.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 epoch`, `2 epochs`.
pub fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, CommandFactory};

    fn flags(command: &Command) -> Vec<String> {
        let own = command.get_arguments().filter_map(|argument| argument.get_long().map(str::to_string));
        own.chain(command.get_subcommands().flat_map(flags)).collect()
    }

    #[test]
    fn numbers_have_as_many_digits_as_they_need() {
        for (number, shown) in [
            (0.0, "0.00000000"),
            (0.5, "0.50000000"),
            (-123.25, "-123.25000000"),
            (1.0e-4, "0.00010000"),
            (5.1234e-6, "5.1234e-6"),
            (-1e-300, "-1.0000e-300"),
            (1.234e17, "1.23400000e17"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(decimals(number, 8), shown);
        }
        let rates = [0.931_322_574_615_478_5, 0.94, 0.00065, 12345.6, 1e-7].map(significant);
        assert_eq!(rates, ["0.9313", "0.94", "0.00065", "12350.0", "1e-7"]);
    }

    #[test]
    fn every_parameter_is_a_flag() {
        let flags = flags(&crate::args::Args::command());
        for &parameter in Parameter::ALL {
            let spelling = flag(parameter, None);
            assert!(flags.iter().any(|flag| spelling[2..] == **flag), "no verb has {spelling}");
        }
    }
}
