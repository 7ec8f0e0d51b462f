//! Input bytes: reads a plain, gzip or zstd file, or standard input, in blocks of whole records.
//!
//! The first bytes decide the compression, not the file name. Files are read, not memory-mapped. The copy
//! stays in the cache of the core that parses it, needs no `unsafe`, and cannot fault when a file shrinks. At
//! most one block is in memory at a time.
//!
//! ```
//! use std::io::Write;
//! let file = std::env::temp_dir().join("lazyglm-doc-source.svm"); // gzip, whatever the name says
//! let mut gzip = flate2::write::GzEncoder::new(std::fs::File::create(&file).unwrap(), Default::default());
//! gzip.write_all(b"1 1:1\n").unwrap();
//! gzip.finish().unwrap();
//! assert_eq!(lazyglm::data::bytes::read_to_string(&file).unwrap(), "1 1:1\n");
//! ```

mod json_array;
mod spool;

pub(crate) use json_array::is_array;
#[cfg_attr(not(feature = "parquet"), allow(unused_imports))]
pub(crate) use spool::{Spool, saved};

use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use json_array::JsonArray;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of bytes per read.
const BLOCK: usize = 1 << 20;

/// Maximum length of a record in bytes. A longer one means that the file has no line ends.
pub(crate) const LONGEST: usize = 1 << 28;

/// Maximum length of a line of a small file in bytes.
const LONGEST_LINE: usize = LONGEST / 4;

/// The UTF-8 byte order mark, which some editors write before the first line.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A stream of input bytes, decompressed and cut into blocks of whole records.
///
/// ```
/// use lazyglm::data::bytes::{Block, ByteSource};
/// let file = std::env::temp_dir().join("lazyglm-doc-open.txt");
/// std::fs::write(&file, "name\nann\nbob").unwrap();
/// let mut source = ByteSource::open(&file).unwrap();
/// assert_eq!(source.first().unwrap(), b"name\nann\nbob", "a look ahead");
/// source.skip(5); // the header
/// let (mut block, lines) = (Block::default(), |bytes: &[u8]| memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1));
/// assert!(source.next(&mut block, &lines).unwrap());
/// assert_eq!(block.bytes(), b"ann\nbob", "the last record may lack its end");
/// assert!(!source.next(&mut block, &lines).unwrap());
/// ```
pub struct ByteSource {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    carry: Vec<u8>, // read, but not returned yet
    ended: bool,
    longest: usize, // maximum length of a record in bytes
}

/// A reusable buffer for one block of input bytes.
///
/// ```
/// assert!(lazyglm::data::bytes::Block::default().bytes().is_empty());
/// ```
#[derive(Default)]
pub struct Block {
    buffer: Vec<u8>,
    length: usize,
}

impl Block {
    /// The bytes of the block.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// Resizes the buffer to `length` bytes and returns it, for the caller to fill.
    pub(crate) fn resize(&mut self, length: usize) -> &mut [u8] {
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        self.length = length;
        &mut self.buffer[..length]
    }

    fn set(&mut self, bytes: &[u8]) {
        self.resize(bytes.len()).copy_from_slice(bytes);
    }

    /// Reads up to one block from `reader` and appends it to the buffer. Returns the number of bytes read.
    fn read(&mut self, reader: &mut dyn Read) -> io::Result<usize> {
        let room = self.length + BLOCK;
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        let count = read_some(reader, &mut self.buffer[self.length..room])?;
        self.length += count;
        Ok(count)
    }
}

impl ByteSource {
    /// Opens a file, or standard input for `-`.
    ///
    /// ```
    /// let error = lazyglm::data::bytes::ByteSource::open("no such file".as_ref()).err().unwrap();
    /// assert!(error.to_string().contains("check the name"));
    /// ```
    pub fn open(path: &Path) -> Result<ByteSource> {
        ByteSource::open_within(path, LONGEST)
    }

    /// The same, with a maximum length of a record in bytes. Longer records are an error.
    pub(crate) fn open_within(path: &Path, longest: usize) -> Result<ByteSource> {
        let (reader, carry) = (open(path, window_log(longest))?, Vec::new());
        let mut source = ByteSource { path: path.to_path_buf(), reader, carry, ended: false, longest };
        source.first()?;
        if source.carry.starts_with(BYTE_ORDER_MARK) {
            source.skip(BYTE_ORDER_MARK.len());
        }
        Ok(source)
    }

    /// Reads a JSON array of objects as JSON Lines, from its first byte.
    pub(crate) fn read_json_array(&mut self) -> Result<()> {
        let first = Cursor::new(std::mem::take(&mut self.carry));
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        (self.reader, self.ended) = (Box::new(JsonArray::new(first.chain(rest))), false);
        self.peek_more()
    }

