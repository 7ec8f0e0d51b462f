//! `Rows`, the one currency between rooms: a block of sparse rows (CSR).
//!
//! Parsers make it, solvers eat it, other languages lend it without a copy ([`RowsRef`]). Its invariants are
//! checked once, when it is made, so that the kernel may rely on them for every non-zero:
//!
//! * `offsets` has one entry more than there are rows, starts at 0, never falls, and ends at the number of non-zeros;
//! * inside a row the ids rise strictly: sorted, no duplicates;
//! * every id is below `columns`, every value is finite.

mod examples;
mod lent;
mod owned;
mod shared;

pub use examples::Examples;
pub use lent::{Row, RowsRef, Value, ValuesRef};
pub use owned::Rows;
pub(crate) use shared::PrivateIds;

use crate::util::error::{Error, Place};

fn broken(what: &str) -> Error {
    Error::data(Place::default(), what, "sort each row's ids, sum its duplicates and check the arrays")
}
