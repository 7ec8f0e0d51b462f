//! Recognises JSON Lines and finds the key of the target.

use super::json::Scanner;
use super::{BYTE_ORDER_MARK, FormatSpec, Opening, Parsed, for_each_line, two_roles};
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
            *offset =
                offset.take().filter(|_| first_keys(opening).is_ok_and(|(keys, _)| keys.find(key).is_some()));
        }
        return Ok(known);
    }
    let (keys, in_first) = first_keys(opening)?;
    let names: Vec<&str> = keys.iter().collect();
    let usual = |among: &[&str]| TARGETS.into_iter().find(|name| among.contains(name)).map(str::to_string);
    // Without keys there is nothing to choose from. The reader reports missing rows or targets later.
    let none = || keys.is_empty().then(|| TARGETS[0].to_string());
    let found = || usual(&names[..in_first]).or_else(|| usual(&names)).or_else(none);
    let target = asked.target.clone().or_else(found);
    let Some(target) = target else {
        let what = format!("{}: no key is called {}", Place::file(opening.file), TARGETS.join(", "));
        let some = registry::listed(&names[..names.len().min(SHOWN)]);
        return Err(Error::call(
            what,
            format!("set {} to the name of the target; there are: {some}", Parameter::Target),
        ));
    };
    for name in [&target].into_iter().chain(&asked.offset).chain(&asked.drop).chain(&asked.categorical) {
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
    Ok(FormatSpec::Jsonl { target, offset, drop, categorical })
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

/// The keys of the first lines, and how many of them are in the first row.
fn first_keys(opening: &Opening) -> Result<(Vocabulary, usize)> {
    let (mut keys, mut in_first) = (Vocabulary::default(), None);
    for_each_line(opening.first, opening.file, &mut Parsed::default(), |line, _| {
        let text = line.utf8("JSON")?;
        if line.text.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let mut json = Scanner::open(line, text)?;
        while let Some((_, key)) = json.key()? {
            keys.id(&key);
            json.skip()?;
        }
        in_first.get_or_insert(keys.len());
        Ok(())
    })?;
    Ok((keys, in_first.unwrap_or(0)))
}

/// Whether the first byte that is not a space opens an object.
pub(super) fn looks_like(first: &[u8]) -> bool {
    first.strip_prefix(BYTE_ORDER_MARK).unwrap_or(first).trim_ascii_start().starts_with(b"{")
}
