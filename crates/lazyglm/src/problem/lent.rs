//! Rows that somebody else owns, such as numpy arrays: learnt where they lie if their ids rise, else a window at a time.
//!
//! Solvers learn rows whose ids rise, and any split of an order into calls gives the same bits. So a matrix of another kind is
//! not copied as a whole: some thousand rows are, over and over, into the same memory.

use crate::data::rows::{Rows, RowsRef, Value};
use crate::problem::source::{Batch, See, Sequence, Source};
use crate::problem::task::TargetsRef;
use crate::util::error::{Error, Place, Result};

/// The largest number of rows per batch.
const ROWS: usize = 1 << 12;
/// A window is full at this number of values.
const VALUES: usize = 1 << 16;

/// Appends the pairs (id, value) of a row, ids rising.
pub type Gather<'a, V> = &'a (dyn Fn(usize, &mut Vec<(u32, V)>) + Sync);

/// A matrix that is lent.
#[derive(Clone, Copy)]
pub enum LentRows<'a> {
    /// Rows whose ids rise.
    Sorted(RowsRef<'a>),
    /// Rows that must be put in order, in f32.
    F32(Gather<'a, f32>),
    /// Rows that must be put in order, in f64.
    F64(Gather<'a, f64>),
}

/// A lent matrix with its targets.
#[derive(Clone, Copy)]
pub struct Lent<'a> {
    /// The matrix.
    pub rows: LentRows<'a>,
    /// The number of columns.
    pub columns: usize,
    /// One target per row of the matrix.
    pub targets: &'a [f64],
    /// One weight per row of the matrix; `None` if all are one.
    pub weights: Option<&'a [f64]>,
    /// One offset per row of the matrix, which is added to its score; `None` if all are zero.
    pub offsets: Option<&'a [f64]>,
    /// The rows to learn; all if `None`.
    pub subset: Option<&'a [u32]>,
    /// Called between batches; an error ends the pass. The owner may have changed the arrays.
    pub check: &'a (dyn Fn() -> Result<()> + Sync),
}

impl Lent<'_> {
    /// Shows the rows of an order, batch by batch.
    pub fn show(&self, order: &[u32], see: &mut See) -> Result<()> {
        match self.rows {
            LentRows::Sorted(rows) => order.chunks(ROWS).try_for_each(|part| {
                let (targets, weights, offsets) =
                    (TargetsRef::Numbers(self.targets), self.weights, self.offsets);
                let seen = see(&Batch {
                    rows,
                    targets,
                    weights,
                    offsets,
                    order: part,
                    place: &place,
                    number: &|i| i as u64,
                });
                (self.check)()?; // rather this error than what came of it
                seen
            }),
            LentRows::F32(gather) => self.windows(order, gather, see),
            LentRows::F64(gather) => self.windows(order, gather, see),
        }
    }

    fn windows<V: Value + Default>(&self, mut order: &[u32], gather: Gather<V>, see: &mut See) -> Result<()> {
        let mut window = Window::default();
        while !order.is_empty() {
            let taken = window.fill(self, order, gather);
            (self.check)()?;
            let shown;
            (shown, order) = order.split_at(taken);
            let number = |i: usize| u64::from(shown[i]);
            let rows =
                RowsRef::new(&window.offsets, &window.ids, V::values_ref(&window.values), self.columns)?;
            let weights = self.weights.map(|_| &window.weights[..]);
            let offsets = self.offsets.map(|_| &window.shifts[..]);
            let targets = TargetsRef::Numbers(&window.targets);
            let order = &window.order;
            see(&Batch { rows, targets, weights, offsets, order, place: &place, number: &number })?;
        }
        Ok(())
    }

    /// Checks that there is one target, weight and offset per row, that no weight is negative, and that offsets are finite.
    pub fn check_lengths(&self, rows: usize) -> Result<()> {
        if self.targets.len() != rows || self.weights.is_some_and(|weights| weights.len() != rows) {
            let what = format!("X has {rows} rows, and y or the weights are not as many");
            return Err(Error::data(Place::file("y"), what, "give one of each per row"));
        }
        let odd = |offsets: &[f64]| offsets.iter().position(|offset| !offset.is_finite());
        match self.offsets {
            Some(offsets) if offsets.len() != rows => {
                let what = format!("X has {rows} rows, and there are {} offsets", offsets.len());
                return Err(Error::data(Place::file("offset"), what, "give one offset per row"));
            }
            Some(offsets) if odd(offsets).is_some() => {
                let what = format!("the offset of row {} is not finite", odd(offsets).unwrap_or(0));
                return Err(Error::data(Place::file("offset"), what, "give finite numbers"));
            }
            _ => {}
        }
        match self.weights.and_then(|weights| weights.iter().position(|w| !w.is_finite() || *w < 0.0)) {
            None => Ok(()),
            Some(row) => {
                let what = format!("the weight of row {row} is negative or not finite");
                Err(Error::data(Place::file("sample_weight"), what, "give numbers from 0 up"))
            }
        }
    }
}

