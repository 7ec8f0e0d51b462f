//! Lazy steps on rows that come block by block: weights that grow, and sums for the zero test.

use super::kernel::{Folded, Weight};
use super::sgd::{Diverged, Rule};
use super::update::Update;
use crate::data::rows::{Row, RowsRef, Value, ValuesRef};
use crate::problem::settings::{Precision, Settings};
use crate::simd;

/// Target, weight and offset of a row.
pub(crate) type Known<'k> = dyn Fn(usize) -> [f64; 3] + 'k;

/// A model in training, whose type of weights is not known.
pub(crate) trait Learner {
    /// Makes a step for each row, in their order.
    fn learn(&mut self, rule: &Rule, rows: RowsRef, known: &Known) -> Result<(), Diverged>;
    /// Adds columns with zero weights.
    fn grow(&mut self, columns: usize);
    /// Sets the bias before the first step.
    fn begin_at(&mut self, bias: f64);
    fn columns(&self) -> usize;
    fn weights(&self) -> Vec<f64>;
    fn bias(&self) -> f64;
    /// The sum of each row's weighted loss before the step on it.
    fn loss(&self) -> f64;
    /// Whether each column occurs in some row.
    fn occurs(&self) -> &[bool];
    /// Σ ω(ℓ′xⱼ − ℓ″xⱼ²wⱼ) and Σ ωℓ″xⱼ², if the zero test needs them.
    fn sums(&self) -> Option<(&[f64], &[f64])>;
}

/// A learner for the precision and the penalty of the settings.
pub(crate) fn learner(settings: &Settings, sums: bool) -> Box<dyn Learner> {
    let (penalty, method, bias) = (settings.penalty, settings.method, settings.bias);
    match (settings.precision, penalty.is_none()) {
        (Precision::F32, false) => {
            Stepwise::boxed(Folded::<f32>::new(Vec::new(), penalty, method), bias, sums)
        }
        (Precision::F64, false) => {
            Stepwise::boxed(Folded::<f64>::new(Vec::new(), penalty, method), bias, sums)
        }
        (Precision::F32, true) => {
            Stepwise::boxed(Folded::<f32, false>::new(Vec::new(), penalty, method), bias, sums)
        }
        (Precision::F64, true) => {
            Stepwise::boxed(Folded::<f64, false>::new(Vec::new(), penalty, method), bias, sums)
        }
    }
}

struct Stepwise<W, const PENALTY: bool> {
    update: Folded<W, PENALTY>,
    bias: f64,
    learns_bias: bool,
    t: u64,
    loss: f64,
    occurs: Vec<bool>,
    sums: Option<[Vec<f64>; 2]>,
}

impl<W: Weight + 'static, const PENALTY: bool> Stepwise<W, PENALTY> {
    fn boxed(update: Folded<W, PENALTY>, learns_bias: bool, sums: bool) -> Box<dyn Learner> {
        let sums = sums.then(Default::default);
        Box::new(Stepwise { update, bias: 0.0, learns_bias, t: 0, loss: 0.0, occurs: Vec::new(), sums })
    }

    /// Makes a step on a row, unless a number of it is infinite or NaN.
    #[inline(always)]
    fn row<V: Value>(
        &mut self,
        rule: &Rule,
        row: Row<V>,
        [target, weight, offset]: [f64; 3],
    ) -> Result<(), [f64; 2]> {
        if weight == 0.0 {
            return Ok(()); // as if the row were absent
        }
        row.ids.iter().for_each(|&id| self.occurs[id as usize] = true);
        let score = self.update.score(row) + self.bias + offset;
        let slope = weight * rule.loss.slope(score, target);
        if !(score.is_finite() && slope.is_finite()) {
            return Err([score, slope]);
        }
        self.loss += weight * rule.loss.value(score, target);
        if let Some([from_zero, curvatures]) = &mut self.sums {
            let curvature = weight * rule.loss.second_derivative(score, target).unwrap_or(0.0);
            for (k, (j, x)) in row.iter().enumerate() {
                let h = curvature * x * x;
                from_zero[j] += slope * x - h * self.update.weight_in_row(k);
                curvatures[j] += h;
            }
        }
        let eta = rule.schedule.eta(self.t);
        if slope != 0.0 {
            self.update.pull(row, eta * slope);
            if self.learns_bias {
                self.bias -= eta * slope;
            }
        }
        self.update.charge(eta);
        self.t += 1;
        Ok(())
    }
}

/// All steps on the rows of a block.
struct Block<'a, W, V, const PENALTY: bool> {
    model: &'a mut Stepwise<W, PENALTY>,
    rule: &'a Rule<'a>,
    rows: RowsRef<'a>,
    values: &'a [V],
    known: &'a Known<'a>,
}

impl<W: Weight, V: Value, const PENALTY: bool> simd::Work for Block<'_, W, V, PENALTY> {
    type Answer = Result<(), Diverged>;

    #[inline(always)]
    fn run(self) -> Result<(), Diverged> {
        let Block { model, rule, rows, values, known } = self;
        for i in 0..rows.len() {
            let done = model.row(rule, rows.row(values, i), known(i));
            done.map_err(|[score, slope]| Diverged { row: i, t: model.t, score, slope })?;
        }
        Ok(())
    }
}

impl<W: Weight, const PENALTY: bool> Learner for Stepwise<W, PENALTY> {
    fn learn(&mut self, rule: &Rule, rows: RowsRef, known: &Known) -> Result<(), Diverged> {
        let model = self;
        match rows.values() {
            ValuesRef::F32(values) => simd::fastest(Block { model, rule, rows, values, known }),
            ValuesRef::F64(values) => simd::fastest(Block { model, rule, rows, values, known }),
        }
    }

    fn grow(&mut self, columns: usize) {
        if columns > self.occurs.len() {
            self.update.grow(columns);
            self.occurs.resize(columns, false);
            self.sums.iter_mut().flatten().for_each(|sums| sums.resize(columns, 0.0));
        }
    }

    fn begin_at(&mut self, bias: f64) {
        self.bias = bias;
    }

    fn columns(&self) -> usize {
        self.occurs.len()
    }

    fn weights(&self) -> Vec<f64> {
        self.update.weights()
    }

    fn bias(&self) -> f64 {
        self.bias
    }

    fn loss(&self) -> f64 {
        self.loss
    }

    fn occurs(&self) -> &[bool] {
        &self.occurs
    }

    fn sums(&self) -> Option<(&[f64], &[f64])> {
        self.sums.as_ref().map(|[from_zero, curvature]| (&from_zero[..], &curvature[..]))
    }
}
