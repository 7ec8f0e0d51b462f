//! Dense updates: after each row, every weight takes one penalty step. The cost is O(d) per row.

use crate::data::rows::{Row, Value};
use crate::optim::update::Update;
use crate::problem::penalty::one::clip;
use crate::problem::penalty::{ElasticNet, Method, WeightedPenalty};
use crate::util::state::Fields;

/// Dense updates of every weight at every step.
///
/// With `SPARSE_PREDICT`, the score is a sum over the row's non-zeros (the paper's "dense updates with sparse
/// predictions"). Otherwise the score also runs over all d weights.
///
/// ```
/// use lazyglm::{ElasticNet, Method, optim::reference::Dense, optim::update::Update};
/// let penalty = ElasticNet::new(0.5, 0.0).unwrap();
/// let mut dense = Dense::<true>::new(vec![2.0, -0.25], penalty, Method::Sgd);
/// dense.charge(1.0);
/// assert_eq!(dense.weights(), [1.5, 0.0]);
/// ```
pub struct Dense<const SPARSE_PREDICT: bool> {
    weights: Vec<f64>,
    row: Vec<f64>, // the current row as a dense vector
    penalty: ElasticNet,
    method: Method,
    factors: Option<Vec<f64>>,
    ranges: Option<Vec<[f64; 2]>>,
}

impl<const SPARSE_PREDICT: bool> Dense<SPARSE_PREDICT> {
    /// Starts from these weights.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, RowsRef, ValuesRef, optim::reference::Dense, optim::update::Update};
    /// let values = [1.0, 2.0];
    /// let rows = RowsRef::new(&[0, 2], &[0, 2], ValuesRef::F64(&values), 3).unwrap();
    /// let (start, penalty) = (vec![1.0, 5.0, 0.5], ElasticNet::new(0.0, 0.0).unwrap());
    /// let mut sparse = Dense::<true>::new(start.clone(), penalty, Method::Sgd);
    /// let mut dense = Dense::<false>::new(start, penalty, Method::Sgd);
    /// assert_eq!(sparse.score(rows.row(&values, 0)), 2.0); // two products
    /// assert_eq!(dense.score(rows.row(&values, 0)), 2.0); // three
    /// ```
    pub fn new(weights: Vec<f64>, penalty: ElasticNet, method: Method) -> Self {
        let row = if SPARSE_PREDICT { Vec::new() } else { vec![0.0; weights.len()] };
        Dense { weights, row, penalty, method, factors: None, ranges: None }
    }

    /// Starts from these weights, with a penalty factor and bounds per weight.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, WeightedPenalty, optim::reference::Dense, optim::update::Update};
    /// let penalty = ElasticNet::new(0.5, 0.0).unwrap();
    /// let plain = WeightedPenalty::of(penalty);
    /// let weighted_penalty = WeightedPenalty { factors: Some(&[1.0, 2.0, 1.0]), nonnegative: true, ..plain };
    /// let mut dense = Dense::<true>::with_factors(vec![2.0, 2.0, -1.0], &weighted_penalty, Method::Fobos);
    /// dense.charge(1.0);
    /// assert_eq!(dense.weights(), [1.5, 1.0, 0.0]);
    /// ```
    pub fn with_factors(weights: Vec<f64>, weighted_penalty: &WeightedPenalty, method: Method) -> Self {
        let WeightedPenalty { penalty, factors, .. } = *weighted_penalty;
        let all = 0..weights.len();
        let ranges = weighted_penalty.is_bounded().then(|| all.map(|j| weighted_penalty.range(j)).collect());
        Dense { factors: factors.map(<[f64]>::to_vec), ranges, ..Dense::new(weights, penalty, method) }
    }
}

/// The dot product Σ aⱼbⱼ in eight partial sums. A single sum would make each addition wait, and dense
/// updates seem slower than they are.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks(8).zip(b.chunks(8)) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum()
}

impl<const SPARSE_PREDICT: bool> Update for Dense<SPARSE_PREDICT> {
    fn fields(&mut self, fields: &mut Fields) {
        fields.fixed(&mut self.weights);
    }

    fn score<V: Value>(&mut self, row: Row<V>) -> f64 {
        if SPARSE_PREDICT {
            return row.dot(&self.weights);
        }
        row.iter().for_each(|(j, x)| self.row[j] = x);
        let score = dot(&self.weights, &self.row);
        row.iter().for_each(|(j, _)| self.row[j] = 0.0);
        score
    }

    fn pull<V: Value>(&mut self, row: Row<V>, amount: f64) {
        row.iter().for_each(|(j, x)| self.weights[j] -= amount * x);
    }

    fn charge(&mut self, eta: f64) {
        let factors = self.factors.as_deref();
        let weighted_penalty = WeightedPenalty { factors, ..WeightedPenalty::of(self.penalty) };
        for (j, w) in self.weights.iter_mut().enumerate() {
            *w = self.method.step(weighted_penalty.at(j), eta, *w);
            if let Some(ranges) = &self.ranges {
                *w = clip(*w, ranges[j]);
            }
        }
    }

    fn weights(&self) -> Vec<f64> {
        self.weights.clone()
    }
}
