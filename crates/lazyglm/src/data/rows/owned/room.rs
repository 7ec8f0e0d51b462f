//! Room for more rows, asked for before it is needed: where there is none, that is an error and no abort.

use super::{Rows, Values};

impl Rows {
    /// Makes room for the rows of another block; false if there is none.
    #[must_use]
    pub(crate) fn make_room(&mut self, more: &Rows, narrow: bool) -> bool {
        let ids = more.ids.len();
        let values = match &mut self.values {
            Values::F32(short) if narrow || more.is_single() => grown(short, ids),
            Values::F32(short) => Vec::<f64>::new().try_reserve(short.len() + ids).is_ok(),
            Values::F64(wide) => grown(wide, ids),
        };
        values && grown(&mut self.ids, ids) && grown(&mut self.offsets, more.len())
    }

    /// Bytes of the arrays.
    pub(crate) fn bytes(&self) -> usize {
        let value = if self.is_single() { 4 } else { 8 };
        self.ids.len() * (4 + value) + self.offsets.len() * 8
    }
}

/// Makes room for more: as a vector does by itself, or if there is no memory for so much, for these and no more.
fn grown<T>(vector: &mut Vec<T>, more: usize) -> bool {
    vector.try_reserve(more).is_ok() || vector.try_reserve_exact(more).is_ok()
}
