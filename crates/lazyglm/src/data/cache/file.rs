//! The file format of the cache.
//!
//! ```text
//! "lazyglm cache 4\n"
//! fragment, fragment, …                       see fragment.rs
//! names      where each ends, then the text   the vocabulary, if features have names
//! order      ids, four bytes each             what 0, 1, … in the fragments stand for, if features are renumbered
//! index      of each fragment: start, length, rows, non-zeros, XXH3-64 of its bytes
//! meta       JSON: what the source was, how it was read, what is in it
//! start of names, of order, of index and of meta · XXH3-64 of all from names on · "lazyglm cache 4\n"
//! ```
//!
//! All numbers are little-endian. Numbers take eight bytes, except in the order. Opening a cache reads and
//! checks its end. Reading a fragment checks that fragment.

mod whole;

use super::fragment::{self, Scratch};
use super::stamp::Stamp;
use crate::data::bytes::Block;
use crate::data::feature_ids::FeatureIds;
use crate::data::format::{DirtyCells, Parsed, ReadOptions, Span};
use crate::data::read_config::ReadConfig;
use crate::data::vocabulary::Vocabulary;
use crate::util::error::{Error, Place, Result};
use crate::util::parameter::Parameter;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// Magic bytes at both ends of the file.
const MAGIC: &[u8; 16] = b"lazyglm cache 4\n";
/// Length of the footer in bytes: four start offsets, a checksum and the magic bytes.
const FOOT: usize = 5 * 8 + 16;
/// Approximate number of non-zeros per fragment. Fragments are small, so that a few hundred random ones are a
/// fair sample.
const FRAGMENT: usize = 1 << 15;

/// Metadata of the cached data: the source, how the source was read, and totals over all rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Meta {
    pub source: Option<Stamp>,
    pub asked: ReadOptions,
    pub reading: ReadConfig,
    pub rows: usize,
    pub nonzeros: usize,
    #[serde(rename = "single")]
    pub exact_in_f32: bool, // whether all values are
    pub weighted: bool,
    pub offsets: bool, // whether rows have offsets
    pub with_query: usize,
    pub dirty: Vec<DirtyCells>, // cells of number columns that hold a word
    pub unlabelled: Option<usize>,
    pub span: Option<Span>,
    pub words: Vec<String>, // the target words
    pub shared: Vec<u32>,   // buckets that more than one name was hashed into
}

impl Meta {
    /// Whether the metadata are consistent with these fragments.
    fn fits(&self, parts: &[FragmentEntry]) -> bool {
        let (rows, nonzeros) =
            parts.iter().fold((0, 0), |sum, part| (sum.0 + part.rows, sum.1 + part.nonzeros));
        let rising = self.span.is_none_or(|span| span.low.index <= span.high.index);
        let unlabelled = self.unlabelled.is_none_or(|row| row < rows);
        (self.rows, self.nonzeros) == (rows, nonzeros) && self.with_query <= rows && rising && unlabelled
    }
}

/// Position and size of one fragment in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FragmentEntry {
    start: u64,
    length: u64,
    pub rows: usize,
    pub nonzeros: usize,
    check: u64,
}

/// Writes a cache block by block.
pub(crate) struct CacheWriter<'a> {
    to: &'a mut dyn Write,
    at: u64,
    parts: Vec<FragmentEntry>,
    words: Vocabulary,
    meta: Meta,
}

