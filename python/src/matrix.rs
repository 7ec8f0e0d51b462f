//! A matrix lent by Python: CSR in its usual forms, or a dense array of any strides. Nothing is copied.
//!
//! | lent | as |
//! |---|---|
//! | CSR, 32-bit indices that rise in each row | [`Matrix::Sorted`]: rows are learnt where they lie |
//! | CSR, 64-bit indices, or unsorted, or with duplicates | [`Matrix::Loose`]: a window of rows at a time is put in order |
//! | dense | [`Matrix::Dense32`], [`Matrix::Dense64`]: the same, without its zeros |
//!
//! Everything is checked in the call that uses it. Another thread of Python may write to the arrays while the call lasts, for
//! it does not hold the interpreter's lock: so ids are looked at again where they are used, and [`Changed`] says what came of it.

pub use lazyglm::data::rows::Changed;
use lazyglm::data::rows::csr::{CheckedCsr, Csr, Ids, not_finite};
use lazyglm::problem::lent::{Lent, LentRows};
use lazyglm::{Error, Place, Result, RowsRef, Value, ValuesRef};
use numpy::ndarray::ArrayView2;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
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

/// The same as slices, not checked yet.
#[derive(Clone, Copy)]
pub enum Slices<'a> {
    /// CSR.
    Csr(Csr<'a>),
    /// Dense, single precision.
    Dense32(ArrayView2<'a, f32>),
    /// Dense, double precision.
    Dense64(ArrayView2<'a, f64>),
}

/// A matrix whose every index has been checked.
#[derive(Clone, Copy)]
pub enum Matrix<'a> {
    /// Rows as the library wants them.
    Sorted(RowsRef<'a>),
    /// CSR whose rows must be put in order first; and whether it was seen to change.
    Loose(Csr<'a>, &'a Changed),
    /// Dense, single precision.
    Dense32(ArrayView2<'a, f32>),
    /// Dense, double precision.
    Dense64(ArrayView2<'a, f64>),
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
    /// The arrays as slices.
    pub fn slices(&self) -> PyResult<Slices<'_>> {
        Ok(match self {
            MatrixArrays::Csr(offsets, ids, values, columns) => Slices::Csr(Csr {
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
            MatrixArrays::Dense32(dense) => Slices::Dense32(dense.as_array()),
            MatrixArrays::Dense64(dense) => Slices::Dense64(dense.as_array()),
        })
    }
}

impl<'a> Slices<'a> {
    /// Checks every index and every value.
    pub fn checked(self, changed: &'a Changed) -> Result<Matrix<'a>> {
        let matrix = match self {
            Slices::Csr(csr) => match csr.checked(&changed.0)? {
                CheckedCsr::Sorted(rows) => Matrix::Sorted(rows),
                CheckedCsr::Loose(csr) => Matrix::Loose(csr, changed),
            },
            Slices::Dense32(dense) if dense.iter().all(|x| x.is_finite()) => Matrix::Dense32(dense),
            Slices::Dense64(dense) if dense.iter().all(|x| x.is_finite()) => Matrix::Dense64(dense),
            Slices::Dense32(_) | Slices::Dense64(_) => return Err(not_finite()),
        };
        if matrix.rows() > u32::MAX as usize || matrix.columns() > 1 << 32 {
            let what = "there are more than 2³² rows or columns";
            return Err(Error::data(Place::file("X"), what, "split the matrix"));
        }
        Ok(matrix)
    }
}

impl Matrix<'_> {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        match self {
            Matrix::Sorted(rows) => rows.len(),
            Matrix::Loose(csr, _) => csr.offsets.len() - 1,
            Matrix::Dense32(dense) => dense.nrows(),
            Matrix::Dense64(dense) => dense.nrows(),
        }
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        match self {
            Matrix::Sorted(rows) => rows.columns(),
            Matrix::Loose(csr, _) => csr.columns,
            Matrix::Dense32(dense) => dense.ncols(),
            Matrix::Dense64(dense) => dense.ncols(),
        }
    }

    /// Lends the matrix as rows that a solver can learn, with targets of zero.
    pub fn lend<T>(&self, changed: &Changed, work: impl FnOnce(Lent) -> T) -> T {
        let (targets, check) = (vec![0.0; self.rows()], &|| changed.check());
        let lent = |rows| {
            let (columns, targets) = (self.columns(), &targets[..]);
            work(Lent { rows, columns, targets, weights: None, offsets: None, subset: None, check })
        };
        match *self {
            Matrix::Sorted(rows) => lent(LentRows::Sorted(rows)),
            Matrix::Loose(csr, _) => match csr.values {
                ValuesRef::F32(values) => lent(LentRows::F32(&|row, pairs| {
                    csr.gather(values, row, &changed.0, pairs, |x| x as f32);
                })),
                ValuesRef::F64(values) => {
                    lent(LentRows::F64(&|row, pairs| csr.gather(values, row, &changed.0, pairs, |x| x)))
                }
            },
            Matrix::Dense32(dense) => lent(LentRows::F32(&|row, pairs| without_zeros(dense, row, pairs))),
            Matrix::Dense64(dense) => lent(LentRows::F64(&|row, pairs| without_zeros(dense, row, pairs))),
        }
    }

    /// Calls `see(column, value)` for what is stored in a row, in the order in which it is stored.
    pub fn for_each(&self, row: usize, mut see: impl FnMut(usize, f64)) {
        match self {
            Matrix::Sorted(rows) => rows.for_each(row, see),
            Matrix::Loose(csr, changed) => match csr.values {
                ValuesRef::F32(values) => {
                    csr.for_each(values, row, &changed.0, |id, x| see(id as usize, f64::from(x)));
                }
                ValuesRef::F64(values) => csr.for_each(values, row, &changed.0, |id, x| see(id as usize, x)),
            },
            Matrix::Dense32(dense) => {
                dense.row(row).iter().enumerate().for_each(|(j, &x)| see(j, f64::from(x)))
            }
            Matrix::Dense64(dense) => dense.row(row).iter().enumerate().for_each(|(j, &x)| see(j, x)),
        }
    }
}

fn without_zeros<V: Value>(dense: ArrayView2<V>, row: usize, pairs: &mut Vec<(u32, V)>) {
    let columns = 0..dense.ncols() as u32;
    pairs.extend(columns.zip(dense.row(row).iter().copied()).filter(|(_, x)| x.to_f64() != 0.0));
}
