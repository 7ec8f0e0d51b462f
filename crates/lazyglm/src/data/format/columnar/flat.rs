//! Columns inside columns: a struct `a` with a field `b` has the column `a.b`.
//!
//! A list of structs becomes one list per field: the items of `a.b` are structs with the field `b` alone. Lists of index
//! and value stay whole.

use super::batches::FileResult;
use super::types;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch, StructArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
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
        found => match structs_of(found) {
            Some(item) => {
                let (first, item) = (leaves.len(), Arc::new(Field::new("item", item.clone(), true)));
                descend(root, "", &item, leaves);
                for leaf in &mut leaves[first..] {
                    let inner = leaf.field.name().strip_prefix("item.").unwrap_or_default();
                    let name = format!("{name}.{inner}");
                    let listed = list_type(found, one_field(leaf.field.data_type()));
                    leaf.field = Arc::new(Field::new(name, listed, true));
                }
            }
            None => leaves.push(Leaf { root, field: Arc::new(Field::new(name, found.clone(), true)) }),
        },
    }
}

/// The structs in a list of them, if they are not pairs of index and value.
fn structs_of(list: &DataType) -> Option<&DataType> {
    let (DataType::List(item) | DataType::LargeList(item)) = list else { return None };
    let has_fields = matches!(item.data_type(), DataType::Struct(fields) if !fields.is_empty());
    (has_fields && types::pair(item.data_type()).is_none()).then(|| item.data_type())
}

/// The type of a struct with one field.
fn one_field(inner: &DataType) -> DataType {
    DataType::Struct(Fields::from(vec![Field::new("item", inner.clone(), true)]))
}

/// The type of a list like this one, with other items.
fn list_type(list: &DataType, item: DataType) -> DataType {
    let item = Arc::new(Field::new("item", item, true));
    if matches!(list, DataType::LargeList(_)) { DataType::LargeList(item) } else { DataType::List(item) }
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
        None if structs_of(array.data_type()).is_some() => {
            let masked = masked(array, nulls)?;
            match masked.data_type() {
                DataType::LargeList(_) => each_field::<i64>(masked.as_list(), columns),
                _ => each_field::<i32>(masked.as_list(), columns),
            }
        }
        None if outer.is_none() || array.data_type().is_null() => {
            columns.push(array.clone());
            Ok(())
        }
        None => {
            columns.push(masked(array, nulls)?);
            Ok(())
        }
    }
}

/// The column with these values missing.
fn masked(array: &ArrayRef, nulls: Option<NullBuffer>) -> FileResult<ArrayRef> {
    let masked = array.to_data().into_builder().nulls(nulls).build().map_err(|e| e.to_string())?;
    Ok(make_array(masked))
}

/// Appends a list of structs as one list per field.
fn each_field<Size: OffsetSizeTrait>(
    list: &GenericListArray<Size>,
    columns: &mut Vec<ArrayRef>,
) -> FileResult<()> {
    let mut inside = Vec::new();
    flatten(list.values(), None, &mut inside)?;
    for array in inside {
        let fields = Fields::from(vec![Field::new("item", array.data_type().clone(), true)]);
        let items = StructArray::try_new(fields.clone(), vec![array], None).map_err(|e| e.to_string())?;
        let item = Arc::new(Field::new("item", DataType::Struct(fields), true));
        let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
        let listed = GenericListArray::<Size>::try_new(item, offsets, Arc::new(items), nulls);
        columns.push(Arc::new(listed.map_err(|e| e.to_string())?));
    }
    Ok(())
}
