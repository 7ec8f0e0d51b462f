//! The folded frame for L models at once. A feature's weights of all models are adjacent, so one cache miss
//! fetches the weights of every model.
//!
//! ```text
//! score   mⱼₗ = sgn(vⱼₗ)·max(|vⱼₗ| − θₗ, 0);  sₗ = Aₗ·Σ xⱼmⱼₗ        for every lane l
//! pull    mⱼₗ ← mⱼₗ − (amountₗ/Aₗ)·xⱼ;        vⱼₗ = mⱼₗ + sgn(mⱼₗ)·θₗ
//! ```
//!
//! Every lane performs the operations of [`super::Folded`] in the same order. In f64, a lane therefore has
//! the same bits as a single model. In f32, a lane may be rebased earlier, together with another lane, to
//! save passes over the weights. That costs one rounding, which the tests on rebasing bound.

use super::folded::{check, limit, read, write};
use super::lane_vector::{LaneVector, each};
use super::rebases::{Frame, Rebases};
use super::weight::{PARTS, Weight};
use crate::data::rows::{Row, Value};
use crate::optim::ledger::Ledgers;
use crate::problem::penalty::{ElasticNet, Method};
use crate::simd;
use crate::util::state::{Fields, State};

/// L models in the folded frame.
///
/// ```
/// use lazyglm::{ElasticNet, Method, Rows, ValuesRef, optim::kernel::{Folded, Wide8}, optim::update::Update};
/// let mut rows = Rows::new();
/// rows.push(&[(0, 1.0), (2, 2.0)]).unwrap();
/// let rows = rows.borrow();
/// let ValuesRef::F32(values) = rows.values() else { unreachable!() };
/// let row = rows.row(values, 0);
///
/// let penalties: [_; 8] = std::array::from_fn(|l| ElasticNet { l1: 0.1 * l as f64, l2: 0.0 });
/// let mut lanes = Wide8::new(3, &penalties, Method::Fobos);
/// let mut alone = Folded::<f64>::new(vec![0.0; 3], penalties[5], Method::Fobos);
/// for _ in 0..10 {
///     assert_eq!(lanes.score(row, &[])[5], alone.score(row));
///     lanes.pull(row, &[-1.0; 8], &[false; 8]);
///     alone.pull(row, -1.0);
///     lanes.charge([0.1; 8], 2);
///     alone.charge(0.1);
/// }
/// assert_eq!(lanes.weights(5), alone.weights());
/// ```
#[derive(Clone)]
pub struct Lanes<W, P, const L: usize> {
    pub(super) stored: Vec<P>,
    settled: Vec<P>, // weights of the last scored row
    pub(super) ledgers: Ledgers<L>,
    pub(super) debt: [W; L], // the ledgers' debts, rounded to the precision of the weights
    pub(super) scale: [f64; L], // A
    pub(super) rebases: Rebases<L>,
    idle: [bool; L], // lanes without a model, whose weights stay zero
}

impl<W: Weight, P: LaneVector<W, L>, const L: usize> Lanes<W, P, L> {
    /// Starts from zero weights, with one lane per penalty. The other lanes are idle.
    pub fn new(columns: usize, penalties: &[ElasticNet], method: Method) -> Self {
        assert!(penalties.len() <= L, "more penalties than lanes");
        let penalty = |l: usize| penalties.get(l).copied().unwrap_or(ElasticNet { l1: 0.0, l2: 0.0 });
        let stored = vec![P::of([W::default(); L]); columns];
        simd::advise_huge_pages(stored.as_ptr().cast(), size_of_val(&stored[..]));
        Lanes {
            stored,
            settled: Vec::new(),
            ledgers: Ledgers::new(std::array::from_fn(penalty), method),
            debt: [W::default(); L],
            scale: [1.0; L],
            rebases: Rebases::new(),
            idle: each(|l| l >= penalties.len()),
        }
    }

    /// Memory in bytes for this many columns.
    pub fn bytes(columns: usize) -> usize {
        columns * size_of::<P>()
    }