impl<'a> CacheWriter<'a> {
    pub fn new(
        to: &'a mut dyn Write,
        source: Option<Stamp>,
        asked: ReadOptions,
        reading: ReadConfig,
    ) -> io::Result<CacheWriter<'a>> {
        to.write_all(MAGIC)?;
        let meta = Meta { source, asked, reading, exact_in_f32: true, ..Meta::default() };
        Ok(CacheWriter { to, at: MAGIC.len() as u64, parts: Vec::new(), words: Vocabulary::default(), meta })
    }

    /// Appends a block whose ids are already global to the file.
    pub fn push(&mut self, block: &Parsed) -> io::Result<()> {
        let meta = &mut self.meta;
        meta.unlabelled = meta.unlabelled.or(block.unlabelled.map(|row| meta.rows + row));
        meta.with_query += block.with_query;
        DirtyCells::join(&mut meta.dirty, &block.dirty);
        meta.weighted |= !block.weights.is_empty();
        meta.offsets |= !block.offsets.is_empty();
        meta.exact_in_f32 &= block.rows.is_f32();
        meta.span = Span::of_both(meta.span, block.span);
        meta.rows += block.rows.len();
        meta.nonzeros += block.rows.nonzeros();
        let mut start = 0;
        while start < block.rows.len() {
            let (end, nonzeros) = block.rows.span_of(start, FRAGMENT);
            let bytes = fragment::encode(block, start..end, &mut self.words);
            let (length, check) = (bytes.len() as u64, XxHash3_64::oneshot(&bytes));
            self.parts.push(FragmentEntry { start: self.at, length, rows: end - start, nonzeros, check });
            self.to.write_all(&bytes)?;
            self.at += length;
            start = end;
        }
        Ok(())
    }

    /// Tampers with the metadata and the index, for tests of damaged caches.
    #[cfg(test)]
    pub fn forge(&mut self, tamper: impl FnOnce(&mut Meta, &mut Vec<FragmentEntry>)) {
        tamper(&mut self.meta, &mut self.parts);
    }

    /// Writes the names, the order, the index and the footer. With an `order`, ids are positions in that
    /// order.
    pub fn finish(mut self, feature_ids: &FeatureIds, order: &[u32]) -> io::Result<()> {
        self.meta.words = self.words.iter().map(str::to_string).collect();
        let mut end: Vec<u8> = Vec::new();
        let number = |end: &mut Vec<u8>, number: u64| end.extend(number.to_le_bytes());
        match feature_ids {
            FeatureIds::Indices => {}
            FeatureIds::Buckets(buckets) => self.meta.shared = buckets.shared(),
            FeatureIds::Words(words) => {
                number(&mut end, words.len() as u64);
                let mut at = 0;
                for name in words.iter() {
                    at += name.len() as u64;
                    number(&mut end, at);
                }
                words.iter().for_each(|name| end.extend(name.as_bytes()));
            }
        }
        let start_of_order = end.len() as u64;
        order.iter().for_each(|id| end.extend(id.to_le_bytes()));
        let index = end.len() as u64;
        for part in &self.parts {
            let FragmentEntry { start, length, rows, nonzeros, check } = *part;
            [start, length, rows as u64, nonzeros as u64, check].iter().for_each(|&n| number(&mut end, n));
        }
        let meta = end.len() as u64;
        end.extend(serde_json::to_vec(&self.meta)?);
        let check = XxHash3_64::oneshot(&end);
        let starts = [0, start_of_order, index, meta].map(|start| self.at + start);
        starts.iter().chain([&check]).for_each(|&n| number(&mut end, n));
        self.to.write_all(&end)?;
        self.to.write_all(MAGIC)
    }
}

/// An open cache file.
pub(crate) struct Cache {
    pub meta: Meta,
    pub parts: Vec<FragmentEntry>,
    pub feature_ids: FeatureIds,
    /// If features are renumbered by frequency: the original id of each new id.
    pub order: Option<Vec<u32>>,
    words: Vocabulary,
    file: File,
    path: PathBuf,
}

