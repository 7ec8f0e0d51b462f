//! Decompresses pages of Parquet files, and counts what compressed buffers of Arrow files contain.
//!
//! Files say how long the content is, and may lie. So memory is reserved for a claim that is usual for compressed data, and
//! otherwise grows with the bytes that really come out.

use flate2::read::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;
use parquet::basic::Compression;
use std::io::{self, Cursor, Read};

/// Result of decompression; the error says what is wrong.
type Unpacked = Result<Vec<u8>, String>;

/// Whether a claimed length is small enough to reserve memory for it before the content is seen.
fn usual(size: usize, packed: &[u8]) -> bool {
    size <= packed.len().saturating_mul(16).saturating_add(1 << 20)
}

/// Appends the content of compressed bytes, `size` bytes of it, to `start`.
pub(super) fn unpack(codec: Compression, packed: &[u8], size: usize, start: Vec<u8>) -> Unpacked {
    match codec {
        Compression::UNCOMPRESSED => {
            let mut content = start;
            content.extend_from_slice(packed);
            Ok(content)
        }
        Compression::GZIP(_) => grow(MultiGzDecoder::new(packed), packed, size, start),
        Compression::ZSTD(_) if usual(size, packed) => zstd_at_once(packed, size, start),
        Compression::ZSTD(_) => grow(zstd::Decoder::with_buffer(packed).map_err(text)?, packed, size, start),
        Compression::SNAPPY => snappy(packed, size, start),
        Compression::LZ4_RAW => lz4(packed, size, start),
        // Written in three ways: with Hadoop's lengths, as a file of its own, and raw.
        Compression::LZ4 => match hadoop(packed, size) {
            Some(frames) => {
                frames.into_iter().try_fold(start, |start, (size, packed)| lz4(packed, size, start))
            }
            None if packed.starts_with(LZ4_FRAME) => grow(FrameDecoder::new(packed), packed, size, start),
            None => lz4(packed, size, start),
        },
        other => Err(format!("it is compressed with {other}")),
    }
}

/// The bytes with which an lz4 file begins.
const LZ4_FRAME: &[u8] = &[0x04, 0x22, 0x4d, 0x18];

/// Whether the compressed buffer of an Arrow file contains as many bytes as it says.
pub(super) fn contains(is_zstd: bool, packed: &[u8], size: usize) -> bool {
    usual(size, packed) || {
        let count = |from: &mut dyn Read| io::copy(&mut from.take(size as u64), &mut io::sink());
        let counted = match is_zstd {
            true => zstd::Decoder::with_buffer(packed).and_then(|mut content| count(&mut content)),
            false => count(&mut FrameDecoder::new(packed)),
        };
        counted.is_ok_and(|count| count == size as u64)
    }
}

/// Reads up to one byte more than the claimed length, which the caller rejects.
fn grow(from: impl Read, packed: &[u8], size: usize, mut start: Vec<u8>) -> Unpacked {
    start.reserve_exact(if usual(size, packed) { size } else { 0 });
    from.take(size as u64 + 1).read_to_end(&mut start).map_err(text)?;
    Ok(start)
}

fn zstd_at_once(packed: &[u8], size: usize, mut start: Vec<u8>) -> Unpacked {
    start.reserve_exact(size);
    let mut content = Cursor::new(start);
    content.set_position(content.get_ref().len() as u64);
    zstd::bulk::Decompressor::new()
        .and_then(|mut zstd| zstd.decompress_to_buffer(packed, &mut content))
        .map_err(text)?;
    Ok(content.into_inner())
}

/// Snappy begins with the length of the content. Three bytes stand for at most 64.
fn snappy(packed: &[u8], size: usize, mut start: Vec<u8>) -> Unpacked {
    if snap::raw::decompress_len(packed).map_err(text)? != size || size / 22 > packed.len() {
        return Err(TOO_LARGE.to_string());
    }
    let end = start.len();
    start.resize(end + size, 0);
    snap::raw::Decoder::new().decompress(packed, &mut start[end..]).map_err(text)?;
    Ok(start)
}

fn lz4(packed: &[u8], size: usize, mut start: Vec<u8>) -> Unpacked {
    if !usual(size, packed) && lz4_length(packed) != Some(size) {
        return Err(TOO_LARGE.to_string());
    }
    let end = start.len();
    start.resize(end + size, 0);
    let count = lz4_flex::block::decompress_into(packed, &mut start[end..]).map_err(text)?;
    start.truncate(end + count);
    Ok(start)
}

