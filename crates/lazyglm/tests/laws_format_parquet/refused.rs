//! What is refused: columns by their name, values with their row.

use super::tables::*;
use super::{asked, targets};
use arrow_array::*;
use lazyglm::data::format::ReadOptions;
use lazyglm::{Dataset, Load};
use std::sync::Arc;

type Columns = Vec<(&'static str, ArrayRef)>;

#[track_caller]
fn refused(columns: Columns, asked: &ReadOptions, expected: &str) {
    let folder = Folder::new();
    assert_eq!(
        read(&folder.arrow(columns.clone()), asked, None).unwrap_err().replace(".arrow", ".parquet"),
        expected
    );
    assert_eq!(read(&folder.parquet(columns), asked, None).unwrap_err(), expected);
}

#[test]
fn wrong_columns_are_refused_by_name() {
    let plain = ReadOptions::default();
    let hint = "leave it out with drop, or write numbers, text, dates, or lists of text or numbers";
    let odd = || Arc::new(BinaryArray::from(vec![&b"1"[..]])) as ArrayRef;
    let when = |name| vec![(name, odd()), targets(1)];
    let what = "a.parquet: the column 'when' is Binary, of which no features can be made; ";
    refused(when("when"), &plain, &format!("{what}{hint}"));
    let two = vec![("when", odd()), ("what", odd()), targets(1)];
    let what = "a.parquet: no features can be made of 2 columns: 'when' (Binary), 'what' (Binary); ";
    refused(two, &plain, &format!("{what}{}", hint.replace("leave it", "leave them")));
    refused(
        when("when"),
        &asked(None, &["y"], &[]),
        "the column 'y' is the target and is to be left out; take it off drop, or name another target",
    );
    refused(
        when("when"),
        &asked(Some("when"), &[], &[]),
        "a.parquet: the target 'when' is Binary; targets are numbers, text, true or false",
    );
    let alone = "a.parquet: no row has a feature: this does not look like parquet";
    let folder = Folder::new();
    let load = Load { asked: asked(None, &["when"], &[]), ..Load::default() };
    let error = Dataset::load(&folder.parquet(when("when")), &load).unwrap_err().to_string();
    assert!(error.contains(alone.trim_start_matches("a.parquet")), "{error}");
    refused(
        vec![targets(1), ("x", pairs(&[None]))],
        &asked(None, &[], &["x"]),
        "the column 'x' holds lists of index and value: these are not names; take it off categorical",
    );
    let nul: Columns = vec![targets(1), ("a\0", targets(1).1)];
    let (what, rename) =
        ("the column 'a\\u{0}' has a NUL character in its name", "rename it, or leave it out with drop");
    refused(nul, &plain, &format!("a.parquet: {what}; {rename}"));
    let twice = vec![targets(1), ("a", targets(1).1), ("a", targets(1).1)];
    refused(twice, &plain, &format!("a.parquet: the column 'a' stands twice in the file; {rename}"));
    let null: Columns = vec![("y", Arc::new(NullArray::new(3))), ("a", Arc::new(NullArray::new(3)))];
    refused(null, &plain, "a.parquet: no column is left to read; give it features and a target");
}

#[test]
fn wrong_values_are_refused_with_their_row() {
    let five = |array: ArrayRef| vec![targets(5), ("c", array)];
    let finite = "write null for a value that is not known";
    for (bad, shown) in [(f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        let column: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 1.0, 1.0, bad, 1.0]));
        let expected = format!("a.parquet:4: the value {shown} in 'c' is not finite; {finite}");
        refused(five(column.clone()), &ReadOptions::default(), &expected);
        refused(five(column), &asked(None, &[], &["c"]), &expected);
    }
    let nul: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c", "d", "e\0"]));
    refused(
        five(nul),
        &ReadOptions::default(),
        "a.parquet:5: the text in 'c' has a NUL character in it; take it out",
    );
    let one = |index, value| {
        vec![targets(1), ("c", pairs(&[Some(&[Some((Some(1), Some(1.0))), Some((index, value))])]))]
    };
    refused(
        one(None, Some(1.0)),
        &ReadOptions::default(),
        "a.parquet:1: pair 2 of 'c' has no index; give it one, or take the pair out",
    );
    refused(
        one(Some(-1), None),
        &ReadOptions::default(),
        "a.parquet:1: index -1 is negative; indices start at 0 or 1",
    );
    refused(
        one(Some(1), Some(f64::INFINITY)),
        &ReadOptions::default(),
        &format!("a.parquet:1: the value inf in 'c' is not finite; {finite}"),
    );
    let large = Some((Some(1), Some(f64::MAX)));
    refused(
        vec![targets(1), ("c", pairs(&[Some(&[large, large])]))],
        &ReadOptions::default(),
        "a.parquet:1: the values of a feature sum to infinity; scale the values down",
    );
    let targets: Vec<(ArrayRef, &str)> = vec![
        (Arc::new(StringArray::from(vec!["a", ""])), "the target is empty"),
        (Arc::new(StringArray::from(vec!["a", "inf"])), "the target 'inf' is not finite"),
        (Arc::new(Float32Array::from(vec![0.0, f32::NAN])), "the target 'NaN' is not finite"),
    ];
    for (target, what) in targets {
        let columns = vec![("y", target), ("a", Arc::new(Int32Array::from(vec![1, 1])) as ArrayRef)];
        let hint = "targets are finite numbers, words, true or false";
        refused(columns, &ReadOptions::default(), &format!("a.parquet:2: {what}; {hint}"));
    }
}
