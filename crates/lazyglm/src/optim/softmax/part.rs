//! The kernels of a softmax: blocks of classes.

use crate::data::rows::{Row, RowsRef, Value, ValuesRef};
use crate::optim::kernel::{Half, LaneVector, Lanes, Line, Weight};
use crate::problem::penalty::{ElasticNet, Method};
use crate::problem::settings::Precision;
use crate::simd;
use crate::util::state::{Fields, State};

/// Some of the classes, as lanes of one kernel.
pub(super) trait Part: Send {
    fn score(&mut self, rows: RowsRef, i: usize, soon: &[u32], into: &mut [f64]);
    fn step(&mut self, rows: RowsRef, i: usize, amounts: &[f64], eta: f64);
    fn weights(&self, lane: usize) -> Box<dyn Iterator<Item = f64> + '_>;
    fn fields(&mut self, fields: &mut Fields);
}

/// The kernel for classes with these penalties.
pub(super) fn part(
    columns: usize,
    penalties: &[ElasticNet],
    method: Method,
    width: Precision,
) -> Box<dyn Part> {
    match (width, penalties.len()) {
        (Precision::F32, ..=8) => Box::new(Lanes::<f32, Half<f32, 8>, 8>::new(columns, penalties, method)),
        (Precision::F32, _) => Box::new(Lanes::<f32, Line<f32, 16>, 16>::new(columns, penalties, method)),
        (Precision::F64, _) => Box::new(Lanes::<f64, Line<f64, 8>, 8>::new(columns, penalties, method)),
    }
}

impl<W: Weight, P: LaneVector<W, L>, const L: usize> Part for Lanes<W, P, L> {
    fn score(&mut self, rows: RowsRef, i: usize, soon: &[u32], into: &mut [f64]) {
        match rows.values() {
            ValuesRef::F32(values) => {
                simd::fastest(Score { lanes: self, row: rows.row(values, i), soon, into });
            }
            ValuesRef::F64(values) => {
                simd::fastest(Score { lanes: self, row: rows.row(values, i), soon, into });
            }
        }
    }

    fn step(&mut self, rows: RowsRef, i: usize, amounts: &[f64], eta: f64) {
        match rows.values() {
            ValuesRef::F32(values) => {
                simd::fastest(Step { lanes: self, row: rows.row(values, i), amounts, eta });
            }
            ValuesRef::F64(values) => {
                simd::fastest(Step { lanes: self, row: rows.row(values, i), amounts, eta });
            }
        }
    }

    fn weights(&self, lane: usize) -> Box<dyn Iterator<Item = f64> + '_> {
        Box::new(self.weights_with(lane))
    }

    fn fields(&mut self, fields: &mut Fields) {
        State::fields(self, fields);
    }
}

struct Score<'a, W, P, V, const L: usize> {
    lanes: &'a mut Lanes<W, P, L>,
    row: Row<'a, V>,
    soon: &'a [u32],
    into: &'a mut [f64],
}

impl<W: Weight, P: LaneVector<W, L>, V: Value, const L: usize> simd::Work for Score<'_, W, P, V, L> {
    type Answer = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let scores = self.lanes.score(self.row, self.soon);
        self.into.copy_from_slice(&scores[..self.into.len()]);
    }
}

struct Step<'a, W, P, V, const L: usize> {
    lanes: &'a mut Lanes<W, P, L>,
    row: Row<'a, V>,
    amounts: &'a [f64],
    eta: f64,
}

impl<W: Weight, P: LaneVector<W, L>, V: Value, const L: usize> simd::Work for Step<'_, W, P, V, L> {
    type Answer = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let mut amounts = [0.0; L];
        amounts[..self.amounts.len()].copy_from_slice(self.amounts);
        if amounts != [0.0; L] {
            self.lanes.pull(self.row, &amounts, &amounts.map(|amount| amount == 0.0));
        }
        self.lanes.charge([self.eta; L], self.row.ids.len());
    }
}
