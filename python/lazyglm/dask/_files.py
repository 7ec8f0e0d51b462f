"""Files as dask arrays of sparse blocks: a partition each, read where it is needed."""

from __future__ import annotations

import glob
import os
from typing import Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp

from lazyglm._read import read as read_one


def read_svmlight(paths: Any, *, n_features: int | None = None, index_base: int | None = None) -> tuple[Any, Any]:
    """X and y of svmlight files: a list of paths, or a pattern like ``data/part-*.svm``; a partition each.

    Without ``n_features`` and ``index_base`` every file is looked through once for them, on the workers.
    """
    files = _files(paths)
    if n_features is None or index_base is None:
        look = dask.delayed(_look, pure=True)
        seen = dask.compute(*(look(path) for path in files))
        if index_base is None:
            index_base = 0 if any(zero for _, zero in seen) else 1
        n_features = n_features or max(most for most, _ in seen) + 1 - index_base
    return _arrays(files, n_features, {"format": "svmlight", "index_base": index_base, "n_features": n_features})


def read(paths: Any, *, hash_bits: int, **options: Any) -> tuple[Any, Any]:
    """X and y of files of any format :func:`lazyglm.read` knows, a partition each.

    Features with names are hashed into 2 to the power of ``hash_bits`` columns: a partition does not know the names of
    others. ``options`` are those of :func:`lazyglm.read`.
    """
    return _arrays(_files(paths), 1 << hash_bits, {**options, "hash_bits": hash_bits})


def _files(paths: Any) -> list[str]:
    if isinstance(paths, (str, os.PathLike)):
        found = sorted(glob.glob(os.fspath(paths)))
        if not found:
            raise FileNotFoundError(f"no file is called {paths}")
        return found
    files = [os.fspath(path) for path in paths]
    if not files:
        raise ValueError("there are no files: give at least one")
    return files


def _look(path: str) -> tuple[int, bool]:
    """The largest index of a file, and whether it has index 0."""
    X = read_one(path, format="svmlight", index_base=0).X
    return (int(X.indices.max()), bool((X.indices == 0).any())) if X.nnz else (0, False)


def _arrays(files: list[str], columns: int, options: dict[str, Any]) -> tuple[Any, Any]:
    load = dask.delayed(_load, pure=True, nout=2)
    parts = [load(path, columns, options) for path in files]
    meta = sp.csr_matrix((0, 0))
    rows = [da.from_delayed(X, shape=(np.nan, columns), dtype=np.float64, meta=meta) for X, _ in parts]
    y = [da.from_delayed(y, shape=(np.nan,), dtype=np.float64) for _, y in parts]
    return da.concatenate(rows, axis=0, allow_unknown_chunksizes=True), da.concatenate(y, allow_unknown_chunksizes=True)


def _load(path: str, columns: int, options: dict[str, Any]) -> tuple[Any, Any]:
    data = read_one(path, **options)
    X = data.X
    if X.shape[1] < columns:
        X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], columns))
    return X, data.y
