//! Decides when lanes are rebased and which weights may be non-zero: the rules of [`super::Folded`], per
//! lane.

use super::folded::LOOK_AGAIN;
use super::lane_vector::each;
use crate::util::state::{Fields, State};

/// The lanes' frames after a charge.
pub(super) struct Frame<'a, const L: usize> {
    pub debt: &'a [f64; L],
    pub stretch: &'a [f64; L],
    pub scale: &'a [f64; L],
    pub eta: &'a [f64; L],
    pub max_stretch: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Rebases<const L: usize> {
    limit: [f64; L],         // the largest allowed debt, in units of weights
    largest: [f64; L],       // largest weight at the last rebase
    eta: [f64; L],           // learning rate at the last rebase
    touched: [f64; L],       // non-zeros since the last rebase
    few: [Option<usize>; L], // if few weights were non-zero at the last rebase: start of their ids, and of ids touched since then, in `log`
    log: Vec<u32>,
}

impl<const L: usize> Rebases<L> {
    /// The state for weights that are all zero. With a limit of zero, the first charge sets the other fields.
    pub fn new() -> Rebases<L> {
        let none = [0.0; L];
        Rebases { limit: none, largest: none, eta: none, touched: none, few: [Some(0); L], log: Vec::new() }
    }

    /// The lanes that must be rebased now, after a row with this many non-zeros was learnt.
    #[inline(always)]
    pub fn due(&mut self, frame: &Frame<L>, touched: usize, columns: usize) -> [bool; L] {
        let Frame { debt, stretch, scale, eta, max_stretch } = *frame;
        let long = (LOOK_AGAIN * columns) as f64;
        self.touched = self.touched.map(|so_far| so_far + touched as f64);
        each(|l| {
            let owed = debt[l] * scale[l];
            let old = (self.touched[l] > long) & (owed > self.largest[l] / 16.0);
            let slower = (2.0 * eta[l] < self.eta[l]) & (debt[l] > 0.0); // weights may shrink with the rate
            (owed > self.limit[l]) | old | slower | (stretch[l] > max_stretch)
        })
    }

    /// Records ids that may be non-zero, for lanes with few non-zero weights.
    #[inline(always)]
    pub fn note(&mut self, ids: &[u32], columns: usize) {
        if self.few == [None; L] {
            return;
        }
        self.log.extend_from_slice(ids);
        for from in &mut self.few {
            if from.is_some_and(|from| self.log.len() - from > columns / 2) {
                *from = None; // visiting all weights costs no more now
            }
        }
    }

    /// The lanes whose possibly non-zero ids are all in the log.
    pub fn few(&self) -> [bool; L] {
        each(|l| self.few[l].is_some())
    }

    /// All ids that may be non-zero in one of these lanes, with duplicates.
    pub fn touched(&self, which: &[bool; L]) -> &[u32] {
        let from = (0..L).filter(|&l| which[l]).filter_map(|l| self.few[l]).min();
        &self.log[from.unwrap_or(self.log.len())..]
    }

    /// Records that a lane was rebased. With `few`, its non-zero ids will be logged.
    pub fn paid(&mut self, lane: usize, largest: f64, limit: f64, eta: f64, few: bool) {
        (self.limit[lane], self.largest[lane], self.eta[lane]) = (limit, largest, eta);
        self.touched[lane] = 0.0;
        self.few[lane] = few.then_some(self.log.len());
    }

    /// Logs the non-zero ids of the lanes that were just rebased, and drops entries that no lane needs.
    pub fn remember(&mut self, alive: &[u32]) {
        self.log.extend_from_slice(alive);
        let from = self.few.iter().flatten().min().copied().unwrap_or(self.log.len());
        self.log.drain(..from);
        self.few.iter_mut().flatten().for_each(|start| *start -= from);
    }

    /// The state of a lane: limit, largest weight and rate; non-zeros since then; possibly non-zero ids, if
    /// few.
    pub fn of(&self, lane: usize) -> ([f64; 3], f64, Option<Vec<u32>>) {
        let few = self.few[lane].map(|from| self.log[from..].to_vec());
        ([self.limit[lane], self.largest[lane], self.eta[lane]], self.touched[lane], few)
    }

    /// Restores the state of a lane.
    pub fn set(&mut self, lane: usize, [limit, largest, eta]: [f64; 3], touched: f64, few: Option<&[u32]>) {
        (self.limit[lane], self.largest[lane], self.eta[lane]) = (limit, largest, eta);
        self.touched[lane] = touched;
        self.few[lane] = few.map(|_| self.log.len()); // later entries of other lanes do no harm
        self.log.extend_from_slice(few.unwrap_or(&[]));
    }

    /// The states of some lanes.
    pub fn select<const M: usize>(&self, lanes: &[usize]) -> Rebases<M> {
        let some = |of: &[f64; L]| each(|m| lanes.get(m).map_or(0.0, |&l| of[l]));
        Rebases {
            limit: some(&self.limit),
            largest: some(&self.largest),
            eta: some(&self.eta),
            touched: some(&self.touched),
            few: each(|m| lanes.get(m).and_then(|&l| self.few[l])),
            log: self.log.clone(),
        }
    }
}

impl<const L: usize> State for Rebases<L> {
    fn fields(&mut self, fields: &mut Fields) {
        for numbers in [&mut self.limit, &mut self.largest, &mut self.eta, &mut self.touched] {
            numbers.fields(fields);
        }
        self.few.fields(fields);
        self.log.fields(fields);
        let logged = self.log.len();
        fields.require(self.few.iter().flatten().all(|&from| from <= logged));
    }
}

impl<const L: usize> Rebases<L> {
    /// Whether all ids of the log are below a limit.
    pub fn is_within(&self, columns: usize) -> bool {
        self.log.iter().all(|&id| (id as usize) < columns)
    }
}
