//! Arrays of JSON Lines: of texts, of numbers, and of objects.

use super::{Jsonl, Role, canonical, flattened};
use crate::data::format::columns::{ColumnKind, NAN};
use crate::data::format::json::{Scanner, Value};
use crate::data::format::names::push_part;
use crate::data::format::{Line, Parsed};
use crate::util::error::{Result, excerpt};
use crate::util::parameter::Parameter;
use std::fmt::Write;

impl Jsonl {
    /// Appends the features of the items of an array: texts are names, numbers are the coordinates of a vector, and objects
    /// have columns inside them. With `objects`, only those count.
    pub(super) fn items(
        &mut self,
        line: &Line,
        key: &str,
        objects: bool,
        json: &mut Scanner,
        into: &mut Parsed,
    ) -> Result<()> {
        if objects {
            json.value()?; // the opening bracket, which the caller has left
        }
        let mut coordinate = 0;
        while json.has_item()? {
            self.check_room(line, into)?;
            let at = json.place();
            if objects && !json.is_object() {
                json.skip()?;
                continue;
            }
            match json.value()? {
                Value::Text(text) => self.word(key, &text, into),
                Value::Number(_, x) => self.coordinate(key, coordinate, x, into),
                Value::Bool(yes) => self.coordinate(key, coordinate, f64::from(yes), into),
                Value::Null => {}
                Value::Nan => into.see_dirty(key, NAN, || (line.number, at as u64 + 1)),
                Value::Object => self.object_in_array(line, key, json, into)?,
                Value::Array => {
                    let what = format!("the array of '{}' has an item that is an array", excerpt(key));
                    return Err(line.wrong(at, what, hint()));
                }
            }
            coordinate += 1;
        }
        Ok(())
    }

    /// Appends the features of an object in an array. Its keys are columns: texts are counted, and numbers add up.
    fn object_in_array(
        &mut self,
        line: &Line,
        key: &str,
        json: &mut Scanner,
        into: &mut Parsed,
    ) -> Result<()> {
        let (mut path, mut outer) = (format!("{key}."), Vec::new());
        loop {
            let Some((at, inner)) = json.key()? else {
                let Some(length) = outer.pop() else { return Ok(()) };
                path.truncate(length);
                continue;
            };
            let name = flattened(&path, inner);
            let role = self.role_of(&name);
            self.check_room(line, into)?;
            let kind = match role {
                Role::Column(k) => Some(self.columns[k].kind),
                Role::Categorical => Some(ColumnKind::Category),
                _ => None,
            };
            if matches!(role, Role::Dropped | Role::Target | Role::Offset)
                || role == Role::Outer && !json.is_object()
            {
                json.skip()?;
                continue;
            }
            match json.value()? {
                Value::Number(written, x) if kind == Some(ColumnKind::Category) => {
                    self.word(&name, &canonical(written, x), into);
                }
                Value::Number(_, x) => self.push(&name, x, into),
                Value::Bool(yes) => self.push(&name, f64::from(yes), into),
                Value::Text(text) => match role {
                    Role::Column(k) if kind == Some(ColumnKind::Text) => {
                        self.columns[k].push_terms(&text, &mut self.terms, &mut self.pairs, into);
                    }
                    _ => self.word(&name, &text, into),
                },
                Value::Null => {}
                Value::Nan => into.see_dirty(&name, NAN, || (line.number, at as u64 + 1)),
                Value::Object => {
                    outer.push(path.len());
                    path = name.into_owned() + ".";
                }
                Value::Array => {
                    let what = format!("the array of '{}' is inside another array", excerpt(&*name));
                    return Err(line.wrong(at, what, hint()));
                }
            }
        }
    }

    /// Appends a coordinate of a vector: `key^3`.
    fn coordinate(&mut self, key: &str, coordinate: usize, x: f64, into: &mut Parsed) {
        if x != 0.0 {
            self.name.clear();
            push_part(&mut self.name, key, '^');
            let _ = write!(self.name, "{coordinate}"); // writing to a String cannot fail
            self.pairs.push((into.name(&self.name), x));
        }
    }
}

#[cold]
fn hint() -> String {
    format!("write text, numbers or objects, or name the key in {}", Parameter::Drop)
}
