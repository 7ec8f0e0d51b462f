//! What is asked of one shard of the rows when there are many: pure functions, no transport.
//!
//! The rows of a problem lie in shards, on machines that do not know of each other. Whoever leads sends weights out and
//! adds up what comes back; each verb here is one such question, a function of the shard, the numbers sent and a seed
//! and of nothing else, so that an answer can be asked for again and is the same to the bit. MATHS.md, "Many shards", has the method.
//!
//! | verb | asked | answers |
//! |---|---|---|
//! | [`column_stats`] | once | how many rows hold a column, and Σωx² of it |
//! | [`loss_gradient`] | at a point | Σωℓ, its gradient and the mean bend |
//! | [`local_pass`] | once a round | how far one lazy pass over the shard moved the weights |
//! | [`line_losses`] | where a step is doubted | Σωℓ at points on a segment |
//! | [`second_derivatives`] | for a Newton step | ωℓ″ of each row, of which the shard makes its part of a Hessian |
//! | [`slope_sums`], [`dual_sums`] | for a proof | what a bound below the minimum is made of |
//!
//! and [`zero_test`] is the leader's own. Answers are sums over rows, never means: they can be added.

mod column_stats;
mod dual_sums;
mod line_losses;
mod local_pass;
mod loss_gradient;
mod second_derivatives;
mod zero_test;

pub use column_stats::{ColumnStats, column_stats};
pub use dual_sums::{DualSums, Move, dual_sums, slope_sums};
pub use line_losses::{Point, line_losses};
pub use local_pass::{Local, Moved, drifted, local_pass};
pub use loss_gradient::{LossGradient, loss_gradient};
pub use second_derivatives::second_derivatives;
pub use zero_test::zero_test;
