//! Reads Arrow streams: messages one after the other, without a footer. Every batch is validated before it is decoded.
//!
//! ```text
//! stream  = message(schema), message(dictionary | batch)*, [end]
//! message = 0xffffffff, length of the metadata, metadata, body
//! ```

use super::arrow_file::{message, read, text};
use super::batches::{FileResult, Next, Table};
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, MessageHeader, root_as_message};
use std::fs::File;
use std::sync::Arc;

/// Length in bytes of the mark before each message, and of the length of its metadata.
const HEAD: u64 = 8;

pub(super) fn open(file: File) -> FileResult<Table> {
    let length = file.metadata().map_err(text)?.len();
    let (mut at, mut parts, mut schema) = (0, Vec::new(), None);
    while let Some((block, bytes)) = next(&file, length, at)? {
        let said = root_as_message(&bytes).map_err(text)?;
        let body = u64::try_from(said.bodyLength()).map_err(|_| "a size is negative")?;
        let size = u64::try_from(block.metaDataLength()).map_err(text)?;
        at = at.checked_add(size).and_then(|end| end.checked_add(body)).ok_or("a size is too large")?;
        let block = Block::new(block.offset(), block.metaDataLength(), said.bodyLength());
        match (said.header_type(), &schema) {
            (MessageHeader::Schema, None) => {
                let described = said.header_as_schema().ok_or("it has no schema")?;
                if !described.endianness().equals_to_target_endianness() {
                    return Err("its bytes are in the other order".to_string());
                }
                schema = Some((Arc::new(try_fb_to_schema(described).map_err(text)?), said.version()));
            }
            (MessageHeader::DictionaryBatch, Some(_)) => parts.push((true, block)),
            (MessageHeader::RecordBatch, Some(_)) => parts.push((false, block)),
            _ => return Err("a message is none of schema, dictionary and batch".to_string()),
        }
    }
    let (schema, version) = schema.ok_or("it has no schema")?;
    let columns = schema.clone();
    let read = move |chosen: Vec<usize>, _rows: usize| -> FileResult<Next> {
        let mut decoder = FileDecoder::new(columns, version).with_projection(chosen);
        let mut parts = parts.into_iter();
        Ok(Box::new(move || {
            for (is_dictionary, block) in parts.by_ref() {
                let bytes = message(&file, length, &block)?;
                if is_dictionary {
                    decoder.read_dictionary(&block, &bytes).map_err(text)?;
                    continue;
                }
                let batch = decoder.read_record_batch(&block, &bytes).map_err(text)?;
                return batch.map(Some).ok_or_else(|| "a record batch is missing".to_string());
            }
            Ok(None)
        }))
    };
    Ok(Table { schema, read: Box::new(read) })
}

/// The place of the message that starts at this byte, and its metadata. `None` at the end of the stream.
fn next(file: &File, length: u64, at: u64) -> FileResult<Option<(Block, Vec<u8>)>> {
    if at == length {
        return Ok(None);
    }
    let head = read(file, length, at, HEAD)?;
    let (mark, size) = head.split_at(4);
    if mark != [0xff; 4] {
        return Err("a message does not begin with its mark".to_string());
    }
    let size = u32::from_le_bytes(size.try_into().map_err(text)?);
    if size == 0 {
        return Ok(None);
    }
    let bytes = read(file, length, at + HEAD, u64::from(size))?;
    let metadata = i32::try_from(u64::from(size) + HEAD).map_err(text)?;
    Ok(Some((Block::new(i64::try_from(at).map_err(text)?, metadata, 0), bytes)))
}
