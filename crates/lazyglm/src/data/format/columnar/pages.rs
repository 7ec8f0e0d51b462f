//! The pages of a Parquet row group, each validated before it is decoded: see `page_checks.rs`.

use super::batches::FileResult;
use super::page_checks::{Column, Head, check};
use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

/// A row group of a Parquet file.
pub(super) struct Group<'a> {
    file: &'a Arc<File>,
    metadata: &'a ParquetMetaData,
    number: usize,
    pub rows: usize,
}

impl<'a> Group<'a> {
    pub fn new(file: &'a Arc<File>, metadata: &'a ParquetMetaData, number: usize) -> FileResult<Group<'a>> {
        let rows = metadata.row_group(number).num_rows();
        let rows = usize::try_from(rows).map_err(|_| format!("a row group says it has {rows} rows"))?;
        Ok(Group { file, metadata, number, rows })
    }
}

impl RowGroups for Group<'_> {
    fn num_rows(&self) -> usize {
        self.rows
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let described = self.metadata.row_group(self.number).column(column);
        let descriptor = described.column_descr();
        let column = Column {
            rows: self.rows,
            repeats: descriptor.max_rep_level() > 0,
            defines: descriptor.max_def_level() > 0,
        };
        let chunk = Chunk { file: self.file.clone(), growth: growth(described.compression()) };
        let pages = SerializedPageReader::new(Arc::new(chunk), described, self.rows, None)?;
        Ok(Box::new(OneColumn(Some(Pages { pages, column }))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata.row_group(self.number)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}

/// Upper bound on the expansion ratio of a codec.
fn growth(codec: Compression) -> u64 {
    match codec {
        Compression::UNCOMPRESSED => 1,
        Compression::SNAPPY => 32,
        Compression::LZ4 | Compression::LZ4_RAW => 256,
        Compression::GZIP(_) => 1040,
        _ => 1 << 16,
    }
}

/// The bytes of a column. It reserves no more memory than the file has bytes, and inspects page headers on
/// the way.
struct Chunk {
    file: Arc<File>,
    growth: u64,
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        Length::len(&*self.file)
    }
}

impl ChunkReader for Chunk {
    type T = Watched;

    fn get_read(&self, start: u64) -> Result<Watched> {
        Ok(Watched { bytes: self.file.get_read(start)?, head: Head::default(), growth: self.growth })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.saturating_add(length as u64) > Length::len(self) {
            return Err(ParquetError::EOF("the file ends inside a page".to_string()));
        }
        self.file.get_bytes(start, length)
    }
}

/// Reads a page header, and fails if the header claims a page larger than its compressed bytes can yield. It also fails at
/// the end of the file: third-party code skips a list of two billion numbers there one by one, all of them missing.
struct Watched {
    bytes: BufReader<File>,
    head: Head,
    growth: u64,
}

impl Read for Watched {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(into)?;
        if count == 0 && !into.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends inside a page header"));
        }
        match self.head.sizes(&into[..count]) {
            Some((plain, packed)) if plain > packed.saturating_mul(self.growth).saturating_add(1024) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "a page says it is larger than it can be"))
            }
            _ => Ok(count),
        }
    }
}

/// The pages of one column of one row group.
struct OneColumn(Option<Pages>);

impl PageIterator for OneColumn {}

impl Iterator for OneColumn {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(Box::new(pages) as Box<dyn PageReader>))
    }
}

struct Pages {
    pages: SerializedPageReader<Chunk>,
    column: Column,
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        match page.as_ref().is_none_or(|page| check(page, &self.column)) {
            true => Ok(page),
            false => {
                Err(ParquetError::General("a page says it has more values than it can have".to_string()))
            }
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}
