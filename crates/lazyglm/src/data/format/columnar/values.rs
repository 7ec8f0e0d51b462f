//! Access to the values of a column of any type: as numbers, as integers or as words.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;
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
        _ => {
            let number = wholes(array)?;
            Some(Box::new(move |row| number(row).map(|x| x.to_string().into())))
        }
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
        _ => None,
    }
}
