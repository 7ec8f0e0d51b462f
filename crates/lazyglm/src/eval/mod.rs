//! Evaluation of weights: the objective, computed by code that shares nothing with the solvers; the duality
//! gap; metrics.

pub(crate) mod held_out;
pub mod metrics;
pub mod objective;
