//! What a column becomes, by its type: features, names, or the target.

use super::tables::*;
use super::{asked, targets};
use arrow_array::builder::{Float64Builder, MapBuilder, StringBuilder};
use arrow_array::types::{Float32Type, Int8Type, Int32Type};
use arrow_array::*;
use arrow_schema::{DataType, Field};
use lazyglm::data::format::{FormatSpec, Holds, Missing, ParquetColumn, ReadOptions};
use lazyglm::{Dataset, Load};
use std::sync::Arc;

/// The features of the rows of a table, written both ways.
#[track_caller]
fn has(column: ArrayRef, categorical: bool, expected: &[&[(&str, f64)]]) {
    let folder = Folder::new();
    let asked = asked(None, &[], if categorical { &["c"] } else { &[] });
    let asked = ReadOptions { missing: Some(Missing::Zero), ..asked };
    let other: ArrayRef = Arc::new(Float64Array::from(vec![1.0; column.len()])); // so that pairs are not alone
    let columns = || vec![("c", column.clone()), targets(column.len()), ("one", other.clone())];
    for path in [folder.parquet(columns()), folder.arrow(columns())] {
        let rows = read(&path, &asked, None).unwrap();
        assert_eq!(rows.len(), expected.len());
        for (i, ((target, mut features), expected)) in rows.into_iter().zip(expected).enumerate() {
            assert_eq!((target, features.remove("one")), (Some(i.to_string()), Some(1.0)));
            let expected = expected.iter().map(|&(name, x)| (name.to_string(), x)).collect();
            assert_eq!(features, expected, "row {i} of {}", path.display());
        }
    }
}

#[test]
fn numbers_of_all_types_are_features() {
    macro_rules! whole {
        ($($array:ty),*) => {$(
            let column = <$array>::from(vec![Some(3), None, Some(0), Some(100), Some(7)]);
            has(Arc::new(column.clone()), false, &[&[("c", 3.0)], &[], &[], &[("c", 100.0)], &[("c", 7.0)]]);
            has(Arc::new(column), true, &[&[("c=3", 1.0)], &[], &[("c=0", 1.0)], &[("c=100", 1.0)], &[("c=7", 1.0)]]);
        )*};
    }
    whole!(Int8Array, Int16Array, Int32Array, Int64Array, UInt8Array, UInt16Array, UInt32Array, UInt64Array);
    let big = vec![u64::MAX, (1 << 53) + 1];
    let apart: &[&[_]] = &[&[("c=18446744073709551615", 1.0)], &[("c=9007199254740993", 1.0)]];
    has(Arc::new(UInt64Array::from(big.clone())), true, apart);
    has(Arc::new(UInt64Array::from(big)), false, apart);
    has(Arc::new(Int64Array::from(vec![1 << 53, 3])), false, &[&[("c", 2f64.powi(53))], &[("c", 3.0)]]);
    has(Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])), false, &[&[("c", 1.0)], &[], &[]]);
}

#[test]
fn decimal_numbers_are_features_and_in_one_form_as_names() {
    let values = [Some(2.5), None, Some(0.0), Some(-0.0), Some(7.0)];
    let as_numbers: &[&[_]] = &[&[("c", 2.5)], &[], &[], &[], &[("c", 7.0)]];
    let as_names: &[&[_]] = &[&[("c=2.5", 1.0)], &[], &[("c=0", 1.0)], &[("c=0", 1.0)], &[("c=7", 1.0)]];
    let wide: ArrayRef = Arc::new(Float64Array::from_iter(values));
    let narrow: ArrayRef = Arc::new(Float32Array::from_iter(values.iter().map(|x| x.map(|x| x as f32))));
    for column in [wide, narrow] {
        has(column.clone(), false, as_numbers);
        has(column, true, as_names);
    }
    has(Arc::new(Float32Array::from(vec![0.1])), false, &[&[("c", f64::from(0.1f32))]]);
    has(Arc::new(Float32Array::from(vec![0.1])), true, &[&[("c=0.1", 1.0)]]);
}

#[test]
fn text_and_dictionaries_are_names() {
    let words = vec![Some("a b"), None, Some(""), Some("é=")];
    let expected: &[&[_]] = &[&[("c=a b", 1.0)], &[], &[("c=", 1.0)], &[("c=é=", 1.0)]];
    has(Arc::new(StringArray::from(words.clone())), false, expected);
    has(Arc::new(LargeStringArray::from(words.clone())), true, expected);
    has(Arc::new(StringViewArray::from(words.clone())), false, expected);
    has(Arc::new(DictionaryArray::<Int32Type>::from_iter(words)), false, expected);
    let keys = Int8Array::from(vec![Some(1), None, Some(0), Some(1)]);
    let numbers =
        DictionaryArray::<Int8Type>::try_new(keys, Arc::new(Int64Array::from(vec![30, 41]))).unwrap();
    has(Arc::new(numbers), false, &[&[("c=41", 1.0)], &[], &[("c=30", 1.0)], &[("c=41", 1.0)]]);
}

#[test]
fn lists_have_a_feature_for_each_item() {
    let rows = [Some(vec![Some("a"), Some("b"), Some("a"), None]), None, Some(vec![]), Some(vec![Some("")])];
    has(lists(&rows), false, &[&[("c=a", 2.0), ("c=b", 1.0)], &[], &[], &[("c=", 1.0)]]);
    let some: &[Pair] =
        &[Some((Some(7), Some(0.5))), None, Some((Some(-2), None)), Some((Some(7), Some(1.0)))];
    has(pairs(&[Some(some), None, Some(&[])]), false, &[&[("c^7", 1.5)], &[], &[]]);
}

