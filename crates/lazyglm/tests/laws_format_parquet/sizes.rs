//! Few bytes that stand for many values: read in small batches, or refused before memory is reserved.

use super::tables::*;
use super::{asked, targets};
use arrow_array::builder::{Float32Builder, ListBuilder};
use arrow_array::{ArrayRef, StringArray};
use lazyglm::data::dataset::for_each_block;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

/// Lists of numbers as a Parquet file.
fn file(folder: &Folder, rows: &[Vec<f32>], codec: Compression) -> std::path::PathBuf {
    let mut lists = ListBuilder::new(Float32Builder::new());
    for row in rows {
        lists.values().append_slice(row);
        lists.append(true);
    }
    let columns = vec![targets(rows.len()), ("x", Arc::new(lists.finish()) as ArrayRef)];
    let properties = WriterProperties::builder().set_compression(codec).build();
    folder.file("a.parquet", parquet_bytes(&batch(columns), properties))
}

/// Number of features per row.
fn counts(folder: &Folder, rows: &[Vec<f32>], codec: Compression) -> Result<Vec<usize>, String> {
    let mut counts = Vec::new();
    let read = for_each_block(&file(folder, rows, codec), &asked(Some("y"), &[], &[]), None, |block| {
        let rows = block.rows.borrow();
        for row in 0..rows.len() {
            let mut count = 0;
            rows.for_each(row, |_, _| count += 1);
            counts.push(count);
        }
        Ok(())
    });
    read.map(|_| counts).map_err(|e| e.to_string())
}

#[test]
fn rows_with_a_million_equal_items_are_read_and_longer_ones_need_bytes() {
    let folder = Folder::new();
    let rows = [vec![1.0; 1_000_000], vec![2.0, 0.0], vec![1.0; 1_000_000]];
    assert_eq!(counts(&folder, &rows, Compression::UNCOMPRESSED), Ok(vec![1_000_000, 1, 1_000_000]));
    let equal = [vec![0.0], vec![0.0; 3_000_000]];
    let said = counts(&folder, &equal, Compression::UNCOMPRESSED).unwrap_err();
    assert!(said.contains("a few bytes stand for lists of more than a million equal items"), "{said}");
    assert!(said.contains("a.parquet: the file cannot be read"), "{said}");
    let mut different = vec![0.0; 3_000_000];
    different.iter_mut().step_by(20).zip(1..).for_each(|(x, k)| *x = k as f32);
    assert_eq!(counts(&folder, &[different], Compression::UNCOMPRESSED), Ok(vec![150_000]));
}

#[test]
fn many_rows_of_few_bytes_are_read_in_small_batches() {
    let folder = Folder::new();
    let one = |k: usize| (0..1000).map(|j| f32::from(u8::from(j == k % 1000))).collect();
    let rows: Vec<Vec<f32>> = (0..3000).map(one).collect();
    for codec in [Compression::UNCOMPRESSED, Compression::ZSTD(ZstdLevel::default())] {
        let path = file(&folder, &rows, codec);
        assert!(std::fs::metadata(path).unwrap().len() < 100_000, "3,000,000 items");
        assert!(counts(&folder, &rows, codec) == Ok(vec![1; 3000]));
    }
}

#[test]
fn every_codec_is_read_in_both_versions_of_pages() {
    use parquet::file::properties::WriterVersion::{PARQUET_1_0, PARQUET_2_0};
    let words: ArrayRef = Arc::new(StringArray::from_iter_values((0..5000).map(|k| format!("w{}", k % 700))));
    let columns = vec![targets(5000), ("a", words)];
    let folder = Folder::new();
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ];
    let ways = [
        (PARQUET_1_0, None),
        (PARQUET_2_0, None),
        (PARQUET_1_0, Some(Encoding::DELTA_LENGTH_BYTE_ARRAY)),
        (PARQUET_2_0, Some(Encoding::DELTA_BYTE_ARRAY)),
    ];
    let mut all = Vec::new();
    for codec in codecs {
        for (version, encoding) in ways {
            let mut properties =
                WriterProperties::builder().set_compression(codec).set_writer_version(version);
            properties = properties.set_dictionary_enabled(encoding.is_none());
            if let Some(encoding) = encoding {
                properties = properties.set_column_encoding("a".into(), encoding);
            }
            let bytes = parquet_bytes(&batch(columns.clone()), properties.build());
            let rows = read(&folder.file("a.parquet", bytes), &asked(Some("y"), &[], &[]), None);
            all.push(rows.unwrap_or_else(|said| panic!("{codec}, {version:?}, {encoding:?}: {said}")));
        }
    }
    assert!(all.windows(2).all(|two| two[0] == two[1]) && all[0].len() == 5000);
    assert!(all[0][701].1.contains_key("a=w1"));
}
