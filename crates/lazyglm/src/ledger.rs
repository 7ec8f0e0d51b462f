//! The ledger: what every weight owes, in two numbers, whatever the number of weights.
//!
//! A penalty step maps every magnitude by m ← max(0, a·m − c). Instead of touching the weights, keep the
//! product of all a's, the *scale* A, and the *debt* θ, and store each weight in the frame in which the penalty
//! does nothing:
//!
//! ```text
//! store   v = sgn(w)·(|w|/A + θ)          settle  w = A·sgn(v)·max(|v| − θ, 0)
//! charge  A ← A·a,  θ ← θ + c/A           (no weight is touched)
//! ```
//!
//! We carry the *stretch* S = 1/A, for then a charge needs no division in FoBoS and one in SGD:
//!
//! ```text
//! FoBoS   a = 1/(1 + ηλ₂), c = aηλ₁ :  θ ← θ + ηλ₁·S,  then  S ← S + S·ηλ₂
//! SGD     a = 1 − ηλ₂,     c = ηλ₁  :  S ← S + S·ηλ₂/(1 − ηλ₂),  then  θ ← θ + ηλ₁·S
//! ```
//!
//! Both totals are compensated sums: their relative error grows with ln S, not with the number of steps.
//! (Step-by-step updates lose a little each step, so on long runs the ledger is the more accurate side.)

use crate::penalty::{ElasticNet, Method};

/// A sum that remembers what rounding dropped (Kahan).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Total {
    sum: f64,
    lost: f64,
}

impl Total {
    const fn new(start: f64) -> Total {
        Total { sum: start, lost: 0.0 }
    }

    #[inline(always)]
    fn add(&mut self, more: f64) {
        let more = more - self.lost;
        let sum = self.sum + more;
        self.lost = (sum - self.sum) - more;
        self.sum = sum;
    }
}

/// Scale and debt of one model.
///
/// ```
/// use lazyglm::{ElasticNet, Method, ledger::Ledger};
/// let net = ElasticNet::new(0.01, 0.1).unwrap();
/// let mut ledger = Ledger::new(net, Method::Fobos);
/// let (mut dense, stored) = (2.0, ledger.store(2.0));
/// for _ in 0..100 {
///     dense = Method::Fobos.step(net, 0.5, dense); // a hundred steps,
///     ledger.charge(0.5);
/// }
/// assert!((ledger.settle(stored) - dense).abs() < 1e-14); // paid at once
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ledger {
    net: ElasticNet,
    method: Method,
    stretch: Total,
    debt: Total,
}

impl Ledger {
    /// Nothing owed yet.
    pub fn new(net: ElasticNet, method: Method) -> Ledger {
        Ledger { net, method, stretch: Total::new(1.0), debt: Total::new(0.0) }
    }

    /// Every weight owes one more penalty step at rate `eta`.
    #[inline(always)]
    pub fn charge(&mut self, eta: f64) {
        let (ridge, lasso) = (eta * self.net.l2, eta * self.net.l1);
        match self.method {
            Method::Fobos => {
                self.debt.add(lasso * self.stretch.sum);
                self.stretch.add(self.stretch.sum * ridge);
            }
            Method::Sgd => {
                self.stretch.add(self.stretch.sum * (ridge / (1.0 - ridge)));
                self.debt.add(lasso * self.stretch.sum);
            }
        }
    }

    /// 1/A: how much longer a stored magnitude is than the weight's own.
    #[inline(always)]
    pub fn stretch(&self) -> f64 {
        self.stretch.sum
    }

    /// θ, in the stored frame.
    #[inline(always)]
    pub fn debt(&self) -> f64 {
        self.debt.sum
    }

    /// The weight in the frame in which the penalty does nothing.
    pub fn store(&self, weight: f64) -> f64 {
        weight.signum() * (weight.abs() * self.stretch() + self.debt())
    }

    /// The weight a stored number stands for, with all it owes paid.
    pub fn settle(&self, stored: f64) -> f64 {
        let magnitude = (stored.abs() - self.debt()) / self.stretch();
        if magnitude > 0.0 { magnitude.copysign(stored) } else { 0.0 }
    }

    /// Forgets scale and debt; whoever calls this has just settled every weight.
    pub fn clear(&mut self) {
        (self.stretch, self.debt) = (Total::new(1.0), Total::new(0.0));
    }
}