    /// The scores w·x of all lanes. Meanwhile, the weights of the upcoming row `soon` are prefetched.
    #[inline(always)]
    pub fn score<V: Value>(&mut self, row: Row<V>, soon: &[u32]) -> [f64; L] {
        check(&self.stored, row);
        let (stored, debt) = (&self.stored[..], self.debt);
        let length = row.ids.len();
        if self.settled.len() < length {
            self.settled.resize(length, P::of([W::default(); L]));
        }
        let settled = &mut self.settled[..length];
        // Plain loops, because iterator code would not be compiled for the selected instruction set.
        let mut k = 0;
        while k < length {
            if let Some(&next) = soon.get(k) {
                simd::prefetch_one(stored, next as usize);
            }
            let v = read(stored, row.ids[k]);
            settled[k] = P::of(each(|l| v.lanes()[l].soft_threshold(debt[l])));
            k += 1;
        }
        while k < soon.len() {
            simd::prefetch_one(stored, soon[k] as usize);
            k += 1;
        }
        let sums = sums(settled, row.values);
        each(|l| self.scale[l] * sums[l].to_f64())
    }

    /// Gradient step wₗ ← wₗ − amountₗ·x on the last scored row. Lanes in `pass_over` keep their bits.
    #[inline(always)]
    pub fn pull<V: Value>(&mut self, row: Row<V>, amounts: &[f64; L], pass_over: &[bool; L]) {
        check(&self.stored, row);
        let stretch = self.ledgers.stretch();
        let debt = self.debt;
        let none: [bool; L] = each(|l| pass_over[l] & !self.idle[l]);
        let amounts: [W; L] = each(|l| W::from_f64(amounts[l] * stretch[l]));
        let (stored, settled) = (&mut self.stored[..], &self.settled[..row.ids.len()]);
        let some_kept = none.contains(&true);
        for (k, m) in settled.iter().enumerate() {
            let mut new = pulled(m.lanes(), &amounts, W::of(row.values[k]), &debt);
            if some_kept {
                let old = read(stored, row.ids[k]);
                new = each(|l| if none[l] { old.lanes()[l] } else { new[l] });
            }
            write(stored, row.ids[k], P::of(new));
        }
        self.rebases.note(row.ids, self.stored.len());
    }

    /// Charges one more penalty step to every weight of every lane.
    #[inline(always)]
    pub fn charge(&mut self, eta: [f64; L], touched: usize) {
        let before = *self.ledgers.debt();
        self.ledgers.charge(eta);
        let (stretch, debt) = (self.ledgers.stretch(), self.ledgers.debt());
        self.debt = each(|l| W::from_f64(debt[l]));
        self.scale = each(|l| 1.0 / stretch[l]);
        let frame = Frame { debt, stretch, scale: &self.scale, eta: &eta, max_stretch: W::MAX_STRETCH };
        let due = self.rebases.due(&frame, touched, self.stored.len());
        if due.contains(&true) {
            let per_step = each(|l| (debt[l] - before[l]) * self.scale[l]);
            self.rebase(due, per_step, eta);
        }
    }

    /// Settles all weights of the lanes in `due`: v ← A·m, A = 1, θ = 0.
    ///
    /// For that, A is rounded to the weights' precision. The rounding error stays in the ledger, because it
    /// would otherwise have the same sign every time.
    #[cold]
    #[inline(never)]
    fn rebase(&mut self, due: [bool; L], per_step: [f64; L], eta: [f64; L]) {
        let few = self.rebases.few();
        let walk = (0..L).any(|l| due[l] && !few[l]);
        // If bits may differ, one pass over the weights also serves the other lanes.
        let listed: [bool; L] = each(|l| if W::EXACT { due[l] & few[l] } else { few[l] & !walk });
        let walked: [bool; L] = each(|l| walk & if W::EXACT { due[l] & !few[l] } else { true });
        let factor: [W; L] = each(|l| W::from_f64(self.scale[l]));
        let mut found = LaneSummary { largest: [W::default(); L], alive: [W::default(); L] };
        if walk {
            let Lanes { stored, debt, .. } = self;
            found = simd::fastest(Walk { stored, debt, factor: &factor, which: walked });
        }
        let mut ids = Vec::new();
        if listed != [false; L] {
            let (touched, debt) = (self.rebases.touched(&listed), &self.debt);
            let stored = &mut self.stored[..];
            let (factor, ids) = (&factor, &mut ids);
            let visited = simd::fastest(Visit { stored, touched, debt, factor, which: listed, ids });
            // The pass visited these lanes before their weights were settled.
            found.largest = each(|l| if listed[l] { visited.largest[l] } else { found.largest[l] });
            found.alive = each(|l| if listed[l] { visited.alive[l] } else { found.alive[l] });
        }
        let most = (self.stored.len() / FEW) as f64;
        let paid: [bool; L] = each(|l| listed[l] | walked[l]);
        let now_few: [bool; L] = each(|l| paid[l] & (found.alive[l].to_f64() <= most));
        let newly: [bool; L] = each(|l| now_few[l] & walked[l]);
        if newly != [false; L] {
            let alive = |v: &P| (0..L).any(|l| newly[l] && !v.lanes()[l].is_zero());
            ids.extend((0..).zip(&self.stored).filter(|(_, v)| alive(v)).map(|(id, _)| id));
        }
        for l in (0..L).filter(|&l| paid[l]) {
            let rest = factor[l].to_f64() / self.scale[l]; // 1 in f64
            self.ledgers.clear(l, rest);
            (self.debt[l], self.scale[l]) = (W::default(), 1.0 / rest);
            let largest = found.largest[l].to_f64();
            self.rebases.paid(l, largest, limit::<W>(largest, per_step[l]), eta[l], now_few[l]);
        }
        self.rebases.remember(&ids);
    }

