//! Serialisable state of a folded frame, from which training resumes bit for bit.
//!
//! The weights alone are not enough: settled weights owe nothing, and restarted sums round differently.
//! Stored magnitudes are converted to f64, which is exact in both directions.

use super::averaged::{Averaged, Cell, Double, Line};
use super::folded::{Folded, Rebase};
use super::weight::Weight;
use crate::optim::ledger::Ledger;
use crate::optim::update::Update;
use crate::problem::penalty::{ElasticNet, Method};
use crate::util::error::{Error, Place, Result};
use crate::util::state::{Fields, State};

/// The state of a [`Folded`].
///
/// ```
/// use lazyglm::{ElasticNet, Method, optim::kernel::Folded, optim::update::Update};
/// let penalty = ElasticNet::new(0.01, 0.1).unwrap();
/// let mut whole = Folded::<f32>::new(vec![1.0, -2.0], penalty, Method::Fobos);
/// (0..7).for_each(|_| whole.charge(0.3));
/// let mut restored = Folded::<f32>::from_state(whole.state(), penalty, Method::Fobos).unwrap();
/// (0..7).for_each(|_| whole.charge(0.2));
/// (0..7).for_each(|_| restored.charge(0.2));
/// assert_eq!(whole.weights(), restored.weights());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameState {
    /// The stored magnitudes, one per weight.
    pub stored: Vec<f64>,
    /// Stretch and debt, each with its compensation term.
    pub totals: [f64; 4],
    /// Rebase state: limit, largest weight, learning rate, eagerness.
    pub rebase: [f64; 4],
    /// Number of non-zeros touched since the last rebase.
    pub touched: u64,
    /// If all weights were zero at the last rebase: the ids touched since then.
    pub alone: Option<Vec<u32>>,
}

impl State for FrameState {
    fn fields(&mut self, fields: &mut Fields) {
        self.stored.fields(fields);
        self.totals.fields(fields);
        self.rebase.fields(fields);
        self.touched.fields(fields);
        self.alone.fields(fields);
    }
}

impl FrameState {
    /// Rejects numbers that no frame can contain.
    pub(super) fn check(&self) -> Result<()> {
        let FrameState { stored, totals, rebase, alone, .. } = self;
        let finite = totals.iter().chain(rebase).chain(stored).all(|x| x.is_finite());
        let known = alone.iter().flatten().all(|&id| (id as usize) < stored.len());
        match finite && known && totals[0] >= 1.0 && totals[2] >= 0.0 {
            true => Ok(()),
            false => Err(no_state()),
        }
    }
}

impl<W: Weight, const PENALTY: bool> Folded<W, PENALTY>
where
    Self: Update,
{
    /// The state of the frame, to resume from.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, optim::kernel::Folded};
    /// let penalty = ElasticNet::new(0.0, 0.0).unwrap();
    /// assert_eq!(Folded::<f64>::new(vec![0.5], penalty, Method::Sgd).state().stored, [0.5]);
    /// ```
    pub fn state(&self) -> FrameState {
        let Rebase { limit, largest, eta, touched, ref alone, eager } = self.rebase;
        FrameState {
            stored: self.stored.iter().map(|v| v.to_f64()).collect(),
            totals: self.ledger.totals(),
            rebase: [limit, largest, eta, eager],
            touched: touched as u64,
            alone: alone.clone(),
        }
    }

    /// Resumes from a state. Invalid numbers are an error.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, optim::kernel::Folded};
    /// let penalty = ElasticNet::new(0.1, 0.0).unwrap();
    /// let mut state = Folded::<f64>::new(vec![0.5], penalty, Method::Sgd).state();
    /// state.alone = Some(vec![7]);
    /// assert!(Folded::<f64>::from_state(state, penalty, Method::Sgd).is_err(), "there is no weight 7");
    /// ```
    pub fn from_state(state: FrameState, penalty: ElasticNet, method: Method) -> Result<Self> {
        state.check()?;
        let FrameState { stored, totals, rebase, touched, alone } = state;
        let mut restored = Self::new(stored, penalty, method);
        restored.ledger = Ledger::new(penalty, method).with_totals(totals);
        restored.debt = W::from_f64(restored.ledger.debt());
        restored.scale = 1.0 / restored.ledger.stretch();
        let [limit, largest, eta, eager] = rebase;
        restored.rebase = Rebase { limit, largest, eta, touched: touched as usize, alone, eager };
        Ok(restored)
    }
}

