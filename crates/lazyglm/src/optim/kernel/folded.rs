//! The folded frame: lazy penalty updates with four bytes per weight (eight in f64), no timestamps and no
//! tables. The penalty costs a subtraction and a maximum per non-zero. See [`crate::optim::ledger`] for the
//! frame itself.
//!
//! ```text
//! score   mⱼ = sgn(vⱼ)·max(|vⱼ| − θ, 0);  s = A·Σ xⱼmⱼ         (the mⱼ are kept for the pull)
//! pull    mⱼ ← mⱼ − (amount/A)·xⱼ;        vⱼ = mⱼ + sgn(mⱼ)·θ
//! ```
//!
//! θ is rounded to the weights' precision once per charge, and reads, writes and settling use the same
//! rounded value. So zeros stay zero, and rounding errors telescope instead of accumulating.
//!
//! A row's weights are gathered into a buffer, processed there eight at a time, and written back at the end.
//! Arithmetic on adjacent numbers vectorises, so memory traffic hides almost all of the penalty's cost. The
//! score has eight partial sums, and non-zero k goes to sum k mod 8. That order is part of the contract.

use super::weight::{PARTS, Weight};
use crate::data::rows::{Row, Value};
use crate::optim::ledger::Ledger;
use crate::optim::update::Update;
use crate::problem::penalty::{ElasticNet, Method};
use crate::util::state::{Fields, State};

/// After this many times d non-zeros, a frame with a noticeable debt is rebased, because its largest weight
/// may have shrunk. A rebase costs about 0.5 ns per weight and learning 3 ns per non-zero, so this takes
/// about 1 % of the time.
pub(super) const LOOK_AGAIN: usize = 16;

/// Number of steps until a rebase if all weights are zero, so that the next non-zero weight starts with a
/// small debt.
const STEPS_ALONE: f64 = 256.0;

/// Lazy updates in the folded frame, for weights of type `W`.
///
/// With `PENALTY = false`, scale and debt are compiled away. This is the kernel for models without a penalty,
/// and the baseline for measuring the cost of the penalty.
///
/// ```
/// use lazyglm::{ElasticNet, Method, Rows, ValuesRef, optim::kernel::Folded, optim::update::Update};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 1.0), (2, 2.0)]).unwrap();
/// let rows = rows.borrow();
/// let ValuesRef::F32(values) = rows.values() else { unreachable!() };
///
/// let penalty = ElasticNet::new(0.1, 0.0).unwrap();
/// let mut lazy = Folded::<f64>::new(vec![0.0, 5.0, 0.0], penalty, Method::Fobos);
/// assert_eq!(lazy.score(rows.row(values, 0)), 0.0);
/// lazy.pull(rows.row(values, 0), -1.0); // w += x
/// lazy.charge(1.0); // every weight owes 0.1
/// assert_eq!(lazy.weights(), [0.9, 4.9, 1.9]);
/// ```
#[derive(Clone)]
pub struct Folded<W, const PENALTY: bool = true> {
    pub(super) stored: Vec<W>,
    settled: Vec<W>, // weights of the last scored row
    pub(super) ledger: Ledger,
    pub(super) debt: W,    // the ledger's debt, rounded to the precision of the weights
    pub(super) scale: f64, // A = 1/stretch
    pub(super) rebase: Rebase,
}

/// When to settle all weights (rebase), and which weights may be non-zero at that time.
#[derive(Clone, Debug)]
pub(super) struct Rebase {
    pub limit: f64,              // the largest allowed debt, in units of weights
    pub largest: f64,            // largest weight at the last rebase
    pub eta: f64,                // learning rate at the last rebase
    pub touched: usize,          // non-zeros since the last rebase
    pub alone: Option<Vec<u32>>, // if all weights were zero at the last rebase: ids touched since then; all others are still zero
    pub eager: f64,              // divides the limit; 1 except in tests that rebase early
}

impl<W: Weight, const PENALTY: bool> Folded<W, PENALTY> {
    /// Starts from these weights, without debt.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, optim::kernel::Folded, optim::update::Update};
    /// let penalty = ElasticNet::new(0.5, 0.0).unwrap();
    /// let mut lazy = Folded::<f32>::new(vec![2.0, -0.25], penalty, Method::Sgd);
    /// assert_eq!(lazy.weights(), [2.0, -0.25]);
    /// lazy.charge(1.0);
    /// assert_eq!(lazy.weights(), [1.5, 0.0]);
    /// ```
    pub fn new(weights: Vec<f64>, penalty: ElasticNet, method: Method) -> Self {
        let alone = weights.iter().all(|w| *w == 0.0).then(Vec::new);
        let stored = weights.into_iter().map(W::from_f64).collect();
        let ledger = Ledger::new(penalty, method);
        // With a limit of zero, the first charge looks up the largest weight.
        let rebase = Rebase { limit: 0.0, largest: 0.0, eta: 0.0, touched: 0, alone, eager: 1.0 };
        Folded { stored, settled: Vec::new(), ledger, debt: W::default(), scale: 1.0, rebase }
    }

