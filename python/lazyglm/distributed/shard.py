"""One partition of the rows, ready to be learnt: checked once, in the order the compiled part wants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lazyglm.distributed import shard_bytes


class Shard(NamedTuple):
    """Rows (CSR arrays as :mod:`lazyglm._core` borrows them), a target each (or the number of its class), and weights."""

    offsets: Any
    ids: Any
    values: Any
    columns: int
    targets: Any
    weights: Any

    @property
    def rows(self) -> int:
        return len(self.targets)

    @property
    def matrix(self) -> tuple[Any, Any, Any, int]:
        return aligned(self.offsets), aligned(self.ids), aligned(self.values), self.columns

    def to_bytes(self) -> bytes:
        """The shard in a plain format, for engines that keep partitions as binary columns."""
        return b"".join(shard_bytes.encoded(self))

    @staticmethod
    def of_bytes(data: bytes) -> Shard:
        """The shard that :meth:`to_bytes` wrote. Bytes from anywhere are safe to read: everything is checked, nothing is run."""
        return Shard(**shard_bytes.decoded(data))

    def digest(self) -> str:
        """A fingerprint of all bits of the shard."""
        return shard_bytes.digest(self)


def aligned(array: Any) -> Any:
    """The array itself, or a copy: what came over a network may begin at any byte, and the compiled part borrows words."""
    return np.require(array, requirements=["C", "A"])


def width(columns: Iterable[tuple[int, int]]) -> int:
    """The number of features that all partitions have; ``columns`` are (number of a partition, its features).

    >>> width([(0, 7), (2, 7)])
    7
    """
    (first, features), *others = columns
    for other, theirs in others:
        if theirs != features:
            raise ValueError(f"partition {first} has {features} features and partition {other} has {theirs}: give all the same")
    return features


def pack(X: Any, y: Any, sample_weight: Any = None, *, partition: int = 0, classes: Any = None) -> Shard:
    """Rows, targets and weights of one partition as a shard.

    With ``classes`` (sorted) targets become the numbers of classes. Rows of weight zero are left out. Rows of any
    partition that are not numbers are refused with their place.

    >>> import scipy.sparse as sp
    >>> pack(sp.csr_array([[0.0, 2.0]]), ["b"], classes=["a", "b"]).targets
    array([1.])
    """
    X = _rows(X, partition)
    y = _column(y, X.shape[0], "y", partition, numbers=classes is None)
    targets = y if classes is None else _numbers(y, np.asarray(classes), partition)
    weights = None
    if sample_weight is not None:
        weights = _column(sample_weight, X.shape[0], "sample_weight", partition, numbers=True)
        if (weights < 0).any():
            row = int(np.argmax(weights < 0))
            raise ValueError(f"partition {partition}, row {row}: sample_weight {weights[row]} is below zero")
        if not weights.all():
            X, targets, weights = X[weights > 0], targets[weights > 0], weights[weights > 0]
    offsets = X.indptr.astype(np.uintp)
    values = np.ascontiguousarray(X.data)
    return Shard(offsets, X.indices.astype(np.uint32), values, X.shape[1], np.ascontiguousarray(targets), weights)


def _rows(X: Any, partition: int) -> Any:
    """CSR with indices that rise in each row, all values finite."""
    if hasattr(X, "to_numpy") and not sp.issparse(X):
        X = X.to_numpy()
    if not sp.issparse(X):
        X = np.asarray(X)
        X = X.astype(np.float64, copy=False) if X.dtype != np.float32 else X
        if X.ndim != 2:
            raise ValueError(f"partition {partition}: X has {X.ndim} dimensions, and rows and columns are two")
    X = sp.csr_array(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"partition {partition}: {X.shape[1]} features are more than 2^31 - 1: hash them into fewer")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if not np.isfinite(X.data).all():
        bad = int(np.argmin(np.isfinite(X.data)))
        row = int(np.searchsorted(X.indptr, bad, side="right")) - 1
        raise ValueError(
            f"partition {partition}, row {row}: X contains {X.data[bad]} in column {X.indices[bad]}; replace such values"
        )
    return X


def _column(y: Any, rows: int, name: str, partition: int, *, numbers: bool) -> Any:
    y = np.asarray(y)
    y = y.reshape(-1) if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != (rows,):
        raise ValueError(f"partition {partition}: {name} has shape {y.shape}, and X has {rows} rows")
    return finite(y.astype(np.float64) if numbers else y, name, partition)


def finite(y: Any, name: str, partition: int) -> Any:
    """A column, if all of its numbers are finite; words are not looked at."""
    if np.issubdtype(y.dtype, np.floating) and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise ValueError(f"partition {partition}, row {row}: {name} is {y[row]}; replace or leave out such rows")
    return y


def _numbers(y: Any, classes: Any, partition: int) -> Any:
    found = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    wrong = classes[found] != y
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"partition {partition}, row {row}: {y[row]!r} is not among the classes {classes!r}")
    return found.astype(np.float64)