impl Cache {
    /// The checksum of each fragment, in the order of the file.
    pub fn checksums(&self) -> impl Iterator<Item = u64> + '_ {
        self.parts.iter().map(|part| part.check)
    }

    /// Whether a regular file starts with the magic bytes of any cache version. Pipes are not examined,
    /// because bytes read from a pipe are lost.
    pub fn is_one(path: &Path) -> bool {
        let mut head = [0; 14];
        std::fs::metadata(path).is_ok_and(|found| found.is_file())
            && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
            && &head == b"lazyglm cache "
    }

    /// Opens a cache by reading its footer only. The error states which rule the file breaks.
    pub fn open(path: &Path) -> Result<Cache> {
        let file = File::open(path).map_err(|e| Error::io(path, e, "check the name of the cache"))?;
        Cache::of(file, path)
    }

    /// Opens a cache from a file handle. Error messages use `path` as the name.
    pub fn of(mut file: File, path: &Path) -> Result<Cache> {
        let length = file.metadata().map_err(|e| unreadable(path, e))?.len();
        let mut read = |start: u64, end: u64| {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(start))?;
            Read::by_ref(&mut file).take(end - start).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let head = read(0, 16.min(length)).map_err(|e| unreadable(path, e))?;
        if !head.starts_with(b"lazyglm cache ") {
            return Err(damaged(path, "it is not a cache of lazyglm"));
        }
        if head != MAGIC {
            return Err(damaged(path, "it is a cache of another version of lazyglm"));
        }
        let foot_start = length.checked_sub(FOOT as u64).filter(|&start| start >= 16);
        let foot_start = foot_start.ok_or_else(|| damaged(path, "it is cut short"))?;
        let foot = read(foot_start, length).map_err(|e| unreadable(path, e))?;
        if foot.len() != FOOT || !foot.ends_with(MAGIC) {
            return Err(damaged(path, "it is cut short"));
        }
        let number = |k: usize| foot[8 * k..8 * k + 8].try_into().map_or(0, u64::from_le_bytes);
        let [names, order, index, meta] = [0, 1, 2, 3].map(number);
        if ![16, names, order, index, meta, foot_start].is_sorted() {
            return Err(damaged(path, "its parts do not fit together"));
        }
        let end = read(names, foot_start).map_err(|e| unreadable(path, e))?;
        if end.len() as u64 != foot_start - names || XxHash3_64::oneshot(&end) != number(4) {
            return Err(damaged(path, "its checksum does not fit"));
        }
        let [order, index, meta] = [order, index, meta].map(|start| (start - names) as usize);
        let broken = || damaged(path, "its parts do not fit together");
        let parts = parts(&end[index..meta], names).ok_or_else(broken)?;
        let meta: Meta = serde_json::from_slice(&end[meta..]).map_err(|_| broken())?;
        let feature_ids = feature_ids(&end[..order], &meta).ok_or_else(broken)?;
        let order = order_of(&end[order..index], &feature_ids, &meta).ok_or_else(broken)?;
        let words: Vocabulary = meta.words.iter().map(String::as_str).collect();
        if !meta.fits(&parts) || words.len() != meta.words.len() {
            return Err(broken());
        }
        Ok(Cache { meta, parts, feature_ids, order, words, file, path: path.to_path_buf() })
    }

    /// The file system metadata of the open file.
    pub fn metadata(&self) -> Option<std::fs::Metadata> {
        self.file.metadata().ok()
    }

    /// Reads the bytes of one fragment.
    pub fn read(&self, part: usize, into: &mut Block) -> Result<()> {
        let FragmentEntry { start, length, .. } = self.parts[part];
        read_exact_at(&self.file, into.resize(length as usize), start).map_err(|e| unreadable(&self.path, e))
    }

    /// Verifies the checksum of a fragment and decodes its rows.
    pub fn decode(&self, part: usize, bytes: &[u8], block: &mut Parsed, scratch: &mut Scratch) -> Result<()> {
        let FragmentEntry { rows, nonzeros, check, .. } = self.parts[part];
        let decoded = fragment::decode(checked(bytes, check, &self.path)?, &self.words, block, scratch);
        let fits = block.rows.len() == rows && block.rows.nonzeros() == nonzeros && self.admits(block);
        decoded.filter(|()| fits).ok_or_else(|| broken_fragment(&self.path))
    }

    /// Whether a decoded fragment agrees with the metadata and the index.
    ///
    /// A checksum detects damage but not malice, and other code indexes arrays by these ids.
    fn admits(&self, block: &Parsed) -> bool {
        block.rows.ids_are_in(self.known_ids())
            && (block.rows.is_f32() || !self.meta.exact_in_f32)
            && self.admits_besides_rows(block, block.rows.len())
    }

    /// The range of valid ids.
    fn known_ids(&self) -> Range<usize> {
        match &self.order {
            Some(order) => 0..order.len(),
            None => ids(&self.feature_ids, &self.meta),
        }
    }

    fn admits_besides_rows(&self, block: &Parsed, rows: usize) -> bool {
        let meta = &self.meta;
        (block.labels.len() == rows || meta.unlabelled.is_some())
            && (block.weights.is_empty() || meta.weighted)
            && (block.offsets.is_empty() || meta.offsets)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

#[cfg(not(unix))]
fn read_exact_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(bytes)
}

