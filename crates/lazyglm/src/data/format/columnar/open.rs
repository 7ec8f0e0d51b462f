//! Opens a columnar file: finds the target column and the kinds of the other columns.

use super::batches::{Table, stream};
use super::known::{self, Wrong};
use super::{Holds, PANDAS_INDEX, ParquetColumn, first_rows, flat, types};
use crate::data::bytes::{is_stream, saved};
use crate::data::format::columns::{Known, MISSING, Wanted, is_inside};
use crate::data::format::{FormatSpec, Opening, ReadOptions, quoted, two_roles};
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::Parameter;
use crate::util::registry;
use arrow_schema::{Field, FieldRef, Schema};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Default names of the target column. The first of these names that occurs is used.
const TARGETS: [&str; 4] = ["target", "label", "y", "class"];

/// Maximum number of columns that a message lists.
const SHOWN: usize = 12;

pub(in crate::data::format) fn open(opening: &Opening) -> Result<FormatSpec> {
    let file = opening.file;
    if is_stream(file) && saved(file).is_none() {
        return Err(stream(file));
    }
    let nested = Table::open(file)?.schema;
    let schema = flat::schema(&nested);
    match opening.known {
        Some(FormatSpec::Parquet { target, offset, columns, classes, dropped }) => {
            check_known(&schema, target, columns, file)?;
            let offset = offset.clone().filter(|name| schema.field_with_name(name).is_ok());
            offset.iter().try_for_each(|offset| check_offset(&schema, offset, file))?;
            Ok(FormatSpec::Parquet {
                target: target.clone(),
                offset,
                columns: columns.clone(),
                classes: *classes,
                dropped: dropped.clone(),
            })
        }
        Some(other) => match Known::of(other) {
            Some(model) => as_known(&schema, &model, opening.asked, file),
            None => choose(&nested, &schema, opening.asked, file),
        },
        None => choose(&nested, &schema, opening.asked, file),
    }
}

/// How to read the file for a model that learnt from data in another format.
fn as_known(schema: &Schema, model: &Known, asked: &ReadOptions, file: &Path) -> Result<FormatSpec> {
    check_names(schema, |_| true, file)?;
    check_target(schema, model.target, file)?;
    let offset = model.offset.filter(|name| schema.field_with_name(name).is_ok()).map(str::to_string);
    offset.iter().try_for_each(|offset| check_offset(schema, offset, file))?;
    let mut columns = known::columns(schema, model, file)?;
    if !model.complete {
        let new = |field: &&FieldRef| {
            let name = field.name().as_str();
            model.column(name).is_none() && name != model.target && model.offset != Some(name)
        };
        let fields =
            schema.fields().iter().filter(new).filter(|field| types::holds(field.data_type()).is_some());
        columns.extend(all_columns(fields, asked, file)?);
    }
    Ok(FormatSpec::Parquet {
        target: model.target.to_string(),
        offset,
        columns,
        classes: false,
        dropped: Vec::new(),
    })
}

/// Checks that data to be scored have the model's columns, by name. Other columns are ignored, and the target
/// may be missing.
fn check_known(schema: &Schema, target: &str, columns: &[ParquetColumn], file: &Path) -> Result<()> {
    let fields = schema.fields().iter().map(|field| (field.name().as_str(), field));
    let fields: HashMap<&str, &FieldRef> = fields.collect();
    let names: HashSet<&str> = columns.iter().map(|column| column.name.as_str()).chain([target]).collect();
    check_names(schema, |field| names.contains(field.name().as_str()), file)?;
    let mut wrong = Wrong::default();
    for ParquetColumn { name, holds, .. } in columns {
        match fields.get(name.as_str()) {
            None => wrong.absent.push(name.clone()),
            Some(field) if !types::fits(field.data_type(), *holds) => {
                let held = match holds {
                    Holds::Numbers => "numbers",
                    Holds::Names | Holds::Texts => "text",
                    Holds::Lists => "lists of text",
                    Holds::Dates | Holds::Times => "dates",
                    Holds::Clocks => "times of day",
                    Holds::Durations => "durations",
                    Holds::Sums => "lists of structs with numbers",
                    Holds::Vectors => "lists of numbers",
                    Holds::Maps => "maps",
                    Holds::Pairs | Holds::Indices => "lists of index and value",
                };
                wrong.see(name, field.data_type(), held);
            }
            Some(_) => {}
        }
    }
    wrong.refuse(file)?;
    check_target(schema, target, file)
}

