//! What the laws draw from: adversarial numbers and rows.

pub mod alarm;
pub mod problem;
pub mod reading;

use lazyglm::optim::update::Update;
use lazyglm::util::random::Random;
use lazyglm::{ElasticNet, Method, Rows, ValuesRef, WeightedPenalty};

pub const METHODS: [Method; 2] = [Method::Sgd, Method::Fobos];

/// Between two magnitudes, evenly in the logarithm: uniform draws let planted bugs through.
pub fn log_uniform(random: &mut Random, low: f64, high: f64) -> f64 {
    (low.ln() + (high.ln() - low.ln()) * random.uniform()).exp()
}

pub fn sign(random: &mut Random) -> f64 {
    if random.uniform() < 0.5 { -1.0 } else { 1.0 }
}

/// None, ℓ₁, ℓ₂² or both, log-uniform up to these.
pub fn penalty(random: &mut Random, l1: f64, l2: f64) -> ElasticNet {
    let corner = random.below(5);
    let l1 = if corner == 0 || corner == 2 { 0.0 } else { log_uniform(random, l1 * 1e-7, l1) };
    let l2 = if corner == 0 || corner == 1 { 0.0 } else { log_uniform(random, l2 * 1e-7, l2) };
    ElasticNet::new(l1, l2).unwrap()
}

/// Penalty factors and bounds for half of all draws each: weights that are free, bounded on one side or both, or excluded.
pub struct Weighted {
    pub factors: Option<Vec<f64>>,
    pub bounds: Option<Vec<[f64; 2]>>,
}

impl Weighted {
    pub fn draw(random: &mut Random, columns: usize, most: f64) -> Weighted {
        let bound = |random: &mut Random| log_uniform(random, 0.01 * most, most);
        let infinity = f64::INFINITY;
        let range = |random: &mut Random| match random.below(6) {
            0 => [-infinity, infinity],
            1 => [-bound(random), bound(random)],
            2 => [0.0, bound(random)],
            3 => [-bound(random), 0.0],
            4 => [-infinity, bound(random)],
            _ => [0.0, 0.0],
        };
        let factors = (random.below(2) == 0).then(|| (0..columns).map(|j| 0.5 + (j % 4) as f64).collect());
        let bounds = (random.below(2) == 0).then(|| (0..columns).map(|_| range(random)).collect());
        Weighted { factors, bounds }
    }

    pub fn of(&self, penalty: ElasticNet) -> WeightedPenalty<'_> {
        let (factors, bounds) = (self.factors.as_deref(), self.bounds.as_deref());
        WeightedPenalty { factors, bounds, ..WeightedPenalty::of(penalty) }
    }

    /// A weight, moved into its bounds.
    pub fn clip(&self, j: usize, weight: f64) -> f64 {
        self.bounds.as_ref().map_or(weight, |bounds| weight.clamp(bounds[j][0], bounds[j][1]))
    }
}

/// Rows over `columns` features: common ones and ones with long gaps, some rows empty.
pub fn rows(random: &mut Random, count: usize, columns: usize) -> Rows {
    let mut rows = Rows::new();
    for _ in 0..count {
        let mut ids: Vec<u32> = (0..random.below(12))
            .map(|_| ((columns as f64).powf(random.uniform()) as u32 - 1).min(columns as u32 - 1))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let row: Vec<(u32, f64)> =
            ids.into_iter().map(|id| (id, sign(random) * log_uniform(random, 0.1, 3.0))).collect();
        rows.push(&row).unwrap();
    }
    rows.declare_columns(columns);
    rows
}

/// A run whose slopes and rates are given, not learnt.
pub struct OpenLoop {
    pub rows: Rows,
    pub start: Vec<f64>,
    pub amounts: Vec<f64>,
    pub etas: Vec<f64>,
    pub penalty: ElasticNet,
    pub method: Method,
}

