//! How good weights are: the objective, recomputed by code that shares nothing with the solvers; the duality gap; metrics.

pub mod metrics;
pub mod objective;
