//! The header of a Parquet page: which values follow, how many, how they are encoded, and their sizes.

use super::thrift::Holds::{self, Bool, I32, Struct};
use super::thrift::{EMPTY, Reader, STATISTICS};
use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata};
use parquet::errors::{ParquetError, Result};

const KIND: i64 = 1;
const SIZE: i64 = 2;
const PACKED: i64 = 3;
const DATA: i64 = 5;
const DICTIONARY: i64 = 7;
const DATA_V2: i64 = 8;

const HEADER: &[(i64, Holds)] = &[
    (KIND, I32),
    (SIZE, I32),
    (PACKED, I32),
    (4, I32),                                                                   // checksum
    (DATA, Struct(&[(1, I32), (2, I32), (3, I32), (4, I32), (5, STATISTICS)])), // values, encodings: values, definitions, repetitions
    (6, EMPTY),
    (DICTIONARY, Struct(&[(1, I32), (2, I32), (3, Bool)])), // values, encoding, sorted
    // Values, nulls, rows, encoding, lengths of definitions and repetitions, compressed.
    (
        DATA_V2,
        Struct(&[(1, I32), (2, I32), (3, I32), (4, I32), (5, I32), (6, I32), (7, Bool), (8, STATISTICS)]),
    ),
];

/// A header: its numbers by their paths, of which `thrift.rs` says more.
pub(super) struct Header {
    numbers: Vec<(i64, i64)>,
    /// Its length in bytes.
    pub length: usize,
    /// Length of the page as it stands in the file.
    pub packed: usize,
    /// Length of the page's content.
    pub size: usize,
}

impl Header {
    /// Reads a header. `None` if the bytes are none, or end too early.
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        let (mut reader, mut numbers) = (Reader { bytes, at: 0 }, Vec::with_capacity(12));
        let known = [KIND, SIZE, PACKED];
        // The sizes of statistics are of no use.
        let mut see = |path, value| {
            if known.contains(&path) || (100 * DATA..100 * (DATA_V2 + 1)).contains(&path) {
                numbers.push((path, value));
            }
        };
        reader.fields(HEADER, 0, 0, 0, &mut see)?;
        let mut header = Header { numbers, length: reader.at, packed: 0, size: 0 };
        header.packed = header.number(PACKED).ok()?;
        header.size = header.number(SIZE).ok()?;
        Some(header)
    }

    /// What is known of the page before it is read. `None` for a page without values, which readers skip.
    pub fn metadata(&self) -> Result<Option<PageMetadata>> {
        let data =
            |num_rows, num_levels| PageMetadata { num_rows, num_levels: Some(num_levels), is_dict: false };
        Ok(match self.kind()? {
            Kind::Data => Some(data(None, self.number(100 * DATA + 1)?)),
            Kind::DataV2 => {
                Some(data(Some(self.number(100 * DATA_V2 + 3)?), self.number(100 * DATA_V2 + 1)?))
            }
            Kind::Dictionary => Some(PageMetadata { num_rows: None, num_levels: None, is_dict: true }),
            Kind::Other => None,
        })
    }

    /// Where the compressed bytes of the page begin. `None` if the page is not compressed, whatever the column says.
    pub fn packed_from(&self) -> Result<Option<usize>> {
        if !matches!(self.kind()?, Kind::DataV2) {
            return Ok(Some(0));
        }
        let levels = self.number(100 * DATA_V2 + 5)?.saturating_add(self.number(100 * DATA_V2 + 6)?);
        let compressed = self.find(100 * DATA_V2 + 7).is_none_or(|yes| yes == 1);
        Ok(compressed.then_some(levels))
    }

    /// The page, whose content is `buf`.
    pub fn page(&self, buf: Bytes) -> Result<Page> {
        Ok(match self.kind()? {
            Kind::Data => Page::DataPage {
                buf,
                num_values: self.count(100 * DATA + 1)?,
                encoding: self.encoding(100 * DATA + 2)?,
                def_level_encoding: self.encoding(100 * DATA + 3)?,
                rep_level_encoding: self.encoding(100 * DATA + 4)?,
                statistics: None,
            },
            Kind::DataV2 => Page::DataPageV2 {
                buf,
                num_values: self.count(100 * DATA_V2 + 1)?,
                encoding: self.encoding(100 * DATA_V2 + 4)?,
                num_nulls: self.count(100 * DATA_V2 + 2)?,
                num_rows: self.count(100 * DATA_V2 + 3)?,
                def_levels_byte_len: self.count(100 * DATA_V2 + 5)?,
                rep_levels_byte_len: self.count(100 * DATA_V2 + 6)?,
                is_compressed: false,
                statistics: None,
            },
            Kind::Dictionary => Page::DictionaryPage {
                buf,
                num_values: self.count(100 * DICTIONARY + 1)?,
                encoding: self.encoding(100 * DICTIONARY + 2)?,
                is_sorted: self.find(100 * DICTIONARY + 3) == Some(1),
            },
            Kind::Other => return Err(damaged()),
        })
    }

    fn kind(&self) -> Result<Kind> {
        Ok(match self.number(KIND)? {
            0 => Kind::Data,
            2 => Kind::Dictionary,
            3 => Kind::DataV2,
            _ => Kind::Other,
        })
    }

    fn find(&self, path: i64) -> Option<i64> {
        self.numbers.iter().rev().find(|(found, _)| *found == path).map(|(_, number)| *number)
    }

    /// A number that must be there and must fit 31 bits.
    fn number(&self, path: i64) -> Result<usize> {
        let number = self.find(path).and_then(|number| i32::try_from(number).ok());
        number.and_then(|number| usize::try_from(number).ok()).ok_or_else(damaged)
    }

    fn count(&self, path: i64) -> Result<u32> {
        u32::try_from(self.number(path)?).map_err(|_| damaged())
    }

    fn encoding(&self, path: i64) -> Result<Encoding> {
        let number = self.number(path)?;
        Encoding::VARIANTS.iter().copied().find(|known| *known as usize == number).ok_or_else(damaged)
    }
}

