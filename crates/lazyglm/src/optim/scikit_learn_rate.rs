//! scikit-learn's learning rates, by its formulas, for t = 0, 1, … rows learnt:
//!
//! ```text
//! constant, adaptive   η = η₀                        (adaptive: η₀ falls to a fifth when learning stalls)
//! invscaling           η = η₀/(t + 1)^power_t
//! optimal              η = 1/(α(t₀ + t)),  t₀ = 1/(α·e),  e = typw/max(1, ∂ℓ(−typw, 1)),  typw = α^(−¼)
//! pa1, pa2             as far as the row asks, η₀ being the aggressiveness C; penalty steps at rate η₀
//! ```
//!
//! One formula differs: for losses whose slope has no bound, such as squared hinge, e = typw/max(1, |∂ℓ(−typw, 1)|). The formula is Bottou's, whose
//! ∂ℓ has the other sign; that of scikit-learn is negative for every loss, so that e = typw. A slope without a bound then overshoots at first,
//! and squared hinge needs a thousand epochs to forget these steps.
//!
//! All are schedules of the table, so a model file can name them.

use super::passive_aggressive::PassiveAggressive;
use crate::problem::loss::Loss;
use crate::problem::schedule::{Schedule, Setting, Spec};
use crate::util::error::{Error, Result};

/// How a learning rate is asked for.
#[derive(Clone, Copy)]
pub struct Rate<'a> {
    /// Its name in scikit-learn.
    pub name: &'a str,
    /// η₀.
    pub eta0: f64,
    /// α.
    pub alpha: f64,
    /// The exponent of invscaling.
    pub power_t: f64,
}

impl Rate<'_> {
    /// The schedule's name in the library's table.
    pub fn spec(&self, loss: &dyn Loss) -> Result<Spec> {
        match self.name {
            "constant" | "adaptive" | "pa1" | "pa2" => Spec::parse("constant"),
            "invscaling" => Spec::parse(&format!("power:p={},t0=1", self.power_t)),
            "optimal" => {
                let typical = self.alpha.powf(-0.25);
                let slope = loss.slope(-typical, 1.0);
                let steep = if loss.gradient_bound().is_finite() { slope } else { slope.abs() };
                let first = typical / steep.max(1.0);
                Spec::parse(&format!("bottou:t0={}", 1.0 / (first * self.alpha)))
            }
            other => Err(Error::call(
                format!("there is no learning rate '{other}'"),
                "give constant, optimal, invscaling, adaptive, pa1 or pa2",
            )),
        }
    }

    /// How far steps go, if that is up to the row.
    pub fn passive_aggressive(&self) -> Option<PassiveAggressive> {
        match self.name {
            "pa1" => Some(PassiveAggressive::Pa1(self.eta0)),
            "pa2" => Some(PassiveAggressive::Pa2(self.eta0)),
            _ => None,
        }
    }

    /// The schedule itself.
    pub fn schedule(&self, loss: &dyn Loss) -> Result<Box<dyn Schedule>> {
        if self.name == "invscaling" && self.power_t < 0.0 {
            return Ok(Box::new(Rising { eta0: self.eta0, power: -self.power_t }));
        }
        let setting = Setting { eta0: self.eta0, l2: self.alpha, rows: None, epochs: 1 };
        self.spec(loss)?.resolve(&setting)
    }
}

/// η₀·(t + 1)^power: a rate that rises, which no schedule of the library does; scikit-learn still allows it.
struct Rising {
    eta0: f64,
    power: f64,
}

impl Schedule for Rising {
    fn eta(&self, t: u64) -> f64 {
        self.eta0 * (t as f64 + 1.0).powf(self.power)
    }
}
