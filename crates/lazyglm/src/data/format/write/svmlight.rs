//! Writes svmlight text: `target index:value …`. Names get indices from 1 on, in order of first appearance.

use super::{Refusal, RowOut, Writer, number};
use crate::data::vocabulary::Vocabulary;
use crate::util::error::excerpt;
use std::io::Write;

/// The svmlight writer, with the names seen so far.
#[derive(Default)]
pub(crate) struct Svmlight {
    words: Option<Vocabulary>,
    table: Vec<u32>, // the index of each name of the block
    pairs: Vec<(u32, f64)>,
}

impl Writer for Svmlight {
    fn block(&mut self, names: Option<&Vocabulary>) {
        self.table.clear();
        if let Some(names) = names {
            let words = self.words.get_or_insert_default();
            self.table.extend(names.iter().map(|name| words.id(name).saturating_add(1)));
        }
    }

    fn row(&mut self, row: &RowOut, names: Option<&Vocabulary>, to: &mut Vec<u8>) -> Result<(), Refusal> {
        match row.target {
            Some(target) => to.extend(plain(target)?.as_bytes()),
            None if row.pairs.is_empty() => {
                let what = "a row without a target and without features would be a blank line".to_string();
                return Err(Refusal { what, hint: "remove the row, or write jsonl or vw" });
            }
            None => {}
        }
        self.pairs.clear();
        self.pairs.extend(row.pairs.iter().map(|&(id, x)| match names {
            Some(_) => (self.table[id as usize], x),
            None => (id, x),
        }));
        self.pairs.sort_unstable_by_key(|pair| pair.0);
        for (k, &(index, x)) in self.pairs.iter().enumerate() {
            let space = if k == 0 && row.target.is_none() { "" } else { " " };
            let _ = write!(to, "{space}{index}:"); // writing to a Vec cannot fail
            number(x, to);
        }
        to.push(b'\n');
        Ok(())
    }

    fn indexed(&self) -> Option<&Vocabulary> {
        self.words.as_ref()
    }
}

/// Checks that a target parses to itself.
fn plain(target: &str) -> Result<&str, Refusal> {
    let wrong = |c: char| matches!(c, ' ' | ':' | '#') || c.is_ascii_control();
    match target.contains(wrong) || target.starts_with('\u{feff}') || target.is_empty() {
        false => Ok(target),
        true => Err(Refusal {
            what: format!("the target '{}' cannot be written as svmlight", excerpt(target)),
            hint: "give it a name without spaces, ':' and '#', or write jsonl or csv",
        }),
    }
}
