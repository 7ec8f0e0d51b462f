//! Polyak–Ruppert averaging: the exact mean of all iterates, touching only a row's features.
//!
//! Between two touches a weight in the folded frame stays constant, and only the frame moves: after step k
//! the weight is A_k·max(|v| − θ_k, 0). Debts never decrease, so the weight is non-zero up to some step b,
//! and zero after it. With running sums of the frame, Pₖ = Σ A and Qₖ = Σ A·θ, the sum of the weight over the
//! steps s+1 … t is
//!
//! ```text
//! Σ wₖ = S(v, b) − S(v, s),   S(v, k) = sgn(v)·(|v|·Pₖ − Qₖ),        b = the last step up to t with θ_b < |v|
//! ```
//!
//! So a weight that changes from v to v′ after step s adds S(v, b) − S(v′, s) to its sum; no other step touches it. For a weight that is
//! still non-zero, b = t. Otherwise, bisection finds b in a table with one line per step, which is kept if there is an ℓ₁ penalty.
//! The sums restart after a fixed number of steps, when every weight is settled, so that their differences are exact to 11 digits.
//! Everything is in f64. The mean of a weight that was not always zero is not zero, so an averaged model is
//! not sparse.

use super::folded::{check, within};
use crate::data::rows::{Row, Value};
use crate::optim::ledger::Ledger;
use crate::optim::update::Update;
use crate::problem::penalty::{ElasticNet, Method};
use crate::util::state::{Fields, State};

/// Number of steps after which every weight is settled and the sums restart.
const RESTART: u64 = 1 << 15;
/// Stretch of the frame at which the sums also restart. Beyond it, they would span too many magnitudes.
const STRETCH: f64 = 8.0;

/// A compensated sum: the second number holds what rounding drops from the first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Double {
    pub sum: f64,
    pub rest: f64,
}

impl Double {
    fn plus(self, more: f64) -> Double {
        let sum = self.sum + more;
        let back = sum - self.sum;
        let dropped = (self.sum - (sum - back)) + (more - back);
        Double { sum, rest: self.rest + dropped }
    }

    fn value(self) -> f64 {
        self.sum + self.rest
    }
}

/// The frame after a step, and its sums P and Q so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    pub debt: f64,
    pub scales: Double,
    pub debts: Double,
}

impl Line {
    /// The frame of the step of this line.
    pub(super) fn frame(&self, stretch: f64) -> Frame {
        let (scales, debts) = (self.scales.value(), self.debts.value());
        Frame { debt: self.debt, stretch, scale: 1.0 / stretch, scales, debts }
    }
}

/// The frame after a step k, in plain numbers: θₖ, 1/Aₖ, Aₖ, Pₖ and Qₖ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    debt: f64,
    stretch: f64,
    scale: f64,
    scales: f64,
    debts: f64,
}

impl Frame {
    /// The weight that a stored number stands for.
    #[inline(always)]
    fn settle(&self, v: f64) -> f64 {
        ((v.abs() - self.debt) * self.scale).max(0.0).copysign(v)
    }

    /// The stored number that stands for a weight: zero if the weight is rounded away.
    #[inline(always)]
    fn store(&self, w: f64) -> f64 {
        let size = w.abs() * self.stretch + self.debt;
        if size > self.debt { size.copysign(w) } else { 0.0 }
    }

    /// S(v, k).
    #[inline(always)]
    fn sum(&self, v: f64) -> f64 {
        let sum = v.abs() * self.scales - self.debts;
        if v == 0.0 { 0.0 } else { sum * 1f64.copysign(v) }
    }
}

/// A weight v, and its sum less S(v, s). Kept side by side, because a row's features lie anywhere in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    pub stored: f64,
    pub sum: f64,
}

impl State for Cell {
    fn fields(&mut self, fields: &mut Fields) {
        self.stored.fields(fields);
        self.sum.fields(fields);
    }
}

impl State for Line {
    fn fields(&mut self, fields: &mut Fields) {
        self.debt.fields(fields);
        for sums in [&mut self.scales, &mut self.debts] {
            sums.sum.fields(fields);
            sums.rest.fields(fields);
        }
    }
}

