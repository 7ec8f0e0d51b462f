//! The paper's lazy updates: ψⱼ records when weight j was last current, and tables bring it up to date in
//! O(1).
//!
//! After t steps, with ηₜ the rate of step t (Lipton & Elkan 2015, Theorem 2, and Theorem 1 corrected:
//! docs/maths/erratum.md)
//!
//! ```text
//! SGD    P(t+1) = P(t)·(1 − ηₜλ₂)    B(t+1) = B(t) + ηₜ/P(t+1)      P(0) = 1, B(0) = 0
//! FoBoS  P(t+1) = P(t)/(1 + ηₜλ₂)    B(t+1) = B(t) + ηₜ/P(t)
//! wⱼ(k)  = sgn(wⱼ)·max(0, |wⱼ|·P(k)/P(ψⱼ) − λ₁·P(k)·(B(k) − B(ψⱼ)))
//! ```
//!
//! The tables hold `budget` steps. When they are full, or P is too small to divide by, all weights are
//! brought up to date and the tables restart. A constant rate needs no tables. With r the ratio of one step,
//! n = k − ψⱼ and Rₙ = rⁿ, the same line reads |wⱼ|·Rₙ − λ₁(1 − Rₙ)/λ₂, or |wⱼ| − nηλ₁ if λ₂ = 0.

use crate::data::rows::{Row, Value};
use crate::optim::update::Update;
use crate::problem::penalty::{ElasticNet, Method};
use crate::util::state::{Fields, State};

/// Value of P below which the tables restart: B grows like 1/P and must stay finite.
const SMALLEST_PRODUCT: f64 = 1e-100;

/// Lazy updates with the paper's ψ and dynamic-programming tables.
///
/// ```
/// use lazyglm::{ElasticNet, Method, optim::reference::Table, optim::update::Update};
/// let penalty = ElasticNet::new(0.1, 0.0).unwrap();
/// let mut table = Table::new(vec![1.0], penalty, Method::Fobos, 2, None);
/// for eta in [1.0, 0.5, 0.25] {
///     table.charge(eta); // the third starts new tables
/// }
/// assert!((table.weights()[0] - 0.825).abs() < 1e-15);
/// ```
pub struct Table {
    weights: Vec<f64>,
    last: Vec<u32>, // ψ
    steps: Steps,
    penalty: ElasticNet,
    method: Method,
}

/// The steps since the last flush.
enum Steps {
    /// Steps at varying rates: P and B after t steps, for t = 0, 1, …
    Varying { budget: usize, products: Vec<f64>, sums: Vec<f64> },
    /// Steps at a constant rate: the rate and the number of steps.
    Constant { eta: f64, count: u32 },
}

impl Table {
    /// Starts from these weights. `budget` is the number of steps in the tables, and `constant` the learning
    /// rate if it is the same for every step.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, optim::reference::Table, optim::update::Update};
    /// let penalty = ElasticNet::new(0.01, 0.1).unwrap();
    /// let mut varying = Table::new(vec![1.0], penalty, Method::Fobos, 10, None);
    /// let mut constant = Table::new(vec![1.0], penalty, Method::Fobos, 10, Some(0.5));
    /// (0..25).for_each(|_| {
    ///     varying.charge(0.5);
    ///     constant.charge(0.5); // only counted
    /// });
    /// assert!((varying.weights()[0] - constant.weights()[0]).abs() < 1e-15);
    /// ```
    pub fn new(
        weights: Vec<f64>,
        penalty: ElasticNet,
        method: Method,
        budget: usize,
        constant: Option<f64>,
    ) -> Table {
        let steps = match constant {
            Some(eta) => Steps::Constant { eta, count: 0 },
            None => Steps::Varying {
                budget: budget.clamp(1, u32::MAX as usize - 1),
                products: vec![1.0],
                sums: vec![0.0],
            },
        };
        let last = vec![0; weights.len()];
        Table { weights, last, steps, penalty, method }
    }

    /// Number of steps since the last flush.
    fn now(&self) -> u32 {
        match &self.steps {
            Steps::Varying { products, .. } => (products.len() as u32).saturating_sub(1),
            Steps::Constant { count, .. } => *count,
        }
    }

    /// Weight j after all steps so far.
    fn current(&self, j: usize) -> f64 {
        let (w, psi, k) = (self.weights[j], self.last[j] as usize, self.now() as usize);
        if psi == k {
            return w; // no debt
        }
        let magnitude = match &self.steps {
            Steps::Varying { products, sums, .. } => {
                let ratio = products[k] / products[psi];
                w.abs() * ratio - self.penalty.l1 * products[k] * (sums[k] - sums[psi])
            }
            Steps::Constant { eta, .. } => self.constant(w.abs(), *eta, (k - psi) as f64),
        };
        if magnitude > 0.0 { magnitude.copysign(w) } else { 0.0 }
    }

    fn constant(&self, magnitude: f64, eta: f64, n: f64) -> f64 {
        let ElasticNet { l1, l2 } = self.penalty;
        if l2 == 0.0 {
            return magnitude - n * eta * l1;
        }
        let log_ratio = match self.method {
            Method::Sgd => (-eta * l2).ln_1p(),
            Method::Fobos => -(eta * l2).ln_1p(),
        };
        let shrunk = (n * log_ratio).exp_m1(); // Rₙ − 1
        magnitude + magnitude * shrunk + l1 * (shrunk / l2)
    }

    /// Brings every weight up to date and restarts the tables.
    fn flush(&mut self) {
        for j in 0..self.weights.len() {
            self.weights[j] = self.current(j);
            self.last[j] = 0;
        }
        match &mut self.steps {
            Steps::Varying { products, sums, .. } => {
                products.truncate(1);
                sums.truncate(1);
            }
            Steps::Constant { count, .. } => *count = 0,
        }
    }
}

impl Update for Table {
    fn fields(&mut self, fields: &mut Fields) {
        fields.fixed(&mut self.weights);
        fields.fixed(&mut self.last);
        match &mut self.steps {
            Steps::Varying { products, sums, .. } => {
                products.fields(fields);
                sums.fields(fields);
                fields.require(!products.is_empty() && products.len() == sums.len());
            }
            Steps::Constant { count, .. } => count.fields(fields),
        }
        let now = self.now();
        fields.require(self.last.iter().all(|&last| last <= now));
    }

    fn score<V: Value>(&mut self, row: Row<V>) -> f64 {
        let now = self.now();
        row.iter()
            .map(|(j, x)| {
                self.weights[j] = self.current(j);
                self.last[j] = now;
                self.weights[j] * x
            })
            .sum()
    }

    fn pull<V: Value>(&mut self, row: Row<V>, amount: f64) {
        row.iter().for_each(|(j, x)| self.weights[j] -= amount * x);
    }

    fn charge(&mut self, eta: f64) {
        let full = match &mut self.steps {
            Steps::Varying { budget, products, sums } => {
                let (before, sum) = (products[products.len() - 1], sums[sums.len() - 1]);
                let (after, divisor) = match self.method {
                    Method::Sgd => {
                        let after = before * (1.0 - eta * self.penalty.l2);
                        (after, after)
                    }
                    Method::Fobos => (before / (1.0 + eta * self.penalty.l2), before),
                };
                products.push(after);
                sums.push(sum + eta / divisor);
                products.len() > *budget || after < SMALLEST_PRODUCT
            }
            Steps::Constant { count, .. } => {
                *count += 1;
                *count == u32::MAX
            }
        };
        if full {
            self.flush();
        }
    }

    fn weights(&self) -> Vec<f64> {
        (0..self.weights.len()).map(|j| self.current(j)).collect()
    }
}
