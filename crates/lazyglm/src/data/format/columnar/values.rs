//! Access to the values of a column of any type: as numbers, as integers or as words.

use crate::data::format::columns::{written, written_clock, written_duration};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use std::borrow::Cow;
use std::ops::Range;

/// Returns the word in a row, or `None` for null.
pub(super) type Words<'a> = Box<dyn Fn(usize) -> Option<Cow<'a, str>> + 'a>;

/// Returns the number in a row, or zero for null. Zeros and nulls are both dropped.
pub(super) type Numbers<'a> = Box<dyn Fn(usize) -> f64 + 'a>;

/// Returns the integer in a row, or `None` for null.
pub(super) type Wholes<'a> = Box<dyn Fn(usize) -> Option<i128> + 'a>;

/// Returns a point in time or a duration in a row, in units of the column, or zero for null.
type Ticks<'a> = Box<dyn Fn(usize) -> i64 + 'a>;

/// Returns the range of items that belong to a row.
pub(super) type Ranges<'a> = Box<dyn Fn(usize) -> Range<usize> + 'a>;

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// Access to a column of numbers. Numbers are not copied, because the items of a list may belong to many more
/// rows.
pub(super) fn numbers<'a>(array: &'a dyn Array) -> Option<Numbers<'a>> {
    match array.data_type() {
        DataType::Boolean => {
            let array = array.as_boolean();
            Some(Box::new(move |row| f64::from(array.is_valid(row) && array.value(row))))
        }
        DataType::Float16 => wide(array.as_primitive::<Float16Type>(), |x| x.to_f64()),
        DataType::Float32 => wide(array.as_primitive::<Float32Type>(), f64::from),
        DataType::Float64 => wide(array.as_primitive::<Float64Type>(), |x| x),
        DataType::Decimal32(_, scale) => scaled(array.as_primitive::<Decimal32Type>(), *scale, f64::from),
        DataType::Decimal64(_, scale) => scaled(array.as_primitive::<Decimal64Type>(), *scale, |x| x as f64),
        DataType::Decimal128(_, scale) => {
            scaled(array.as_primitive::<Decimal128Type>(), *scale, |x| x as f64)
        }
        DataType::Decimal256(_, scale) => {
            let widen = |x: arrow_buffer::i256| {
                let (low, high) = x.to_parts();
                x.to_i128().map_or(high as f64 * 2f64.powi(128) + low as f64, |x| x as f64)
            };
            scaled(array.as_primitive::<Decimal256Type>(), *scale, widen)
        }
        _ => {
            let number = wholes(array)?;
            Some(Box::new(move |row| number(row).map_or(0.0, |x| x as f64)))
        }
    }
}

fn wide<'a, T: ArrowPrimitiveType>(
    array: &'a PrimitiveArray<T>,
    widen: fn(T::Native) -> f64,
) -> Option<Numbers<'a>> {
    Some(Box::new(move |row| if array.is_valid(row) { widen(array.value(row)) } else { 0.0 }))
}

/// Decimal numbers: integers divided by a power of ten. One correctly rounded division for up to 15 digits.
fn scaled<'a, T: ArrowPrimitiveType>(
    array: &'a PrimitiveArray<T>,
    scale: i8,
    widen: fn(T::Native) -> f64,
) -> Option<Numbers<'a>> {
    let power = 10f64.powi(i32::from(scale).abs());
    Some(Box::new(move |row| match array.is_valid(row) {
        true if scale >= 0 => widen(array.value(row)) / power,
        true => widen(array.value(row)) * power,
        false => 0.0,
    }))
}

