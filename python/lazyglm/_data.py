"""From what users hold to what the compiled part borrows. Nothing is copied that need not be, nothing densified."""

import os
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_array, check_X_y, validate_data

from lazyglm._warn import warn

#: A conversion that takes more than this is worth a word.
LARGE = 1 << 20


def is_path(X: Any) -> bool:
    return isinstance(X, (str, os.PathLike))


def len_of(y: Any) -> int:
    """The number of rows of targets of any kind."""
    return int(y.shape[0]) if hasattr(y, "shape") else len(y)


def validated(
    estimator: Any, X: Any, y: Any = None, *, with_y: bool, reset: bool, columns: list[str] | None = None, **options: Any
) -> Any:
    """scikit-learn's checks. A sparse matrix's values are left to the compiled part, which looks at them anyway.

    With ``columns``, X has the features that were made of the columns of a frame, which are the features of the estimator.
    """
    sparse = sp.issparse(X)
    if sparse and X.format != "csr":
        _say_what_it_costs(X)
    if sparse:
        options["ensure_all_finite"] = False
    if with_y:
        if isinstance(y, (list, tuple)) and len(y) > 0 and isinstance(y[0], (set, frozenset)):
            raise ValueError(f"y has a set of labels per row, which {type(estimator).__name__} does not learn: use SGDClassifier, ElasticNetClassifier or AutoClassifier")
        options["y"] = y
    options |= {"accept_sparse": "csr", "accept_large_sparse": True, "dtype": [np.float64, np.float32]}
    if columns is None:
        return validate_data(estimator, X, reset=reset, **options)
    if reset:
        estimator.n_features_in_, estimator.feature_names_in_ = len(columns), np.array(columns, dtype=object)
    elif X.shape[1] != (known := len(estimator._names())):
        raise ValueError(f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {known} features as input")
    return check_X_y(X, options.pop("y"), **options, estimator=estimator) if with_y else check_array(X, **options, estimator=estimator)


def weights_of(sample_weight: Any, rows: int, *, may_be_zero: bool) -> Any:
    """Row weights as one array, or None when all are one."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Number):
        sample_weight = np.full(rows, sample_weight)
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight")
    if weights.shape != (rows,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(rows,)}!")
    if not may_be_zero and not np.any(weights):
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def offsets_of(offset: Any, rows: int) -> Any:
    """Row offsets as one array, or None without any."""
    if offset is None:
        return None
    offsets = check_array(offset, ensure_2d=False, dtype=np.float64, order="C", input_name="offset")
    if offsets.shape != (rows,):
        raise ValueError(f"offset.shape == {offsets.shape}, expected {(rows,)}: give one number per row")
    return offsets


def lent(X: Any) -> Any:
    """A validated matrix as the compiled part takes it: lent, not copied (an int32 ``indptr`` becomes 64 bits wide)."""
    if not sp.issparse(X):
        return X
    indptr, indices = np.ascontiguousarray(X.indptr), np.ascontiguousarray(X.indices)
    offsets = indptr.view(np.uintp) if indptr.dtype == np.int64 else indptr.astype(np.uintp)
    ids = indices.view(np.uint32) if indices.dtype == np.int32 else indices.astype(np.int64, copy=False)
    return offsets, ids, np.ascontiguousarray(X.data), X.shape[1]


def dense(heads: Any, columns: int) -> tuple[Any, list[float]]:
    """The weights of models as an array with one row for each, and their intercepts."""
    coef = np.zeros((len(heads), columns))
    for row, (ids, weights, _) in zip(coef, heads, strict=True):
        row[ids] = weights
    return coef, [bias for _, _, bias in heads]


def by_model(coef: Any) -> Any:
    """Weights as a dense array with one row per model."""
    return coef.toarray() if sp.issparse(coef) else np.atleast_2d(coef)


def means_of(estimator: Any, X: Any) -> Any:
    """The means of the columns of a frame of numbers, which stand for empty cells of a file; None for other data."""
    frame = getattr(estimator, "_reading", None) is None and hasattr(estimator, "feature_names_in_")
    return None if not frame or sp.issparse(X) else X.mean(axis=0, dtype=np.float64).tolist()


def scaled(X: Any, factors: Any) -> Any:
    """X with its columns multiplied; its values are copied, where they lie is not."""
    if factors is None:
        return X
    if not sp.issparse(X):
        return X * factors.astype(X.dtype)
    return sp.csr_matrix((X.data * factors.astype(X.dtype)[X.indices], X.indices, X.indptr), shape=X.shape)


def _say_what_it_costs(X: Any) -> None:
    size = X.nnz * (X.dtype.itemsize + 4)
    if size > LARGE:
        warn(
            f"X is {X.format.upper()} and is converted to CSR, which takes {size / 2**20:.0f} MiB more; "
            "convert it once, with X.tocsr(), if you fit or predict more than once",
            DataConversionWarning,
        )


def tf_idf(X: Any, log: bool, idf: Any) -> Any:
    """Counts as tf-idf values: (1 + ln x, or x)·idf, in rows of length one."""
    X = sp.csr_matrix(X, dtype=np.float64, copy=True)
    if log:  # values below one are no counts, and stay as they are
        size = np.abs(X.data)
        X.data = np.where(size >= 1, np.sign(X.data) * (1 + np.log(np.maximum(size, 1))), X.data)
    X.data *= idf[X.indices]
    norms = np.sqrt(np.add.reduceat(np.append(X.data**2, 0.0), X.indptr[:-1])) if X.shape[0] else np.ones(0)
    counts = np.diff(X.indptr)
    X.data /= np.repeat(np.where(norms > 0, norms, 1.0), counts)
    return X
