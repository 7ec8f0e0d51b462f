//! The pages of a Parquet row group. Each is read and decompressed here, within the limits of `unpack.rs`, and validated
//! before it is decoded: see `page_checks.rs`.

use super::arrow_file::read;
use super::batches::FileResult;
use super::page_checks::{Column, check};
use super::page_header::{Header, damaged};
use super::unpack::{TOO_LARGE, unpack};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use std::fs::File;
use std::sync::Arc;

/// Number of bytes of one column's values per batch, by what the footer says of their number.
const BATCH: usize = 1 << 22;

/// A row group of a Parquet file.
pub(super) struct Group<'a> {
    file: &'a Arc<File>,
    metadata: &'a ParquetMetaData,
    number: usize,
    pub rows: usize,
    /// Number of rows per batch: fewer than usual if rows have many items.
    pub batch: usize,
}

impl<'a> Group<'a> {
    pub fn new(
        file: &'a Arc<File>,
        metadata: &'a ParquetMetaData,
        number: usize,
        chosen: &ProjectionMask,
        usual: usize,
    ) -> FileResult<Group<'a>> {
        let group = metadata.row_group(number);
        let rows = group.num_rows();
        let rows = usize::try_from(rows).map_err(|_| format!("a row group says it has {rows} rows"))?;
        let columns = group.columns().iter().enumerate().filter(|&(k, _)| chosen.leaf_included(k));
        let fitting = columns.map(|(_, column)| {
            let items = usize::try_from(column.num_values()).unwrap_or(0) / rows.max(1);
            let bytes = usize::try_from(column.column_descr().type_length()).unwrap_or(0).max(16);
            BATCH / items.max(1).saturating_mul(bytes)
        });
        let batch = fitting.min().unwrap_or(usual).clamp(1, usual);
        Ok(Group { file, metadata, number, rows, batch })
    }
}

impl RowGroups for Group<'_> {
    fn num_rows(&self) -> usize {
        self.rows
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let described = self.metadata.row_group(self.number).column(column);
        let descriptor = described.column_descr();
        let column = Column::new(self.rows, self.batch, descriptor);
        let (start, length) = described.byte_range();
        let pages = Pages {
            file: self.file.clone(),
            at: start,
            left: length,
            header: None,
            codec: described.compression(),
            column,
        };
        Ok(Box::new(OneColumn(Some(pages))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata.row_group(self.number)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}

/// The pages of one column of one row group, for code that wants them as an iterator over columns.
struct OneColumn(Option<Pages>);

impl PageIterator for OneColumn {}

impl Iterator for OneColumn {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(Box::new(pages) as Box<dyn PageReader>))
    }
}

/// The pages of one column of one row group.
struct Pages {
    file: Arc<File>,
    /// Position of the next header, or of the page behind `header`.
    at: u64,
    /// Number of bytes of the column that are still to be read.
    left: u64,
    /// The header of the next page, once it is read.
    header: Option<Header>,
    codec: Compression,
    column: Column,
}

/// Numbers of bytes in which a header is looked for, one after the other. Statistics may make it long. What is read is at most
/// some times the header.
const HEADERS: [u64; 6] = [1 << 10, 1 << 13, 1 << 16, 1 << 19, 1 << 22, 1 << 24];

impl Pages {
    /// Reads the header of the next page with values. Returns false at the end of the column.
    fn find(&mut self) -> Result<bool> {
        while self.header.is_none() && self.left > 0 {
            let mut found = None;
            for most in HEADERS {
                found = Header::parse(&self.read(most.min(self.left))?);
                if found.is_some() || most >= self.left {
                    break;
                }
            }
            let header = found.ok_or_else(damaged)?;
            self.pass(header.length)?;
            match header.metadata()? {
                Some(_) => self.header = Some(header),
                None => self.pass(header.packed)?,
            }
        }
        Ok(self.header.is_some())
    }

    fn read(&self, length: u64) -> Result<Vec<u8>> {
        let whole = self.file.metadata()?.len();
        read(&self.file, whole, self.at, length).map_err(ParquetError::General)
    }

    /// The content of a page whose bytes are compressed from some place on.
    fn unpacked(&self, page: &[u8], from: usize, size: usize) -> FileResult<Vec<u8>> {
        let (plain, packed) = page.split_at_checked(from).ok_or(TOO_LARGE)?;
        let content = match size.checked_sub(from).ok_or(TOO_LARGE)? {
            0 => plain.to_vec(), // writers differ on whether nothing is compressed
            size => unpack(self.codec, packed, size, plain.to_vec())?,
        };
        if content.len() == size { Ok(content) } else { Err(TOO_LARGE.to_string()) }
    }

    fn pass(&mut self, bytes: usize) -> Result<()> {
        self.left = self.left.checked_sub(bytes as u64).ok_or_else(damaged)?;
        self.at += bytes as u64;
        Ok(())
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.find()?;
        let Some(header) = self.header.take() else { return Ok(None) };
        if header.packed as u64 > self.left {
            return Err(damaged());
        }
        let packed = self.read(header.packed as u64)?;
        self.pass(header.packed)?;
        let content = match header.packed_from()? {
            Some(from) if self.codec != Compression::UNCOMPRESSED => {
                self.unpacked(&packed, from, header.size).map_err(ParquetError::General)?
            }
            _ => packed,
        };
        let page = header.page(content.into())?;
        match check(&page, &mut self.column) {
            Ok(()) => Ok(Some(page)),
            Err(what) => Err(ParquetError::General(what.to_string())),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.find()?;
        self.header.as_ref().map_or(Ok(None), Header::metadata)
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.find()?;
        self.header.take().map_or(Ok(()), |header| self.pass(header.packed))
    }
}