/// Parses the index. Fragments must be contiguous from the header to the names.
fn parts(bytes: &[u8], names: u64) -> Option<Vec<FragmentEntry>> {
    let mut at = MAGIC.len() as u64;
    let mut parts = Vec::new();
    for entry in bytes.chunks(40) {
        let mut numbers = entry.chunks_exact(8).map(|eight| eight.try_into().map_or(0, u64::from_le_bytes));
        let mut next = || numbers.next();
        let (start, length) = (next()?, next()?);
        let (rows, nonzeros): (usize, usize) = (next()?.try_into().ok()?, next()?.try_into().ok()?);
        let check = next()?;
        // A row and a non-zero take at least one byte each, so no sum of these counts can exceed the file
        // size.
        if start != at || length > names || rows as u64 > length || nonzeros as u64 > length {
            return None;
        }
        at = start.checked_add(length)?;
        parts.push(FragmentEntry { start, length, rows, nonzeros, check });
    }
    (at == names).then_some(parts)
}

/// The range of valid ids. Indices as written lie within the span.
fn ids(feature_ids: &FeatureIds, meta: &Meta) -> Range<usize> {
    match feature_ids {
        FeatureIds::Indices => {
            meta.span.map_or(0..0, |span| span.low.index as usize..span.high.index as usize + 1)
        }
        FeatureIds::Words(words) => 0..words.len(),
        FeatureIds::Buckets(buckets) => 0..1 << buckets.bits(),
    }
}

/// Parses the order of renumbered features, if there is one. Every entry must be a valid id and occur once.
fn order_of(bytes: &[u8], feature_ids: &FeatureIds, meta: &Meta) -> Option<Option<Vec<u32>>> {
    let (fours, rest) = bytes.as_chunks::<4>();
    let order: Vec<u32> = fours.iter().map(|four| u32::from_le_bytes(*four)).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let distinct = sorted.windows(2).all(|two| two[0] < two[1]);
    let known = ids(feature_ids, meta);
    let known = sorted.iter().all(|&id| known.contains(&(id as usize)));
    let fits = rest.is_empty() && distinct && known && (meta.asked.renumber || order.is_empty());
    fits.then(|| meta.asked.renumber.then_some(order))
}

fn feature_ids(bytes: &[u8], meta: &Meta) -> Option<FeatureIds> {
    if let Some(bits) = meta.reading.hash_bits {
        let Ok(FeatureIds::Buckets(mut buckets)) = FeatureIds::hashed(bits) else { return None };
        return buckets.share(&meta.shared).then_some(FeatureIds::Buckets(buckets));
    }
    if bytes.is_empty() {
        return Some(FeatureIds::Indices);
    }
    let (count, rest) = bytes.split_first_chunk::<8>()?;
    let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
    let (ends, text) = rest.split_at_checked(count.checked_mul(8)?)?;
    let text = std::str::from_utf8(text).ok()?;
    let (mut words, mut start) = (Vocabulary::default(), 0);
    for end in ends.chunks_exact(8) {
        let end = u64::from_le_bytes(end.try_into().ok()?) as usize;
        words.id(text.get(start..end)?);
        start = end;
    }
    (start == text.len() && words.len() == count).then_some(FeatureIds::Words(words))
}

/// The bytes of a fragment, if they have this checksum.
fn checked<'a>(bytes: &'a [u8], check: u64, path: &Path) -> Result<&'a [u8]> {
    match XxHash3_64::oneshot(bytes) == check {
        true => Ok(bytes),
        false => Err(damaged(path, "the checksum of a block does not fit")),
    }
}

fn broken_fragment(path: &Path) -> Error {
    damaged(path, "a block breaks the rules of the format")
}

fn damaged(path: &Path, what: &str) -> Error {
    let hint = format!("remove it, or leave {} out: the cache is made again from the data", Parameter::Cache);
    Error::data(Place::file(path), format!("the cache cannot be used: {what}"), hint)
}

fn unreadable(path: &Path, e: io::Error) -> Error {
    Error::io(path, e, format!("check the cache and the disk, or use {}", Parameter::Cache.set("off")))
}
