//! Writes JSON Lines: `{"target": …, "feature": value, …}`. A row without a target has null.

use super::{Refusal, RowOut, Writer, name_of, number};
use crate::data::vocabulary::Vocabulary;
use crate::util::error::excerpt;
use crate::util::number::parse_number;

/// The key of the target.
pub(super) const TARGET: &str = "target";

/// The JSON Lines writer.
pub(crate) struct Jsonl;

impl Writer for Jsonl {
    fn block(&mut self, _: Option<&Vocabulary>) {}

    fn row(&mut self, row: &RowOut, names: Option<&Vocabulary>, to: &mut Vec<u8>) -> Result<(), Refusal> {
        to.extend(b"{\"target\":");
        match row.target {
            None => to.extend(b"null"),
            Some(target) if parse_number(target.as_bytes()).is_some() => to.extend(target.as_bytes()),
            Some(target) => text(target, to)?,
        }
        for &(id, x) in row.pairs {
            let name = name_of(names, id);
            if name == TARGET {
                let what = format!("a feature is called '{TARGET}', which is the key of the target");
                return Err(Refusal { what, hint: "rename it or leave it out, or write svmlight or vw" });
            }
            to.push(b',');
            text(&name, to)?;
            to.push(b':');
            number(x, to);
        }
        to.extend(b"}\n");
        Ok(())
    }
}

/// Writes text in quotes, with escapes.
fn text(text: &str, to: &mut Vec<u8>) -> Result<(), Refusal> {
    serde_json::to_writer(to, text).map_err(|e| Refusal {
        what: format!("'{}' cannot be written as JSON: {e}", excerpt(text)),
        hint: "write another format",
    })
}
