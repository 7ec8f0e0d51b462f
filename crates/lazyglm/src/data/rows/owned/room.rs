//! Fallible memory allocation for rows: running out of memory is an error, not an abort.

use super::{Rows, Values};

impl Rows {
    /// Reserves memory for the rows of another block. Returns false if there is not enough memory.
    #[must_use]
    pub(crate) fn make_room(&mut self, more: &Rows, as_f32: bool) -> bool {
        let ids = more.ids.len();
        let values = match &mut self.values {
            Values::F32(values_f32) if as_f32 || more.is_f32() => grown(values_f32, ids),
            Values::F32(values_f32) => Vec::<f64>::new().try_reserve(values_f32.len() + ids).is_ok(),
            Values::F64(values_f64) => grown(values_f64, ids),
        };
        values && grown(&mut self.ids, ids) && grown(&mut self.offsets, more.len())
    }

    /// Size of the arrays in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let value = if self.is_f32() { 4 } else { 8 };
        self.ids.len() * (4 + value) + self.offsets.len() * 8
    }
}

/// Reserves memory with the usual growth factor, or for exactly `more` items if that fails. Returns whether
/// it succeeded.
fn grown<T>(vector: &mut Vec<T>, more: usize) -> bool {
    vector.try_reserve(more).is_ok() || vector.try_reserve_exact(more).is_ok()
}
