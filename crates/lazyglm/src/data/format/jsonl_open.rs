//! Recognises JSON Lines and finds the key of the target.

use super::columns::{Column, ColumnKind, FirstCells, Known, Wanted, is_inside};
use super::json::{Scanner, Value};
use super::jsonl::flattened;
use super::names_room::{NamesRoom, too_long};
use super::{BYTE_ORDER_MARK, FormatSpec, Opening, Parsed, ReadOptions, for_each_line, quoted, two_roles};
use crate::data::vocabulary::Vocabulary;
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::Parameter;
use crate::util::registry;
use std::path::Path;

/// Default keys of the target. The first of these keys that occurs is used.
const TARGETS: [&str; 4] = ["target", "label", "y", "class"];

/// Finds the target among the keys of the first lines, and checks that the keys named by the caller occur.
///
/// A model's options are used unchanged, because rows to be scored need not have all keys. If the first rows have
/// no offset, none is read.
pub(super) fn open(opening: &Opening) -> Result<FormatSpec> {
    let asked = opening.asked;
    if let Some(known @ FormatSpec::Jsonl { offset, .. }) = opening.known {
        let mut known = known.clone();
        if let (Some(key), FormatSpec::Jsonl { offset, .. }) = (offset, &mut known) {
            *offset = offset
                .take()
                .filter(|_| first_keys(opening).is_ok_and(|first| first.keys.find(key).is_some()));
        }
        return Ok(known);
    }
    if let Some(known) = opening.known.and_then(Known::of) {
        let first = first_keys(opening)?;
        let offset = known.offset.filter(|key| first.keys.find(key).is_some()).map(str::to_string);
        let columns = known.columns.iter().map(|column| column.clone().into_owned()).collect();
        let (target, drop, categorical) = (known.target.to_string(), Vec::new(), Vec::new());
        let typed = known.typed.iter().map(|name| name.to_string()).collect();
        let (complete, classes) = (known.complete.then_some(typed), false);
        let table = known.table;
        return Ok(FormatSpec::Jsonl {
            target,
            offset,
            drop,
            categorical,
            columns,
            table,
            complete,
            classes,
        });
    }
    let first = first_keys(opening)?;
    let FirstKeys { keys, in_first, .. } = &first;
    let names: Vec<&str> = keys.iter().collect();
    let usual = |among: &[&str]| TARGETS.into_iter().find(|name| among.contains(name)).map(str::to_string);
    // Without keys there is nothing to choose from. The reader reports missing rows or targets later.
    let none = || keys.is_empty().then(|| TARGETS[0].to_string());
    let found = || usual(&names[..*in_first]).or_else(|| usual(&names)).or_else(none);
    let target = asked.target.clone().or_else(found);
    let Some(target) = target else {
        let what = format!("{}: no key is called {}", Place::file(opening.file), TARGETS.join(", "));
        let some = registry::listed(&names[..names.len().min(SHOWN)]);
        return Err(Error::call(
            what,
            format!("set {} to the name of the target; there are: {some}", Parameter::Target),
        ));
    };
    let is_unknown = |name: &&str| !keys.is_empty() && keys.find(name).is_none();
    let absent: Vec<&str> = asked.named_columns(&target).filter(is_unknown).collect();
    if !absent.is_empty() {
        return Err(unknown(opening, &absent, names));
    }
    if asked.drop.contains(&target) {
        let what = format!("the key '{}' is the target and is to be left out", excerpt(&target));
        let hint = format!("take it off {}, or name another {}", Parameter::Drop, Parameter::Target);
        return Err(Error::call(what, hint));
    }
    if let Some(offset) = asked.offset.as_ref().filter(|name| asked.drop.contains(name) || **name == target) {
        return Err(two_roles(offset));
    }
    let (offset, drop, categorical) = (asked.offset.clone(), asked.drop.clone(), asked.categorical.clone());
    let is_feature = |name: &str| {
        let dropped = drop.iter().any(|dropped| dropped == name || is_inside(name, dropped));
        !dropped && name != target && offset.as_deref() != Some(name)
    };
    let table = first.is_table(&is_feature);
    let columns = first.columns(asked, table, is_feature)?;
    let classes = first.keys.find(&target).is_some_and(|id| first.seen[id as usize].sample.is_text());
    let complete = None;
    Ok(FormatSpec::Jsonl { target, offset, drop, categorical, columns, table, complete, classes })
}

/// Maximum number of keys that a message lists.
const SHOWN: usize = 12;

#[cold]
fn unknown(opening: &Opening, absent: &[&str], mut names: Vec<&str>) -> Error {
    let near = |name: &str| absent.iter().map(|typed| strsim::jaro_winkler(typed, name)).fold(0.0, f64::max);
    names.sort_by(|a, b| near(b).total_cmp(&near(a)));
    names.truncate(SHOWN);
    let what = match absent {
        [one] => format!("no key '{}' occurs", excerpt(one)),
        all => format!("no keys {} occur", quoted(all)),
    };
    let what = format!("{}: {what} in the first lines", Place::file(opening.file));
    Error::call(what, registry::suggest_all(absent, &names))
}

/// The keys of the first lines, and their values.
#[derive(Default)]
struct FirstKeys {
    keys: Vocabulary,
    room: NamesRoom,
    /// Number of keys in the first row.
    in_first: usize,
    rows: usize,
    /// The values of each key.
    seen: Vec<Key>,
}

/// A key of the first lines.
#[derive(Default)]
struct Key {
    /// Number of rows that have it.
    rows: usize,
    /// Number of rows in which it has text, zero, false or null: values that sparse rows leave out.
    full: usize,
    sample: FirstCells,
}

