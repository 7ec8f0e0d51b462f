//! A loss whose slope is clipped at ±10¹², as scikit-learn does: with a rate that is too large, weights become large, but not
//! infinite. Only losses with an unbounded slope need it.

use super::{Admits, Loss};
use std::sync::Arc;

const STEEPEST: f64 = 1e12;

/// The loss with its slope clipped at ±10¹², if it is unbounded: for scikit-learn's estimators.
pub fn clipped(loss: Arc<dyn Loss>) -> Arc<dyn Loss> {
    if loss.gradient_bound() > STEEPEST { Arc::new(Clipped(loss)) } else { loss }
}

#[derive(Debug)]
struct Clipped(Arc<dyn Loss>);

impl Loss for Clipped {
    fn spec(&self) -> String {
        self.0.spec()
    }

    fn value(&self, score: f64, target: f64) -> f64 {
        self.0.value(score, target)
    }

    fn slope(&self, score: f64, target: f64) -> f64 {
        self.0.slope(score, target).clamp(-STEEPEST, STEEPEST)
    }

    fn second_derivative(&self, score: f64, target: f64) -> Option<f64> {
        self.0.second_derivative(score, target)
    }

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        self.0.conjugate(slope, target)
    }

    fn inverse_link(&self, score: f64) -> f64 {
        self.0.inverse_link(score)
    }

    fn variance_power(&self) -> Option<f64> {
        self.0.variance_power()
    }

    fn admits(&self) -> Admits {
        self.0.admits()
    }
}
