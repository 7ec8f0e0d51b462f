//! Polyak–Ruppert averaging: the exact mean of all iterates, touching only a row's features.
//!
//! Between two touches a weight in the folded frame stays constant, and only the frame moves: after step k
//! the weight is A_k·max(|v| − θ_k, 0). Debts never decrease, so the weight is non-zero up to some step b,
//! and zero after it. With running sums of the frame, Pₖ = Σ A and Qₖ = Σ A·θ, the sum of the weight over the
//! steps s+1 … t is
//!
//! ```text
//! Σ wₖ = sgn(v)·(|v|·(P_b − P_s) − (Q_b − Q_s)),        b = the last step up to t with θ_b < |v|
//! ```
//!
//! Bisection finds b in a table with one line per step. The table restarts after a fixed number of steps,
//! when every weight is settled. Each sum is kept as two numbers, because differences of nearby sums matter.
//! Everything is in f64. The mean of a weight that was not always zero is not zero, so an averaged model is
//! not sparse.

use super::folded::{check, within};
use crate::data::rows::{Row, Value};
use crate::optim::ledger::Ledger;
use crate::optim::update::Update;
use crate::problem::penalty::{ElasticNet, Method};
use crate::util::state::{Fields, State};

/// Number of steps after which every weight is settled and the table restarts.
const LINES: usize = 1 << 15;
/// Stretch of the frame at which the table also restarts. Beyond it, the sums would span too many magnitudes.
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

    fn since(self, earlier: Double) -> f64 {
        (self.sum - earlier.sum) + (self.rest - earlier.rest)
    }
}

/// The frame after a step, and its sums so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    pub debt: f64,
    pub scales: Double,
    pub debts: Double,
}

/// A weight with its sum. Kept side by side, because a row's features lie anywhere in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    pub stored: f64,
    pub sum: f64,
    pub seen: u32, // the line up to which the sum is complete
}

impl State for Cell {
    fn fields(&mut self, fields: &mut Fields) {
        self.stored.fields(fields);
        self.sum.fields(fields);
        self.seen.fields(fields);
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
    pub(super) lines: Vec<Line>,
    pub(super) ledger: Ledger,
    pub(super) steps: u64,
    pub(super) from: u64,
}

impl Averaged {
    /// Starts from these weights. The average omits the first `from` steps.
    pub fn new(weights: Vec<f64>, penalty: ElasticNet, method: Method, from: u64) -> Averaged {
        let cell = |stored| Cell { stored, ..Cell::default() };
        Averaged {
            cells: weights.into_iter().map(cell).collect(),
            lines: vec![Line::default()],
            ledger: Ledger::new(penalty, method),
            steps: 0,
            from,
        }
    }

    /// The current weights, without averaging.
    pub fn latest(&self) -> Vec<f64> {
        self.cells.iter().map(|cell| self.ledger.settle(cell.stored)).collect()
    }

    /// Number of steps in the average so far.
    pub fn counted(&self) -> u64 {
        self.steps.saturating_sub(self.from)
    }

    /// The sum of a weight over the lines that its stored sum does not cover yet. Most weights are still non-zero at the last line,
    /// and need no bisection.
    #[inline(always)]
    fn missing(&self, cell: Cell) -> f64 {
        let (v, seen) = (cell.stored, cell.seen as usize);
        if v == 0.0 || self.steps <= self.from {
            return 0.0;
        }
        let (start, last) = (self.lines[seen], self.lines[self.lines.len() - 1]);
        let end = match last.debt < v.abs() {
            true => last,
            false => {
                let live = self.lines[seen + 1..].partition_point(|line| line.debt < v.abs());
                self.lines[seen + live]
            }
        };
        (v.abs() * end.scales.since(start.scales) - end.debts.since(start.debts)).copysign(v)
    }

    /// Settles every weight and restarts the table.
    fn begin_anew(&mut self) {
        for j in 0..self.cells.len() {
            let cell = self.cells[j];
            let (stored, sum) = (self.ledger.settle(cell.stored), cell.sum + self.missing(cell));
            self.cells[j] = Cell { stored, sum, seen: 0 };
        }
        self.ledger.clear();
        self.lines.clear();
        self.lines.push(Line::default());
    }
}

impl Update for Averaged {
    fn fields(&mut self, fields: &mut Fields) {
        fields.fixed(&mut self.cells);
        self.lines.fields(fields);
        self.ledger.fields(fields);
        self.steps.fields(fields);
        let lines = self.lines.len();
        fields.require(lines > 0 && self.cells.iter().all(|cell| (cell.seen as usize) < lines));
    }

    fn score<V: Value>(&mut self, row: Row<V>) -> f64 {
        check(&self.cells, row);
        let now = self.lines.len() as u32 - 1;
        let mut score = 0.0;
        for (j, x) in row.iter() {
            let j = within(&self.cells, j as u32);
            let cell = self.cells[j];
            self.cells[j] = Cell { sum: cell.sum + self.missing(cell), seen: now, ..cell };
            score += self.ledger.settle(cell.stored) * x;
        }
        score
    }

    fn pull<V: Value>(&mut self, row: Row<V>, amount: f64) {
        for (j, x) in row.iter() {
            let j = within(&self.cells, j as u32);
            let pulled = self.ledger.settle(self.cells[j].stored) - amount * x;
            self.cells[j].stored = if pulled == 0.0 { 0.0 } else { self.ledger.store(pulled) };
        }
    }

    fn charge(&mut self, eta: f64) {
        self.ledger.charge(eta);
        self.steps += 1;
        let (scale, debt) = (1.0 / self.ledger.stretch(), self.ledger.debt());
        let last = self.lines[self.lines.len() - 1];
        let (scales, debts) = (last.scales.plus(scale), last.debts.plus(scale * debt));
        self.lines.push(Line { debt, scales, debts });
        if self.lines.len() > LINES || self.ledger.stretch() > STRETCH || self.steps == self.from {
            self.begin_anew();
        }
    }

    fn weights(&self) -> Vec<f64> {
        match self.steps.checked_sub(self.from) {
            None | Some(0) => self.latest(),
            Some(steps) => (self.cells.iter())
                .map(|&cell| (cell.sum + self.missing(cell)) / steps as f64)
                .map(|w| if w == 0.0 { 0.0 } else { w })
                .collect(),
        }
    }
}
