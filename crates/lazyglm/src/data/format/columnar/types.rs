//! Maps column types to kinds of features.

use super::Holds;
use arrow_schema::{DataType, FieldRef};

/// The kind of a column of this type, or `None` if the type is not supported.
pub(super) fn holds(column: &DataType) -> Option<Holds> {
    match column {
        column if is_number(column) || *column == DataType::Boolean => Some(Holds::Numbers),
        DataType::Date32 | DataType::Date64 => Some(Holds::Dates),
        DataType::Timestamp(..) => Some(Holds::Times),
        DataType::Time32(_) | DataType::Time64(_) => Some(Holds::Clocks),
        DataType::Duration(_) => Some(Holds::Durations),
        DataType::Map(entry, _) => is_map(entry.data_type()).then_some(Holds::Maps),
        DataType::FixedSizeList(item, _) => is_coordinate(item.data_type()).then_some(Holds::Vectors),
        column if is_text(column) => Some(Holds::Names),
        DataType::Dictionary(_, values) => is_name(values).then_some(Holds::Names),
        DataType::List(item) | DataType::LargeList(item) => match item.data_type() {
            item if is_word(item) => Some(Holds::Lists),
            item if is_coordinate(item) => Some(Holds::Vectors),
            found @ DataType::Struct(_) if pair(found).is_some() => Some(Holds::Pairs),
            DataType::Struct(fields) => match &fields[..] {
                [field] if is_word(field.data_type()) => Some(Holds::Lists),
                [field] if is_coordinate(field.data_type()) => Some(Holds::Sums),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Whether a column of this type can be read as the given kind, which another file had under the same name.
///
/// Integers may have become floating-point numbers, and text may have become numbers. A column of nulls
/// matches every kind.
pub(super) fn fits(column: &DataType, as_before: Holds) -> bool {
    match as_before {
        _ if *column == DataType::Null => true,
        Holds::Names | Holds::Texts => matches!(holds(column), Some(Holds::Names | Holds::Numbers)),
        Holds::Indices => holds(column) == Some(Holds::Pairs),
        Holds::Dates | Holds::Times => {
            matches!(holds(column), Some(Holds::Dates | Holds::Times)) || is_text(column)
        }
        Holds::Clocks => holds(column) == Some(as_before) || is_text(column),
        Holds::Durations => {
            matches!(holds(column), Some(Holds::Durations | Holds::Numbers)) || is_text(column)
        }
        _ => holds(column) == Some(as_before),
    }
}

/// The positions of the index and the value in the items of a list of pairs.
pub(super) fn pair(item: &DataType) -> Option<(usize, usize)> {
    let DataType::Struct(fields) = item else { return None };
    let find = |name: &str, fits: fn(&DataType) -> bool| {
        let named = |field: &FieldRef| field.name() == name && fits(field.data_type());
        fields.iter().position(named)
    };
    let number = |value: &DataType| is_number(value) || *value == DataType::Boolean;
    (fields.len() == 2).then_some((find("index", DataType::is_integer)?, find("value", number)?))
}

/// Whether a column holds floating-point numbers, directly or in a dictionary, which may be NaN.
pub(super) fn is_decimal(column: &DataType) -> bool {
    match column {
        DataType::Dictionary(_, values) => values.is_floating(),
        column => column.is_floating(),
    }
}

fn is_number(column: &DataType) -> bool {
    column.is_integer() || column.is_floating() || column.is_decimal()
}

pub(super) fn is_coordinate(item: &DataType) -> bool {
    is_number(item) || *item == DataType::Boolean
}

/// Whether the entries of a map have text for keys, and numbers or text for values.
fn is_map(entry: &DataType) -> bool {
    let DataType::Struct(fields) = entry else { return false };
    let found: Vec<&DataType> = fields.iter().map(|field| field.data_type()).collect();
    matches!(&found[..], [key, value] if is_word(key) && (is_coordinate(value) || is_word(value)))
}

fn is_text(column: &DataType) -> bool {
    matches!(column, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_name(values: &DataType) -> bool {
    is_number(values) || is_text(values) || *values == DataType::Boolean
}

/// Whether a type is text, directly or in a dictionary.
fn is_word(item: &DataType) -> bool {
    is_text(item) || matches!(item, DataType::Dictionary(_, values) if is_text(values))
}
