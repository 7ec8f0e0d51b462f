//! JSON Lines: one flat object per line, and one row per object.
//!
//! ```text
//! "key": number       ↦ key · number               (categorical: key=number · 1)
//! "key": "text"       ↦ key=text · 1
//! "key": true         ↦ key · 1                    false ↦ nothing
//! "key": null         ↦ nothing                    (numbers: what stands for a missing number)
//! "key": "a sentence" ↦ its words and pairs of words, if the first rows are sentences
//! "key": ["a", "b"]   ↦ key=a · 1, key=b · 1       a repeated item counts twice
//! "key": [2, 0, 5]    ↦ key^0 · 2, key^2 · 5
//! "key": {"in": …}    ↦ as "key.in": …
//! "key": "2024-07-31" ↦ number and parts of a date, if the first rows are dates; times of day and durations alike
//! "target": …         ↦ the row's target           without it, or null: a row without a target
//! "offset": number    ↦ the row's offset           if a key is named for it
//! ```
//!
//! "key": [{"in": …}]  ↦ as "key.in": …, where a text counts how often it occurs, and numbers add up
//!
//! The first rows decide which keys hold numbers, and what stands for a missing number of theirs (see `columns/`). If a row
//! has most of all keys on average, and some values are text, zero, false or null, the rows are a table: the key of a number
//! or date that a row lacks is then missing there, as an empty cell of CSV is. Otherwise rows list their non-zero features:
//! a key that is absent is zero, and only keys that most rows have are decided.
//!
//! A `=` inside the key of a text is escaped (see `names.rs`). A key with a number is a whole name.
//!
//! NaN, which JSON does not have and Python writes, is a missing number; a warning counts such values.
//!
//! Rejected, with the place: words in a column of numbers or dates, arrays in arrays, duplicate keys, infinity, and invalid JSON.

mod arrays;

use super::columns::{Column, ColumnKind, NAN, fill_in, is_inside, is_missing, is_silent, number};
use super::json::{DEEPEST, Scanner, Value};
use super::names::push_part;
use super::names_room::NamesRoom;
use super::text::Terms;
use super::{FormatSpec, Line, Parsed, Parser, for_each_line};
use crate::data::vocabulary::Vocabulary;
use crate::util::error::{Result, excerpt};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The role of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// Taken by the type of each value.
    Feature,
    /// Numbers are names.
    Categorical,
    /// Taken as the column of this number.
    Column(usize),
    /// Objects have columns inside them, and other values are ignored.
    Outer,
    Target,
    Offset,
    Dropped,
}

/// The JSON Lines parser. It remembers the role of every key, and the last row that contained it.
#[derive(Debug)]
pub(super) struct Jsonl {
    target: String,
    offset: Option<String>,
    drop: Vec<String>,
    categorical: Vec<String>,
    columns: Vec<Column>,
    places: HashMap<String, usize>, // of the columns, by name
    outer: HashSet<String>,         // with `complete`: what is around a column, the target or the offset
    complete: Option<Vec<String>>,  // the columns taken by type, if other keys are ignored
    due: Vec<(usize, usize)>, // numbers of keys and columns that count as missing in a row without the key
    keys: Vocabulary,
    keys_room: NamesRoom,
    known: Vec<(Role, u64)>,
    row: u64,
    name: String,
    terms: Terms,
    pairs: Vec<(u32, f64)>,
}

impl Parser for Jsonl {
    fn parse(&mut self, block: &[u8], file: &Path, into: &mut Parsed) -> Result<()> {
        into.allow_names(block.len(), &self.columns);
        self.keys_room.add(block.len(), []);
        for_each_line(block, file, into, |line, into| self.line(line, into))
    }
}