    /// The settled weights of a lane.
    pub fn weights(&self, lane: usize) -> Vec<f64> {
        self.weights_with(lane).collect()
    }

    /// Iterates over the settled weights of a lane.
    pub fn weights_with(&self, lane: usize) -> impl Iterator<Item = f64> + '_ {
        let (debt, scale) = (self.debt[lane], self.scale[lane]);
        self.stored.iter().map(move |v| v.lanes()[lane].soft_threshold(debt).to_f64() * scale + 0.0) // −0 becomes 0
    }

    /// Copies some of the lanes to a new block, bit for bit.
    pub fn select<Q: LaneVector<W, M>, const M: usize>(&self, lanes: &[usize]) -> Lanes<W, Q, M> {
        let of = |m: usize| lanes.get(m).copied();
        let pack = |v: &P| Q::of(each(|m| of(m).map_or(W::default(), |l| v.lanes()[l])));
        Lanes {
            stored: self.stored.iter().map(pack).collect(),
            settled: Vec::new(),
            ledgers: self.ledgers.select(lanes),
            debt: each(|m| of(m).map_or(W::default(), |l| self.debt[l])),
            scale: each(|m| of(m).map_or(1.0, |l| self.scale[l])),
            rebases: self.rebases.select(lanes),
            idle: each(|m| of(m).is_none_or(|l| self.idle[l])),
        }
    }

    /// Removes the model of a lane, for example after divergence.
    pub fn erase(&mut self, lane: usize) {
        self.idle[lane] = true;
        self.settled.iter_mut().for_each(|v| v.lanes_mut()[lane] = W::default()); // the current row may still be pulled
        self.stored.iter_mut().for_each(|v| v.lanes_mut()[lane] = W::default());
    }
}

/// If at most one weight in this many is non-zero, the possibly non-zero ids are kept in a list.
const FEW: usize = 64;

/// Per lane: the largest weight and the number of non-zero weights.
struct LaneSummary<W, const L: usize> {
    largest: [W; L],
    alive: [W; L],
}

/// Settles some lanes in a pass over all weights.
struct Walk<'a, W, P, const L: usize> {
    stored: &'a mut [P],
    debt: &'a [W; L],
    factor: &'a [W; L],
    which: [bool; L],
}

impl<W: Weight, P: LaneVector<W, L>, const L: usize> simd::Work for Walk<'_, W, P, L> {
    type Answer = LaneSummary<W, L>;
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) -> LaneSummary<W, L> {
        let Walk { stored, debt, factor, which } = self;
        let (mut largest, mut alive) = ([W::default(); L], [W::default(); L]);
        let one = W::from_f64(1.0);
        for pack in stored {
            let v = pack.lanes();
            let paid: [W; L] =
                each(|l| if which[l] { v[l].soft_threshold(debt[l]).times(factor[l]) } else { v[l] });
            largest = each(|l| largest[l].larger(paid[l]));
            alive = each(|l| alive[l].plus(one, if paid[l].is_zero() { W::default() } else { one }));
            *pack = P::of(paid);
        }
        LaneSummary { largest, alive }
    }
}