    /// Peeks at the next bytes without consuming them: about a megabyte, or more if the first record is
    /// longer.
    ///
    /// The bytes are whole lines, unless one line is longer than that.
    pub fn first(&mut self) -> Result<&[u8]> {
        if self.carry.is_empty() && !self.ended {
            self.peek_more()?;
        }
        let lines = if self.ended { None } else { memchr::memrchr(b'\n', &self.carry) };
        Ok(&self.carry[..lines.map_or(self.carry.len(), |at| at + 1)])
    }

    /// Whether [`ByteSource::first`] shows all the remaining bytes.
    pub(crate) fn peeked_all(&self) -> bool {
        self.ended
    }

    /// Number of bytes that were read but not consumed.
    pub(crate) fn buffered(&self) -> usize {
        self.carry.len()
    }

    /// Doubles the number of bytes that [`ByteSource::first`] shows.
    pub(crate) fn peek_more(&mut self) -> Result<()> {
        let (known, more) = (self.carry.len(), self.carry.len().max(BLOCK));
        self.carry.resize(known + more, 0);
        let count = read_some(&mut *self.reader, &mut self.carry[known..]);
        let count = count.map_err(|e| cannot_read(&self.path, e))?;
        self.carry.truncate(known + count);
        self.ended = count < more;
        Ok(())
    }

    /// The error for a record that starts on this line and exceeds the maximum length.
    pub(crate) fn too_long(&self, line: u64) -> Error {
        too_long(&self.path, line, self.longest)
    }

    /// Consumes bytes that [`ByteSource::first`] has shown.
    pub fn skip(&mut self, bytes: usize) {
        self.carry.drain(..bytes.min(self.carry.len()));
    }

    /// Reads the next whole records into `block` and returns false at the end of the input.
    ///
    /// `whole` returns how many of the given bytes form whole records.
    pub fn next(&mut self, block: &mut Block, whole: &dyn Fn(&[u8]) -> usize) -> Result<bool> {
        block.set(&self.carry);
        self.carry.clear();
        let mut ask_at = 0; // doubling the threshold avoids scanning the same bytes once per megabyte
        while !self.ended {
            let count = block.read(&mut *self.reader).map_err(|e| cannot_read(&self.path, e))?;
            self.ended = count < BLOCK;
            let full = block.length > self.longest;
            let ask = full || !self.ended && block.length >= ask_at;
            let end = if ask { whole(block.bytes()) } else { 0 };
            ask_at = if ask { 2 * block.length } else { ask_at };
            if end > 0 && self.ended {
                break; // the last records, all of them
            }
            if end > 0 {
                self.carry.extend_from_slice(&block.bytes()[end..]);
                block.length = end;
                break;
            }
            if full {
                return Err(self.too_long(1)); // line numbers are relative to the block
            }
        }
        Ok(block.length > 0)
    }
}

/// Whether a source can be read only once: standard input, or a named pipe.
///
/// ```
/// use lazyglm::data::bytes::is_stream;
/// assert!(is_stream("-".as_ref()) && !is_stream("no such file".as_ref()));
/// ```
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-" || std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Calls `see` with each block of whole lines. The last line may lack its line end.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-lines.txt");
/// std::fs::write(&file, "a line\n".repeat(200_000) + "the last").unwrap();
/// let mut lines = 0;
/// let count = |block: &[u8]| Ok(lines += block.split_inclusive(|byte| *byte == b'\n').count());
/// lazyglm::data::bytes::for_each_block(&file, count).unwrap();
/// assert_eq!(lines, 200_001, "none was cut in two");
/// ```
pub fn for_each_block(path: &Path, mut see: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let (mut source, mut block) = (ByteSource::open(path)?, Block::default());
    while source.next(&mut block, &|bytes| memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1))? {
        see(block.bytes())?;
    }
    Ok(())
}