impl Jsonl {
    /// A parser of JSON Lines. Other formats give one that reads values by their types.
    pub fn new(spec: &FormatSpec) -> Jsonl {
        let mut jsonl = Jsonl {
            target: String::new(),
            offset: None,
            drop: Vec::new(),
            categorical: Vec::new(),
            columns: Vec::new(),
            places: HashMap::new(),
            outer: HashSet::new(),
            complete: None,
            due: Vec::new(),
            keys: Vocabulary::default(),
            keys_room: NamesRoom::default(),
            known: Vec::new(),
            row: 0,
            name: String::new(),
            terms: Terms::default(),
            pairs: Vec::new(),
        };
        let FormatSpec::Jsonl { target, offset, drop, categorical, columns, table, complete, .. } = spec
        else {
            return jsonl;
        };
        (jsonl.target, jsonl.offset) = (target.clone(), offset.clone());
        (jsonl.drop, jsonl.categorical) = (drop.clone(), categorical.clone());
        (jsonl.columns, jsonl.complete) = (columns.clone(), complete.clone());
        jsonl.keys_room.add(0, columns);
        for (k, column) in columns.iter().enumerate() {
            jsonl.places.entry(column.name.clone()).or_insert(k);
        }
        if let Some(typed) = complete {
            let named = columns.iter().map(|column| &column.name).chain(typed).chain([target]).chain(offset);
            let around = |name: &'_ String| {
                name.match_indices('.').take(DEEPEST).map(|(dot, _)| name[..dot].to_string()).collect()
            };
            jsonl.outer = named.flat_map(|name| -> Vec<String> { around(name) }).collect();
        }
        let due = |column: &Column| (complete.is_some() || *table) && column.missing.is_some();
        for (k, column) in columns.iter().enumerate().filter(|(_, column)| due(column)) {
            jsonl.role(&column.name);
            jsonl.due.extend(jsonl.keys.find(&column.name).map(|id| (id as usize, k)));
        }
        jsonl
    }

    fn line(&mut self, line: &Line, into: &mut Parsed) -> Result<()> {
        let text = line.utf8("JSON")?;
        if line.text.iter().all(u8::is_ascii_whitespace) || !into.begin_row() {
            return Ok(()); // a blank line, or an absent row
        }
        self.check_room(line, into)?;
        self.pairs.clear();
        self.row += 1;
        let (mut labelled, mut offset) = (false, self.offset.as_ref().map(|_| f64::NAN));
        let mut json = Scanner::open(line, text)?;
        let mut outer: Vec<usize> = Vec::new(); // lengths of the names of the objects around this one
        let mut path = String::new();
        loop {
            let Some((at, key)) = json.key()? else {
                if outer.pop().is_none() {
                    break;
                }
                path.truncate(outer.last().copied().unwrap_or(0));
                continue;
            };
            let key = flattened(&path, key);
            let role = self.role(&key);
            self.check_room(line, into)?;
            match role {
                None => {
                    let what = format!("the key '{}' stands twice in the object", excerpt(key.as_bytes()));
                    return Err(line.wrong(at, what, "give each key once"));
                }
                Some(Role::Dropped) => json.skip()?,
                Some(Role::Offset) => offset = Some(take_offset(line, &key, &mut json)?),
                Some(Role::Target) => labelled = take_target(line, &mut json, into)?,
                Some(role) => {
                    if self.features(line, &key, role, &mut json, into)? {
                        path = key.into_owned() + ".";
                        outer.push(path.len());
                    }
                }
            }
        }
        if !labelled {
            into.no_target();
        }
        for &(id, k) in &self.due {
            if self.known[id].1 != self.row {
                let column = &self.columns[k];
                into.count_absent();
                fill_in(&column.name, column.missing, &mut self.name, &mut self.pairs, into);
            }
        }
        let what = "the values of a feature sum to infinity";
        into.push_row(&mut self.pairs).map_err(|_| line.wrong(0, what, "scale the values down"))?;
        offset.into_iter().for_each(|offset| into.shift(offset));
        Ok(())
    }

    /// Refuses the block if the names of features or of keys take too much room.
    #[inline]
    fn check_room(&self, line: &Line, into: &mut Parsed) -> Result<()> {
        let full = self.keys_room.is_full() || into.names_are_full();
        if full { Err(into.refuse_names(line.file)) } else { Ok(()) }
    }

    /// The role of a key, or `None` if the row contains the key twice.
    fn role(&mut self, key: &str) -> Option<Role> {
        let role = self.role_of(key);
        let (_, last) = self.known.get_mut(self.keys.find(key)? as usize)?;
        (std::mem::replace(last, self.row) != self.row).then_some(role)
    }

    /// The role of a key, which a row may contain several times.
    fn role_of(&mut self, key: &str) -> Role {
        let id = self.keys_room.id(&mut self.keys, key) as usize;
        if id == self.known.len() {
            let is_in = |list: &[String]| list.iter().any(|name| name == key);
            let column = self.places.get(key).copied();
            let role = match column {
                _ if key == self.target => Role::Target,
                _ if self.offset.as_deref() == Some(key) => Role::Offset,
                _ if is_in(&self.drop) => Role::Dropped,
                Some(k) if self.columns[k].kind == ColumnKind::Dropped => Role::Dropped,
                Some(k) => Role::Column(k),
                None if is_in(&self.categorical) => Role::Categorical,
                None => self.other_role(key),
            };
            self.known.push((role, u64::MAX));
        }
        self.known[id].0
    }

    /// The role of a key that is no column.
    fn other_role(&self, key: &str) -> Role {
        let Some(typed) = &self.complete else { return Role::Feature };
        match () {
            _ if typed.iter().any(|name| name == key || is_inside(key, name)) => Role::Feature,
            _ if self.outer.contains(key) => Role::Outer,
            _ => Role::Dropped,
        }
    }

    /// Appends the features of one key and its value. Returns whether the value is an object, whose keys follow.
    fn features(
        &mut self,
        line: &Line,
        key: &str,
        role: Role,
        json: &mut Scanner,
        into: &mut Parsed,
    ) -> Result<bool> {
        let at = json.place();
        let kind = match role {
            Role::Column(k) => Some(self.columns[k].kind),
            _ => None,
        };
        let names = kind == Some(ColumnKind::Category);
        if role == Role::Outer {
            if json.is_array() {
                self.items(line, key, true, json, into)?;
                return Ok(false);
            }
            let is_object = matches!(json.scalar()?, Some(Value::Object));
            return Ok(is_object);
        }
        match json.value()? {
            Value::Number(written, number) if role == Role::Categorical || names => {
                self.word(key, &canonical(written, number), into);
            }
            Value::Number(written, number) if kind == Some(ColumnKind::Text) => {
                if let Role::Column(k) = role {
                    let text = canonical(written, number);
                    self.columns[k].push_terms(&text, &mut self.terms, &mut self.pairs, into);
                }
            }
            Value::Number(_, number) => self.push(key, number, into),
            Value::Bool(yes) if names => self.word(key, if yes { "true" } else { "false" }, into),
            Value::Bool(true) => self.push(key, 1.0, into),
            Value::Bool(false) => {}
            value @ (Value::Null | Value::Nan) => {
                let is_name = names || role == Role::Categorical || kind == Some(ColumnKind::Text);
                if matches!(value, Value::Nan) && !is_name {
                    into.see_dirty(key, NAN, || (line.number, at as u64 + 1));
                }
                if let Role::Column(k) = role {
                    fill_in(key, self.columns[k].missing, &mut self.name, &mut self.pairs, into);
                }
            }
            Value::Text(text) => match role {
                Role::Column(k) if kind == Some(ColumnKind::Text) => {
                    self.columns[k].push_terms(&text, &mut self.terms, &mut self.pairs, into);
                }
                Role::Column(k) if kind != Some(ColumnKind::Category) => {
                    self.cell(k, &text, line, at, into)?;
                }
                _ => self.word(key, &text, into),
            },
            Value::Object => return Ok(true),
            Value::Array => self.items(line, key, false, json, into)?,
        }
        Ok(false)
    }

    /// Appends the features of a text in a column of numbers or dates. Words that do not stand for a missing value are
    /// errors, as in CSV.
    fn cell(&mut self, k: usize, text: &str, line: &Line, at: usize, into: &mut Parsed) -> Result<()> {
        let column = std::mem::replace(&mut self.columns[k], Column::new("", ColumnKind::Number));
        let cell = text.trim_matches([' ', '\t']);
        let is_number = column.kind == ColumnKind::Number;
        let is_time = column.push_time(cell, &mut self.name, &mut self.pairs, into);
        match number(cell).filter(|x| is_number && x.is_finite()) {
            Some(x) => self.push(&column.name, x, into),
            None if is_time => {}
            None if is_missing(cell) || column.is_placeholder(cell) => {
                if !is_silent(cell) {
                    into.see_dirty(&column.name, cell, || (line.number, at as u64 + 1));
                }
                fill_in(&column.name, column.missing, &mut self.name, &mut self.pairs, into);
            }
            None => {
                let (what, hint) = column.no_number(cell);
                into.wrong.see(line.wrong(at, what, hint))?; // and on with the row: other cells may be wrong as well
            }
        }
        self.columns[k] = column;
        Ok(())
    }

    fn push(&mut self, name: &str, value: f64, into: &mut Parsed) {
        if value != 0.0 {
            self.pairs.push((into.name(name), value)); // zeros are dropped and need no name
        }
    }

    fn word(&mut self, key: &str, word: &str, into: &mut Parsed) {
        self.name.clear();
        push_part(&mut self.name, key, '=');
        self.name.push_str(word);
        self.pairs.push((into.name(&self.name), 1.0));
    }
}

