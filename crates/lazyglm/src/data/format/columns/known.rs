//! The columns of a model's training data, whatever format they were in.

use super::{Column, ColumnKind};
use crate::data::format::FormatSpec;
use std::borrow::Cow;
use std::collections::HashMap;

/// What a model knows of the columns of its training data. Data in another format are read by it.
pub(in crate::data::format) struct Known<'a> {
    /// Name of the target column.
    pub target: &'a str,
    /// Name of the column of offsets.
    pub offset: Option<&'a str>,
    /// The columns of known kind, other than target and offset.
    pub columns: Vec<Cow<'a, Column>>,
    /// Whether every row of the training data had all columns, and there were no others.
    pub complete: bool,
    /// Whether a column of numbers or dates that a row lacks is missing there: the training data were a table.
    pub table: bool,
    /// Columns of lists and maps, whose values are taken by their types.
    pub typed: Vec<&'a str>,
    places: HashMap<String, usize>, // of the columns, by name
    dropped: Vec<usize>,
}

impl<'a> Known<'a> {
    /// The columns of these data, or `None` if their format has none.
    pub fn of(spec: &'a FormatSpec) -> Option<Known<'a>> {
        let mut known = Known::unplaced(spec)?;
        for (k, column) in known.columns.iter().enumerate() {
            known.places.entry(column.name.clone()).or_insert(k);
            known.dropped.extend((column.kind == ColumnKind::Dropped).then_some(k));
        }
        Some(known)
    }

    /// The columns without the places of their names.
    fn unplaced(spec: &'a FormatSpec) -> Option<Known<'a>> {
        let (places, dropped) = (HashMap::new(), Vec::new());
        match spec {
            FormatSpec::Csv(csv) => {
                let named = |kind| csv.columns.iter().find(move |column| column.kind == kind);
                let name = |kind| named(kind).map(|column| column.name.as_str());
                let columns = csv.columns.iter().filter(|column| column.kind.is_feature());
                Some(Known {
                    target: name(ColumnKind::Target).unwrap_or_default(),
                    offset: name(ColumnKind::Offset),
                    columns: columns.map(Cow::Borrowed).collect(),
                    complete: true,
                    table: true,
                    typed: Vec::new(),
                    places,
                    dropped,
                })
            }
            FormatSpec::Jsonl { target, offset, drop, categorical, columns, table, .. } => {
                let as_kind = |names: &'a [String], kind| {
                    names.iter().map(move |name| Cow::Owned(Column::new(name.as_str(), kind)))
                };
                let asked =
                    as_kind(drop, ColumnKind::Dropped).chain(as_kind(categorical, ColumnKind::Category));
                let columns = asked.chain(columns.iter().map(Cow::Borrowed)).collect();
                let (offset, typed) = (offset.as_deref(), Vec::new());
                Some(Known {
                    target,
                    offset,
                    columns,
                    complete: false,
                    table: *table,
                    typed,
                    places,
                    dropped,
                })
            }
            FormatSpec::Parquet { target, offset, columns, .. } => {
                let others = columns.iter().filter(|column| column.as_cells().is_none());
                let typed = others.map(|column| column.name.as_str()).collect();
                let columns =
                    columns.iter().filter_map(|column| Some(Cow::Owned(column.as_cells()?))).collect();
                let (offset, complete, table) = (offset.as_deref(), true, true);
                Some(Known { target, offset, columns, complete, table, typed, places, dropped })
            }
            FormatSpec::Svmlight | FormatSpec::Vw | FormatSpec::Text(_) => None,
        }
    }

    /// Whether a table without this column cannot be read: nothing would stand for its missing numbers.
    pub fn requires(&self, column: &Column) -> bool {
        self.complete || self.table && column.missing.is_some()
    }

    /// The column of this name. A column that is dropped stands for those inside it as well.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let around = || self.dropped.iter().find(|&&k| is_inside(name, &self.columns[k].name));
        self.places.get(name).or_else(around).map(|&k| &*self.columns[k])
    }
}

/// Whether a column is inside another: `a.b.c` is inside `a.b` and inside `a`.
pub(in crate::data::format) fn is_inside(name: &str, outer: &str) -> bool {
    name.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
}
