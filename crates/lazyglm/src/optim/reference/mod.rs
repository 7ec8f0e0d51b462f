//! Reference implementations: small, simple updates in f64 that share no arithmetic with the folded frame.
//!
//! [`Dense`] shrinks every weight at every step, by the definition. [`Table`] is the paper's algorithm: each
//! weight remembers when it was last current, and two tables bring it up to date. The paper's Theorem 1 is
//! corrected.
//!
//! ```
//! use lazyglm::{ElasticNet, Method, optim::reference::{Dense, Table}, optim::update::Update};
//! let penalty = ElasticNet::new(0.01, 0.1).unwrap();
//! let start = vec![1.0, -0.05, 0.5];
//! let mut dense = Dense::<true>::new(start.clone(), penalty, Method::Sgd);
//! let mut table = Table::new(start, penalty, Method::Sgd, 1000, None);
//! for t in 1..100 {
//!     dense.charge(1.0 / f64::from(t)); // three weights,
//!     table.charge(1.0 / f64::from(t)); // one more entry in each table
//! }
//! assert!(dense.weights().iter().zip(table.weights()).all(|(a, b)| (a - b).abs() < 1e-15));
//! ```

mod dense;
mod table;

pub use dense::Dense;
pub use table::Table;