/// Settles lanes with few non-zero weights at the last rebase. Only those weights, and weights touched since
/// then, are visited. The ids of weights that are still non-zero are appended to `ids`.
struct Visit<'a, W, P, const L: usize> {
    stored: &'a mut [P],
    touched: &'a [u32],
    debt: &'a [W; L],
    factor: &'a [W; L],
    which: [bool; L],
    ids: &'a mut Vec<u32>,
}

impl<W: Weight, P: LaneVector<W, L>, const L: usize> simd::Work for Visit<'_, W, P, L> {
    type Answer = LaneSummary<W, L>;
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) -> LaneSummary<W, L> {
        let Visit { stored, touched, debt, factor, which, ids } = self;
        let one = W::from_f64(1.0);
        let mut alive: Vec<(u32, P)> = Vec::new();
        for (k, &id) in touched.iter().enumerate() {
            if let Some(&soon) = touched.get(k + 8) {
                simd::prefetch_one(stored, soon as usize);
            }
            // An id may occur twice, so a settled weight is replaced by zero.
            let v = *stored[id as usize].lanes();
            let paid: [W; L] =
                each(|l| if which[l] { v[l].soft_threshold(debt[l]).times(factor[l]) } else { W::default() });
            stored[id as usize] = P::of(each(|l| if which[l] { W::default() } else { v[l] }));
            if paid.iter().fold(false, |some, w| some | !w.is_zero()) {
                alive.push((id, P::of(paid)));
            }
        }
        let mut found = LaneSummary { largest: [W::default(); L], alive: [W::default(); L] };
        for (id, paid) in alive {
            let (v, paid) = (*stored[id as usize].lanes(), paid.lanes());
            stored[id as usize] = P::of(each(|l| if which[l] { paid[l] } else { v[l] }));
            found.largest = each(|l| found.largest[l].larger(paid[l]));
            found.alive =
                each(|l| found.alive[l].plus(one, if paid[l].is_zero() { W::default() } else { one }));
            ids.push(id);
        }
        found
    }
}

/// The stored form of m − amount·x in every lane.
#[inline(always)]
fn pulled<W: Weight, const L: usize>(m: &[W; L], amounts: &[W; L], x: W, debt: &[W; L]) -> [W; L] {
    each(|l| m[l].minus(amounts[l], x).undo_threshold(debt[l]))
}

/// The sums Σ xⱼmⱼ of every lane, in eight partial sums each, in the order of [`super::Folded`].
#[inline(always)]
fn sums<W: Weight, P: LaneVector<W, L>, V: Value, const L: usize>(settled: &[P], values: &[V]) -> [W; L] {
    let mut sums = [[W::default(); L]; PARTS];
    let whole = settled.len() / PARTS * PARTS;
    let mut start = 0;
    while start < whole {
        for k in 0..PARTS {
            let (m, x) = (settled[start + k].lanes(), W::of(values[start + k]));
            for l in 0..L {
                sums[k][l] = sums[k][l].plus(m[l], x);
            }
        }
        start += PARTS;
    }
    for k in whole..settled.len() {
        let (m, x) = (settled[k].lanes(), W::of(values[k]));
        for l in 0..L {
            sums[k - whole][l] = sums[k - whole][l].plus(m[l], x);
        }
    }
    let both = |a: &[W; L], b: &[W; L]| -> [W; L] { each(|l| a[l].and(b[l])) };
    let [a, b, c, d] = [0, 2, 4, 6].map(|k| both(&sums[k], &sums[k + 1])); // the order of `Weight::total`
    both(&both(&a, &b), &both(&c, &d))
}

impl<W: Weight, P: LaneVector<W, L>, const L: usize> State for Lanes<W, P, L> {
    fn fields(&mut self, fields: &mut Fields) {
        let mut columns = self.stored.len();
        columns.fields(fields);
        fields.require(columns == self.stored.len());
        self.stored.iter_mut().for_each(|vector| vector.lanes_mut().fields(fields));
        self.ledgers.fields(fields);
        self.debt.fields(fields);
        self.scale.fields(fields);
        self.rebases.fields(fields);
        self.idle.fields(fields);
        fields.require(self.rebases.is_within(self.stored.len()));
    }
}
