//! How things are said: notes, errors and results.

use crate::harmless::Harmless;
use lazyglm::simd::standard_output_was_closed;
use lazyglm::{Error, Report, Result, escaped, excerpt};
use std::io::{self, BufWriter, IsTerminal, Write};

/// An error, on standard error.
pub fn error(error: &Error) {
    let (on, off) = if io::stderr().is_terminal() { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    let _ = writeln!(io::stderr(), "{on}error:{off} {error}"); // with standard error gone, there is nobody to tell
}

/// A note, on standard error, unless quiet. Names in it come from files, so nothing of it may steer the terminal.
pub fn note(quiet: bool, text: &str) {
    if !quiet {
        let _ = writeln!(io::stderr(), "note: {}", escaped(text));
    }
}

/// A word on features that training never saw: the first of them, and how many values they have.
pub fn unseen_note((feature, values): (&str, u64)) -> String {
    format!(
        "{values} values belong to features that never occurred in training, the first of them {}: they count as zero",
        excerpt(feature)
    )
}

/// Writes a result to standard output.
pub fn result(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = standard_output();
    fill(&mut out).and_then(|()| out.flush()).map_err(cannot_print)
}

/// Refuses to start work whose result nobody can receive.
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

/// Standard output: exactly what is written into a file or a pipe, and on a terminal nothing that steers it.
pub fn standard_output() -> BufWriter<Box<dyn Write>> {
    let out: Box<dyn Write> = match io::stdout().is_terminal() {
        true => Box::new(Harmless::new(io::stdout().lock())),
        false => Box::new(io::stdout().lock()),
    };
    BufWriter::with_capacity(1 << 16, out)
}

/// Standard output refused.
pub fn cannot_print(e: io::Error) -> Error {
    Error::io("standard output", e, "the output is incomplete: check where it goes")
}

/// F, and how near its minimum it is; `rest` is what a model without weights has.
pub fn objective(out: &mut dyn Write, report: &Report, rest: &str) -> io::Result<()> {
    let Report { objective, loss, penalty, baseline, violation, l1_max, .. } = report;
    writeln!(
        out,
        "objective  {objective:.8} = loss {loss:.8} + penalty {penalty:.8}; with {rest} alone {baseline:.8}"
    )?;
    writeln!(
        out,
        "optimum?   violation {violation:.2e} (0 at the minimum); the best weights are all zero from l1 = {l1_max:.3e} on"
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
