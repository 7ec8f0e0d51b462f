//! Rows of a lent matrix, a window at a time: gathered, sorted, duplicates summed, zeros of dense rows left out.
//!
//! The library learns rows whose ids rise, and any split of an order into calls gives the same bits. So a matrix that is
//! not of that kind need not be copied: some thousand rows are, over and over, into the same memory.

use crate::matrix::{Changed, Csr, Matrix};
use lazyglm::{Error, Examples, Place, Result, RowsRef, Value, ValuesRef};
use numpy::ndarray::ArrayView2;

/// Rows that are learnt between two looks at the clock.
const STRIDE: usize = 1 << 12;
/// Values after which a window is full.
const FULL: usize = 1 << 16;

/// Rows, targets and weights.
#[derive(Clone, Copy)]
pub struct Lesson<'m, 'a> {
    /// The features.
    pub matrix: Matrix<'m>,
    /// A target each.
    pub targets: &'a [f64],
    /// A weight each, unless all are one.
    pub weights: Option<&'a [f64]>,
    /// Whether the matrix was seen to change.
    pub changed: &'m Changed,
}

/// Puts a row, in order, behind what is there.
type Gather<'g, V> = dyn Fn(usize, &mut Vec<(u32, V)>) + 'g;

/// Memory for a window.
#[derive(Default)]
struct Window<V> {
    offsets: Vec<usize>,
    ids: Vec<u32>,
    values: Vec<V>,
    targets: Vec<f64>,
    weights: Vec<f64>,
    order: Vec<u32>,
    pairs: Vec<(u32, V)>,
}

impl Lesson<'_, '_> {
    /// Refuses targets or weights that are not one a row, and weights that are none.
    pub fn check_lengths(&self) -> Result<()> {
        let n = self.matrix.rows();
        if self.targets.len() != n || self.weights.is_some_and(|weights| weights.len() != n) {
            let what = format!("X has {n} rows, and y or the weights are not as many");
            return Err(Error::data(Place::file("y"), what, "give one of each a row"));
        }
        match self.weights.and_then(|weights| weights.iter().position(|w| !w.is_finite() || *w < 0.0)) {
            None => Ok(()),
            Some(row) => {
                let what = format!("the weight of row {row} is no weight");
                Err(Error::data(Place::file("sample_weight"), what, "weights are numbers from 0 up"))
            }
        }
    }

    /// Calls `see` with some rows and the order in which to learn them, until all of `order` have been seen.
    pub fn for_each_part<E: From<lazyglm::Error>>(
        &self,
        order: &[u32],
        mut see: impl FnMut(Examples, &[u32]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        match self.matrix {
            Matrix::Sorted(rows) => {
                let examples = Examples { rows, targets: self.targets, weights: self.weights }; // rows of weight 0 are not in `order`
                order.chunks(STRIDE).try_for_each(|part| {
                    let seen = see(examples, part);
                    self.changed.check()?; // rather this than what came of it
                    seen
                })
            }
            Matrix::Loose(csr, changed) => match csr.values {
                ValuesRef::F32(values) => self.windows(
                    order,
                    &|row, pairs| gather(csr, values, row, changed, pairs, |x| x as f32),
                    see,
                ),
                ValuesRef::F64(values) => {
                    self.windows(order, &|row, pairs| gather(csr, values, row, changed, pairs, |x| x), see)
                }
            },
            Matrix::Dense32(dense) => {
                self.windows(order, &|row, pairs| without_zeros(dense, row, pairs), see)
            }
            Matrix::Dense64(dense) => {
                self.windows(order, &|row, pairs| without_zeros(dense, row, pairs), see)
            }
        }
    }

    fn windows<V: Value + Lend + Default, E: From<lazyglm::Error>>(
        &self,
        mut order: &[u32],
        gather: &Gather<V>,
        mut see: impl FnMut(Examples, &[u32]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut window = Window::default();
        while !order.is_empty() {
            let taken = window.fill(self, order, gather);
            self.changed.check()?;
            order = &order[taken..];
            let rows = window.rows(self.matrix.columns())?;
            let weights = self.weights.map(|_| &window.weights[..]);
            see(Examples::new(rows, &window.targets, weights)?, &window.order)?;
        }
        Ok(())
    }
}

impl<V: Value + Lend> Window<V> {
    /// Gathers rows from the start of an order; how many.
    fn fill(&mut self, lesson: &Lesson, order: &[u32], gather: &Gather<V>) -> usize {
        self.offsets.clear();
        self.offsets.push(0);
        self.ids.clear();
        self.values.clear();
        self.targets.clear();
        self.weights.clear();
        self.order.clear();
        for (k, &row) in order.iter().enumerate() {
            if k == STRIDE || self.ids.len() >= FULL {
                break;
            }
            let row = row as usize;
            self.pairs.clear();
            gather(row, &mut self.pairs);
            self.ids.extend(self.pairs.iter().map(|&(id, _)| id));
            self.values.extend(self.pairs.iter().map(|&(_, x)| x));
            self.offsets.push(self.ids.len());
            self.targets.push(lesson.targets[row]);
            self.weights.extend(lesson.weights.map(|weights| weights[row]));
            self.order.push(k as u32);
        }
        self.order.len()
    }

    fn rows(&self, columns: usize) -> Result<RowsRef<'_>> {
        RowsRef::new(&self.offsets, &self.ids, V::lend(&self.values), columns)
    }
}

/// Slices of one precision as the library names them.
trait Lend: Sized {
    fn lend(values: &[Self]) -> ValuesRef<'_>;
}

impl Lend for f32 {
    fn lend(values: &[f32]) -> ValuesRef<'_> {
        ValuesRef::F32(values)
    }
}

impl Lend for f64 {
    fn lend(values: &[f64]) -> ValuesRef<'_> {
        ValuesRef::F64(values)
    }
}

/// A row in order, its duplicates summed.
fn gather<V: Value>(
    csr: Csr,
    values: &[V],
    row: usize,
    changed: &Changed,
    pairs: &mut Vec<(u32, V)>,
    narrow: fn(f64) -> V,
) {
    csr.for_each(values, row, changed, |id, x| pairs.push((id, x)));
    if pairs.windows(2).all(|two| two[0].0 < two[1].0) {
        return;
    }
    pairs.sort_by_key(|&(id, _)| id);
    pairs.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = narrow(kept.1.to_f64() + next.1.to_f64());
        }
        same
    });
}

fn without_zeros<V: Value>(dense: ArrayView2<V>, row: usize, pairs: &mut Vec<(u32, V)>) {
    let columns = 0..dense.ncols() as u32;
    pairs.extend(columns.zip(dense.row(row).iter().copied()).filter(|(_, x)| x.to_f64() != 0.0));
}
