//! The hot loop: scores and updates one row.
//!
//! Its `unsafe` blocks read and write weights without a bounds check per weight. The ids of a row increase,
//! so checking the last one is enough. Each block states why it is sound.
//!
//! ```
//! use lazyglm::{ElasticNet, Method, optim::kernel::Folded, optim::reference::Dense, optim::update::Update};
//! let penalty = ElasticNet::new(0.01, 0.1).unwrap();
//! let start: Vec<f64> = (0..100).map(|j| 0.01 * f64::from(j)).collect();
//! let mut lazy = Folded::<f64>::new(start.clone(), penalty, Method::Fobos);
//! let mut dense = Dense::<true>::new(start, penalty, Method::Fobos);
//! for _ in 0..50 {
//!     lazy.charge(0.1); // two numbers change,
//!     dense.charge(0.1); // a hundred weights
//! }
//! assert!(lazy.weights().iter().zip(dense.weights()).all(|(a, b)| (a - b).abs() < 1e-14));
//! ```

mod averaged;
mod column_store;
mod columns;
mod compact_columns;
mod compact_numbers;
mod f32_columns;
mod folded;
mod lane_state;
mod lane_vector;
mod lanes;
mod model_columns;
mod normal_rows;
mod penalty_factors;
mod rebases;
mod state;
mod weight;

pub(crate) use column_store::ColumnStore;
pub(crate) use columns::Columns;
pub(crate) use compact_columns::CompactColumns;
pub(crate) use compact_numbers::CompactNumbers;
pub(crate) use f32_columns::{F32Columns, F32Rows};
pub(crate) use lane_vector::each;
pub(crate) use model_columns::{DecodedColumns, ModelColumns};
pub(crate) use normal_rows::{NormalRows, Sums};

pub use averaged::Averaged;
pub use folded::Folded;
pub use lane_vector::{Half, LaneVector, Line};
pub use lanes::Lanes;
pub use penalty_factors::FactoredWeights;
pub(super) use state::no_state;
pub use state::{AverageState, FrameState};
pub use weight::Weight;

/// Eight lanes in f32: half a cache line per feature.
pub type Lanes8 = Lanes<f32, Half<f32, 8>, 8>;

/// Sixteen lanes in f32: one cache line per feature.
pub type Lanes16 = Lanes<f32, Line<f32, 16>, 16>;

/// Eight lanes in f64: one cache line per feature.
pub type Wide8 = Lanes<f64, Line<f64, 8>, 8>;