/// Access to the ticks of a column of dates, times or durations, and how many of them a second has: `None` for days.
fn ticks<'a>(array: &'a dyn Array) -> Option<(Ticks<'a>, Option<i64>)> {
    fn of<'a, T: ArrowPrimitiveType>(array: &'a dyn Array) -> Option<Ticks<'a>>
    where
        T::Native: Into<i64>,
    {
        let array: &PrimitiveArray<T> = array.as_primitive_opt::<T>()?;
        Some(Box::new(move |row| if array.is_valid(row) { array.value(row).into() } else { 0 }))
    }
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let unit = match array.data_type() {
        DataType::Date32 => return Some((of::<Date32Type>(array)?, None)),
        DataType::Date64 => return Some((of::<Date64Type>(array)?, Some(1000))),
        DataType::Timestamp(unit, _)
        | DataType::Time32(unit)
        | DataType::Time64(unit)
        | DataType::Duration(unit) => unit,
        _ => return None,
    };
    let ticks = match array.data_type() {
        DataType::Timestamp(Second, _) => of::<TimestampSecondType>(array),
        DataType::Timestamp(Millisecond, _) => of::<TimestampMillisecondType>(array),
        DataType::Timestamp(Microsecond, _) => of::<TimestampMicrosecondType>(array),
        DataType::Timestamp(Nanosecond, _) => of::<TimestampNanosecondType>(array),
        DataType::Time32(Second) => of::<Time32SecondType>(array),
        DataType::Time32(_) => of::<Time32MillisecondType>(array),
        DataType::Time64(Microsecond) => of::<Time64MicrosecondType>(array),
        DataType::Time64(_) => of::<Time64NanosecondType>(array),
        DataType::Duration(Second) => of::<DurationSecondType>(array),
        DataType::Duration(Millisecond) => of::<DurationMillisecondType>(array),
        DataType::Duration(Microsecond) => of::<DurationMicrosecondType>(array),
        _ => of::<DurationNanosecondType>(array),
    };
    let per_second = match unit {
        Second => 1,
        Millisecond => 1000,
        Microsecond => 1_000_000,
        Nanosecond => 1_000_000_000,
    };
    Some((ticks?, Some(per_second)))
}

/// Access to a column of dates, in seconds since 1970-01-01, of times of day since midnight, or of durations in seconds.
pub(super) fn seconds<'a>(array: &'a dyn Array) -> Option<Numbers<'a>> {
    let (ticks, per_second) = ticks(array)?;
    Some(match per_second {
        None => Box::new(move |row| 86_400.0 * ticks(row) as f64),
        Some(unit) => Box::new(move |row| ticks(row) as f64 / unit as f64),
    })
}

/// The texts of a list, or of the only field of a list of structs.
pub(super) fn only_field(items: &dyn Array) -> &dyn Array {
    match items.as_struct_opt().filter(|fields| fields.num_columns() == 1) {
        Some(fields) => fields.column(0).as_ref(),
        None => items,
    }
}

/// Access to a column of integers. An i128 holds the integers of all types.
pub(super) fn wholes<'a>(array: &'a dyn Array) -> Option<Wholes<'a>> {
    fn of<'a, T: ArrowPrimitiveType>(array: &'a PrimitiveArray<T>) -> Option<Wholes<'a>>
    where
        T::Native: Into<i128>,
    {
        Some(Box::new(|row| array.is_valid(row).then(|| array.value(row).into())))
    }
    match array.data_type() {
        DataType::Int8 => of(array.as_primitive::<Int8Type>()),
        DataType::Int16 => of(array.as_primitive::<Int16Type>()),
        DataType::Int32 => of(array.as_primitive::<Int32Type>()),
        DataType::Int64 => of(array.as_primitive::<Int64Type>()),
        DataType::UInt8 => of(array.as_primitive::<UInt8Type>()),
        DataType::UInt16 => of(array.as_primitive::<UInt16Type>()),
        DataType::UInt32 => of(array.as_primitive::<UInt32Type>()),
        DataType::UInt64 => of(array.as_primitive::<UInt64Type>()),
        _ => None,
    }
}