/// The state of an [`Averaged`].
///
/// ```
/// use lazyglm::{ElasticNet, Method, optim::kernel::Averaged, optim::update::Update};
/// let penalty = ElasticNet::new(0.25, 0.0).unwrap();
/// let mut whole = Averaged::new(vec![1.0], penalty, Method::Fobos, 0);
/// whole.charge(1.0);
/// let mut restored = Averaged::from_state(whole.state(), penalty, Method::Fobos).unwrap();
/// [&mut whole, &mut restored].map(|mean| mean.charge(1.0));
/// assert_eq!(whole.weights(), restored.weights());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AverageState {
    /// The stored magnitudes, one per weight.
    pub stored: Vec<f64>,
    /// The sum of each weight over the steps covered so far, less what its stored magnitude has in the sums of the table.
    pub sums: Vec<f64>,
    /// The lines of the table and the present one, five numbers each: a debt, and the sums of scales and of debts with their
    /// compensation terms.
    pub lines: Vec<f64>,
    /// Stretch and debt, each with its compensation term.
    pub totals: [f64; 4],
    /// Number of steps since the sums restarted.
    pub since: u64,
    /// Number of steps done.
    pub steps: u64,
    /// Number of steps that the average omits.
    pub from: u64,
}

impl State for AverageState {
    fn fields(&mut self, fields: &mut Fields) {
        for numbers in [&mut self.stored, &mut self.sums, &mut self.lines] {
            numbers.fields(fields);
        }
        self.totals.fields(fields);
        for count in [&mut self.since, &mut self.steps, &mut self.from] {
            count.fields(fields);
        }
    }
}

impl Averaged {
    /// The state of the average, to resume from.
    pub fn state(&self) -> AverageState {
        let numbers = |l: &Line| [l.debt, l.scales.sum, l.scales.rest, l.debts.sum, l.debts.rest];
        AverageState {
            stored: self.cells.iter().map(|cell| cell.stored).collect(),
            sums: self.cells.iter().map(|cell| cell.sum).collect(),
            lines: self.lines.iter().chain([&self.now]).flat_map(numbers).collect(),
            totals: self.ledger.totals(),
            since: self.since,
            steps: self.steps,
            from: self.from,
        }
    }

    /// Resumes from a state. Invalid numbers are an error.
    ///
    /// ```
    /// use lazyglm::{ElasticNet, Method, optim::kernel::Averaged};
    /// let penalty = ElasticNet::new(0.25, 0.0).unwrap();
    /// let mut state = Averaged::new(vec![1.0], penalty, Method::Fobos, 0).state();
    /// state.sums.push(0.0);
    /// assert!(Averaged::from_state(state, penalty, Method::Fobos).is_err(), "there is one weight");
    /// ```
    pub fn from_state(state: AverageState, penalty: ElasticNet, method: Method) -> Result<Averaged> {
        let AverageState { stored, sums, lines, totals, since, steps, from } = state;
        let (lines, rest) = lines.as_chunks::<5>();
        let finite =
            stored.iter().chain(&sums).chain(&totals).chain(lines.as_flattened()).all(|x| x.is_finite());
        let lengths = stored.len() == sums.len() && rest.is_empty();
        if !finite || !lengths || totals[0] < 1.0 || totals[2] < 0.0 {
            return Err(no_state());
        }
        let line = |&[debt, a, b, c, d]: &[f64; 5]| Line {
            debt,
            scales: Double { sum: a, rest: b },
            debts: Double { sum: c, rest: d },
        };
        let mut lines: Vec<Line> = lines.iter().map(line).collect();
        let now = lines.pop().ok_or_else(no_state)?;
        let ledger = Ledger::new(penalty, method).with_totals(totals);
        let cells = stored.into_iter().zip(sums).map(|(stored, sum)| Cell { stored, sum }).collect();
        let frame = now.frame(ledger.stretch());
        Ok(Averaged { cells, now, frame, lines, ledger, since, steps, from })
    }
}

/// The error for bytes or numbers that are not the state of a learner.
pub(in crate::optim) fn no_state() -> Error {
    let hint = "take it from where it was written, unchanged";
    Error::data(Place::default(), "this is not the state of a learner", hint)
}
