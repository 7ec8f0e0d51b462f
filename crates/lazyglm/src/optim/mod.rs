//! Optimisation algorithms, one module each.
//!
//! - [`sgd`]: one learning rate for all weights. [`starting_rate`] searches its initial value, and [`update`]
//!   defines how weights are kept.
//! - [`lanes`]: the same for many models at once, each with its own [`lane_loss`]. [`softmax`] couples the
//!   lanes, one per class.
//! - [`bias_rate`]: how fast the bias of both learns.
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
//! let go_on = &|| true;
//! let trial = starting_rate::Trial { examples, order, rows, extent, loss, penalty, method, schedule, epochs, bias, go_on };
//! assert!(starting_rate::find(&trial).unwrap().eta0 > 0.0);
//! ```

#[forbid(unsafe_code)]
pub mod adagrad;
#[forbid(unsafe_code)]
pub mod bias_rate;
#[forbid(unsafe_code)]
pub mod ftrl;
pub mod kernel;
#[forbid(unsafe_code)]
pub mod lane_loss;
#[forbid(unsafe_code)]
pub mod lanes;
#[forbid(unsafe_code)]
pub mod learner;
#[forbid(unsafe_code)]
pub(crate) mod learning_rate_search;
#[forbid(unsafe_code)]
pub mod ledger;
#[forbid(unsafe_code)]
pub mod newton;
#[forbid(unsafe_code)]
pub mod passive_aggressive;
#[forbid(unsafe_code)]
pub mod prox_steps;
#[forbid(unsafe_code)]
pub mod reference;
#[forbid(unsafe_code)]
pub mod resumable;
#[forbid(unsafe_code)]
mod row_loop;
#[forbid(unsafe_code)]
pub mod run_average;
#[forbid(unsafe_code)]
pub mod scales;
#[forbid(unsafe_code)]
pub mod scikit_learn_rate;
#[forbid(unsafe_code)]
pub mod sgd;
#[forbid(unsafe_code)]
pub mod shard;
#[forbid(unsafe_code)]
pub mod softmax;
#[forbid(unsafe_code)]
pub mod softmax_newton;
#[forbid(unsafe_code)]
pub mod starting_rate;
#[forbid(unsafe_code)]
pub(crate) mod stream;
#[forbid(unsafe_code)]
pub mod svrg;
#[forbid(unsafe_code)]
pub mod update;
