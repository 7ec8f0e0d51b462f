//! Columns inside columns: a struct `a` with a field `b` has the column `a.b`.

use super::batches::FileResult;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use std::sync::Arc;

/// A column without columns inside it.
pub(super) struct Leaf {
    /// Number of the outermost column that contains it.
    pub root: usize,
    /// Its name, with those of the columns around it.
    pub field: FieldRef,
}

/// All columns of a table, those inside structs included.
pub(super) fn leaves(schema: &Schema) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    for (root, field) in schema.fields().iter().enumerate() {
        descend(root, "", field, &mut leaves);
    }
    leaves
}

fn descend(root: usize, path: &str, field: &FieldRef, leaves: &mut Vec<Leaf>) {
    let name = format!("{path}{}", field.name());
    match field.data_type() {
        DataType::Struct(inside) if !inside.is_empty() => {
            inside.iter().for_each(|field| descend(root, &format!("{name}."), field, leaves));
        }
        found => leaves.push(Leaf { root, field: Arc::new(Field::new(name, found.clone(), true)) }),
    }
}

/// The schema of the columns without columns inside them.
pub(super) fn schema(schema: &Schema) -> Schema {
    Schema::new(leaves(schema).into_iter().map(|leaf| leaf.field).collect::<Vec<_>>())
}

/// The columns of a batch without columns inside them, in the order of [`leaves`].
pub(super) fn columns(batch: &RecordBatch) -> FileResult<Vec<ArrayRef>> {
    let mut columns = Vec::new();
    for column in batch.columns() {
        flatten(column, None, &mut columns)?;
    }
    Ok(columns)
}

/// Appends a column, or those inside it. A value inside a null is null.
fn flatten(array: &ArrayRef, outer: Option<&NullBuffer>, columns: &mut Vec<ArrayRef>) -> FileResult<()> {
    let nulls = NullBuffer::union(outer, array.nulls());
    match array.as_struct_opt().filter(|inside| inside.num_columns() > 0) {
        Some(inside) => {
            inside.columns().iter().try_for_each(|column| flatten(column, nulls.as_ref(), columns))
        }
        None if outer.is_none() || array.data_type().is_null() => {
            columns.push(array.clone());
            Ok(())
        }
        None => {
            let masked = array.to_data().into_builder().nulls(nulls).build().map_err(|e| e.to_string())?;
            columns.push(make_array(masked));
            Ok(())
        }
    }
}
