//! Random tables, written in any of many ways, and damage to files.

use super::{arrow_bytes, batch, lists, parquet_bytes};
use arrow_array::types::Int32Type;
use arrow_array::{BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::IpcWriteOptions;
use lazyglm::util::random::Random;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::sync::Arc;

/// The same table in columns and in JSON lines.
pub fn draw(random: &mut Random) -> (RecordBatch, String) {
    let count = random.below(30) as usize;
    let labelled = random.below(count as u64 + 5) as usize;
    let mut pick = |of: &[&'static str]| of[random.below(of.len() as u64) as usize];
    let words = ["w", "", "a/b", "\"quote\"", "é\n", "{[,:]}", "1", "a\tb"];
    let rows: Vec<[Option<&str>; 3]> = (0..count)
        .map(|_| {
            let mut word = || Some(pick(&words)).filter(|word| *word != "w");
            [word(), word(), word()]
        })
        .collect();
    let mut number = || (random.below(3) > 0).then(|| random.below(64) as f64 / 8.0 - 4.0);
    let numbers: Vec<[Option<f64>; 4]> =
        (0..count).map(|_| [number(), number(), number(), number()]).collect();
    let items = |row: &[Option<&'static str>; 3]| row[2].map(|_| row.to_vec());
    let whole = |x: Option<f64>| x.map(|x| x as i64);
    let yes = |x: Option<f64>| x.map(|x| x > 0.0);
    let target = |i: usize| (i < labelled).then(|| numbers[i][0].unwrap_or(2.0));
    let mut text = String::new();
    for (i, ([a, b, c, d], row)) in numbers.iter().zip(&rows).enumerate() {
        let items: Option<Vec<&str>> = items(row).map(|items| items.into_iter().flatten().collect());
        let line = serde_json::json!({
            "y": target(i), "x": a, "whole": whole(*b), "yes": yes(*c), "code": d, "count": whole(*d),
            "word": row[0], "coded": row[1], "items": items,
        });
        text += &format!("{line}\n");
    }
    let column = |k: usize| numbers.iter().map(move |row| row[k]);
    let batch = batch(vec![
        ("x", Arc::new(column(0).collect::<Float64Array>())),
        ("y", Arc::new((0..count).map(target).collect::<Float64Array>())),
        ("whole", Arc::new(column(1).map(whole).collect::<Int64Array>())),
        ("yes", Arc::new(column(2).map(yes).collect::<BooleanArray>())),
        ("code", Arc::new(column(3).collect::<Float64Array>())),
        ("count", Arc::new(column(3).map(whole).collect::<Int64Array>())),
        ("word", Arc::new(rows.iter().map(|row| row[0]).collect::<StringArray>())),
        ("coded", Arc::new(rows.iter().map(|row| row[1]).collect::<DictionaryArray<Int32Type>>())),
        ("items", lists(&rows.iter().map(items).collect::<Vec<_>>())),
    ]);
    (batch, text)
}

/// Ways to write Parquet.
fn ways(k: u64) -> WriterProperties {
    let start =
        WriterProperties::builder().set_max_row_group_row_count(Some(7)).set_data_page_row_count_limit(3);
    let start = start.set_write_batch_size(2);
    match k {
        0 => start.build(),
        1 => start.set_compression(Compression::SNAPPY).set_dictionary_enabled(false).build(),
        2 => start.set_compression(Compression::ZSTD(Default::default())).build(),
        3 => start.set_compression(Compression::GZIP(Default::default())).build(),
        4 => {
            start.set_compression(Compression::LZ4_RAW).set_writer_version(WriterVersion::PARQUET_2_0).build()
        }
        k => {
            let delta = [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY][k as usize % 2];
            let version = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0][k as usize / 2 % 2];
            let start = start.set_dictionary_enabled(false).set_writer_version(version);
            ["word", "coded"]
                .iter()
                .fold(start, |start, name| start.set_column_encoding((*name).into(), delta))
                .build()
        }
    }
}

/// Any of the ways to write a table.
pub fn written(batch: &RecordBatch, k: u64) -> Vec<u8> {
    let packed = |kind| IpcWriteOptions::default().try_with_compression(kind).unwrap();
    match k {
        9 => arrow_bytes(batch, packed(None)),
        10 => arrow_bytes(batch, packed(Some(CompressionType::LZ4_FRAME))),
        11 => arrow_bytes(batch, packed(Some(CompressionType::ZSTD))),
        k => parquet_bytes(batch, ways(k)),
    }
}

pub const WAYS: u64 = 12;

/// A file with some bytes changed, or cut, or moved.
pub fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    let length = bytes.len() as u64;
    let near_end = random.below(2) == 0; // where the footer is, which says what all the rest means
    let place = |random: &mut Random| match near_end {
        true => length - 1 - random.below(length.min(length / 3 + 64)),
        false => random.below(length),
    };
    match random.below(10) {
        0 => bytes.truncate(place(random) as usize),
        1 => {
            let (start, end) = (place(random) as usize, place(random) as usize);
            bytes.drain(start.min(end)..start.max(end));
        }
        2 => {
            let (from, to) = (place(random) as usize, place(random) as usize);
            let some = bytes[from..].iter().copied().take(random.below(40) as usize).collect::<Vec<u8>>();
            bytes.splice(to..(to + some.len()).min(bytes.len()), some);
        }
        3 => {
            let head = bytes[..6].to_vec();
            *bytes = (0..random.below(300)).map(|_| random.below(256) as u8).collect();
            bytes.splice(0..0, head.clone());
            bytes.extend([40, 0, 0, 0].iter().chain(&head));
        }
        4 => (0..=random.below(3)).for_each(|_| bytes[place(random) as usize] = 0xff),
        kind => (0..=random.below(4)).for_each(|_| {
            let at = place(random) as usize;
            bytes[at] = if kind < 7 { bytes[at] ^ (1 << random.below(8)) } else { random.below(256) as u8 };
        }),
    }
}