/// Reads a whole file as text, for small files such as a file of weights.
///
/// ```
/// use lazyglm::data::bytes::read_to_string;
/// let file = std::env::temp_dir().join("lazyglm-doc-small.txt");
/// std::fs::write(&file, "0.5\n2\n").unwrap();
/// assert_eq!(read_to_string(&file).unwrap().lines().count(), 2);
/// assert!(read_to_string("no such file".as_ref()).unwrap_err().to_string().contains("check the name"));
/// ```
pub fn read_to_string(path: &Path) -> Result<String> {
    const CHUNK: usize = 1 << 14;
    let mut reader = open(path, window_log(LONGEST))?;
    let (mut text, mut line) = (Vec::new(), 0); // where the last line begins
    loop {
        let known = text.len();
        let some = (&mut reader).take(CHUNK as u64).read_to_end(&mut text);
        let count = some.map_err(|e| cannot_read(path, e))?;
        line = memchr::memrchr(b'\n', &text[known..]).map_or(line, |end| known + end + 1);
        if text.len() - line > LONGEST_LINE {
            // A file without line ends, such as a device, may have no end either.
            let number = 1 + memchr::memchr_iter(b'\n', &text).count() as u64;
            return Err(too_long(path, number, LONGEST_LINE));
        }
        if count < CHUNK {
            break;
        }
    }
    String::from_utf8(text).map_err(|e| cannot_read(path, io::Error::new(io::ErrorKind::InvalidData, e)))
}

/// The error for a record that starts on this line and exceeds so many bytes.
#[cold]
fn too_long(path: &Path, line: u64, longest: usize) -> Error {
    let megabytes = longest as f64 / f64::from(1 << 20);
    let what = format!("the record that begins here does not end within {megabytes:.1} MB");
    let mut hint = "write one row per line, and close every quote".to_string();
    if ![LONGEST, LONGEST_LINE].contains(&longest) {
        hint += &format!("; if the record is right, raise {}", Parameter::Memory);
    }
    Error::data(Place::file(path).line(line), what, hint)
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

/// The largest window of zstd files, as a power of two. A window is the part of the text that later bytes may repeat; memory is
/// reserved for all of it, and used as far as there is text.
///
/// ```text
/// 2^27 (128 MiB)    what the zstd tool writes at most without being asked, and reads: levels up to 22, and --long
/// 2^23 (8 MiB)      what levels up to 19 write, and every reader should take (RFC 8878)
/// ```
///
/// With a limit of memory, of which a record takes less than a fortieth, a window takes less than a tenth, but 8 MiB at least.
fn window_log(longest: usize) -> u32 {
    longest.saturating_mul(4).ilog2().clamp(23, 27)
}

fn zstd_decoder(from: impl Read + Send + 'static, window_log: u32) -> io::Result<Box<dyn Read + Send>> {
    let mut decoder = zstd::Decoder::new(from)?;
    decoder.window_log_max(window_log)?;
    Ok(Box::new(decoder))
}

fn open(path: &Path, window_log: u32) -> Result<Box<dyn Read + Send>> {
    let mut raw: Box<dyn Read + Send> = if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        let file = File::open(path).map_err(|e| {
            Error::io(path, e, "check the name and that you may read it ('-' is standard input)")
        })?;
        Box::new(file)
    };
    raw = Box::new(Counted(raw));
    let mut magic = [0; 4];
    let count = read_some(&mut raw, &mut magic).map_err(|e| cannot_read(path, e))?;
    let whole = Cursor::new(magic[..count].to_vec()).chain(raw);
    Ok(match &magic[..count] {
        [0x1f, 0x8b, ..] => {
            Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BLOCK, whole)))
        }
        [0x28, 0xb5, 0x2f, 0xfd] => zstd_decoder(whole, window_log).map_err(|e| cannot_read(path, e))?,
        _ => Box::new(whole),
    })
}

static BYTES_READ: AtomicU64 = AtomicU64::new(0);

/// Number of input bytes that this process has read, as they are stored: compressed, if a file is. For progress bars.
///
/// ```
/// let file = std::env::temp_dir().join("lazyglm-doc-counted.txt");
/// std::fs::write(&file, "0123456789").unwrap();
/// let before = lazyglm::data::bytes::bytes_read();
/// lazyglm::data::bytes::read_to_string(&file).unwrap();
/// assert!(lazyglm::data::bytes::bytes_read() >= before + 10);
/// ```
pub fn bytes_read() -> u64 {
    BYTES_READ.load(Ordering::Relaxed)
}

/// A reader whose bytes are counted.
struct Counted<R>(R);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        BYTES_READ.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

fn cannot_read(path: &Path, e: io::Error) -> Error {
    let hint = match e.kind() {
        _ if e.to_string().contains("too much memory") => {
            let window =
                "its window of zstd is too large: unpack it, or compress it again with a window of 8 MB";
            return Error::io(path, e, format!("{window}; {} also limits windows", Parameter::Memory));
        }
        io::ErrorKind::UnexpectedEof => "the compressed file is cut short: fetch or compress it again",
        io::ErrorKind::IsADirectory => "name a file in it",
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
            "the file is damaged, or it is not a text file: check that it is the right one"
        }
        _ => "check the file and the disk",
    };
    Error::io(path, e, hint)
}

#[cfg(test)]
mod tests;
