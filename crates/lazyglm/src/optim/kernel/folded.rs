//! The folded frame: four bytes a weight (eight in f64), no stamp, no table, and a penalty that costs a
//! subtraction and a maximum per non-zero. See [`crate::optim::ledger`] for the frame itself.
//!
//! ```text
//! score   mⱼ = sgn(vⱼ)·max(|vⱼ| − θ, 0);  s = A·Σ xⱼmⱼ         (the mⱼ are kept for the pull)
//! pull    mⱼ ← mⱼ − (amount/A)·xⱼ;        vⱼ = mⱼ + sgn(mⱼ)·θ
//! ```
//!
//! θ is rounded to the weights' precision once a charge, and that one value serves to read, to write and to
//! settle: so what was zero stays zero, and rounding telescopes instead of adding up.
//!
//! A row's weights are first gathered into a scratch buffer, worked on there eight at a time, and written back at
//! the end: arithmetic on neighbours vectorises, so that the penalty all but vanishes behind the memory traffic. The
//! score has eight partial sums, non-zero k going to the (k mod 8)-th: that order is part of the contract.

use super::weight::{PARTS, Weight};
use crate::data::rows::{Row, Value};
use crate::optim::ledger::Ledger;
use crate::optim::update::Update;
use crate::problem::penalty::{ElasticNet, Method};

/// Every so many times d non-zeros the largest weight is looked up again, if there is a debt to speak of: it may have
/// been unlearnt. A rebase costs a weight some 0.5 ns and learning a non-zero 3 ns: that is 1 % of the time.
pub(super) const LOOK_AGAIN: usize = 16;

/// With no weight alive, a rebase after this many steps: the next to live must find few others' debts to be added to.
const STEPS_ALONE: f64 = 256.0;

/// Lazy updates in the folded frame, for weights in `W`. With `PENALTY = false` scale and debt are compiled
/// away: the kernel for a model without a penalty, and the yardstick for what the penalty costs.
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
    settled: Vec<W>, // those of the row just scored
    pub(super) ledger: Ledger,
    pub(super) debt: W,    // the ledger's, rounded: the value to read and write with
    pub(super) scale: f64, // A, that is 1/stretch
    pub(super) rebase: Rebase,
}

/// When to pay every debt, and which weights may be alive to pay.
#[derive(Clone, Debug)]
pub(super) struct Rebase {
    pub limit: f64,              // the most that may be owed, in units of weights
    pub largest: f64,            // weight at the last rebase
    pub eta: f64,                // rate then
    pub touched: usize,          // non-zeros since
    pub alone: Option<Vec<u32>>, // if no weight was alive then: those touched since; no other can be alive now
    pub eager: f64,              // divides the limit; 1 but in laws that rebase early on purpose
}

impl<W: Weight, const PENALTY: bool> Folded<W, PENALTY> {
    /// Starts from these weights, with nothing owed.
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
        let stored = weights.into_iter().map(W::from_wide).collect();
        let ledger = Ledger::new(penalty, method);
        // A limit of zero: the first charge looks for the largest weight.
        let rebase = Rebase { limit: 0.0, largest: 0.0, eta: 0.0, touched: 0, alone, eager: 1.0 };
        Folded { stored, settled: Vec::new(), ledger, debt: W::default(), scale: 1.0, rebase }
    }

    /// Rebases `times` as often as needed: the answer must not depend on it, and a law says so.
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

    #[inline(always)]
    fn must_rebase(&self, eta: f64) -> bool {
        let (debt, rebase) = (self.ledger.debt(), &self.rebase);
        let owed = debt * self.scale;
        let old = rebase.touched > LOOK_AGAIN * self.stored.len() && owed > rebase.largest / 16.0;
        let slower = 2.0 * eta < rebase.eta && debt > 0.0; // weights may fade with the rate
        owed > rebase.limit || old || slower || self.ledger.stretch() > W::MAX_STRETCH
    }

    /// Pays every debt: v ← A·m for all, A = 1, θ = 0.
    #[cold]
    #[inline(never)]
    fn rebase(&mut self, per_step: f64, eta: f64) {
        let (debt, scale) = (self.debt, self.scale);
        // In f64: a rounded scale would err the same way every time.
        let pay = |v: W| W::from_wide(v.soft(debt).wide() * scale);
        let mut largest = W::default();
        match self.rebase.alone.take() {
            None => {
                for v in &mut self.stored {
                    *v = pay(*v);
                    largest = largest.larger(*v);
                }
            }
            Some(ids) => {
                // An id may stand there twice: whoever has been seen to is set aside, as zero.
                let take = |&id: &u32| (id, pay(std::mem::take(&mut self.stored[id as usize])));
                let alive: Vec<(u32, W)> = ids.iter().map(take).filter(|(_, v)| v.wide() != 0.0).collect();
                for (id, v) in alive {
                    self.stored[id as usize] = v;
                    largest = largest.larger(v);
                }
            }
        }
        self.ledger.clear();
        (self.debt, self.scale) = (W::default(), 1.0);
        let (largest, eager) = (largest.wide(), self.rebase.eager);
        let alone = (largest == 0.0).then(Vec::new);
        let limit = limit::<W>(largest, per_step) / eager;
        self.rebase = Rebase { limit, largest, eta, touched: 0, alone, eager };
    }

    /// Notes who may be alive, while nobody else is.
    #[inline(always)]
    fn note_touched(&mut self, ids: &[u32]) {
        if let Some(alone) = &mut self.rebase.alone {
            alone.extend(ids.iter().map(|&id| within(&self.stored, id) as u32));
            if alone.len() > self.stored.len() / 4 {
                self.rebase.alone = None; // looking through all is no dearer now
            }
        }
    }
}

