//! Errors, warnings, notes and results: how each is printed.

use crate::harmless::Harmless;
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

/// Prints a note on standard error, unless quiet. A note of the library that warns is printed as a warning.
pub fn note(quiet: bool, text: &str) {
    match text.strip_prefix(lazyglm::WARNING) {
        Some(text) => warning(quiet, text),
        None if quiet => {}
        None => line("note", "", &spelled(text, flag)),
    }
}

/// Prints a warning on standard error, unless quiet: the result may not be what the user wants.
pub fn warning(quiet: bool, text: &str) {
    if !quiet {
        line("warning", "\x1b[1;33m", &spelled(text, flag));
    }
}

/// Prints what to do next, unless quiet.
pub fn help(quiet: bool, text: &str) {
    if !quiet {
        line("help", "\x1b[1m", text);
    }
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

/// A note about features that do not occur in training: the first of them, and the number of their values.
pub fn unseen_note((feature, values): (&str, u64)) -> String {
    format!(
        "{values} values belong to features that never occurred in training, the first of them '{}': they count as zero",
        excerpt(feature)
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

/// Prints the objective and the optimality violation; `rest` names the model without weights ("the bias").
pub fn objective(out: &mut dyn Write, report: &Report, rest: &str) -> io::Result<()> {
    let Report { objective, loss, penalty, baseline, violation, l1_max, .. } = report;
    writeln!(
        out,
        "objective  {objective:.8} = loss {loss:.8} + penalty {penalty:.8}; with {rest} alone {baseline:.8}"
    )?;
    writeln!(
        out,
        "optimum?   violation {violation:.2e} (0 at the optimum); l1_max = {l1_max:.3e}, the smallest l1 at which all weights are zero"
    )
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
    fn every_parameter_is_a_flag() {
        let flags = flags(&crate::args::Args::command());
        for &parameter in Parameter::ALL {
            let spelling = flag(parameter, None);
            assert!(flags.iter().any(|flag| spelling[2..] == **flag), "no verb has {spelling}");
        }
    }
}
