//! One algorithm a file. `row_loop` is the loop over rows. [`online`] has one rate for all weights; [`eta0`] finds where it starts. [`lanes`] is
//! the same for many models at once, each with an [`aim`] of its own; [`softmax`] couples them, a lane a class; [`aggressive`] goes as far as the row asks.
//! [`adagrad`] and [`ftrl`] have a rate for each weight, `ladder` finds their common factor, `scales` its units; `learner` is what the
//! loop over epochs needs of any of them. [`saga`] reduces the noise of steps to nothing. `orbit` makes many penalty steps at once.
//!
//! ```
//! use lazyglm::{Settings, random, solver::eta0, synth};
//! let task = synth::documents(&synth::Shape { rows: 500, features: 100, ..Default::default() }).task;
//! let Settings { net, method, schedule, epochs, bias, .. } = Settings::default();
//! let (examples, order, loss) = (task.examples(), &random::permutation(500, 1, 0)[..], &*task.loss);
//! let (rows, extent, schedule) = (500, eta0::Extent::of(examples), &schedule);
//! let trial = eta0::Trial { examples, order, rows, extent, loss, net, method, schedule, epochs, bias };
//! assert!(eta0::find(&trial).unwrap().eta0 > 0.0);
//! ```

pub mod adagrad;
pub mod aggressive;
pub mod aim;
pub mod eta0;
pub mod ftrl;
pub(crate) mod ladder;
pub mod lanes;
pub mod learner;
pub mod mean;
pub mod newton;
pub mod online;
pub mod orbit;
mod row_loop;
pub mod saga;
pub mod scales;
pub mod softmax;
