//! Reads a columnar file as the training data of a model were read, whatever format those were in.

use super::{Holds, ParquetColumn, types};
use crate::data::format::columns::{Column, ColumnKind, Known};
use crate::util::error::{Error, Place, Result, excerpt};
use arrow_schema::Schema;
use std::path::Path;

/// The columns of a model that learnt from cells. Columns match by name, and all that do not fit are reported at once.
pub(super) fn columns(schema: &Schema, known: &Known, file: &Path) -> Result<Vec<ParquetColumn>> {
    let (mut columns, mut wrong) = (Vec::new(), Wrong::default());
    for column in known.columns.iter().filter(|column| column.kind.is_feature()) {
        match schema.field_with_name(&column.name).ok().map(|field| field.data_type()) {
            None => wrong.absent.extend(known.requires(column).then(|| column.name.clone())),
            Some(found) => match holds(column, found) {
                Some(holds) => {
                    let Column { name, missing, placeholders, text, .. } = column.clone().into_owned();
                    columns.push(ParquetColumn { name, holds, missing, placeholders, text });
                }
                None => wrong.see(&column.name, found, word(column.kind)),
            },
        }
    }
    wrong.refuse(file)?;
    Ok(columns)
}

/// How a column of this type is read for a model that took it for that kind of cells.
fn holds(column: &Column, found: &arrow_schema::DataType) -> Option<Holds> {
    match (column.kind, types::holds(found)) {
        (ColumnKind::Number, _) if found.is_null() => Some(Holds::Numbers),
        (ColumnKind::Number, Some(Holds::Numbers | Holds::Names)) => Some(Holds::Numbers),
        (ColumnKind::Date, _) if found.is_null() => Some(Holds::Dates),
        (ColumnKind::Time, _) if found.is_null() => Some(Holds::Times),
        (ColumnKind::Date, Some(Holds::Dates | Holds::Times | Holds::Names)) => Some(Holds::Dates),
        (ColumnKind::Time, Some(Holds::Dates | Holds::Times | Holds::Names)) => Some(Holds::Times),
        (ColumnKind::Clock, _) if found.is_null() => Some(Holds::Clocks),
        (ColumnKind::Duration, _) if found.is_null() => Some(Holds::Durations),
        (ColumnKind::Clock, Some(Holds::Clocks | Holds::Names)) => Some(Holds::Clocks),
        (ColumnKind::Duration, Some(Holds::Durations | Holds::Names | Holds::Numbers)) => {
            Some(Holds::Durations)
        }
        (ColumnKind::Text, _) if found.is_null() => Some(Holds::Texts),
        (ColumnKind::Text, Some(Holds::Numbers | Holds::Names)) => Some(Holds::Texts),
        (ColumnKind::Category, _) if found.is_null() => Some(Holds::Names),
        (ColumnKind::Category, Some(Holds::Numbers | Holds::Names)) => Some(Holds::Names),
        (ColumnKind::Category, Some(Holds::Lists)) => Some(Holds::Lists),
        _ => None,
    }
}

fn word(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Number => "numbers",
        ColumnKind::Date | ColumnKind::Time => "dates",
        ColumnKind::Clock => "times of day",
        ColumnKind::Duration => "durations",
        _ => "text",
    }
}

/// Columns of a model that a file lacks, or has with another type.
#[derive(Default)]
pub(super) struct Wrong {
    pub absent: Vec<String>,
    types: Vec<String>,
}

impl Wrong {
    /// Records a column of another type than in training.
    pub fn see(&mut self, name: &str, found: &arrow_schema::DataType, held: &str) {
        self.types.push(format!("the column '{}' is {found}, but held {held} in training", excerpt(name)));
    }

    /// Reports all columns at once.
    pub fn refuse(self, file: &Path) -> Result<()> {
        let quoted: Vec<String> = self.absent.iter().map(|name| format!("'{}'", excerpt(name))).collect();
        let absent = match &quoted[..] {
            [] => None,
            [one] => Some(format!("the column {one} is missing: the model learnt from it")),
            all => Some(format!("the columns {} are missing: the model learnt from them", all.join(", "))),
        };
        let (some_absent, many) = (absent.is_some(), self.absent.len() + self.types.len() > 1);
        let what: Vec<String> = absent.into_iter().chain(self.types).collect();
        let it = if many { "them" } else { "it" };
        let hint = match some_absent {
            _ if what.is_empty() => return Ok(()),
            true => format!("add {it}; where nothing is known, null will do"),
            false if many => "write them as they were in training".to_string(),
            false => "write it as it was in training".to_string(),
        };
        Err(Error::data(Place::file(file), what.join("; "), hint))
    }
}
