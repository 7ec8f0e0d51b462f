//! Writes Vowpal Wabbit text: `target weight offset | feature:value …`.
//!
//! All features are written with their full names in the unnamed namespace, so that `namespace^feature` keeps
//! its name. A weight of 1 without an offset, an offset of 0 and a value of 1 are omitted.

use super::{Refusal, RowOut, Writer, name_of, number};
use crate::data::vocabulary::Vocabulary;
use crate::util::error::excerpt;

/// The Vowpal Wabbit writer.
pub(crate) struct Vw;

impl Writer for Vw {
    fn block(&mut self, _: Option<&Vocabulary>) {}

    fn row(&mut self, row: &RowOut, names: Option<&Vocabulary>, to: &mut Vec<u8>) -> Result<(), Refusal> {
        match row.target {
            Some(target) => to.extend(plain_target(target)?.as_bytes()),
            None if row.weight != 1.0 || row.offset != 0.0 => {
                let what = "a row without a target cannot have a weight or an offset".to_string();
                return Err(Refusal { what, hint: "give it a target, or write another format" });
            }
            None => {}
        }
        if row.weight != 1.0 || row.offset != 0.0 {
            to.push(b' ');
            number(row.weight, to);
        }
        if row.offset != 0.0 {
            to.push(b' ');
            number(row.offset, to);
        }
        to.extend(if row.target.is_some() { &b" |"[..] } else { b"|" });
        for &(id, x) in row.pairs {
            let name = name_of(names, id);
            to.push(b' ');
            to.extend(plain_name(&name)?.as_bytes());
            if x != 1.0 {
                to.push(b':');
                number(x, to);
            }
        }
        to.push(b'\n');
        Ok(())
    }

    fn keeps_weights(&self) -> bool {
        true
    }
}

fn plain_target(target: &str) -> Result<&str, Refusal> {
    let wrong = |c: char| matches!(c, ' ' | '|' | ':' | ',') || c.is_ascii_control();
    match target.contains(wrong) || target.starts_with(['\'', '\u{feff}']) || target.is_empty() {
        false => Ok(target),
        true => Err(Refusal {
            what: format!("the target '{}' cannot be written as Vowpal Wabbit text", excerpt(target)),
            hint: "give it a name without spaces, '|', ':', ',' and without ' at the start, or write jsonl or csv",
        }),
    }
}

fn plain_name(name: &str) -> Result<&str, Refusal> {
    let wrong = |c: char| matches!(c, ' ' | '|' | ':') || c.is_ascii_control();
    match name.contains(wrong) || name.is_empty() {
        false => Ok(name),
        true => Err(Refusal {
            what: format!("the feature '{}' cannot be written as Vowpal Wabbit text", excerpt(name)),
            hint: "names must not be empty, nor have spaces, '|' or ':' in them: write jsonl or svmlight",
        }),
    }
}
