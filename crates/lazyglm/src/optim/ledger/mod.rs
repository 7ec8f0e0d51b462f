//! The ledger: what every weight owes to the penalty, in two numbers for any number of weights.
//!
//! A penalty step maps every magnitude by m ← max(0, a·m − c). The ledger does not touch the weights. It
//! keeps the product of all a's, the *scale* A, and the *debt* θ. Each weight is stored in the frame in which
//! the penalty has no effect:
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
//!
//! ```
//! use lazyglm::{ElasticNet, Method, optim::ledger::Ledger};
//! let mut ledger = Ledger::new(ElasticNet::new(0.1, 0.0).unwrap(), Method::Fobos);
//! let million = vec![ledger.store(1.0); 1_000_000];
//! (0..5).for_each(|_| ledger.charge(1.0)); // five steps on a million weights: five additions
//! assert_eq!(ledger.settle(million[999_999]), 0.5);
//! ```

mod many;

pub use many::Ledgers;

use crate::problem::penalty::{ElasticNet, Method};
use crate::util::state::{Fields, State};

/// A compensated (Kahan) sum.
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
/// use lazyglm::{ElasticNet, Method, optim::ledger::Ledger};
/// let penalty = ElasticNet::new(0.01, 0.1).unwrap();
/// let mut ledger = Ledger::new(penalty, Method::Fobos);
/// let (mut dense, stored) = (2.0, ledger.store(2.0));
/// for _ in 0..100 {
///     dense = Method::Fobos.step(penalty, 0.5, dense); // a hundred steps,
///     ledger.charge(0.5);
/// }
/// assert!((ledger.settle(stored) - dense).abs() < 1e-14); // paid at once
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ledger {
    penalty: ElasticNet,
    method: Method,
    stretch: Total,
    debt: Total,
}

impl Ledger {
    /// A ledger without debt.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, optim::ledger::Ledger};
    /// let ledger = Ledger::new(ElasticNet::new(0.1, 0.1).unwrap(), Method::Sgd);
    /// assert_eq!((ledger.stretch(), ledger.debt()), (1.0, 0.0));
    /// assert_eq!(ledger.store(-3.0), -3.0, "a weight is stored as it is");
    /// ```
    pub fn new(penalty: ElasticNet, method: Method) -> Ledger {
        Ledger { penalty, method, stretch: Total::new(1.0), debt: Total::new(0.0) }
    }

    /// Charges one more penalty step at learning rate `eta` to every weight.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, optim::ledger::Ledger};
    /// let mut ledger = Ledger::new(ElasticNet::new(0.5, 1.0).unwrap(), Method::Sgd);
    /// ledger.charge(0.5); // m ← ½m − ¼
    /// assert_eq!((ledger.stretch(), ledger.debt()), (2.0, 0.5));
    /// assert_eq!(ledger.settle(1.0), 0.25);
    /// ```
    #[inline(always)]
    pub fn charge(&mut self, eta: f64) {
        let (ridge, lasso) = (eta * self.penalty.l2, eta * self.penalty.l1);
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

    /// The stretch 1/A: the ratio of stored magnitudes to actual ones.
    #[inline(always)]
    pub fn stretch(&self) -> f64 {
        self.stretch.sum
    }

    /// The debt θ, in the stored frame.
    #[inline(always)]
    pub fn debt(&self) -> f64 {
        self.debt.sum
    }

    /// Converts a weight to the stored frame, in which the penalty has no effect.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, optim::ledger::Ledger};
    /// let mut ledger = Ledger::new(ElasticNet::new(0.5, 1.0).unwrap(), Method::Sgd);
    /// ledger.charge(0.5);
    /// assert_eq!(ledger.store(-1.0), -2.5);
    /// assert_eq!(ledger.settle(-2.5), -1.0, "what is stored now owes nothing of the past");
    /// ```
    pub fn store(&self, weight: f64) -> f64 {
        weight.signum() * (weight.abs() * self.stretch() + self.debt())
    }

    /// Converts a stored number to the weight, with its debt paid.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, optim::ledger::Ledger};
    /// let mut ledger = Ledger::new(ElasticNet::new(0.25, 0.0).unwrap(), Method::Fobos);
    /// let (large, small) = (ledger.store(1.0), ledger.store(-0.5));
    /// (0..3).for_each(|_| ledger.charge(1.0));
    /// assert_eq!((ledger.settle(large), ledger.settle(small)), (0.25, 0.0));
    /// ```
    pub fn settle(&self, stored: f64) -> f64 {
        let magnitude = (stored.abs() - self.debt()) / self.stretch();
        if magnitude > 0.0 { magnitude.copysign(stored) } else { 0.0 }
    }

    /// The four numbers of the ledger: stretch and debt, each with its compensation term.
    pub(crate) fn totals(&self) -> [f64; 4] {
        [self.stretch.sum, self.stretch.lost, self.debt.sum, self.debt.lost]
    }

    /// A ledger with the given totals.
    pub(crate) fn with_totals(self, [sum, lost, owed, dropped]: [f64; 4]) -> Ledger {
        Ledger { stretch: Total { sum, lost }, debt: Total { sum: owed, lost: dropped }, ..self }
    }

    /// Resets scale and debt. The caller has settled every weight before.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, optim::ledger::Ledger};
    /// let mut ledger = Ledger::new(ElasticNet::new(0.25, 0.0).unwrap(), Method::Fobos);
    /// let stored = ledger.store(1.0);
    /// ledger.charge(1.0);
    /// let settled = ledger.settle(stored);
    /// ledger.clear();
    /// assert_eq!((settled, ledger.store(settled)), (0.75, 0.75));
    /// ```
    pub fn clear(&mut self) {
        (self.stretch, self.debt) = (Total::new(1.0), Total::new(0.0));
    }
}

impl State for Ledger {
    fn fields(&mut self, fields: &mut Fields) {
        for total in [&mut self.stretch, &mut self.debt] {
            total.sum.fields(fields);
            total.lost.fields(fields);
        }
    }
}
