"""Targets with any number of labels per row: label indicator matrices, and lists of label sets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class LabelSets(NamedTuple):
    """The labels of each row."""

    indicator: Any  # CSR, one column per label
    classes: Any
    as_sets: bool  # whether they were given as sets, and not as an indicator matrix

    @property
    def rows(self) -> tuple[Any, Any]:
        """Where the rows of each label begin, and these rows by number, as the SGD estimators take them."""
        columns = sp.csc_matrix(self.indicator)
        return columns.indptr.astype(np.int64), columns.indices.astype(np.int64)

    @property
    def arrays(self) -> tuple[Any, Any]:
        """Where the labels of each row begin, and the labels by number, as the compiled part takes them."""
        return self.indicator.indptr.astype(np.int64), self.indicator.indices.astype(np.int64)


def label_sets(y: Any, classes: Any = None) -> LabelSets | None:
    """The labels if y is an indicator matrix with several columns or a list of label sets, else None."""
    if sp.issparse(y) or (np.ndim(y) == 2 if hasattr(y, "shape") else _is_binary_table(y)):
        if np.shape(y)[1] < 2:
            return None
        if not sp.issparse(y) and np.asarray(y).dtype.kind not in "biuf":
            raise ValueError("Unknown label type: y has several columns of words; give an indicator matrix, or a list of label sets")
        table = sp.csr_matrix(y)
        if not np.all(np.isin(table.data, (0, 1))):
            raise ValueError("Unknown label type: y has several columns, and values other than 0 and 1 (or True and False)")
        table.eliminate_zeros()
        table.sort_indices()
        return LabelSets(table, np.arange(table.shape[1]) if classes is None else classes, as_sets=False)
    if not _are_sets(y):
        return None
    from sklearn.preprocessing import MultiLabelBinarizer  # takes long to import, and is needed here alone

    encoder = MultiLabelBinarizer(classes=None if classes is None else list(classes), sparse_output=True)
    table = sp.csr_matrix(encoder.fit_transform(y))
    table.sort_indices()
    return LabelSets(table, encoder.classes_, as_sets=True)


def _are_sets(y: Any) -> bool:
    lists = isinstance(y, (list, tuple)) or (isinstance(y, np.ndarray) and y.dtype == object and y.ndim == 1)
    return lists and len(y) > 0 and isinstance(y[0], (set, frozenset, tuple, list))


def _is_binary_table(y: Any) -> bool:
    """Whether these are lists of zeros and ones of one length: an indicator matrix, as scikit-learn takes it."""
    if not isinstance(y, (list, tuple)) or not y or not all(isinstance(row, (list, tuple, np.ndarray)) for row in y):
        return False
    width = len(y[0])
    return width > 1 and all(len(row) == width and all(value in (0, 1) and not isinstance(value, str) for value in row) for row in y)


def check_learnable(labels: LabelSets, weights: Any) -> None:
    """Refuses a label that all rows or no rows have: its intercept would grow without limit."""
    present = np.ones(labels.indicator.shape[0]) if weights is None else (weights > 0).astype(float)
    counts = labels.indicator.T @ present
    wrong = np.flatnonzero((counts == 0) | (counts == present.sum()))
    if len(wrong):
        which = labels.classes[wrong[0]]
        raise ValueError(f"label {which!r} is of no row, or of all rows, so that nothing can be learnt of it: leave its column out")