/// Access to a column as names. Numbers use their shortest form, so 7 and 7.0 are the same name.
pub(super) fn words<'a>(array: &'a dyn Array) -> Option<Words<'a>> {
    macro_rules! of {
        ($array:expr, $word:expr) => {{
            let array = $array;
            Some(Box::new(move |row| array.is_valid(row).then(|| $word(array.value(row)))))
        }};
    }
    match array.data_type() {
        DataType::Utf8 => of!(array.as_string::<i32>(), Cow::Borrowed),
        DataType::LargeUtf8 => of!(array.as_string::<i64>(), Cow::Borrowed),
        DataType::Utf8View => of!(array.as_string_view(), Cow::Borrowed),
        DataType::Boolean => of!(array.as_boolean(), |yes| if yes { "true" } else { "false" }.into()),
        // Adding zero makes −0 and 0 the same name.
        DataType::Float16 => {
            of!(array.as_primitive::<Float16Type>(), |x: Half| (x.to_f32() + 0.0).to_string().into())
        }
        DataType::Float32 => of!(array.as_primitive::<Float32Type>(), |x: f32| (x + 0.0).to_string().into()),
        DataType::Float64 => of!(array.as_primitive::<Float64Type>(), |x: f64| (x + 0.0).to_string().into()),
        DataType::Dictionary(..) => coded(array),
        found if found.is_decimal() => {
            let numbers = numbers(array)?;
            Some(Box::new(move |row| array.is_valid(row).then(|| (numbers(row) + 0.0).to_string().into())))
        }
        _ => {
            let number = wholes(array)?;
            Some(Box::new(move |row| number(row).map(|x| x.to_string().into())))
        }
    }
}

/// Access to a column of dates, times or durations as text.
pub(super) fn dates<'a>(array: &'a dyn Array) -> Option<Words<'a>> {
    let (ticks, per_second) = ticks(array)?;
    let in_utc = matches!(array.data_type(), DataType::Timestamp(_, Some(_)));
    let text = move |row| match (array.data_type(), per_second) {
        (DataType::Time32(_) | DataType::Time64(_), Some(unit)) => written_clock(ticks(row), unit),
        (DataType::Duration(_), Some(unit)) => written_duration(ticks(row), unit),
        _ => written(ticks(row), per_second, in_utc),
    };
    Some(Box::new(move |row| array.is_valid(row).then(|| text(row).into())))
}

fn coded<'a>(array: &'a dyn Array) -> Option<Words<'a>> {
    let coded = array.as_any_dictionary_opt()?;
    let (keys, words) = (wholes(coded.keys())?, words(coded.values().as_ref())?);
    let known = coded.values().len() as i128;
    Some(Box::new(move |row| {
        keys(row).filter(|key| (0..known).contains(key)).and_then(|key| words(key as usize))
    }))
}

/// Access to a column of lists: the item range per row, and the items. A null list has no items.
pub(super) fn lists<'a>(array: &'a dyn Array) -> Option<(Ranges<'a>, &'a dyn Array)> {
    macro_rules! of {
        ($size:ty) => {{
            let lists = array.as_list::<$size>();
            let range = move |row: usize| match lists.is_valid(row) {
                true => lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize,
                false => 0..0,
            };
            Some((Box::new(range) as Ranges, lists.values().as_ref()))
        }};
    }
    match array.data_type() {
        DataType::List(_) => of!(i32),
        DataType::LargeList(_) => of!(i64),
        DataType::FixedSizeList(..) => {
            let lists = array.as_fixed_size_list();
            let size = usize::try_from(lists.value_length()).ok()?;
            let range = move |row: usize| match lists.is_valid(row) {
                true => row * size..(row + 1) * size,
                false => 0..0,
            };
            Some((Box::new(range) as Ranges, lists.values().as_ref()))
        }
        DataType::Map(..) => {
            let maps = array.as_map();
            let range = move |row: usize| match maps.is_valid(row) {
                true => maps.value_offsets()[row] as usize..maps.value_offsets()[row + 1] as usize,
                false => 0..0,
            };
            Some((Box::new(range) as Ranges, maps.entries()))
        }
        _ => None,
    }
}
