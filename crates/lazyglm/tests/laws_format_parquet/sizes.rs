//! Few bytes that stand for many values: read in small batches, or refused before memory is reserved.

use super::tables::*;
use super::{asked, targets};
use arrow_array::builder::{Float32Builder, ListBuilder};
use arrow_array::{ArrayRef, Float64Array, StringArray};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_ipc::{CompressionType, root_as_footer, root_as_message};
use lazyglm::data::dataset::for_each_block;
use lazyglm::util::random::Random;
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

/// An Arrow file of three batches, the first of which has most of the rows, of columns of random numbers and of ones.
fn three_batches(compression: Option<CompressionType>) -> Vec<u8> {
    let mut random = Random::new(1);
    let numbers: Vec<f64> = (0..4000).map(|_| random.below(1 << 40) as f64).collect();
    let ones: ArrayRef = Arc::new(Float64Array::from(vec![1.0; 4000]));
    let columns = vec![targets(4000), ("a", Arc::new(Float64Array::from(numbers)) as ArrayRef)];
    let ones = ["b", "c", "d"].map(|name| (name, ones.clone()));
    let (batch, mut bytes) = (batch(columns.into_iter().chain(ones).collect()), Vec::new());
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer = FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
    for (first, rows) in [(0, 3600), (3600, 200), (3800, 200)] {
        writer.write(&batch.slice(first, rows)).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    bytes
}

/// Puts bytes in the place of others, wherever these are.
fn replaced(mut bytes: Vec<u8>, old: &[u8], new: &[u8]) -> Vec<u8> {
    let places: Vec<usize> =
        (0..=bytes.len() - old.len()).filter(|&at| bytes[at..].starts_with(old)).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at..at + new.len()].copy_from_slice(new));
    bytes
}

#[test]
fn batches_and_compressed_columns_of_an_arrow_file_may_not_lie_on_each_other() {
    let (folder, asked) = (Folder::new(), asked(Some("y"), &[], &[]));
    let read_it = |bytes: &[u8]| read(&folder.file("a.arrow", bytes), &asked, None).map(|rows| rows.len());
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let bytes = three_batches(compression);
        assert_eq!(read_it(&bytes), Ok(4000), "{compression:?}");
        let tail = bytes.len() - 10;
        let size = u32::from_le_bytes(*bytes[tail..].first_chunk().unwrap()) as usize;
        let footer = root_as_footer(&bytes[tail - size..tail]).unwrap();
        let blocks: Vec<[u8; 24]> = footer.recordBatches().unwrap().iter().map(|block| block.0).collect();
        // The first batch three times.
        let same = replaced(replaced(bytes.clone(), &blocks[1], &blocks[0]), &blocks[2], &blocks[0]);
        let said = read_it(&same).unwrap_err();
        assert!(said.contains("its batches say they are larger than the file"), "{compression:?}: {said}");
        // The compressed bytes of the random numbers for each of the other columns of the batch.
        let start = footer.recordBatches().unwrap().get(0).offset() as usize;
        let message = root_as_message(&bytes[start + 8..]).unwrap();
        let described = message.header_as_record_batch().unwrap();
        let buffers: Vec<[u8; 16]> = described.buffers().unwrap().iter().map(|buffer| buffer.0).collect();
        let length = |buffer: &[u8; 16]| i64::from_le_bytes(*buffer.last_chunk().unwrap());
        let largest = *buffers.iter().max_by_key(|buffer| length(buffer)).unwrap();
        let others = buffers.iter().rev().take(6).filter(|buffer| length(buffer) > 0 && **buffer != largest);
        let same = others.fold(bytes.clone(), |bytes, other| replaced(bytes, other, &largest));
        match compression {
            None => {} // it is not copied
            Some(_) => {
                let said = read_it(&same).unwrap_err();
                assert!(said.contains("a column says it is larger than it can be"), "{said}");
            }
        }
    }
}

#[test]
fn a_long_name_of_a_column_is_not_repeated_without_end() {
    let file = |folder: &Folder, long: usize, rows: usize| {
        let name = "n".repeat(long);
        let words: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|k| format!("w{k}"))));
        folder.arrow(vec![targets(rows), (&name, words)])
    };
    let (folder, asked) = (Folder::new(), asked(Some("y"), &[], &[]));
    for (long, rows) in [(100_000, 4), (1_000, 30), (100, 4_000)] {
        assert_eq!(read(&file(&folder, long, rows), &asked, None).map(|rows| rows.len()), Ok(rows), "{long}");
    }
    let said = read(&file(&folder, 100_000, 4_000), &asked, None).unwrap_err();
    assert!(said.contains("features would take many times the size of the data"), "{said}");
}
