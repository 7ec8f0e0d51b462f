//! The value of a row as JSON text, for structs, lists and maps: `{"a":1,"b":["x",null]}`.

use super::types::is_coordinate;
use super::values::{dates, words};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::DataType;

/// Whether a column of this type can be written as JSON.
pub(super) fn can_write(found: &DataType) -> bool {
    match found {
        DataType::Struct(fields) => fields.iter().all(|field| can_write(field.data_type())),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            can_write(item.data_type())
        }
        DataType::Map(entry, _) => can_write(entry.data_type()),
        found => {
            let none = arrow_array::new_empty_array(found);
            found.is_null() || words(&none).is_some() || dates(&none).is_some()
        }
    }
}

/// Appends the value of a row. Numbers that JSON does not have are null. With `bare`, a struct with the field `item` alone, as `flat` makes
/// them of lists of structs, is its field.
pub(super) fn write(array: &dyn Array, row: usize, bare: bool, into: &mut String) {
    if array.is_null(row) {
        return into.push_str("null");
    }
    match array.data_type() {
        DataType::Struct(_) => write_struct(array.as_struct(), row, bare, into),
        DataType::List(_) => write_list(&array.as_list::<i32>().value(row), bare, into),
        DataType::LargeList(_) => write_list(&array.as_list::<i64>().value(row), bare, into),
        DataType::FixedSizeList(..) => write_list(&array.as_fixed_size_list().value(row), bare, into),
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let one = |k: usize, into: &mut String| {
                quote(&scalar(keys, k).unwrap_or_default(), into);
                into.push(':');
                write(values, k, bare, into);
            };
            between(['{', '}'], entries.len(), into, one);
        }
        found => match scalar(array, row) {
            Some(text) if is_coordinate(found) => {
                let finite = text.parse::<f64>().map_or(*found == DataType::Boolean, f64::is_finite);
                into.push_str(if finite { &text } else { "null" });
            }
            Some(text) => quote(&text, into),
            None => into.push_str("null"),
        },
    }
}

fn write_struct(of: &StructArray, row: usize, bare: bool, into: &mut String) {
    let names = of.fields();
    if bare && names.len() == 1 && names[0].name() == "item" {
        return write(of.column(0), row, bare, into);
    }
    let one = |k: usize, into: &mut String| {
        quote(names[k].name(), into);
        into.push(':');
        write(of.column(k), row, bare, into);
    };
    between(['{', '}'], names.len(), into, one);
}

fn write_list(items: &ArrayRef, bare: bool, into: &mut String) {
    between(['[', ']'], items.len(), into, |k, into| write(items, k, bare, into));
}

/// Appends parts with commas between them.
fn between([open, close]: [char; 2], parts: usize, into: &mut String, write: impl Fn(usize, &mut String)) {
    into.push(open);
    for k in 0..parts {
        if k > 0 {
            into.push(',');
        }
        write(k, into);
    }
    into.push(close);
}

fn scalar(array: &dyn Array, row: usize) -> Option<String> {
    let words = words(array).or_else(|| dates(array))?;
    words(row).map(|text| text.into_owned())
}

fn quote(text: &str, into: &mut String) {
    into.push_str(&serde_json::Value::from(text).to_string());
}