impl OpenLoop {
    /// Slopes, rates and starting weights log-uniform; some slopes zero; one rate for all if `constant`.
    pub fn draw(random: &mut Random, steps: usize, method: Method, constant: bool) -> OpenLoop {
        let columns = 1 + random.below(40) as usize;
        let penalty = penalty(random, 1.0, 10.0);
        let most = if method == Method::Sgd { 0.9 / penalty.l2.max(0.3) } else { 3.0 };
        let one_eta = log_uniform(random, 1e-4, most);
        let etas: Vec<f64> =
            (0..steps).map(|_| if constant { one_eta } else { log_uniform(random, 1e-5, most) }).collect();
        let amounts = etas
            .iter()
            .map(|eta| {
                if random.below(8) == 0 { 0.0 } else { eta * sign(random) * log_uniform(random, 1e-4, 10.0) }
            })
            .collect();
        let start = (0..columns).map(|_| sign(random) * log_uniform(random, 1e-6, 1e3)).collect();
        OpenLoop { rows: rows(random, steps, columns), start, amounts, etas, penalty, method }
    }

    /// Runs an update; returns its weights at the end and the largest magnitude it ever showed.
    pub fn run<U: Update>(&self, mut update: U) -> Vec<f64> {
        let rows = self.rows.borrow();
        for t in 0..rows.len() {
            match rows.values() {
                ValuesRef::F32(v) => one(&mut update, rows.row(v, t), self.amounts[t]),
                ValuesRef::F64(v) => one(&mut update, rows.row(v, t), self.amounts[t]),
            }
            update.charge(self.etas[t]);
        }
        update.weights()
    }

    /// The largest weight that an update ever has on the way.
    pub fn largest<U: Update>(&self, update: U) -> f64 {
        let start = update.weights().iter().fold(0.0, |largest: f64, w| largest.max(w.abs()));
        let largest = std::rc::Rc::new(std::cell::Cell::new(start));
        self.run(Yardstick { inner: update, largest: largest.clone() });
        largest.get()
    }
}

fn one<U: Update, V: lazyglm::Value>(update: &mut U, row: lazyglm::Row<V>, amount: f64) {
    update.score(row);
    if amount != 0.0 {
        update.pull(row, amount);
    }
}

/// An update that remembers the largest weight it ever had: the yardstick for errors.
pub struct Yardstick<U> {
    pub inner: U,
    pub largest: std::rc::Rc<std::cell::Cell<f64>>,
}

impl<U: Update> Update for Yardstick<U> {
    fn score<V: lazyglm::Value>(&mut self, row: lazyglm::Row<V>) -> f64 {
        self.inner.score(row)
    }
    fn pull<V: lazyglm::Value>(&mut self, row: lazyglm::Row<V>, amount: f64) {
        self.inner.pull(row, amount);
        let largest = self.inner.weights().iter().fold(self.largest.get(), |l, w| l.max(w.abs()));
        self.largest.set(largest);
    }
    fn charge(&mut self, eta: f64) {
        self.inner.charge(eta);
    }
    fn weights(&self) -> Vec<f64> {
        self.inner.weights()
    }
}

/// 1e-12, or what the roundings of T dense steps may add up to, whichever is more: a proximal one, (w − ηλ₁)/(1 + ηλ₂), has three,
/// and where it hardly moves w they all go one way.
pub fn tolerance(steps: usize) -> f64 {
    1e-12_f64.max(3.0 * steps as f64 * 2f64.powi(-53))
}

/// How two sets of weights differ.
#[derive(Debug, Default)]
pub struct Difference {
    /// The largest difference, relative to `scale`.
    pub worst: f64,
    /// Weights that are zero in one and not in the other.
    pub zeros: usize,
    /// The largest of these, relative to `scale`.
    pub worst_zero: f64,
}

pub fn difference(a: &[f64], b: &[f64], scale: f64) -> Difference {
    assert_eq!(a.len(), b.len());
    let mut difference = Difference::default();
    for (a, b) in a.iter().zip(b) {
        assert!(a.is_finite() && b.is_finite());
        difference.worst = difference.worst.max((a - b).abs() / scale);
        if (*a == 0.0) != (*b == 0.0) {
            difference.zeros += 1;
            difference.worst_zero = difference.worst_zero.max(a.abs().max(b.abs()) / scale);
        }
    }
    difference
}
