//! Optimisation algorithms, one module each.
//!
//! - [`sgd`]: one learning rate for all weights. [`starting_rate`] searches its initial value, and [`update`]
//!   defines how weights are kept.
//! - [`lanes`]: the same for many models at once, each with its own [`lane_loss`]. [`softmax`] couples the
//!   lanes, one per class.
//! - [`passive_aggressive`]: the step length depends on the loss of the row.
//! - [`adagrad`] and [`ftrl`]: a learning rate per weight. `learning_rate_search` finds their common factor,
//!   and [`scales`] its units.
//! - [`svrg`]: variance-reduced steps, which run to the optimum.
//! - [`newton`]: proximal Newton steps, which run to the optimum. [`softmax_newton`] does the same for softmax
//!   regression.
//! - [`shard`]: computations on one shard of the rows.
//!
//! `row_loop` is the loop over rows, [`learner`] the interface of the loop over epochs, and [`prox_steps`]
//! the closed form of many penalty steps.
//!
//! ```
//! use lazyglm::{Settings, util::random, optim::starting_rate, synth};
//! let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
//! let Settings { penalty, method, schedule, epochs, bias, .. } = Settings::default();
//! let (examples, order, loss) = (task.examples(), &random::permutation(500, 1, 0)[..], &*task.loss);
//! let (rows, extent, schedule) = (500, starting_rate::Extent::of(examples), &schedule);
//! let trial = starting_rate::Trial { examples, order, rows, extent, loss, penalty, method, schedule, epochs, bias };
//! assert!(starting_rate::find(&trial).unwrap().eta0 > 0.0);
//! ```

pub mod adagrad;
pub mod ftrl;
pub mod kernel;
pub mod lane_loss;
pub mod lanes;
pub mod learner;
pub(crate) mod learning_rate_search;
pub mod ledger;
pub mod newton;
pub mod passive_aggressive;
pub mod prox_steps;
pub mod reference;
pub mod resumable;
mod row_loop;
pub mod run_average;
pub mod scales;
pub mod scikit_learn_rate;
pub mod sgd;
pub mod shard;
pub mod softmax;
pub mod softmax_newton;
pub mod starting_rate;
pub mod svrg;
pub mod update;