/// Lazy updates that return the average of the weights over steps.
///
/// ```
/// use lazyglm::{ElasticNet, Method, optim::kernel::Averaged, optim::update::Update};
/// let mut mean = Averaged::new(vec![1.0, 0.25], ElasticNet::new(0.25, 0.0).unwrap(), Method::Fobos, 0);
/// (0..2).for_each(|_| mean.charge(1.0)); // ¾, ½ and 0, 0
/// assert_eq!(mean.weights(), [0.625, 0.0]);
/// assert_eq!(mean.latest(), [0.5, 0.0]);
/// ```
#[derive(Clone)]
pub struct Averaged {
    pub(super) cells: Vec<Cell>,
    pub(super) now: Line,
    pub(super) frame: Frame,     // that of `now`
    pub(super) lines: Vec<Line>, // the lines since the last restart, if there is an ℓ₁ penalty
    pub(super) ledger: Ledger,
    pub(super) since: u64, // steps since the last restart
    pub(super) steps: u64,
    pub(super) from: u64,
}

impl Averaged {
    /// Starts from these weights. The average omits the first `from` steps.
    pub fn new(weights: Vec<f64>, penalty: ElasticNet, method: Method, from: u64) -> Averaged {
        let cell = |stored| Cell { stored, sum: 0.0 };
        Averaged {
            cells: weights.into_iter().map(cell).collect(),
            now: Line::default(),
            frame: Line::default().frame(1.0),
            lines: Vec::new(),
            ledger: Ledger::new(penalty, method),
            since: 0,
            steps: 0,
            from,
        }
    }

    /// The current weights, without averaging.
    pub fn latest(&self) -> Vec<f64> {
        self.cells.iter().map(|cell| self.frame.settle(cell.stored) + 0.0).collect() // not −0
    }

    /// Number of steps in the average so far.
    pub fn counted(&self) -> u64 {
        self.steps.saturating_sub(self.from)
    }

    /// The sum of a weight over all steps that the average counts.
    #[inline(always)]
    fn total(&self, cell: Cell) -> f64 {
        let size = cell.stored.abs();
        match self.frame.debt < size || size == 0.0 {
            true => cell.sum + self.frame.sum(cell.stored),
            false => cell.sum + self.last_alive(size).frame(1.0).sum(cell.stored),
        }
    }

    /// The line of the last step after which a weight of this size was not zero.
    #[cold]
    fn last_alive(&self, size: f64) -> Line {
        let alive = self.lines.partition_point(|line| line.debt < size);
        alive.checked_sub(1).map_or(Line::default(), |last| self.lines[last])
    }

    /// Settles every weight and restarts the sums.
    fn begin_anew(&mut self) {
        for j in 0..self.cells.len() {
            let cell = self.cells[j];
            self.cells[j] = Cell { stored: self.frame.settle(cell.stored) + 0.0, sum: self.total(cell) };
        }
        self.ledger.clear();
        self.lines.clear();
        (self.now, self.since) = (Line::default(), 0);
        self.frame = self.now.frame(1.0);
    }
}

impl Update for Averaged {
    fn fields(&mut self, fields: &mut Fields) {
        fields.fixed(&mut self.cells);
        self.now.fields(fields);
        self.lines.fields(fields);
        self.ledger.fields(fields);
        self.since.fields(fields);
        self.steps.fields(fields);
        self.frame = self.now.frame(self.ledger.stretch());
    }

    fn score<V: Value>(&mut self, row: Row<V>) -> f64 {
        check(&self.cells, row);
        let mut score = 0.0;
        for (j, x) in row.iter() {
            score += self.frame.settle(self.cells[within(&self.cells, j as u32)].stored) * x;
        }
        score
    }

    fn pull<V: Value>(&mut self, row: Row<V>, amount: f64) {
        for (j, x) in row.iter() {
            let j = within(&self.cells, j as u32);
            let cell = self.cells[j];
            let stored = self.frame.store(self.frame.settle(cell.stored) - amount * x);
            self.cells[j] = Cell { stored, sum: self.total(cell) - self.frame.sum(stored) };
        }
    }

    fn charge(&mut self, eta: f64) {
        self.ledger.charge(eta);
        (self.steps, self.since) = (self.steps + 1, self.since + 1);
        let (scale, debt) = (1.0 / self.ledger.stretch(), self.ledger.debt());
        self.now.debt = debt;
        if self.steps > self.from {
            self.now.scales = self.now.scales.plus(scale);
            self.now.debts = self.now.debts.plus(scale * debt);
        }
        self.frame = self.now.frame(self.ledger.stretch());
        if debt > 0.0 {
            self.lines.push(self.now);
        }
        if self.since >= RESTART || self.ledger.stretch() > STRETCH {
            self.begin_anew();
        }
    }

    fn weights(&self) -> Vec<f64> {
        match self.steps.checked_sub(self.from) {
            None | Some(0) => self.latest(),
            Some(steps) => (self.cells.iter())
                .map(|&cell| self.total(cell) / steps as f64)
                .map(|w| if w == 0.0 { 0.0 } else { w })
                .collect(),
        }
    }
}