/// Length of the content of an lz4 block: sequences of literals, and of bytes that repeat earlier ones.
fn lz4_length(packed: &[u8]) -> Option<usize> {
    let (mut at, mut length) = (0, 0usize);
    let more = |at: &mut usize, nibble: u8| {
        let (mut count, mut last) = (usize::from(nibble), if nibble == 15 { 255 } else { 0 });
        while last == 255 {
            last = *packed.get(*at)?;
            (*at, count) = (*at + 1, count + usize::from(last));
        }
        Some(count)
    };
    while let Some(&token) = packed.get(at) {
        at += 1;
        let literals = more(&mut at, token >> 4)?;
        (at, length) = (at + literals, length + literals);
        if at >= packed.len() {
            break; // the last sequence has only literals
        }
        at += 2; // the distance to the earlier bytes
        length += 4 + more(&mut at, token & 15)?;
    }
    (at == packed.len()).then_some(length)
}

/// Hadoop's frames: length of the content and of the compressed bytes, both with the highest byte first, then these bytes.
/// `None` if the content has another length in all.
fn hadoop(mut packed: &[u8], size: usize) -> Option<Vec<(usize, &[u8])>> {
    let (mut frames, mut left) = (Vec::new(), size);
    while !packed.is_empty() {
        let (content, rest) = packed.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (frame, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        let content = u32::from_be_bytes(*content) as usize;
        left = left.checked_sub(content)?;
        frames.push((content, frame));
        packed = rest;
    }
    (left == 0).then_some(frames)
}

/// What is wrong with a page or buffer whose claimed length cannot be true.
pub(super) const TOO_LARGE: &str = "a page says it is larger than it can be";

fn text(e: impl std::fmt::Display) -> String {
    e.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::{GzipLevel, ZstdLevel};
    use std::io::Write;

    /// Text that compresses well, and its compressed forms.
    fn forms(length: usize) -> (Vec<u8>, Vec<(Compression, Vec<u8>)>) {
        let text: Vec<u8> = b"abcabcab".iter().cycle().take(length).copied().collect();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&text).unwrap();
        let raw = lz4_flex::block::compress(&text);
        let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
        frame.write_all(&text).unwrap();
        let lengths = [length as u32, raw.len() as u32].map(u32::to_be_bytes).concat();
        let forms = vec![
            (Compression::UNCOMPRESSED, text.clone()),
            (Compression::GZIP(GzipLevel::default()), gzip.finish().unwrap()),
            (Compression::ZSTD(ZstdLevel::default()), zstd::encode_all(&text[..], 3).unwrap()),
            (Compression::SNAPPY, snap::raw::Encoder::new().compress_vec(&text).unwrap()),
            (Compression::LZ4_RAW, raw.clone()),
            (Compression::LZ4, [lengths, raw.clone()].concat()),
            (Compression::LZ4, frame.finish().unwrap()),
            (Compression::LZ4, raw),
        ];
        (text, forms)
    }

    #[test]
    fn every_codec_gives_the_content_behind_what_stands_before_it() {
        for length in [0, 1, 1000, 1 << 20, 3 << 20, 20 << 20] {
            let (text, forms) = forms(length);
            for (codec, packed) in forms {
                let content = unpack(codec, &packed, length, b"before".to_vec()).unwrap();
                assert!(content.starts_with(b"before") && content[6..] == text, "{codec}, {length} bytes");
            }
        }
    }

    #[test]
    fn a_length_that_is_not_true_reserves_no_memory_for_it() {
        let (text, forms) = forms(100_000);
        for (codec, packed) in forms.into_iter().filter(|(codec, _)| *codec != Compression::UNCOMPRESSED) {
            match unpack(codec, &packed, 1 << 40, Vec::new()) {
                Ok(content) => assert!(content == text && content.capacity() < 1 << 20, "{codec}"),
                Err(said) => assert!(!said.is_empty(), "{codec}"),
            }
            // The caller sees a length other than the claimed one, or an error; never all of the content.
            let small = unpack(codec, &packed, 50, Vec::new());
            assert!(small.is_err() || small.is_ok_and(|content| content.len() <= 51), "{codec}");
        }
        let zstd = zstd::encode_all(&vec![0; 8 << 20][..], 3).unwrap();
        assert!(contains(true, &zstd, 8 << 20) && !contains(true, &zstd, 9 << 20));
    }
}
