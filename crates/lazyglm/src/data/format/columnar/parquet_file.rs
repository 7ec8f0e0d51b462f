//! Reads Parquet files one row group and one page at a time.

use super::arrow_file::read;
use super::batches::{FileResult, Next, Table};
use super::depth;
use super::pages::Group;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Fields};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use parquet::file::metadata::{FooterTail, ParquetMetaDataReader};
use std::fs::File;
use std::sync::Arc;

/// Length in bytes of the file's tail: the length of the footer, then the magic bytes.
const TAIL: u64 = 8;

pub(super) fn open(file: File) -> FileResult<Table> {
    let metadata = metadata(&file)?;
    let schema = metadata.schema().clone();
    let read = move |columns: Vec<usize>, rows: usize| -> FileResult<Next> {
        let described = metadata.parquet_schema();
        let mask = ProjectionMask::roots(described, columns);
        let fields = &shared(metadata.schema().fields());
        let levels = parquet_to_arrow_field_levels(described, mask.clone(), Some(fields))
            .map_err(|e| e.to_string())?;
        let mut groups = Groups { file: Arc::new(file), metadata, mask, levels, rows, next: 0, open: None };
        Ok(Box::new(move || groups.next()))
    };
    Ok(Table { schema, read: Box::new(read) })
}

/// The columns, with text that points into the pages instead of a copy per row. A row of a long text in a dictionary may
/// stand in the file as a few bits.
fn shared(fields: &Fields) -> Fields {
    let item =
        |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(shared_type(field.data_type())));
    fields.iter().map(item).collect()
}

fn shared_type(column: &DataType) -> DataType {
    let item = |field: &FieldRef| shared(&Fields::from(vec![field.clone()]))[0].clone();
    match column {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Dictionary(_, values) if matches!(**values, DataType::Utf8 | DataType::LargeUtf8) => {
            DataType::Utf8View
        }
        DataType::List(items) => DataType::List(item(items)),
        DataType::LargeList(items) => DataType::LargeList(item(items)),
        DataType::Struct(fields) => DataType::Struct(shared(fields)),
        DataType::Map(entries, sorted) => DataType::Map(item(entries), *sorted),
        other => other.clone(),
    }
}

/// Reads the footer after checking that its columns are not nested too deeply.
fn metadata(file: &File) -> FileResult<ArrowReaderMetadata> {
    let length = file.metadata().map_err(|e| e.to_string())?.len();
    let tail = length.checked_sub(TAIL).ok_or("it is too short")?;
    let last: [u8; TAIL as usize] =
        read(file, length, tail, TAIL)?.try_into().map_err(|_| "it is too short")?;
    let tail_says = FooterTail::try_new(&last).map_err(|e| e.to_string())?;
    if tail_says.is_encrypted_footer() {
        return Err("it is encrypted".to_string());
    }
    let size = tail_says.metadata_length() as u64;
    let start = tail.checked_sub(size).ok_or("its footer is longer than the file")?;
    let footer = read(file, length, start, size)?;
    depth::check(&footer)?;
    let metadata = ParquetMetaDataReader::decode_metadata(&footer).map_err(|e| e.to_string())?;
    ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new()).map_err(|e| e.to_string())
}

struct Groups {
    file: Arc<File>,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    levels: FieldLevels,
    rows: usize, // per batch, at most
    next: usize,
    open: Option<(ParquetRecordBatchReader, usize)>, // the current reader, and the number of rows that it has still to return
}

impl Groups {
    fn next(&mut self) -> FileResult<Option<RecordBatch>> {
        loop {
            if let Some((reader, owed)) = &mut self.open {
                match reader.next().transpose().map_err(|e| e.to_string())? {
                    Some(batch) if batch.num_rows() > *owed => return Err(miscounted()),
                    Some(batch) => {
                        *owed -= batch.num_rows();
                        return Ok(Some(batch));
                    }
                    None if *owed > 0 => return Err(miscounted()),
                    None => self.open = None,
                }
            }
            if self.next == self.metadata.metadata().num_row_groups() {
                return Ok(None);
            }
            let metadata = self.metadata.metadata();
            let group = Group::new(&self.file, metadata, self.next, &self.mask, self.rows)?;
            let reader =
                ParquetRecordBatchReader::try_new_with_row_groups(&self.levels, &group, group.batch, None);
            self.open = Some((reader.map_err(|e| e.to_string())?, group.rows));
            self.next += 1;
        }
    }
}

fn miscounted() -> String {
    "a row group has more or fewer rows than it says".to_string()
}