    /// Rebases `times` as often as needed. Tests check that the result does not depend on it.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, optim::kernel::Folded, optim::update::Update};
    /// let new = || Folded::<f64>::new(vec![1.0], ElasticNet::new(0.01, 0.1).unwrap(), Method::Fobos);
    /// let (mut seldom, mut often) = (new(), new().rebasing_early(1e6));
    /// for _ in 0..20 {
    ///     seldom.charge(0.1);
    ///     often.charge(0.1);
    /// }
    /// assert!((seldom.weights()[0] - often.weights()[0]).abs() < 1e-15);
    /// ```
    pub fn rebasing_early(mut self, times: f64) -> Self {
        self.rebase.eager = times;
        self
    }

    /// Adds columns whose weights are zero.
    pub(crate) fn grow(&mut self, columns: usize) {
        self.stored.resize(columns.max(self.stored.len()), W::default());
    }

    /// The weight of the k-th feature of the last scored row, before the step on it.
    pub(crate) fn weight_in_row(&self, k: usize) -> f64 {
        self.settled[k].to_f64() * self.scale
    }

    #[inline(always)]
    fn must_rebase(&self, eta: f64) -> bool {
        let (debt, rebase) = (self.ledger.debt(), &self.rebase);
        let owed = debt * self.scale;
        let old = rebase.touched > LOOK_AGAIN * self.stored.len() && owed > rebase.largest / 16.0;
        let slower = 2.0 * eta < rebase.eta && debt > 0.0; // weights may shrink with the rate
        owed > rebase.limit || old || slower || self.ledger.stretch() > W::MAX_STRETCH
    }

    /// Settles every weight: v ← A·m, A = 1, θ = 0.
    #[cold]
    #[inline(never)]
    fn rebase(&mut self, per_step: f64, eta: f64) {
        let (debt, scale) = (self.debt, self.scale);
        // In f64, because a rounded scale would have the same error each time.
        let pay = |v: W| W::from_f64(v.soft_threshold(debt).to_f64() * scale);
        let mut largest = W::default();
        match self.rebase.alone.take() {
            None => {
                for v in &mut self.stored {
                    *v = pay(*v);
                    largest = largest.larger(*v);
                }
            }
            Some(ids) => {
                // An id may occur twice, so a settled weight is replaced by zero.
                let take = |&id: &u32| (id, pay(std::mem::take(&mut self.stored[id as usize])));
                let alive: Vec<(u32, W)> = ids.iter().map(take).filter(|(_, v)| v.to_f64() != 0.0).collect();
                for (id, v) in alive {
                    self.stored[id as usize] = v;
                    largest = largest.larger(v);
                }
            }
        }
        self.ledger.clear();
        (self.debt, self.scale) = (W::default(), 1.0);
        let (largest, eager) = (largest.to_f64(), self.rebase.eager);
        let alone = (largest == 0.0).then(Vec::new);
        let limit = limit::<W>(largest, per_step) / eager;
        self.rebase = Rebase { limit, largest, eta, touched: 0, alone, eager };
    }

    /// Records the ids that may be non-zero, while all other weights are zero.
    #[inline(always)]
    fn note_touched(&mut self, ids: &[u32]) {
        if let Some(alone) = &mut self.rebase.alone {
            alone.extend(ids.iter().map(|&id| within(&self.stored, id) as u32));
            if alone.len() > self.stored.len() / 4 {
                self.rebase.alone = None; // visiting all weights costs no more now
            }
        }
    }
}

impl<W: Weight, const PENALTY: bool> Update for Folded<W, PENALTY> {
    fn fields(&mut self, fields: &mut Fields) {
        fields.fixed(&mut self.stored);
        self.ledger.fields(fields);
        self.debt.fields(fields);
        self.scale.fields(fields);
        let Rebase { limit, largest, eta, touched, alone, .. } = &mut self.rebase;
        [limit, largest, eta].into_iter().for_each(|number| number.fields(fields));
        touched.fields(fields);
        alone.fields(fields);
        let columns = self.stored.len();
        fields.require(alone.iter().flatten().all(|&id| (id as usize) < columns));
    }

