//! Where bytes come from: a plain, gzip or zstd file, or standard input; handed on in blocks of whole lines.
//!
//! Compression is recognised by the first bytes, not by the name. Data larger than memory, memory maps and
//! read-ahead will live here too: the door is [`for_each_block`], whose callers never see more than a block.
//!
//! ```
//! use std::io::Write;
//! let file = std::env::temp_dir().join("lazyglm-doc-source.svm"); // gzip, whatever the name says
//! let mut gzip = flate2::write::GzEncoder::new(std::fs::File::create(&file).unwrap(), Default::default());
//! gzip.write_all(b"1 1:1\n").unwrap();
//! gzip.finish().unwrap();
//! assert_eq!(lazyglm::source::read_to_string(&file).unwrap(), "1 1:1\n");
//! ```

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

/// How much is read at a time.
const BLOCK: usize = 1 << 20;

/// Calls `see` with block after block of whole lines; the last line may lack its end.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-lines.txt");
/// std::fs::write(&file, "a line\n".repeat(200_000) + "the last").unwrap();
/// let mut lines = 0;
/// let count = |block: &[u8]| Ok(lines += block.split_inclusive(|byte| *byte == b'\n').count());
/// lazyglm::source::for_each_block(&file, count).unwrap();
/// assert_eq!(lines, 200_001, "none was cut in two");
/// ```
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
///
/// ```
/// use lazyglm::source::read_to_string;
/// let file = std::env::temp_dir().join("lazyglm-doc-small.txt");
/// std::fs::write(&file, "0.5\n2\n").unwrap();
/// assert_eq!(read_to_string(&file).unwrap().lines().count(), 2);
/// assert!(read_to_string("no such file".as_ref()).unwrap_err().to_string().contains("check the name"));
/// ```
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
