//! Columns nested without end: an error, where a stack would overflow.

use super::asked;
use super::tables::*;
use super::targets;
use arrow_array::{RecordBatch, new_null_array};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::{DataType, Field, Schema};
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

/// A number as Thrift's compact protocol writes it.
fn varint(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// A Parquet file without rows, written byte by byte: so many groups inside one another, and a number in the last.
fn nested_parquet(groups: u64) -> Vec<u8> {
    let mut footer = vec![0x15, 2, 0x19, 0xfc]; // version 1, then a list of structs
    varint(groups + 1, &mut footer);
    footer.extend([0x48, 1, b'r', 0x15, 2, 0]); // the root: a name, one child
    for _ in 1..groups {
        footer.extend([0x35, 2, 0x18, 1, b'g', 0x15, 2, 0]); // optional, a name, one child
    }
    footer.extend([0x15, 2, 0x25, 2, 0x18, 1, b'y', 0]); // an INT32, optional
    footer.extend([0x16, 0, 0x19, 0x0c, 0]); // no rows, no row groups
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", &footer[..], &length, b"PAR1"].concat()
}

#[test]
fn a_parquet_file_nested_without_end_is_an_error() {
    let folder = Folder::new();
    for groups in [101, 102, 1000, 200_000, 2_000_000] {
        let told =
            opened(&folder.file("a.parquet", nested_parquet(groups)), &asked(Some("r"), &[], &[]), None);
        let told = told.unwrap_err();
        assert!(told.contains("nested more than 100 deep"), "{groups}: {told}");
    }
    let told = opened(&folder.file("a.parquet", nested_parquet(1)), &asked(None, &[], &[]), None);
    assert!(told.is_ok(), "the bytes are a Parquet file: {told:?}");
    let told = opened(&folder.file("a.parquet", nested_parquet(90)), &asked(Some("g"), &[], &[]), None);
    assert!(told.unwrap_err().contains("the target 'g' is Struct"), "not too deep to be looked at");
}

#[test]
fn a_field_of_another_type_than_the_format_has_is_an_error() {
    let folder = Folder::new();
    let good = nested_parquet(1);
    let children = 4 + 4 + 1 + 3; // magic, head of the footer, count, name of the root
    assert_eq!(good[children], 0x15);
    for kind in [1, 3, 4, 6, 8, 12] {
        let mut bytes = good.clone();
        bytes[children] = 0x10 | kind;
        let told = opened(&folder.file("a.parquet", bytes), &asked(None, &[], &[]), None).unwrap_err();
        assert!(told.contains("the list of columns cannot be followed"), "{kind}: {told}");
    }
}

/// A table with a column of lists of lists of …
fn nested(depth: usize) -> RecordBatch {
    let mut column = DataType::Int32;
    for _ in 0..depth {
        column = DataType::List(Arc::new(Field::new("item", column, true)));
    }
    let (name, target) = targets(2);
    let fields =
        vec![Field::new(name, target.data_type().clone(), true), Field::new("deep", column.clone(), true)];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![target, new_null_array(&column, 2)]).unwrap()
}

#[test]
fn an_arrow_file_nested_without_end_is_an_error() {
    // To write such a file takes a deep stack; to refuse it must not.
    for depth in [40, 500] {
        let write = move || {
            let table = nested(depth);
            let bytes = arrow_bytes(&table, IpcWriteOptions::default());
            let parquet = (depth < 100).then(|| parquet_bytes(&table, WriterProperties::default()));
            (bytes, parquet)
        };
        let written = std::thread::Builder::new().stack_size(1 << 26).spawn(write).unwrap().join();
        let (arrow, parquet) = written.unwrap();
        let folder = Folder::new();
        let told = opened(&folder.file("a.arrow", arrow), &asked(None, &["deep"], &[]), None);
        assert_eq!(told.is_ok(), depth == 40, "{told:?}");
        if let Some(bytes) = parquet {
            let told = opened(&folder.file("a.parquet", bytes), &asked(None, &["deep"], &[]), None);
            assert!(
                told.is_ok() || told.as_ref().is_err_and(|told| told.contains("cannot be read")),
                "{told:?}"
            );
        }
    }
}
