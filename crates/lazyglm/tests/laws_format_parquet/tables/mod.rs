//! Tables made for tests, and rows read from them by name.

pub mod drawn;

use arrow_array::builder::{ArrayBuilder, Float64Builder};
use arrow_array::builder::{Int32Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{ArrayRef, ListArray, RecordBatch};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{DataType, Field, Fields, Schema};
use lazyglm::ReadConfig;
use lazyglm::data::dataset::for_each_block;
use lazyglm::data::format::{FormatSpec, Opening, Parsed, ReadOptions, open};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A target, if there is one, and features by name (or by index).
pub type Row = (Option<String>, BTreeMap<String, f64>);

/// A batch of these columns; all may have nulls.
pub fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let columns = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// The bytes of a Parquet file.
pub fn parquet_bytes(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// The bytes of an Arrow file of two record batches.
pub fn arrow_bytes(batch: &RecordBatch, options: IpcWriteOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
    let half = batch.num_rows() / 2;
    writer.write(&batch.slice(0, half)).unwrap();
    writer.write(&batch.slice(half, batch.num_rows() - half)).unwrap();
    writer.finish().unwrap();
    drop(writer);
    bytes
}

/// A folder of one test, gone at its end.
pub struct Folder(pub tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The table as a Parquet file of row groups of three.
    pub fn parquet(&self, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(3)).build();
        self.file("a.parquet", parquet_bytes(&batch(columns), properties))
    }

    /// The same as an Arrow file.
    pub fn arrow(&self, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
        self.file("a.arrow", arrow_bytes(&batch(columns), IpcWriteOptions::default()))
    }
}

/// An index and a value; it, or either of them, may be null.
pub type Pair = Option<(Option<i32>, Option<f64>)>;

/// Lists of them.
pub fn pairs(rows: &[Option<&[Pair]>]) -> ArrayRef {
    let fields = [Field::new("index", DataType::Int32, true), Field::new("value", DataType::Float64, true)];
    let parts: Vec<Box<dyn ArrayBuilder>> =
        vec![Box::<Int32Builder>::default(), Box::<Float64Builder>::default()];
    let mut lists = ListBuilder::new(StructBuilder::new(Fields::from(fields.to_vec()), parts));
    for row in rows {
        for pair in row.unwrap_or_default() {
            let items = lists.values();
            let (index, value) = pair.unwrap_or((Some(9), Some(9.0))); // under a null stands something
            items.field_builder::<Int32Builder>(0).unwrap().append_option(index);
            items.field_builder::<Float64Builder>(1).unwrap().append_option(value);
            items.append(pair.is_some());
        }
        lists.append(row.is_some());
    }
    Arc::new(lists.finish())
}

/// Lists of text.
pub fn lists(rows: &[Option<Vec<Option<&str>>>]) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in rows {
        row.iter().flatten().for_each(|item| lists.values().append_option(*item));
        lists.append(row.is_some());
    }
    let lists: ListArray = lists.finish();
    Arc::new(lists)
}

/// What is to be read of a file.
pub fn opened(path: &Path, asked: &ReadOptions, known: Option<&FormatSpec>) -> Result<FormatSpec, String> {
    let first = std::fs::read(path).unwrap();
    open(&Opening { first: &first, file: path, asked, known })
        .map_err(|e| e.to_string().replace(&folder(path), ""))
}

fn folder(path: &Path) -> String {
    format!("{}/", path.parent().unwrap().display())
}

/// All rows of a file; the rows without a target come last, for labels do not say which row they are of.
pub fn read(path: &Path, asked: &ReadOptions, known: Option<&FormatSpec>) -> Result<Vec<Row>, String> {
    let known = known.map(|spec| ReadConfig { spec: spec.clone(), ..ReadConfig::default() });
    let mut rows = Vec::new();
    for_each_block(path, asked, known.as_ref(), |block| {
        rows.extend((0..block.rows.len()).map(|i| row(block, i)));
        Ok(())
    })
    .map_err(|e| e.to_string().replace(&folder(path), ""))?;
    Ok(rows)
}

fn row(block: &Parsed, i: usize) -> Row {
    let mut features = BTreeMap::new();
    block.rows.borrow().for_each(i, |id, x| {
        let name = block.names.as_ref().map_or(id.to_string(), |names| names.name(id as u32).to_string());
        assert_eq!(features.insert(name, x), None);
    });
    (block.unlabelled.is_none_or(|first| i < first).then(|| block.labels.name(i)), features)
}
