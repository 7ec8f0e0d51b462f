//! Blocks of sparse rows (CSR): `Rows` owns its arrays, and [`RowsRef`] borrows them.
//!
//! Parsers produce `Rows`, solvers read them, and other languages lend their arrays as [`RowsRef`] without a
//! copy. The invariants are checked once, at construction, so the kernel can rely on them for every non-zero:
//!
//! - `offsets` has one entry more than there are rows, starts at 0, never decreases, and ends at the number
//!   of non-zeros;
//! - ids increase strictly within a row, so they are sorted and unique;
//! - every id is below `columns`, and every value is finite.

mod borrowed;
mod changed;
pub mod csr;
mod examples;
mod owned;
mod products;
mod shared;
mod side_by_side;

pub use borrowed::{Row, RowsRef, Value, ValuesRef};
pub use changed::Changed;
pub use examples::Examples;
pub use owned::Rows;
pub(crate) use shared::PrivateIds;
pub(crate) use side_by_side::SideBySide;

use crate::util::error::{Error, Place};

fn broken(what: &str) -> Error {
    Error::data(Place::default(), what, "sort each row's ids, sum its duplicates and check the arrays")
}
