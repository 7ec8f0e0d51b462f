//! The slow truth: small, obvious updates in f64 that share no arithmetic with the folded frame.
//!
//! [`Dense`] shrinks every weight at every step, by the definition. [`Table`] is the paper's algorithm: each
//! weight remembers when it was last current and is brought forward from two tables, with the paper's Theorem 1
//! corrected.

mod dense;
mod table;

pub use dense::Dense;
pub use table::Table;
