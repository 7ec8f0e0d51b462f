//! Evaluation of weights: the objective, computed by code that shares nothing with the solvers; the duality
//! gap; metrics.

pub mod metrics;
pub mod objective;
