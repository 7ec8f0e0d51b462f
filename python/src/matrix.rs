//! A matrix lent by Python: CSR in its usual forms, or a dense array of any strides. Nothing is copied.
//!
//! | lent | as |
//! |---|---|
//! | CSR, 32-bit indices that rise in each row | [`Kind::Sorted`]: rows are learnt where they lie |
//! | CSR, 64-bit indices, or unsorted, or with duplicates | [`Kind::Loose`]: a window of rows at a time is put in order |
//! | dense | [`Kind::Dense`]: the same, without its zeros |
//!
//! Everything is checked in the call that uses it. Another thread of Python may write to the arrays while the call lasts, for
//! it does not hold the interpreter's lock: so ids are looked at again where they are used, and [`Changed`] says what came of it.

use lazyglm::data::rows::Changed;
use lazyglm::data::rows::csr::{CheckedCsr, Csr, Ids, not_finite};
use lazyglm::problem::lent::{Lent, LentRows};
use lazyglm::{Error, Place, Result, RowsRef, Value, ValuesRef};
use numpy::ndarray::ArrayView2;
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The arrays of a matrix, kept from being written to (by Rust) for as long as they are lent.
pub enum MatrixArrays<'py> {
    /// Offsets, ids, values, columns.
    Csr(PyReadonlyArray1<'py, usize>, LentIds<'py>, LentValues<'py>, usize),
    /// Dense, single precision.
    Dense32(PyReadonlyArray2<'py, f32>),
    /// Dense, double precision.
    Dense64(PyReadonlyArray2<'py, f64>),
}

/// Indices as scipy has them.
#[derive(FromPyObject)]
pub enum LentIds<'py> {
    /// 32 bits, seen as unsigned.
    Narrow(PyReadonlyArray1<'py, u32>),
    /// 64 bits.
    Wide(PyReadonlyArray1<'py, i64>),
}

/// Values as scipy has them.
#[derive(FromPyObject)]
pub enum LentValues<'py> {
    /// Single precision.
    F32(PyReadonlyArray1<'py, f32>),
    /// Double precision.
    F64(PyReadonlyArray1<'py, f64>),
}

/// A dense array of any strides.
#[derive(Clone, Copy)]
enum Dense<'a> {
    F32(ArrayView2<'a, f32>),
    F64(ArrayView2<'a, f64>),
}

/// A matrix whose every index has been checked.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    kind: Kind<'a>,
    /// Whether it was seen to change since.
    pub changed: &'a Changed,
}

#[derive(Clone, Copy)]
enum Kind<'a> {
    /// Rows as the library wants them.
    Sorted(RowsRef<'a>),
    /// CSR whose rows must be put in order first, or that is not checked yet.
    Loose(Csr<'a>),
    Dense(Dense<'a>),
}

impl<'py> FromPyObject<'_, 'py> for MatrixArrays<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<MatrixArrays<'py>> {
        if let Ok((offsets, ids, values, columns)) = object.extract() {
            return Ok(MatrixArrays::Csr(offsets, ids, values, columns));
        }
        if let Ok(dense) = object.extract() {
            return Ok(MatrixArrays::Dense32(dense));
        }
        object.extract().map(MatrixArrays::Dense64).map_err(|_| {
            PyTypeError::new_err("a matrix is (offsets, ids, values, columns) or a dense array of floats")
        })
    }
}

impl MatrixArrays<'_> {
    /// Does something with the matrix, whose every index is checked, without the interpreter's lock.
    pub fn detached<T: Send>(
        &self,
        py: Python,
        work: impl FnOnce(Matrix) -> Result<T> + Send,
    ) -> PyResult<Result<T>> {
        let (changed, kind) = (Changed::default(), self.slices()?);
        Ok(py.detach(|| changed.guard(|| work(Matrix { kind, changed: &changed }.checked()?))))
    }

    fn slices(&self) -> PyResult<Kind<'_>> {
        Ok(match self {
            MatrixArrays::Csr(offsets, ids, values, columns) => Kind::Loose(Csr {
                offsets: offsets.as_slice()?,
                ids: match ids {
                    LentIds::Narrow(ids) => Ids::U32(ids.as_slice()?),
                    LentIds::Wide(ids) => Ids::I64(ids.as_slice()?),
                },
                values: match values {
                    LentValues::F32(values) => ValuesRef::F32(values.as_slice()?),
                    LentValues::F64(values) => ValuesRef::F64(values.as_slice()?),
                },
                columns: *columns,
            }),
            MatrixArrays::Dense32(dense) => Kind::Dense(Dense::F32(dense.as_array())),
            MatrixArrays::Dense64(dense) => Kind::Dense(Dense::F64(dense.as_array())),
        })
    }
}

impl<'a> Matrix<'a> {
    /// Checks every index and every value.
    fn checked(mut self) -> Result<Matrix<'a>> {
        let finite = match self.kind {
            Kind::Dense(Dense::F32(dense)) => dense.iter().all(|x| x.is_finite()),
            Kind::Dense(Dense::F64(dense)) => dense.iter().all(|x| x.is_finite()),
            Kind::Sorted(_) => true,
            Kind::Loose(csr) => {
                self.kind = match csr.checked(&self.changed.0)? {
                    CheckedCsr::Sorted(rows) => Kind::Sorted(rows),
                    CheckedCsr::Loose(csr) => Kind::Loose(csr),
                };
                true
            }
        };
        match self.shape() {
            _ if !finite => Err(not_finite()),
            (rows, columns) if rows > u32::MAX as usize || columns > 1 << 32 => {
                let what = "there are more than 2³² rows or columns";
                Err(Error::data(Place::file("X"), what, "split the matrix"))
            }
            _ => Ok(self),
        }
    }

    /// The number of rows, and of columns.
    fn shape(&self) -> (usize, usize) {
        match self.kind {
            Kind::Sorted(rows) => (rows.len(), rows.columns()),
            Kind::Loose(csr) => (csr.offsets.len() - 1, csr.columns),
            Kind::Dense(Dense::F32(dense)) => dense.dim(),
            Kind::Dense(Dense::F64(dense)) => dense.dim(),
        }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.shape().0
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.shape().1
    }

    /// Whether it is an array, not rows that list their features.
    pub fn is_dense(&self) -> bool {
        matches!(self.kind, Kind::Dense(_))
    }

    /// The rows where they lie, if they are in order.
    pub fn sorted(&self) -> Option<RowsRef<'a>> {
        if let Kind::Sorted(rows) = self.kind { Some(rows) } else { None }
    }

    /// Lends the matrix as rows that a solver can learn, with targets of zero.
    pub fn lend<T>(&self, work: impl FnOnce(Lent) -> T) -> T {
        let ((rows, columns), changed) = (self.shape(), self.changed);
        let (targets, check) = (vec![0.0; rows], &|| changed.check());
        let lent = |rows| {
            let targets = &targets[..];
            work(Lent { rows, columns, targets, weights: None, offsets: None, subset: None, check })
        };
        match self.kind {
            Kind::Sorted(rows) => lent(LentRows::Sorted(rows)),
            Kind::Loose(csr) => match csr.values {
                ValuesRef::F32(values) => lent(LentRows::F32(&|row, pairs| {
                    csr.gather(values, row, &changed.0, pairs, |x| x as f32);
                })),
                ValuesRef::F64(values) => {
                    lent(LentRows::F64(&|row, pairs| csr.gather(values, row, &changed.0, pairs, |x| x)))
                }
            },
            Kind::Dense(Dense::F32(dense)) => lent(LentRows::F32(&|row, pairs| nonzeros(dense, row, pairs))),
            Kind::Dense(Dense::F64(dense)) => lent(LentRows::F64(&|row, pairs| nonzeros(dense, row, pairs))),
        }
    }

    /// Calls `see(column, value)` for what is stored in a row, in the order in which it is stored.
    pub fn for_each(&self, row: usize, mut see: impl FnMut(usize, f64)) {
        let seen = &self.changed.0;
        match self.kind {
            Kind::Sorted(rows) => rows.for_each(row, see),
            Kind::Loose(csr) => match csr.values {
                ValuesRef::F32(values) => {
                    csr.for_each(values, row, seen, |id, x| see(id as usize, f64::from(x)))
                }
                ValuesRef::F64(values) => csr.for_each(values, row, seen, |id, x| see(id as usize, x)),
            },
            Kind::Dense(Dense::F32(dense)) => each(dense, row, see),
            Kind::Dense(Dense::F64(dense)) => each(dense, row, see),
        }
    }
}

fn each<V: Value>(dense: ArrayView2<V>, row: usize, mut see: impl FnMut(usize, f64)) {
    dense.row(row).iter().enumerate().for_each(|(j, x)| see(j, x.to_f64()));
}

fn nonzeros<V: Value>(dense: ArrayView2<V>, row: usize, pairs: &mut Vec<(u32, V)>) {
    let columns = 0..dense.ncols() as u32;
    pairs.extend(columns.zip(dense.row(row).iter().copied()).filter(|(_, x)| x.to_f64() != 0.0));
}

/// The numbers of an array, if there is one.
pub fn optional<'a, T: Element>(array: &'a Option<PyReadonlyArray1<T>>) -> PyResult<Option<&'a [T]>> {
    Ok(array.as_ref().map(|array| array.as_slice()).transpose()?)
}
