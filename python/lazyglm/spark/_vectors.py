"""Columns of pyspark.ml vectors, unwrapped into Arrow, as CSR: never a dense row of a sparse vector.

A vector is (type, size, indices, values): type 0 is sparse; type 1 is dense, and has values alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp


class VectorError(ValueError):
    """A row that is no vector like the others: its number in the batch, and what is wrong with it."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(row, what)
        self.row, self.what = row, what

    def __str__(self) -> str:
        return f"row {self.row}: {self.what}"


def csr(column: Any, columns: int | None = None) -> Any:
    """The rows of an Arrow column of unwrapped vectors; ``columns`` is how many features they must have.

    >>> kind = pa.struct({"type": pa.int8(), "size": pa.int32(), "indices": pa.list_(pa.int32()), "values": pa.list_(pa.float64())})
    >>> rows = [{"type": 0, "size": 3, "indices": [2], "values": [5.0]}, {"type": 1, "values": [1.0, 0.0, 2.0]}]
    >>> csr(pa.array(rows, kind)).toarray()
    array([[0., 0., 5.],
           [1., 0., 2.]])
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    _refuse(column.is_null().to_numpy(zero_copy_only=False), "features are null; leave such rows out")
    kinds, sizes, indices, values = (pc.struct_field(column, [k]) for k in range(4))
    dense = kinds.to_numpy(zero_copy_only=False) == 1
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy().astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    width = np.where(dense, lengths, pc.fill_null(sizes, 0).to_numpy())
    if columns is None:
        columns = int(width[0]) if len(width) else 0
    wrong = width != columns
    if wrong.any():
        row = int(np.argmax(wrong))
        raise VectorError(row, f"the vector has {width[row]} features, and others have {columns}: give all the same")
    data = pc.list_flatten(values).to_numpy(zero_copy_only=False)
    ids = pc.list_flatten(indices).to_numpy(zero_copy_only=False)
    if dense.any():
        all_ids = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        all_ids[~np.repeat(dense, lengths)] = ids
        ids = all_ids
    outside = (ids < 0) | (ids >= columns)
    if outside.any():
        at = int(np.argmax(outside))
        row = int(np.searchsorted(offsets, at, side="right")) - 1
        raise VectorError(row, f"the vector has index {ids[at]}, and {columns} features: it is damaged")
    return sp.csr_array((data, ids.astype(np.int32, copy=False), offsets), shape=(len(width), columns))


def _refuse(wrong: Any, what: str) -> None:
    if wrong.any():
        raise VectorError(int(np.argmax(wrong)), what)
