//! What the columns of a table were taken for, in words.

use super::columnar::PANDAS_INDEX;
use super::columns::{ColumnKind, Known};
use super::{Column, FormatSpec, Holds};
use crate::util::error::excerpt;
use std::borrow::Cow;
use std::collections::HashMap;

/// Most names that a note lists per kind of column.
const SHOWN: usize = 8;

/// The kinds in the order of notes, with their nouns.
const KINDS: [(&str, &str); 10] = [
    ("number", "numbers"),
    ("category", "categories"),
    ("text", "texts"),
    ("date", "dates"),
    ("time of day", "times of day"),
    ("duration", "durations"),
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
            FormatSpec::Parquet { columns, dropped, .. } => {
                let dropped = dropped.iter().map(|name| (name.as_str(), "dropped"));
                columns
                    .iter()
                    .map(|column| (column.name.as_str(), held(column.holds)))
                    .chain(dropped)
                    .collect()
            }
            FormatSpec::Svmlight | FormatSpec::Vw | FormatSpec::Text(_) => Vec::new(),
        }
    }

    /// What stands for the missing numbers of columns, where something does.
    pub(crate) fn fills(&self) -> HashMap<String, f64> {
        let columns = Known::of(self).map(|known| known.columns).unwrap_or_default();
        let fill = |column: &Cow<Column>| Some((column.name.clone(), column.missing?.value));
        columns.iter().filter_map(fill).collect()
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

    /// The columns of a table that hold numbers, dates, times or durations.
    pub(crate) fn number_columns(&self) -> Vec<String> {
        self.columns_of(&[
            ColumnKind::Number,
            ColumnKind::Date,
            ColumnKind::Time,
            ColumnKind::Clock,
            ColumnKind::Duration,
        ])
    }

    /// The columns of a table that hold names, by the decision of the first rows or by their type.
    pub(crate) fn category_columns(&self) -> Vec<String> {
        self.columns_of(&[ColumnKind::Category])
    }

    fn columns_of(&self, kinds: &[ColumnKind]) -> Vec<String> {
        let columns = Known::of(self).map(|known| known.columns).unwrap_or_default();
        columns
            .iter()
            .filter(|column| kinds.contains(&column.kind))
            .map(|column| column.name.clone())
            .collect()
    }

    /// The columns of text in a table: all of them, or those whose terms are weighted by idf.
    pub(crate) fn text_columns(&self, with_idf: bool) -> Vec<String> {
        let is_text = |column: &Column| match &column.text {
            Some(text) => column.kind == ColumnKind::Text && (text.idf || !with_idf),
            None => false,
        };
        let columns = Known::of(self).map(|known| known.columns).unwrap_or_default();
        columns.iter().filter(|column| is_text(column)).map(|column| column.name.clone()).collect()
    }

    /// Whether a column is one of text.
    pub(crate) fn has_text_columns(&self) -> bool {
        Known::of(self)
            .is_some_and(|known| known.columns.iter().any(|column| column.kind == ColumnKind::Text))
    }
}

fn shown(name: &str) -> String {
    match name {
        "" => "without a name: the index of pandas".to_string(),
        PANDAS_INDEX => format!("{name}: the index of pandas"),
        name => excerpt(name),
    }
}

fn word(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Number => "number",
        ColumnKind::Category => "category",
        ColumnKind::Text => "text",
        ColumnKind::Date | ColumnKind::Time => "date",
        ColumnKind::Clock => "time of day",
        ColumnKind::Duration => "duration",
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
        Holds::Clocks => "time of day",
        Holds::Durations => "duration",
        Holds::Lists | Holds::Sums | Holds::Vectors | Holds::Pairs | Holds::Indices => "list",
        Holds::Maps => "map",
    }
}