#[test]
fn pairs_alone_are_indices_as_written() {
    let folder = Folder::new();
    let column = pairs(&[Some(&[Some((Some(4), Some(0.5))), Some((Some(2), Some(0.0)))]), Some(&[]), None]);
    let unused: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    let empty: ArrayRef = Arc::new(NullArray::new(3));
    let columns =
        || vec![("x", column.clone()), targets(3), ("id", unused.clone()), ("empty", empty.clone())];
    for path in [folder.parquet(columns()), folder.arrow(columns())] {
        let asked = asked(None, &["id"], &[]);
        let columns = vec![ParquetColumn::new("x", Holds::Indices)];
        assert_eq!(
            opened(&path, &asked, None).unwrap(),
            FormatSpec::Parquet {
                target: "y".into(),
                offset: None,
                columns,
                classes: false,
                dropped: vec!["id".into()]
            }
        );
        let (data, _) = Dataset::load(&path, &Load { asked, ..Load::default() }).unwrap();
        assert_eq!((data.features.base, data.features.count, data.features.name(3)), (1, 4, "4".to_string()));
        assert_eq!((data.rows.len(), data.rows.nonzeros(), data.place(2).line), (3, 1, Some(3)));
    }
}

#[test]
fn targets_are_numbers_words_or_truth() {
    let folder = Folder::new();
    let one: ArrayRef = Arc::new(Int32Array::from(vec![1, 1, 1]));
    let some: [(ArrayRef, [Option<&str>; 3]); 6] = [
        (Arc::new(Int8Array::from(vec![Some(-1), Some(1), None])), [Some("-1"), Some("1"), None]),
        (Arc::new(Float64Array::from(vec![0.5, -0.0, 1e300])), [Some("0.5"), Some("0"), Some("1e300")]),
        (
            Arc::new(Float32Array::from(vec![1.5, 2.0, 0.1])),
            [Some("1.5"), Some("2"), Some("0.10000000149011612")],
        ),
        (Arc::new(StringArray::from(vec!["ham", "1.0", "x y"])), [Some("ham"), Some("1"), Some("x y")]),
        (
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])),
            [Some("true"), Some("false"), None],
        ),
        (
            Arc::new(DictionaryArray::<Int32Type>::from_iter(["a", "b", "a"])),
            [Some("a"), Some("b"), Some("a")],
        ),
    ];
    for (target, expected) in some {
        let path = folder.parquet(vec![("price", target), ("a", one.clone())]);
        let rows = read(&path, &asked(Some("price"), &[], &[]), None).unwrap();
        let name =
            |text: Option<&str>| text.map(|text| text.parse().map_or(text.into(), |x: f64| x.to_string()));
        assert_eq!(rows.into_iter().map(|row| row.0).collect::<Vec<_>>(), expected.map(name));
    }
}

#[test]
fn decimals_vectors_structs_and_maps_are_features() {
    let decimals =
        Decimal128Array::from(vec![Some(1250), None, Some(-5)]).with_precision_and_scale(10, 2).unwrap();
    has(Arc::new(decimals), false, &[&[("c", 12.5)], &[], &[("c", -0.05)]]);
    let vectors =
        |rows: Vec<Option<Vec<Option<f32>>>>| ListArray::from_iter_primitive::<Float32Type, _, _>(rows);
    let rows = vec![Some(vec![Some(2.0), None, Some(0.5)]), None, Some(vec![Some(0.0), Some(-1.0)])];
    has(Arc::new(vectors(rows)), false, &[&[("c^0", 2.0), ("c^2", 0.5)], &[], &[("c^1", -1.0)]]);
    let fixed = vec![Some(vec![Some(2), Some(0)]), None, Some(vec![Some(1), None])];
    let fixed = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(fixed, 2);
    has(Arc::new(fixed), false, &[&[("c^0", 2.0)], &[], &[("c^0", 1.0)]]);
    let fields = vec![Field::new("n", DataType::Int32, true), Field::new("w", DataType::Utf8, true)];
    let parts: Vec<ArrayRef> =
        vec![Arc::new(Int32Array::from(vec![4, 9])), Arc::new(StringArray::from(vec!["x", "under a null"]))];
    let nulls = Some(vec![true, false].into());
    let structs = StructArray::try_new(fields.into(), parts, nulls).unwrap();
    has(Arc::new(structs), false, &[&[("c.n", 4.0), ("c.w=x", 1.0)], &[]]);
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Float64Builder::new());
    maps.keys().append_value("k");
    maps.values().append_value(2.5);
    maps.append(true).unwrap();
    maps.append(false).unwrap();
    has(Arc::new(maps.finish()), false, &[&[("c.k", 2.5)], &[]]);
}

#[test]
fn an_arrow_stream_has_the_rows_of_its_file() {
    let folder = Folder::new();
    let words: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("c", Arc::new(words.clone())),
            targets(3),
            ("x", Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]))),
        ]
    };
    let batch = batch(columns());
    let mut bytes = Vec::new();
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.write(&batch.slice(1, 2)).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let mut expected = read(&folder.arrow(columns()), &asked(None, &[], &[]), None).unwrap();
    expected.extend_from_within(1..);
    let whole = folder.file("a.arrows", &bytes);
    assert_eq!(
        read(&whole, &asked(None, &[], &[]), None).unwrap(),
        expected,
        "recognised by its first bytes"
    );
    for length in (0..bytes.len()).step_by(7) {
        let _ = read(&folder.file("cut.arrow", &bytes[..length]), &asked(None, &[], &[]), None); // rows or an error
    }
    let flipped =
        (0..bytes.len()).step_by(3).map(|at| [&bytes[..at], &[!bytes[at]], &bytes[at + 1..]].concat());
    flipped.for_each(|bytes| drop(read(&folder.file("bad.arrow", bytes), &asked(None, &[], &[]), None)));
}