/// The name of a key inside objects: `outer.inner`.
pub(super) fn flattened<'a>(path: &str, key: Cow<'a, str>) -> Cow<'a, str> {
    if path.is_empty() { key } else { Cow::Owned(format!("{path}{key}")) }
}

/// Reads the target and returns whether there is one.
fn take_target(line: &Line, json: &mut Scanner, into: &mut Parsed) -> Result<bool> {
    let at = json.place();
    let taken = match json.value()? {
        Value::Null => return Ok(false),
        Value::Number(written, _) => into.labels.push(written.as_bytes()),
        Value::Nan => into.labels.push(NAN.as_bytes()),
        Value::Text(text) if text.is_empty() => Err("the target is empty".to_string()),
        Value::Text(text) => into.labels.push(text.as_bytes()),
        Value::Bool(yes) => into.labels.push(if yes { b"true" } else { b"false" }),
        Value::Array => Err("the target is an array".to_string()),
        Value::Object => Err("the target is an object".to_string()),
    };
    taken.map_err(|what| line.wrong(at, what, "targets are finite numbers, words, true or false"))?;
    Ok(true)
}

/// Reads an offset; NaN for null, which means a missing offset.
fn take_offset(line: &Line, key: &str, json: &mut Scanner) -> Result<f64> {
    let at = json.place();
    match json.value()? {
        Value::Number(_, offset) if offset.is_finite() => Ok(offset),
        Value::Null => Ok(f64::NAN),
        _ => {
            let what = format!("the offset '{}' is not a finite number", excerpt(key));
            Err(line.wrong(at, what, "give each row a number; 0 changes no score"))
        }
    }
}

/// A number as a name. Integers stay as written, because long ones may exceed f64. Other numbers use their
/// shortest form, so 1.0 and 1 are the same name.
fn canonical(written: &str, number: f64) -> Cow<'_, str> {
    let whole = written.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    if whole && number != 0.0 { written.into() } else { (number + 0.0).to_string().into() }
}
