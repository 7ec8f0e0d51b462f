//! The interface of an update: how weights are stored under a penalty.
//!
//! A step is the same in all updates: the loss gradient on the row's features, then one penalty step on every
//! weight (order A). Its loop is also the same: [`crate::optim::sgd`]. Updates differ in when they apply the
//! penalty:
//!
//! | update | penalty | module |
//! |---|---|---|
//! | lazy | touches no weight: two numbers change | [`crate::optim::kernel`] |
//! | table | when the weight is next needed, from two tables (the paper) | [`crate::optim::reference`] |
//! | dense, dense-sparse-predict | on every weight at every step | [`crate::optim::reference`] |
//!
//! ```
//! use lazyglm::{Precision, Settings, UpdateName::*, synth, train};
//! let task = synth::documents(&synth::Shape { rows: 200, features: 50, ..Default::default() }).task;
//! let objectives = [Lazy, Table, Dense, DenseSparsePredict].map(|update| {
//!     let settings = Settings { update, precision: Precision::F64, eta0: Some(0.1), ..Settings::default() };
//!     train(&task, None, &settings, &mut |_| {}).unwrap().report.objective
//! });
//! assert!(objectives.iter().all(|f| (f - objectives[0]).abs() < 1e-12));
//! ```

use crate::data::rows::{Row, Value};
use crate::util::state::Fields;

/// A representation of weights under a penalty.
///
/// ```
/// use lazyglm::{ElasticNet, Method, RowsRef, ValuesRef, optim::kernel::Folded, optim::reference::Dense, optim::update::Update};
/// fn two_steps(mut update: impl Update) -> Vec<f64> {
///     let values = [1.0, 2.0];
///     let rows = RowsRef::new(&[0, 2], &[0, 2], ValuesRef::F64(&values), 3).unwrap();
///     for _ in 0..2 {
///         let score = update.score(rows.row(&values, 0));
///         update.pull(rows.row(&values, 0), 0.25 * (score - 1.0)); // squared loss, target 1, rate ¼
///         update.charge(0.25);
///     }
///     update.weights()
/// }
/// let (start, penalty) = (vec![0.0, 1.0, 0.0], ElasticNet::new(0.5, 0.0).unwrap());
/// let dense = two_steps(Dense::<true>::new(start.clone(), penalty, Method::Fobos));
/// assert_eq!(two_steps(Folded::<f64>::new(start, penalty, Method::Fobos)), dense);
/// ```
pub trait Update {
    /// The score w·x of the row at the current weights. [`Update::pull`] of the same row may follow.
    fn score<V: Value>(&mut self, row: Row<V>) -> f64;

    /// The gradient step w ← w − amount·x on the features of the last scored row.
    fn pull<V: Value>(&mut self, row: Row<V>, amount: f64);

    /// Applies one penalty step at learning rate `eta` to every weight.
    fn charge(&mut self, eta: f64);

    /// The current weights.
    fn weights(&self) -> Vec<f64>;

    /// The state, for a checkpoint after any step.
    fn fields(&mut self, fields: &mut Fields) {
        fields.refuse();
    }
}