impl FirstKeys {
    /// Whether the rows are a table: a row has most of the keys on average, and some values are text, zero, false or null,
    /// which rows that list non-zero features do not have. Keys of arrays and objects do not count.
    fn is_table(&self, is_feature: &impl Fn(&str) -> bool) -> bool {
        let keys = self.keys.iter().zip(&self.seen);
        let scalars = keys.filter(|(name, key)| !key.sample.has_structures() && is_feature(name));
        let (mut count, mut filled, mut full) = (0, 0, 0);
        for (_, key) in scalars {
            (count, filled, full) = (count + 1, filled + key.rows, full + key.full);
        }
        full > 0 && 2 * filled > self.rows * count
    }

    /// What the keys are taken for: in a table all of them, else those that most of the rows have, and all keys of text,
    /// since a remark may be rare.
    fn columns(
        &self,
        asked: &ReadOptions,
        is_table: bool,
        is_feature: impl Fn(&str) -> bool,
    ) -> Result<Vec<Column>> {
        let wanted = Wanted::of(asked)?;
        let is_in = |list: &[String], name: &str| list.iter().any(|known| known == name);
        let of_key = |(name, Key { rows, sample, .. }): (&str, &Key)| match () {
            _ if !is_feature(name) => None,
            _ if is_in(&asked.categorical, name) => Some(Column::new(name, ColumnKind::Category)),
            _ if wanted.text_column(name).is_some() => Some(wanted.column(name, ColumnKind::Text)),
            _ if sample.is_empty() => None,
            _ => {
                let rare = 2 * rows < self.rows && !sample.has_codes() && !is_table;
                let decided = sample.clone().decide_typed(name, &wanted);
                decided.filter(|column| !rare || column.kind == ColumnKind::Text)
            }
        };
        Ok(self.keys.iter().zip(&self.seen).filter_map(of_key).collect())
    }
}

impl FirstKeys {
    /// Notes the keys of objects in an array, so that options may name them.
    fn see_array(&mut self, key: &str, json: &mut Scanner, file: &Path) -> Result<()> {
        json.value()?; // the opening bracket
        while json.has_item()? {
            if !json.is_object() {
                json.skip()?;
                continue;
            }
            json.value()?;
            let (mut path, mut outer) = (format!("{key}."), Vec::new());
            loop {
                let Some((_, inner)) = json.key()? else {
                    let Some(length) = outer.pop() else { break };
                    path.truncate(length);
                    continue;
                };
                let name = flattened(&path, inner);
                let id = self.room.id(&mut self.keys, &name) as usize;
                if self.room.is_full() {
                    return Err(too_long(file));
                }
                self.seen.resize_with(self.keys.len(), Default::default);
                self.seen[id].sample.see_structure();
                if json.is_object() {
                    json.value()?;
                    outer.push(path.len());
                    path = name.into_owned() + ".";
                } else {
                    json.skip()?;
                }
            }
        }
        Ok(())
    }
}

/// The keys of the first lines.
pub(super) fn names(opening: &Opening) -> Result<Vec<String>> {
    Ok(first_keys(opening)?.keys.iter().map(str::to_string).collect())
}

fn first_keys(opening: &Opening) -> Result<FirstKeys> {
    let mut first = FirstKeys { room: NamesRoom::of(opening.first.len(), []), ..FirstKeys::default() };
    for_each_line(opening.first, opening.file, &mut Parsed::default(), |line, _| {
        let text = line.utf8("JSON")?;
        if line.text.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let mut json = Scanner::open(line, text)?;
        let mut outer: Vec<usize> = Vec::new(); // lengths of the names of the objects around this one
        let mut path = String::new();
        loop {
            let Some((_, key)) = json.key()? else {
                if outer.pop().is_none() {
                    break;
                }
                path.truncate(outer.last().copied().unwrap_or(0));
                continue;
            };
            let key = flattened(&path, key);
            let id = first.room.id(&mut first.keys, &key) as usize;
            if first.room.is_full() {
                return Err(too_long(line.file));
            }
            first.seen.resize_with(first.keys.len(), Default::default);
            let Key { rows, full, sample } = &mut first.seen[id];
            *rows += 1;
            if json.is_array() {
                sample.see_structure();
                first.see_array(&key, &mut json, line.file)?;
                continue;
            }
            match json.scalar()? {
                Some(Value::Number(written, x)) => {
                    *full += usize::from(x == 0.0);
                    match written.parse() {
                        Ok(whole) => sample.see_integer(whole),
                        Err(_) => sample.see_number(x),
                    }
                }
                Some(Value::Bool(yes)) => {
                    *full += usize::from(!yes);
                    sample.see_number(f64::from(yes));
                }
                Some(Value::Text(text)) => {
                    *full += 1;
                    sample.see_text(&text);
                }
                Some(Value::Null | Value::Nan) => *full += 1,
                Some(Value::Object) => {
                    sample.see_structure();
                    path = key.into_owned() + ".";
                    outer.push(path.len());
                }
                Some(Value::Array) | None => sample.see_structure(), // no valid value: the parser reports it
            }
        }
        first.rows += 1;
        first.in_first = if first.rows == 1 { first.keys.len() } else { first.in_first };
        Ok(())
    })?;
    Ok(first)
}

/// Whether the first byte that is not a space opens an object, or an array of objects.
pub(super) fn looks_like(first: &[u8]) -> bool {
    let first = first.strip_prefix(BYTE_ORDER_MARK).unwrap_or(first).trim_ascii_start();
    let item = first.strip_prefix(b"[").unwrap_or(first).trim_ascii_start();
    item.starts_with(b"{")
}
