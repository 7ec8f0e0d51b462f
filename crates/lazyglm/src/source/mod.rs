//! Where bytes come from: a plain, gzip or zstd file, or standard input; handed on in blocks of whole lines.
//!
//! Compression is recognised by the first bytes, not by the name. Data larger than memory, memory maps and
//! read-ahead will live here too: the door is [`for_each_block`], whose callers never see more than a block.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

/// How much is read at a time.
const BLOCK: usize = 1 << 20;

/// Calls `see` with block after block of whole lines; the last line may lack its end.
pub fn for_each_block(path: &Path, mut see: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut reader = open(path)?;
    let mut block = Vec::with_capacity(2 * BLOCK);
    loop {
        let start = block.len();
        block.resize(start + BLOCK, 0);
        let count = read_some(&mut reader, &mut block[start..]).map_err(|e| cannot_read(path, e))?;
        block.truncate(start + count);
        if count == 0 {
            return if block.is_empty() { Ok(()) } else { see(&block) };
        }
        if let Some(end) = block[start..].iter().rposition(|&b| b == b'\n') {
            let whole = start + end + 1;
            see(&block[..whole])?;
            block.drain(..whole);
        }
    }
}

/// Everything, when it is small: a file of weights, say.
pub fn read_to_string(path: &Path) -> Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text).map_err(|e| cannot_read(path, e))?;
    Ok(text)
}

fn read_some(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match reader.read(&mut buffer[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(count)
}

fn open(path: &Path) -> Result<Box<dyn Read>> {
    let mut raw: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(path).map_err(|e| {
            Error::io(path, e, "check the name and that you may read it ('-' is standard input)")
        })?;
        Box::new(file)
    };
    let mut magic = [0; 4];
    let count = read_some(&mut raw, &mut magic).map_err(|e| cannot_read(path, e))?;
    let whole = Cursor::new(magic[..count].to_vec()).chain(raw);
    Ok(match &magic[..count] {
        [0x1f, 0x8b, ..] => {
            Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BLOCK, whole)))
        }
        [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstd::Decoder::new(whole).map_err(|e| cannot_read(path, e))?),
        _ => Box::new(whole),
    })
}

fn cannot_read(path: &Path, e: io::Error) -> Error {
    let hint = match e.kind() {
        io::ErrorKind::UnexpectedEof => "the compressed file is cut short: fetch or compress it again",
        io::ErrorKind::IsADirectory => "name a file in it",
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
            "the file is damaged or no text: fetch or write it again"
        }
        _ => "check the file and the disk",
    };
    Error::io(path, e, hint)
}
