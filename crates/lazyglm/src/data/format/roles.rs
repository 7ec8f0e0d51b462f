//! What the columns of a table were taken for, in words.

use super::columns::{ColumnKind, Known};
use super::{FormatSpec, Holds};
use crate::util::error::{Error, Result, excerpt};
use crate::util::parameter::Parameter;

/// Most names that a note lists per kind of column.
const SHOWN: usize = 8;

/// The kinds in the order of notes, with their nouns.
const KINDS: [(&str, &str); 8] = [
    ("number", "numbers"),
    ("category", "categories"),
    ("text", "texts"),
    ("date", "dates"),
    ("list", "lists"),
    ("map", "maps"),
    ("offset", "offsets"),
    ("dropped", "dropped"),
];

impl FormatSpec {
    /// The columns of a table that were decided or asked for, other than the target, and what each was taken for.
    pub(crate) fn roles(&self) -> Vec<(&str, &'static str)> {
        match self {
            FormatSpec::Csv(csv) => {
                let others = csv.columns.iter().filter(|column| column.kind != ColumnKind::Target);
                others.map(|column| (column.name.as_str(), word(column.kind))).collect()
            }
            FormatSpec::Jsonl { columns, drop, .. } => {
                let dropped = drop.iter().map(|name| (name.as_str(), "dropped"));
                columns
                    .iter()
                    .map(|column| (column.name.as_str(), word(column.kind)))
                    .chain(dropped)
                    .collect()
            }
            FormatSpec::Parquet { columns, .. } => {
                columns.iter().map(|column| (column.name.as_str(), held(column.holds))).collect()
            }
            FormatSpec::Svmlight | FormatSpec::Vw | FormatSpec::Text(_) => Vec::new(),
        }
    }

    /// A note that says what each column of a table was taken for.
    pub(crate) fn roles_note(&self) -> Option<String> {
        let roles = self.roles();
        let of_kind = |(kind, plural): &(&'static str, &str)| {
            let names: Vec<&str> =
                roles.iter().filter(|(_, role)| role == kind).map(|(name, _)| *name).collect();
            let shown: Vec<String> = names.iter().take(SHOWN).map(|name| shown(name)).collect();
            let more = if names.len() > SHOWN { ", …" } else { "" };
            let noun = if names.len() == 1 { kind } else { plural };
            (!names.is_empty()).then(|| format!("{} {noun} ({}{more})", names.len(), shown.join(", ")))
        };
        let kinds: Vec<String> = KINDS.iter().filter_map(of_kind).collect();
        (!kinds.is_empty()).then(|| format!("columns: {}", kinds.join(", ")))
    }

    /// Rejects columns of text with weights by document frequency, which are for the format `text` alone.
    pub(super) fn without_idf_columns(self) -> Result<FormatSpec> {
        let idf = Known::of(&self).is_some_and(|known| {
            known.columns.iter().any(|column| column.text.as_ref().is_some_and(|text| text.idf))
        });
        match idf {
            false => Ok(self),
            true => {
                let what = "idf=yes is for the format text, not for columns of text";
                Err(Error::call(what, format!("leave idf=yes out of {}", Parameter::Text)))
            }
        }
    }

    /// Whether a column is one of text.
    pub(crate) fn has_text_columns(&self) -> bool {
        Known::of(self)
            .is_some_and(|known| known.columns.iter().any(|column| column.kind == ColumnKind::Text))
    }
}

fn shown(name: &str) -> String {
    if name.is_empty() { "without a name: the index of pandas".to_string() } else { excerpt(name) }
}

fn word(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Number => "number",
        ColumnKind::Category => "category",
        ColumnKind::Text => "text",
        ColumnKind::Date | ColumnKind::Time => "date",
        ColumnKind::Offset => "offset",
        ColumnKind::Target => "target",
        ColumnKind::Dropped => "dropped",
    }
}

fn held(holds: Holds) -> &'static str {
    match holds {
        Holds::Numbers => "number",
        Holds::Names => "category",
        Holds::Texts => "text",
        Holds::Dates | Holds::Times => "date",
        Holds::Lists | Holds::Vectors | Holds::Pairs | Holds::Indices => "list",
        Holds::Maps => "map",
    }
}