/// The target column, and the kinds of the other columns.
fn choose(nested: &Schema, schema: &Schema, asked: &ReadOptions, file: &Path) -> Result<FormatSpec> {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let usual = || TARGETS.into_iter().find(|name| names.contains(name)).map(str::to_string);
    let Some(target) = asked.target.clone().or_else(usual) else {
        let what = format!("{}: no column is called {}", Place::file(file), TARGETS.join(", "));
        let some = registry::listed(&names[..names.len().min(SHOWN)]);
        return Err(Error::call(
            what,
            format!("set {} to the name of the target; there are: {some}", Parameter::Target),
        ));
    };
    let is_unknown = |name: &&str| !names.contains(name) && nested.index_of(name).is_err();
    let absent: Vec<&str> = asked.named_columns(&target).filter(is_unknown).collect();
    if !absent.is_empty() {
        return Err(unknown(&absent, names, file));
    }
    let is_dropped = |name: &String| {
        name == PANDAS_INDEX || asked.drop.iter().any(|dropped| dropped == name || is_inside(name, dropped))
    };
    if asked.drop.contains(&target) {
        let what = format!("the column '{}' is the target and is to be left out", excerpt(&target));
        let hint = format!("take it off {}, or name another {}", Parameter::Drop, Parameter::Target);
        return Err(Error::call(what, hint));
    }
    check_names(schema, |field| !is_dropped(field.name()), file)?;
    check_target(nested, &target, file)?;
    check_target(schema, &target, file)?;
    let offset = asked.offset.clone();
    if let Some(offset) = &offset {
        if *offset == target || is_dropped(offset) {
            return Err(two_roles(offset));
        }
        check_offset(schema, offset, file)?;
    }
    let fields = schema.fields().iter().filter(|field| {
        let used = *field.name() == target || Some(field.name()) == offset.as_ref();
        !used && !is_dropped(field.name()) && !field.data_type().is_null()
    });
    let mut columns = all_columns(fields, asked, file)?;
    let wanted = Wanted::of(asked)?;
    let settled = |name: &str| {
        asked.categorical.iter().any(|known| known == name) || wanted.text_column(name).is_some()
    };
    first_rows::decide(file, &mut columns, &wanted, settled);
    for column in &mut columns {
        let Some(text) = wanted.text_column(&column.name) else { continue };
        if !matches!(column.holds, Holds::Names | Holds::Numbers) {
            let what = format!("the column '{}' holds no text", excerpt(&column.name));
            return Err(Error::call(what, format!("take it off {}", Parameter::TextColumns)));
        }
        (column.holds, column.text) = (Holds::Texts, Some(text.clone()));
    }
    if let [ParquetColumn { holds: holds @ Holds::Pairs, .. }] = &mut columns[..] {
        *holds = Holds::Indices;
    }
    distinct(&columns, file)?;
    let classes = schema
        .field_with_name(&target)
        .is_ok_and(|field| types::holds(field.data_type()) == Some(Holds::Names));
    let dropped = names.into_iter().map(str::to_string).filter(is_dropped).collect();
    Ok(FormatSpec::Parquet { target, offset, columns, classes, dropped })
}

/// The columns by their types. All columns of which no features can be made are reported at once.
fn all_columns<'a>(
    fields: impl Iterator<Item = &'a FieldRef>,
    asked: &ReadOptions,
    file: &Path,
) -> Result<Vec<ParquetColumn>> {
    let (mut columns, mut bad) = (Vec::new(), Vec::new());
    for field in fields {
        match types::holds(field.data_type()) {
            Some(holds) => columns.push(column(field, holds, asked)?),
            None => bad.push((excerpt(field.name().as_bytes()), field.data_type())),
        }
    }
    let what = match &bad[..] {
        [] => return Ok(columns),
        [(name, found)] => format!("the column '{name}' is {found}, of which no features can be made"),
        all => {
            let named: Vec<String> =
                all.iter().take(SHOWN).map(|(name, found)| format!("'{name}' ({found})")).collect();
            let more = if all.len() > SHOWN { ", …" } else { "" };
            format!("no features can be made of {} columns: {}{more}", all.len(), named.join(", "))
        }
    };
    let it = if bad.len() == 1 { "it" } else { "them" };
    let hint = format!(
        "leave {it} out with {}, or write numbers, text, dates, or lists of text or numbers",
        Parameter::Drop
    );
    Err(Error::data(Place::file(file), what, hint))
}

fn column(field: &Field, holds: Holds, asked: &ReadOptions) -> Result<ParquetColumn> {
    let name = field.name().clone();
    let categorical = asked.categorical.contains(&name);
    let holds = match holds {
        Holds::Pairs if categorical => {
            let what = format!(
                "the column '{}' holds lists of index and value: these are not names",
                excerpt(&name)
            );
            return Err(Error::call(what, format!("take it off {}", Parameter::Categorical)));
        }
        Holds::Numbers if categorical => Holds::Names,
        holds => holds,
    };
    Ok(ParquetColumn::new(name, holds))
}

