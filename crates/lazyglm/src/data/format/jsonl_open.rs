//! Recognises JSON Lines and finds the key of the target.

use super::columns::{Column, ColumnKind, FirstCells, Known, Wanted, is_inside};
use super::json::{Scanner, Value};
use super::jsonl::flattened;
use super::{BYTE_ORDER_MARK, FormatSpec, Opening, Parsed, ReadOptions, for_each_line, two_roles};
use crate::data::vocabulary::Vocabulary;
use crate::util::error::{Error, Place, Result, excerpt};
use crate::util::parameter::Parameter;
use crate::util::registry;

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
        return Ok(FormatSpec::Jsonl { target, offset, drop, categorical, columns, complete, classes });
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
    for name in asked.named_columns(&target) {
        if !keys.is_empty() && keys.find(name).is_none() {
            return Err(unknown(opening, name, names));
        }
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
    let columns = first.columns(asked, is_feature)?;
    let classes = first.keys.find(&target).is_some_and(|id| first.seen[id as usize].1.is_text());
    Ok(FormatSpec::Jsonl { target, offset, drop, categorical, columns, complete: None, classes })
}

/// Maximum number of keys that a message lists.
const SHOWN: usize = 12;

#[cold]
fn unknown(opening: &Opening, name: &str, mut names: Vec<&str>) -> Error {
    names.sort_by(|a, b| strsim::jaro_winkler(name, b).total_cmp(&strsim::jaro_winkler(name, a)));
    names.truncate(SHOWN);
    let what = format!("{}: no key '{}' occurs in the first lines", Place::file(opening.file), excerpt(name));
    Error::call(what, registry::suggest(name, &names))
}

/// The keys of the first lines, and their values.
#[derive(Default)]
struct FirstKeys {
    keys: Vocabulary,
    /// Number of keys in the first row.
    in_first: usize,
    rows: usize,
    /// For each key, the number of rows that have it, and its values.
    seen: Vec<(usize, FirstCells)>,
}

impl FirstKeys {
    /// What the keys are taken for that most of the rows have, and all keys of text: a remark may be rare.
    fn columns(&self, asked: &ReadOptions, is_feature: impl Fn(&str) -> bool) -> Result<Vec<Column>> {
        let wanted = Wanted::of(asked)?;
        let is_in = |list: &[String], name: &str| list.iter().any(|known| known == name);
        let of_key = |(name, (rows, sample)): (&str, &(usize, FirstCells))| match () {
            _ if !is_feature(name) => None,
            _ if is_in(&asked.categorical, name) => Some(Column::new(name, ColumnKind::Category)),
            _ if wanted.text_column(name).is_some() => Some(wanted.column(name, ColumnKind::Text)),
            _ if sample.is_empty() => None,
            _ => {
                let rare = 2 * rows < self.rows && !sample.has_codes();
                let decided = sample.clone().decide_typed(name, &wanted);
                decided.filter(|column| !rare || column.kind == ColumnKind::Text)
            }
        };
        Ok(self.keys.iter().zip(&self.seen).filter_map(of_key).collect())
    }
}

/// The keys of the first lines.
pub(super) fn names(opening: &Opening) -> Result<Vec<String>> {
    Ok(first_keys(opening)?.keys.iter().map(str::to_string).collect())
}

fn first_keys(opening: &Opening) -> Result<FirstKeys> {
    let mut first = FirstKeys::default();
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
            let id = first.keys.id(&key) as usize;
            first.seen.resize_with(first.keys.len(), Default::default);
            let (rows, sample) = &mut first.seen[id];
            *rows += 1;
            match json.scalar()? {
                Some(Value::Number(written, x)) => match written.parse() {
                    Ok(whole) => sample.see_integer(whole),
                    Err(_) => sample.see_number(x),
                },
                Some(Value::Bool(yes)) => sample.see_number(f64::from(yes)),
                Some(Value::Text(text)) => sample.see_text(&text),
                Some(Value::Null | Value::Nan) => {}
                Some(Value::Object) => {
                    sample.see_structure();
                    path = key.into_owned() + ".";
                    outer.push(path.len());
                }
                Some(Value::Array) | None => sample.see_structure(),
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
