//! The ledgers of several lanes, charged together.

use crate::problem::penalty::{ElasticNet, Method};
use crate::util::state::{Fields, State};

/// L compensated sums.
#[derive(Clone, Copy, Debug)]
struct Totals<const L: usize> {
    sum: [f64; L],
    lost: [f64; L],
}

impl<const L: usize> Totals<L> {
    const fn new(start: f64) -> Totals<L> {
        Totals { sum: [start; L], lost: [0.0; L] }
    }

    /// Adds to one sum, with the same arithmetic as a single sum.
    #[inline(always)]
    fn add(&mut self, l: usize, more: f64) {
        let more = more - self.lost[l];
        let sum = self.sum[l] + more;
        self.lost[l] = (sum - self.sum[l]) - more;
        self.sum[l] = sum;
    }

    fn select<const M: usize>(&self, lanes: &[usize], idle: f64) -> Totals<M> {
        let some = |of: &[f64; L], idle| std::array::from_fn(|m| lanes.get(m).map_or(idle, |&l| of[l]));
        Totals { sum: some(&self.sum, idle), lost: some(&self.lost, 0.0) }
    }

    fn set(&mut self, lane: usize, to: f64) {
        (self.sum[lane], self.lost[lane]) = (to, 0.0);
    }
}

/// Scale and debt of L models. Each lane has the same bits as a separate [`super::Ledger`].
///
/// ```
/// use lazyglm::{ElasticNet, Method, optim::ledger::{Ledger, Ledgers}};
/// let penalties = [(0.1, 0.0), (0.01, 0.3)].map(|(l1, l2)| ElasticNet::new(l1, l2).unwrap());
/// let (mut both, mut second) = (Ledgers::<2>::new(penalties, Method::Fobos), Ledger::new(penalties[1], Method::Fobos));
/// for t in 1..100 {
///     let eta = 1.0 / f64::from(t);
///     both.charge([0.5, eta]);
///     second.charge(eta);
/// }
/// assert_eq!((both.stretch()[1], both.debt()[1]), (second.stretch(), second.debt()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ledgers<const L: usize> {
    l1: [f64; L],
    l2: [f64; L],
    method: Method,
    stretch: Totals<L>,
    debt: Totals<L>,
}

impl<const L: usize> Ledgers<L> {
    /// Ledgers without debt.
    pub fn new(penalties: [ElasticNet; L], method: Method) -> Ledgers<L> {
        let (l1, l2) = (penalties.map(|penalty| penalty.l1), penalties.map(|penalty| penalty.l2));
        Ledgers { l1, l2, method, stretch: Totals::new(1.0), debt: Totals::new(0.0) }
    }

    /// Charges one more penalty step to every weight of each lane, at the lane's learning rate.
    #[inline(always)]
    pub fn charge(&mut self, eta: [f64; L]) {
        // One loop over the lanes, which vectorises. The arithmetic is that of [`super::Ledger`].
        let (stretch, debt) = (&mut self.stretch, &mut self.debt);
        match self.method {
            Method::Fobos => {
                for (l, eta) in eta.into_iter().enumerate() {
                    debt.add(l, eta * self.l1[l] * stretch.sum[l]);
                    stretch.add(l, stretch.sum[l] * (eta * self.l2[l]));
                }
            }
            Method::Sgd => {
                for (l, eta) in eta.into_iter().enumerate() {
                    let ridge = eta * self.l2[l];
                    stretch.add(l, stretch.sum[l] * (ridge / (1.0 - ridge)));
                    debt.add(l, eta * self.l1[l] * stretch.sum[l]);
                }
            }
        }
    }

    /// The stretch S of each lane.
    #[inline(always)]
    pub fn stretch(&self) -> &[f64; L] {
        &self.stretch.sum
    }

    /// The debt θ of each lane, in its stored frame.
    #[inline(always)]
    pub fn debt(&self) -> &[f64; L] {
        &self.debt.sum
    }

    /// The ledgers of some lanes. If M exceeds their number, the rest are empty.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, optim::ledger::Ledgers};
    /// let penalties = [0.1, 0.2, 0.4].map(|l1| ElasticNet::new(l1, 0.0).unwrap());
    /// let mut three = Ledgers::<3>::new(penalties, Method::Fobos);
    /// three.charge([1.0; 3]);
    /// assert_eq!(three.select::<2>(&[2]).debt(), &[0.4, 0.0]);
    /// ```
    pub fn select<const M: usize>(&self, lanes: &[usize]) -> Ledgers<M> {
        let some = |of: &[f64; L]| std::array::from_fn(|m| lanes.get(m).map_or(0.0, |&l| of[l]));
        let (stretch, debt) = (self.stretch.select(lanes, 1.0), self.debt.select(lanes, 0.0));
        Ledgers { l1: some(&self.l1), l2: some(&self.l2), method: self.method, stretch, debt }
    }

    /// The totals of a lane, with their compensation terms.
    pub(crate) fn totals(&self, lane: usize) -> [f64; 4] {
        let of = |totals: &Totals<L>| [totals.sum[lane], totals.lost[lane]];
        let ([stretch, lost], [debt, dropped]) = (of(&self.stretch), of(&self.debt));
        [stretch, lost, debt, dropped]
    }

    /// Sets the totals of a lane.
    pub(crate) fn set_totals(&mut self, lane: usize, [stretch, lost, debt, dropped]: [f64; 4]) {
        (self.stretch.sum[lane], self.stretch.lost[lane]) = (stretch, lost);
        (self.debt.sum[lane], self.debt.lost[lane]) = (debt, dropped);
    }

    /// Resets a lane after all its weights were settled: debt zero, and the given stretch.
    pub fn clear(&mut self, lane: usize, stretch: f64) {
        self.stretch.set(lane, stretch);
        self.debt.set(lane, 0.0);
    }
}

impl<const L: usize> State for Ledgers<L> {
    fn fields(&mut self, fields: &mut Fields) {
        for totals in [&mut self.stretch, &mut self.debt] {
            totals.sum.fields(fields);
            totals.lost.fields(fields);
        }
    }
}
