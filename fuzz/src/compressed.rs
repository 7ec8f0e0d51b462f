//! Compressed files: any bytes as gzip or zstd are rows or an error.
//!
//! The first byte of an input says what the rest is: a file as it is; a stream behind the head of a gzip file or of a zstd
//! file; or text, which is compressed and cut off, so that each end is reached. Memory is counted per byte of the text.

use super::limits::limited;
use super::{Choices, in_file};
use lazyglm::data::bytes::{Block, ByteSource};
use lazyglm::data::dataset::for_each_block;
use lazyglm::{Error, ReadOptions};
use std::io::Write;
use std::path::Path;

/// Memory for a file of no length: blocks of a megabyte that are read, parsed and kept for the next.
pub(super) const CONSTANT: usize = 8 << 20;
/// Bytes of text after which a file is left: a few bytes can say, correctly, that a byte repeats a billion times.
const TEXT: usize = 4 << 20;
/// Magic bytes, deflate, no flags, no time, unknown system.
const GZIP: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// Magic bytes; no checksum and no size, but a window of 64 KiB.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x30];

/// Any bytes as a compressed file.
pub fn compressed(bytes: &[u8]) {
    let mut choices = Choices::of(bytes);
    let file = match choices.byte() % 5 {
        0 => choices.rest.to_vec(),
        1 => [GZIP, choices.rest].concat(),
        2 => [ZSTD, choices.rest].concat(),
        kind => {
            let cut = choices.number();
            let mut file = if kind == 3 { gzip(choices.rest) } else { zstd(choices.rest) };
            file.truncate(cut);
            file
        }
    };
    in_file(&file, |path| {
        let Some(length) = length(path) else { return };
        let asked = ReadOptions { format: Some("svmlight".into()), ..ReadOptions::default() };
        let mut rows = 0;
        let read = || {
            for_each_block(path, &asked, None, |block| {
                rows += block.rows.len();
                Ok(())
            })
        };
        let _ = limited(length, CONSTANT, read);
        assert!(rows <= length + 1, "a row takes a byte");
    });
}

/// Bytes of the text up to its end or its first error. `None` if there are too many of them.
pub(super) fn length(path: &Path) -> Option<usize> {
    let (mut length, mut block) = (0, Block::default());
    let lines = |bytes: &[u8]| bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let mut read = || -> Result<Option<usize>, Error> {
        let mut source = ByteSource::open(path)?;
        while source.next(&mut block, &lines)? {
            length += block.bytes().len();
            if length > TEXT {
                return Ok(None);
            }
        }
        Ok(Some(length))
    };
    // What an error leaves unread may be as much as one block.
    read().unwrap_or(Some(TEXT))
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).expect("memory")
}
