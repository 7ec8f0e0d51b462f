//! Computations on one shard of the rows, for distributed training: pure functions without transport.
//!
//! The rows of a problem are distributed over shards. A leader sends weights to the shards and adds up their
//! answers. Each function here is one request. Its answer depends only on the shard, the numbers sent and a
//! seed, so a request can be repeated with the same bits. docs/maths/shards.md describes the method.
//!
//! | function | when | result |
//! |---|---|---|
//! | [`column_stats()`] | once | number of rows and Σωx² per column |
//! | [`loss_gradient()`] | at a point | Σωℓ, its gradient and Σωℓ″ |
//! | [`local_pass()`] | once per round | change of the weights by one lazy pass over the shard |
//! | [`line_losses()`] | for a line search | Σωℓ at points on a segment |
//! | [`second_derivatives()`] | for a Newton step | ωℓ″ per row, for the shard's part of a Hessian |
//! | [`slope_sums()`], [`dual_sums()`] | for a certificate | the sums of a dual bound |
//!
//! The leader itself uses [`zero_test()`]. Results are sums over rows, not means, so they can be added.

mod checks;
mod column_stats;
mod dual_sums;
mod line_losses;
mod local_pass;
mod loss_gradient;
mod second_derivatives;
mod zero_test;

pub use checks::{check_columns, refused, smooth_loss};
pub use column_stats::{ColumnStats, column_stats};
pub use dual_sums::{DualSums, Move, dual_sums, slope_sums};
pub use line_losses::{Point, line_losses};
pub use local_pass::{Local, Moved, local_pass};
pub use loss_gradient::{LossGradient, loss_gradient};
pub use second_derivatives::second_derivatives;
pub use zero_test::zero_test;
