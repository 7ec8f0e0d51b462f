//! Reads Arrow files one record batch at a time. Every batch is validated before it is decoded.

use super::batches::{FileResult, Next, Table};
use super::unpack::contains;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, CompressionType, RecordBatch as Described, root_as_footer, root_as_message};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

/// Length in bytes of the file's tail: the length of the footer, then the magic bytes.
const TAIL: u64 = 10;

pub(super) fn open(file: File) -> FileResult<Table> {
    let length = file.metadata().map_err(text)?.len();
    let tail = length.checked_sub(TAIL).ok_or("it is too short")?;
    let last = read(&file, length, tail, TAIL)?;
    let last: [u8; TAIL as usize] = last.try_into().map_err(|_| "it is too short")?;
    let size = read_footer_length(last).map_err(text)? as u64;
    let start = tail.checked_sub(size).ok_or("its footer is longer than the file")?;
    let bytes = read(&file, length, start, size)?;
    let footer = root_as_footer(&bytes).map_err(text)?;
    let described = footer.schema().ok_or("it has no schema")?;
    if !described.endianness().equals_to_target_endianness() {
        return Err("its bytes are in the other order".to_string());
    }
    let schema = Arc::new(try_fb_to_schema(described).map_err(text)?);
    let dictionaries: Vec<Block> = footer.dictionaries().iter().flatten().copied().collect();
    let batches: Vec<Block> = footer.recordBatches().iter().flatten().copied().collect();
    if !are_apart(dictionaries.iter().chain(&batches), length) {
        return Err("its batches say they are larger than the file".to_string());
    }
    let (columns, version) = (schema.clone(), footer.version());
    let read = move |chosen: Vec<usize>, _rows: usize| -> FileResult<Next> {
        let mut decoder = FileDecoder::new(columns, version).with_projection(chosen);
        for block in dictionaries {
            let bytes = message(&file, length, &block)?;
            decoder.read_dictionary(&block, &bytes).map_err(text)?;
        }
        let mut batches = batches.into_iter();
        Ok(Box::new(move || {
            let Some(block) = batches.next() else { return Ok(None) };
            let bytes = message(&file, length, &block)?;
            let batch = decoder.read_record_batch(&block, &bytes).map_err(text)?;
            batch.map(Some).ok_or_else(|| "a record batch is missing".to_string())
        }))
    };
    Ok(Table { schema, read: Box::new(read) })
}

/// The bytes of a message: its metadata, then the columns.
pub(super) fn message(file: &File, length: u64, block: &Block) -> FileResult<Buffer> {
    let part = |size: i64| u64::try_from(size).map_err(|_| "a size is negative".to_string());
    let (start, head) = (part(block.offset())?, part(block.metaDataLength().into())?);
    let size = part(block.bodyLength())?.checked_add(head).ok_or("a size is too large")?;
    let bytes = read(file, length, start, size)?;
    let (head, body) = bytes.split_at_checked(head as usize).ok_or("a message is too short")?;
    let skip = if head.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let said = root_as_message(head.get(skip..).ok_or("a message is too short")?).map_err(text)?;
    let dictionary = said.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    match said.header_as_record_batch().or(dictionary).is_none_or(|batch| fits(&batch, body)) {
        true => Ok(Buffer::from_vec(bytes)),
        false => Err("a column says it is larger than it can be".to_string()),
    }
}

/// Whether messages have no more bytes together than the file, so that none is read over and over.
fn are_apart<'a>(mut blocks: impl Iterator<Item = &'a Block>, length: u64) -> bool {
    let size = |block: &Block| {
        let (head, body) = (u64::try_from(block.metaDataLength()), u64::try_from(block.bodyLength()));
        head.ok()?.checked_add(body.ok()?)
    };
    let sum = blocks.try_fold(0u64, |sum, block| sum.checked_add(size(block)?));
    sum.is_some_and(|sum| sum <= length)
}

/// Whether all columns lie inside the body, compressed ones apart from each other, and none claims to decompress to more than it
/// does.
fn fits(batch: &Described, body: &[u8]) -> bool {
    let is_zstd = batch.compression().map(|compression| compression.codec() == CompressionType::ZSTD);
    let size = |part: &arrow_ipc::Buffer| u64::try_from(part.length()).unwrap_or(u64::MAX);
    let all = batch.buffers().iter().flatten().fold(0, |sum: u64, part| sum.saturating_add(size(part)));
    if is_zstd.is_some() && all > body.len() as u64 {
        return false;
    }
    batch.buffers().iter().flatten().all(|part| {
        let (Ok(start), Ok(size)) = (usize::try_from(part.offset()), usize::try_from(part.length())) else {
            return false;
        };
        let Some(bytes) = start.checked_add(size).and_then(|end| body.get(start..end)) else { return false };
        // A compressed buffer begins with the length of its content. A negative one: it is not compressed.
        let (Some(is_zstd), Some((first, packed))) = (is_zstd, bytes.split_first_chunk()) else {
            return true;
        };
        usize::try_from(i64::from_le_bytes(*first)).map_or(true, |content| contains(is_zstd, packed, content))
    })
}

/// Reads bytes of the file. It never reserves more memory than the file has bytes.
pub(super) fn read(mut file: &File, length: u64, start: u64, size: u64) -> FileResult<Vec<u8>> {
    if start.checked_add(size).is_none_or(|end| end > length) {
        return Err("it is cut short".to_string());
    }
    let mut bytes = vec![0; size as usize];
    file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut bytes)).map_err(text)?;
    Ok(bytes)
}

pub(super) fn text(e: impl std::fmt::Display) -> String {
    e.to_string()
}
