//! Access to the values of a column of any type: as numbers, as integers or as words.

use crate::data::format::columns::written;
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

/// Access to a column of dates, in seconds since 1970-01-01.
pub(super) fn seconds<'a>(array: &'a dyn Array) -> Option<Numbers<'a>> {
    fn of<'a, T: ArrowPrimitiveType>(array: &'a PrimitiveArray<T>, per_second: f64) -> Option<Numbers<'a>>
    where
        T::Native: Into<i64>,
    {
        let ticks = move |row| if array.is_valid(row) { array.value(row).into() } else { 0i64 };
        Some(Box::new(move |row| ticks(row) as f64 / per_second))
    }
    match array.data_type() {
        DataType::Date32 => {
            let days = of(array.as_primitive::<Date32Type>(), 1.0)?;
            Some(Box::new(move |row| 86_400.0 * days(row)))
        }
        DataType::Date64 => of(array.as_primitive::<Date64Type>(), 1e3),
        DataType::Timestamp(TimeUnit::Second, _) => of(array.as_primitive::<TimestampSecondType>(), 1.0),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            of(array.as_primitive::<TimestampMillisecondType>(), 1e3)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            of(array.as_primitive::<TimestampMicrosecondType>(), 1e6)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            of(array.as_primitive::<TimestampNanosecondType>(), 1e9)
        }
        _ => None,
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

/// Access to a column of dates or times as text.
pub(super) fn dates<'a>(array: &'a dyn Array) -> Option<Words<'a>> {
    fn of<'a, T: ArrowPrimitiveType>(
        array: &'a PrimitiveArray<T>,
        per_second: Option<i64>,
        in_utc: bool,
    ) -> Option<Words<'a>>
    where
        T::Native: Into<i64>,
    {
        let text = move |row| written(array.value(row).into(), per_second, in_utc).into();
        Some(Box::new(move |row| array.is_valid(row).then(|| text(row))))
    }
    let zone = matches!(array.data_type(), DataType::Timestamp(_, Some(_))); // values are in UTC then
    match array.data_type() {
        DataType::Date32 => of(array.as_primitive::<Date32Type>(), None, false),
        DataType::Date64 => of(array.as_primitive::<Date64Type>(), Some(1000), false),
        DataType::Timestamp(TimeUnit::Second, _) => {
            of(array.as_primitive::<TimestampSecondType>(), Some(1), zone)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            of(array.as_primitive::<TimestampMillisecondType>(), Some(1000), zone)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            of(array.as_primitive::<TimestampMicrosecondType>(), Some(1_000_000), zone)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            of(array.as_primitive::<TimestampNanosecondType>(), Some(1_000_000_000), zone)
        }
        _ => None,
    }
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