impl<W: Weight, const PENALTY: bool> Update for Folded<W, PENALTY> {
    #[inline(always)]
    fn score<V: Value>(&mut self, row: Row<V>) -> f64 {
        check(&self.stored, row);
        let (stored, debt) = (&self.stored[..], self.debt);
        self.rebase.touched += row.ids.len();
        self.settled.clear();
        self.settled.extend(row.ids.iter().map(|&id| read(stored, id)));
        if PENALTY {
            self.settled.iter_mut().for_each(|v| *v = v.soft(debt));
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
        let sum = W::total(sums).wide();
        if PENALTY { self.scale * sum } else { sum }
    }

    #[inline(always)]
    fn pull<V: Value>(&mut self, row: Row<V>, amount: f64) {
        check(&self.stored, row);
        let (stored, debt) = (&mut self.stored[..], self.debt);
        let amount = W::from_wide(if PENALTY { amount * self.ledger.stretch() } else { amount });
        for (m, &x) in self.settled.iter_mut().zip(row.values) {
            let pulled = m.minus(amount, W::of(x));
            *m = if PENALTY { pulled.harden(debt) } else { pulled };
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
        self.debt = W::from_wide(self.ledger.debt());
        self.scale = 1.0 / self.ledger.stretch();
        if self.must_rebase(eta) {
            self.rebase((self.ledger.debt() - before) * self.scale, eta);
        }
    }

    fn weights(&self) -> Vec<f64> {
        let settle = |v: &W| if PENALTY { v.soft(self.debt).wide() * self.scale } else { v.wide() };
        self.stored.iter().map(settle).map(|w| if w == 0.0 { 0.0 } else { w }).collect()
    }
}

/// How much may be owed before it eats the weights' digits.
///
/// A stored magnitude |w| + θ is rounded to one part in 2²⁴ (f32), so a touch costs the weight about θ·2⁻²⁵.
/// A weight as large as the largest, M, lives while the debt grows by M, which takes n = M/(ηλ₁) steps, and
/// is touched at most n times in its life: the errors of a life add up to about θ·2⁻²⁵·√n. To keep that within
/// `PATIENCE` units of M's last place, θ ≤ M·PATIENCE/√n: at large n a rebase every quarter of a life, at small
/// n (a λ₁ that kills weights within a few steps) rarely, for a rebase a step would be as slow as a dense update.
pub(super) fn limit<W: Weight>(largest: f64, per_step: f64) -> f64 {
    if largest == 0.0 {
        return STEPS_ALONE * per_step;
    }
    (W::PATIENCE * (per_step * largest).sqrt()).clamp(largest / 4.0, 64.0 * largest)
}

/// Ids rise strictly within a row, so the last one answers for all of them.
#[inline(always)]
pub(super) fn check<W, V>(weights: &[W], row: Row<V>) {
    assert!(
        row.ids.last().is_none_or(|&last| (last as usize) < weights.len()),
        "a row beyond the last weight"
    );
}

/// `weights[id]`, for an id of a row that has passed [`check`].
#[inline(always)]
pub(super) fn read<W: Copy>(weights: &[W], id: u32) -> W {
    let place = within(weights, id);
    // SAFETY: `within` is in bounds.
    #[allow(unsafe_code)]
    unsafe {
        *weights.get_unchecked(place)
    }
}

/// `weights[id] = value`, for an id of a row that has passed [`check`].
#[inline(always)]
pub(super) fn write<W>(weights: &mut [W], id: u32, value: W) {
    let place = within(weights, id);
    // SAFETY: as in `read`.
    #[allow(unsafe_code)]
    unsafe {
        *weights.get_unchecked_mut(place) = value;
    }
}

/// An index in bounds: the id itself, for the ids of a row that has passed [`check`]. A minimum costs less than a branch, and
/// must not be left out: ids may lie in memory that others write to after the check (see [`crate::data::rows::RowsRef::shared`]).
#[inline(always)]
pub(super) fn within<W>(weights: &[W], id: u32) -> usize {
    // A row that has ids has passed `check`, so there is a last weight; with none, this would be out of bounds.
    let last = weights.len().saturating_sub(1).min(u32::MAX as usize) as u32; // in four bytes: twice as many at a time
    id.min(last) as usize
}
