//! One algorithm a file. `row_loop` is the loop over rows. [`online`] has one rate for all weights; [`eta0`] finds where it starts. [`lanes`] is
//! the same for many models at once, each with an [`aim`] of its own; [`softmax`] couples them, a lane a class; [`aggressive`] goes as far as the row asks.
//! [`adagrad`] and [`ftrl`] have a rate for each weight, `ladder` finds their common factor, `scales` its units; `learner` is what the
//! loop over epochs needs of any of them. [`saga`] reduces the noise of steps to nothing. `orbit` makes many penalty steps at once.
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
mod row_loop;
pub mod run_average;
pub mod scales;
pub mod sgd;
pub mod shard;
pub mod softmax;
pub mod starting_rate;
pub mod svrg;
pub mod update;
