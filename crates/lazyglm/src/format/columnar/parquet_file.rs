//! Parquet: row group after row group, page after page.

use super::batches::{Next, Table, Wrong};
use super::pages::Group;
use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use std::fs::File;
use std::sync::Arc;

pub(super) fn open(file: File) -> Wrong<Table> {
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(|e| e.to_string())?;
    let schema = metadata.schema().clone();
    let read = move |columns: Vec<usize>, rows: usize| -> Wrong<Next> {
        let described = metadata.parquet_schema();
        let mask = ProjectionMask::roots(described, columns);
        let fields = metadata.schema().fields();
        let levels =
            parquet_to_arrow_field_levels(described, mask, Some(fields)).map_err(|e| e.to_string())?;
        let mut groups = Groups { file: Arc::new(file), metadata, levels, rows, next: 0, open: None };
        Ok(Box::new(move || groups.next()))
    };
    Ok(Table { schema, read: Box::new(read) })
}

struct Groups {
    file: Arc<File>,
    metadata: ArrowReaderMetadata,
    levels: FieldLevels,
    rows: usize, // at a time
    next: usize,
    open: Option<(ParquetRecordBatchReader, usize)>, // and how many rows it still owes
}

impl Groups {
    fn next(&mut self) -> Wrong<Option<RecordBatch>> {
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
            let group = Group::new(&self.file, self.metadata.metadata(), self.next)?;
            let reader =
                ParquetRecordBatchReader::try_new_with_row_groups(&self.levels, &group, self.rows, None);
            self.open = Some((reader.map_err(|e| e.to_string())?, group.rows));
            self.next += 1;
        }
    }
}

fn miscounted() -> String {
    "a row group has more or fewer rows than it says".to_string()
}