/// What a page holds. The other kind is an index, which nobody writes.
enum Kind {
    Data,
    DataV2,
    Dictionary,
    Other,
}

pub(super) fn damaged() -> ParquetError {
    ParquetError::General("a page header is damaged".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of a data page with five values, then what is given.
    fn header(more: &[u8]) -> Vec<u8> {
        let data = [0x15, 10, 0x15, 0, 0x15, 6, 0x15, 6, 0];
        [&[0x15, 0, 0x15, 40, 0x15, 20, 0x2c][..], &data, more, &[0]].concat()
    }

    #[test]
    fn a_header_has_its_sizes_and_unknown_fields_are_skipped() {
        for more in [&[][..], &[0xf1], &[0xf5, 2], &[0xf9, 0x25, 2, 4], &[0xfc, 0x11, 0]] {
            let bytes = header(more);
            let found = Header::parse(&bytes).expect("a header");
            assert_eq!((found.length, found.size, found.packed), (bytes.len(), 20, 10), "{more:?}");
            assert_eq!(found.metadata().unwrap().unwrap().num_levels, Some(5));
            for end in 0..bytes.len() {
                assert!(Header::parse(&bytes[..end]).is_none(), "{more:?}, {end} bytes");
            }
        }
    }

    #[test]
    fn lists_and_maps_of_booleans_and_fields_of_another_type_are_refused() {
        let two_billion = [0xff, 0xff, 0xff, 0xff, 0x07];
        for kind in [1, 2] {
            let list = [&[0xf9, 0xf0 | kind][..], &two_billion].concat();
            assert!(Header::parse(&header(&list)).is_none());
            let map = [&[0xfb][..], &two_billion, &[0x11 * kind]].concat();
            assert!(Header::parse(&header(&map)).is_none());
        }
        assert!(Header::parse(&[0x16, 0, 0x15, 40, 0x15, 20, 0]).is_none(), "the kind is a long number");
        assert!(Header::parse(&[0x15, 0, 0x15, 41, 0x15, 20, 0]).is_none(), "a negative size");
    }
}