impl Lent<'_> {
    /// A copy of all rows, their columns counted from `base`.
    pub fn to_rows(&self, base: u32) -> Result<Rows> {
        let (mut rows, mut pairs) = (Rows::new(), Vec::new());
        self.pass(&mut |batch| {
            for &row in batch.order {
                pairs.clear();
                batch.rows.for_each(row as usize, |id, x| pairs.push((id as u32 + base, x)));
                rows.push(&pairs)?;
            }
            Ok(())
        })?;
        rows.declare_columns(self.columns + base as usize);
        Ok(rows)
    }
}

/// The rows to learn, if not all of them, and the rows held out, if there are any.
pub type SplitRows = (Option<Vec<u32>>, Option<Vec<u32>>);

impl Lent<'_> {
    /// Splits the rows by a mask of those held out. Rows of weight zero are as if absent.
    pub fn split(&self, held_out: Option<&[bool]>) -> Result<SplitRows> {
        let n = self.targets.len();
        if held_out.is_some_and(|held_out| held_out.len() != n) {
            let what = format!("X has {n} rows, and the mask of held-out rows has another length");
            return Err(Error::data(Place::file("y"), what, "give one entry per row"));
        }
        let present = |row: usize| self.weights.is_none_or(|weights| weights[row] > 0.0);
        let held = |row: usize| held_out.is_some_and(|held_out| held_out[row]);
        let of = |wanted: bool| {
            (0..n).filter(|&row| present(row) && held(row) == wanted).map(|row| row as u32).collect()
        };
        let rows: Option<Vec<u32>> =
            (held_out.is_some() || (0..n).any(|row| !present(row))).then(|| of(false));
        if n == 0 || rows.as_ref().is_some_and(Vec::is_empty) {
            let what = "there are no rows to learn, or all their weights are 0";
            return Err(Error::data(Place::file("X"), what, "give some rows a weight above 0"));
        }
        Ok((rows, held_out.map(|_| of(true))))
    }
}

impl Source for Lent<'_> {
    fn rows(&self) -> usize {
        self.subset.map_or(self.targets.len(), <[u32]>::len)
    }

    fn epoch(&self, sequence: Sequence, epoch: u64, see: &mut See) -> Result<()> {
        let mut order = sequence.rows(self.rows(), epoch);
        if let Some(rows) = self.subset {
            order.iter_mut().for_each(|k| *k = rows[*k as usize]);
        }
        self.show(&order, see)
    }

    fn pass(&self, see: &mut See) -> Result<()> {
        let all: Vec<u32> = (0..self.targets.len() as u32).collect();
        self.show(self.subset.unwrap_or(&all), see)
    }
}

fn place(_: usize) -> Place {
    Place::file("X")
}

/// Memory for a window.
#[derive(Default)]
struct Window<V> {
    offsets: Vec<usize>,
    ids: Vec<u32>,
    values: Vec<V>,
    targets: Vec<f64>,
    weights: Vec<f64>,
    shifts: Vec<f64>, // the offsets of the rows
    order: Vec<u32>,
    pairs: Vec<(u32, V)>,
}

impl<V: Value> Window<V> {
    /// Gathers rows from the start of an order; how many.
    fn fill(&mut self, lent: &Lent, order: &[u32], gather: Gather<V>) -> usize {
        self.offsets.clear();
        self.offsets.push(0);
        self.ids.clear();
        self.values.clear();
        self.targets.clear();
        self.weights.clear();
        self.shifts.clear();
        self.order.clear();
        for (k, row) in order.iter().map(|&row| row as usize).enumerate() {
            if k == ROWS || self.ids.len() >= VALUES {
                break;
            }
            self.pairs.clear();
            gather(row, &mut self.pairs);
            self.ids.extend(self.pairs.iter().map(|&(id, _)| id));
            self.values.extend(self.pairs.iter().map(|&(_, x)| x));
            self.offsets.push(self.ids.len());
            self.targets.push(lent.targets[row]);
            self.weights.extend(lent.weights.map(|weights| weights[row]));
            self.shifts.extend(lent.offsets.map(|offsets| offsets[row]));
            self.order.push(k as u32);
        }
        self.order.len()
    }
}
