//! Columns that every row has, with their means taken off.
//!
//! ```text
//! wₖ·x + bₖ = wₖ·(x − μ) + b′ₖ        b′ₖ = bₖ + wₖ·μ
//! ```
//!
//! Biases have no penalty, so both problems have the same minimum. A column such as a year, whose values are far
//! from zero and close to each other, is almost a multiple of the bias: as it is, coordinate steps and damped steps
//! hardly move along the difference of the two. Columns that some rows do not have stay as they are, and so
//! stay sparse.

use super::{Problem, Solution};
use crate::data::rows::{RowsRef, Value, ValuesRef};
use crate::optim::newton::View;
use crate::problem::heads::Head;

/// A column is centred if the square of its mean exceeds its variance by this factor.
const OFF_CENTRE: f64 = 1.0;

/// The rows with centred columns.
pub(super) struct Centred {
    means: Vec<f64>, // zero for columns that stay
    values: Values,
    pub view: View,
}

enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Centred {
    /// The rows with centred columns; `None` if no column is far off its centre.
    pub fn of(rows: RowsRef) -> Option<Centred> {
        let (means, values) = match rows.values() {
            ValuesRef::F32(values) => {
                let means = means(rows, values)?;
                let shifted = shifted(rows, values, &means, |x, mean| (f64::from(x) - mean) as f32);
                (means, Values::F32(shifted))
            }
            ValuesRef::F64(values) => {
                let means = means(rows, values)?;
                let shifted = shifted(rows, values, &means, |x, mean| x - mean);
                (means, Values::F64(shifted))
            }
        };
        Some(Centred { means, values, view: View::default() })
    }

    /// The same problem on the centred rows.
    pub fn problem<'a>(&'a self, problem: &Problem<'a>) -> Problem<'a> {
        let values = match &self.values {
            Values::F32(values) => ValuesRef::F32(values),
            Values::F64(values) => ValuesRef::F64(values),
        };
        Problem { rows: problem.rows.with_values(values), ..*problem }
    }

    /// Heads for the centred rows with the same scores.
    pub fn heads(&self, heads: &[Head]) -> Vec<Head> {
        heads.iter().map(|head| Head { bias: head.bias + self.shift(head), ..head.clone() }).collect()
    }

    /// The solution for the rows as they are. Biases sum to zero over the classes that have rows.
    pub fn solution(&self, mut solution: Solution, problem: &Problem) -> Solution {
        let mut present = vec![false; problem.count];
        problem.classes.iter().for_each(|class| present[*class as usize] = true);
        for head in &mut solution.heads {
            head.bias -= self.shift(head);
        }
        let count = present.iter().filter(|here| **here).count().max(1) as f64;
        let heads = solution.heads.iter().zip(&present).filter(|(_, here)| **here);
        let mean = heads.map(|(head, _)| head.bias).sum::<f64>() / count;
        solution.heads.iter_mut().for_each(|head| head.bias -= mean);
        solution
    }

    fn shift(&self, head: &Head) -> f64 {
        head.columns.iter().zip(&head.weights).map(|(&j, w)| self.means[j as usize] * w).sum()
    }
}

/// The means of columns that every row has and that are far off their centre; `None` if there are none.
fn means<V: Value>(rows: RowsRef, values: &[V]) -> Option<Vec<f64>> {
    let n = rows.len() as f64;
    let mut sums = vec![(0usize, 0.0, 0.0); rows.columns()];
    for (&j, x) in rows.ids().iter().zip(values) {
        let (count, sum, squares) = &mut sums[j as usize];
        let x = x.to_f64();
        (*count, *sum, *squares) = (*count + 1, *sum + x, *squares + x * x);
    }
    let mean = |&(count, sum, squares): &(usize, f64, f64)| {
        let mean = sum / n;
        let off_centre = mean * mean > OFF_CENTRE * (squares / n - mean * mean);
        if count == rows.len() && off_centre && mean.is_finite() { mean } else { 0.0 }
    };
    let means: Vec<f64> = sums.iter().map(mean).collect();
    means.iter().any(|mean| *mean != 0.0).then_some(means)
}

fn shifted<V: Value>(rows: RowsRef, values: &[V], means: &[f64], one: fn(V, f64) -> V) -> Vec<V> {
    rows.ids().iter().zip(values).map(|(&j, x)| one(*x, means[j as usize])).collect()
}