    #[inline(always)]
    fn score<V: Value>(&mut self, row: Row<V>) -> f64 {
        check(&self.stored, row);
        let (stored, debt) = (&self.stored[..], self.debt);
        self.rebase.touched += row.ids.len();
        self.settled.clear();
        self.settled.extend(row.ids.iter().map(|&id| read(stored, id)));
        if PENALTY {
            self.settled.iter_mut().for_each(|v| *v = v.soft_threshold(debt));
        }
        let mut sums = [W::default(); PARTS];
        let (settled, settled_rest) = self.settled.as_chunks::<PARTS>();
        let (values, values_rest) = row.values.as_chunks::<PARTS>();
        for (settled, values) in settled.iter().zip(values) {
            sums = std::array::from_fn(|k| sums[k].plus(settled[k], W::of(values[k])));
        }
        for ((sum, &m), &x) in sums.iter_mut().zip(settled_rest).zip(values_rest) {
            *sum = sum.plus(m, W::of(x));
        }
        let sum = W::total(sums).to_f64();
        if PENALTY { self.scale * sum } else { sum }
    }

    #[inline(always)]
    fn pull<V: Value>(&mut self, row: Row<V>, amount: f64) {
        check(&self.stored, row);
        let (stored, debt) = (&mut self.stored[..], self.debt);
        let amount = W::from_f64(if PENALTY { amount * self.ledger.stretch() } else { amount });
        for (m, &x) in self.settled.iter_mut().zip(row.values) {
            let pulled = m.minus(amount, W::of(x));
            *m = if PENALTY { pulled.undo_threshold(debt) } else { pulled };
        }
        row.ids.iter().zip(&self.settled).for_each(|(&id, &v)| write(stored, id, v));
        if PENALTY {
            self.note_touched(row.ids);
        }
    }

    #[inline(always)]
    fn charge(&mut self, eta: f64) {
        if !PENALTY {
            return;
        }
        let before = self.ledger.debt();
        self.ledger.charge(eta);
        self.debt = W::from_f64(self.ledger.debt());
        self.scale = 1.0 / self.ledger.stretch();
        if self.must_rebase(eta) {
            self.rebase((self.ledger.debt() - before) * self.scale, eta);
        }
    }

    fn weights(&self) -> Vec<f64> {
        let settle =
            |v: &W| if PENALTY { v.soft_threshold(self.debt).to_f64() * self.scale } else { v.to_f64() };
        self.stored.iter().map(settle).map(|w| if w == 0.0 { 0.0 } else { w }).collect()
    }
}

/// The largest debt at which stored weights keep enough digits.
///
/// A stored magnitude |w| + θ is rounded to one part in 2²⁴ (f32), so a touch costs the weight about θ·2⁻²⁵.
/// A weight of the largest magnitude M stays non-zero while the debt grows by M, which takes n = M/(ηλ₁)
/// steps. It is touched at most n times meanwhile, so its errors add up to about θ·2⁻²⁵·√n. To keep that
/// within `PATIENCE` units in the last place of M, θ ≤ M·PATIENCE/√n. For large n, that means about four
/// rebases per n steps. For small n (a λ₁ that zeroes weights within a few steps) rebases must be rare,
/// because a rebase per step would be as slow as dense updates.
pub(super) fn limit<W: Weight>(largest: f64, per_step: f64) -> f64 {
    if largest == 0.0 {
        return STEPS_ALONE * per_step;
    }
    (W::PATIENCE * (per_step * largest).sqrt()).clamp(largest / 4.0, 64.0 * largest)
}

/// Panics if an id of the row is out of range. Ids increase strictly, so checking the last one is enough.
#[inline(always)]
pub(super) fn check<W, V>(weights: &[W], row: Row<V>) {
    assert!(
        row.ids.last().is_none_or(|&last| (last as usize) < weights.len()),
        "a row beyond the last weight"
    );
}

/// Returns `weights[id]`, for an id of a row that has passed [`check`].
#[inline(always)]
pub(super) fn read<W: Copy>(weights: &[W], id: u32) -> W {
    let place = within(weights, id);
    // SAFETY: `within` is in bounds.
    #[allow(unsafe_code)]
    unsafe {
        *weights.get_unchecked(place)
    }
}

/// Sets `weights[id] = value`, for an id of a row that has passed [`check`].
#[inline(always)]
pub(super) fn write<W>(weights: &mut [W], id: u32, value: W) {
    let place = within(weights, id);
    // SAFETY: as in `read`.
    #[allow(unsafe_code)]
    unsafe {
        *weights.get_unchecked_mut(place) = value;
    }
}

/// Clamps an id to a valid index. Ids of a row that has passed [`check`] are unchanged.
///
/// A minimum is cheaper than a branch. It is necessary, because ids may lie in memory that others write to
/// after the check (see [`crate::data::rows::RowsRef::shared`]).
#[inline(always)]
pub(super) fn within<W>(weights: &[W], id: u32) -> usize {
    // A row with ids has passed `check`, so there is a last weight. Without weights, the index would be out
    // of bounds.
    let last = weights.len().saturating_sub(1).min(u32::MAX as usize) as u32; // in four bytes, so that twice as many fit into a register
    id.min(last) as usize
}
