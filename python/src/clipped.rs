//! A loss whose slope is cut at ±10¹², as scikit-learn does: a rate that is too large then throws weights far, but not
//! to infinity. Only losses that are steep without bound need it.

use lazyglm::Loss;
use lazyglm::loss::Admits;
use std::sync::Arc;

const STEEPEST: f64 = 1e12;

/// The loss to learn with.
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

    fn conjugate(&self, slope: f64, target: f64) -> f64 {
        self.0.conjugate(slope, target)
    }

    fn inverse_link(&self, score: f64) -> f64 {
        self.0.inverse_link(score)
    }

    fn admits(&self) -> Admits {
        self.0.admits()
    }
}