/// Checks that the names of the used columns are unique and can be stored in a model.
fn check_names(schema: &Schema, used: impl Fn(&Field) -> bool, file: &Path) -> Result<()> {
    let mut names: Vec<&str> =
        schema.fields().iter().filter(|field| used(field)).map(|field| field.name().as_str()).collect();
    names.sort_unstable();
    let mut twice: Vec<&str> = names.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect();
    twice.dedup();
    names.retain(|name| name.contains('\0'));
    names.dedup();
    let say = |names: &[&str], one: &str, many: &str| match names {
        [] => None,
        [name] => Some(format!("the column '{}' {one}", excerpt(name))),
        names => Some(format!("the columns {} {many}", quoted(names))),
    };
    let twice_said = say(&twice, "stands twice in the file", "stand twice in the file");
    let nul = say(&names, "has a NUL character in its name", "have a NUL character in their names");
    let what: Vec<String> = twice_said.into_iter().chain(nul).collect();
    if what.is_empty() {
        return Ok(());
    }
    let it = if twice.len() + names.len() > 1 { "them" } else { "it" };
    let hint = format!("rename {it}, or leave {it} out with {}", Parameter::Drop);
    Err(Error::data(Place::file(file), what.join("; "), hint))
}

/// Rejects columns with ambiguous feature names: value `b` of a text column `a` is `a=b`, and so is a number
/// column `a=b`.
fn distinct(columns: &[ParquetColumn], file: &Path) -> Result<()> {
    let prefix = |column: &ParquetColumn| match column.holds {
        Holds::Names | Holds::Lists => Some(format!("{}=", column.name)),
        Holds::Texts | Holds::Dates | Holds::Times | Holds::Clocks => Some(format!("{}=", column.name)),
        Holds::Pairs | Holds::Vectors => Some(format!("{}^", column.name)),
        Holds::Maps => Some(format!("{}.", column.name)),
        Holds::Numbers | Holds::Durations | Holds::Sums | Holds::Indices => None,
    };
    let prefixes: HashMap<String, &str> =
        columns.iter().filter_map(|column| Some((prefix(column)?, column.name.as_str()))).collect();
    let indicators: HashMap<String, &str> = (columns.iter().filter(|column| column.missing.is_some()))
        .map(|column| (format!("{}={MISSING}", column.name), column.name.as_str()))
        .collect();
    let plain =
        |column: &&ParquetColumn| matches!(column.holds, Holds::Numbers | Holds::Durations | Holds::Sums);
    for ParquetColumn { name, .. } in columns.iter().filter(plain) {
        let mut starts = name.match_indices(['=', '^', '.']).map(|(at, _)| &name[..=at]);
        if let Some(other) = starts.find_map(|start| prefixes.get(start)).or(indicators.get(name)) {
            let (name, other) = (excerpt(name), excerpt(other));
            let what = format!("a value of the column '{other}' could have the name of the column '{name}'");
            return Err(Error::data(
                Place::file(file),
                what,
                format!("rename one of them, or leave one out with {}", Parameter::Drop),
            ));
        }
    }
    Ok(())
}

fn check_target(schema: &Schema, target: &str, file: &Path) -> Result<()> {
    let field = schema.field_with_name(target).ok();
    match field.filter(|field| !types::fits(field.data_type(), Holds::Names)) {
        None => Ok(()),
        Some(field) => {
            let what = format!("the target '{}' is {}", excerpt(target.as_bytes()), field.data_type());
            Err(Error::data(Place::file(file), what, "targets are numbers, text, true or false"))
        }
    }
}

fn check_offset(schema: &Schema, offset: &str, file: &Path) -> Result<()> {
    let field = schema.field_with_name(offset).ok();
    match field.filter(|field| !types::fits(field.data_type(), Holds::Numbers)) {
        None => Ok(()),
        Some(field) => {
            let what = format!("the offset '{}' is {}", excerpt(offset.as_bytes()), field.data_type());
            Err(Error::data(Place::file(file), what, "offsets are numbers"))
        }
    }
}

#[cold]
fn unknown(absent: &[&str], mut names: Vec<&str>, file: &Path) -> Error {
    let near = |name: &str| absent.iter().map(|typed| strsim::jaro_winkler(typed, name)).fold(0.0, f64::max);
    names.sort_by(|a, b| near(b).total_cmp(&near(a)));
    names.truncate(SHOWN);
    let what = match absent {
        [one] => format!("there is no column '{}'", excerpt(one)),
        all => format!("there are no columns {}", quoted(all)),
    };
    Error::call(format!("{}: {what}", Place::file(file)), registry::suggest_all(absent, &names))
}
