"""Dask collections as shards: what belongs together is put together, one partition at a time."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np

import lazyglm
from lazyglm.dask.engine import on_worker
from lazyglm.distributed.shard import finite, pack


def parts_of(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, Any, Any]]:
    """(rows, targets, weights or None), delayed, for each partition."""
    blocks = _blocks(X, "X")
    columns = [_like(y, X, len(blocks), "y")]
    columns.append([None] * len(blocks) if sample_weight is None else _like(sample_weight, X, len(blocks), "sample_weight"))
    return list(zip(blocks, *columns, strict=True))


def shards_of(parts: list[tuple[Any, Any, Any]], classes: Any) -> list[Any]:
    """A delayed shard each."""
    make = dask.delayed(on_worker, pure=False)
    return [make(lazyglm.__version__, _pack, X, y, w, k, classes) for k, (X, y, w) in enumerate(parts)]


def labels_of(parts: list[tuple[Any, Any, Any]]) -> list[Any]:
    """The labels of each partition, and how many rows have each: delayed."""
    make = dask.delayed(on_worker, pure=False)
    return [make(lazyglm.__version__, _labels, y, w, k) for k, (_, y, w) in enumerate(parts)]


def is_dask(X: Any) -> bool:
    return dask.is_dask_collection(X)


def _blocks(X: Any, name: str) -> list[Any]:
    if isinstance(X, da.Array):
        if X.ndim != 2:
            raise ValueError(f"{name} has {X.ndim} dimensions, and rows and columns are two")
        if X.numblocks[1] != 1:
            raise ValueError(
                f"the columns of {name} are split over {X.numblocks[1]} chunks, and a partition needs whole rows: "
                f"{name}.rechunk({{1: -1}})"
            )
        return list(X.to_delayed().ravel())
    if hasattr(X, "to_delayed") and hasattr(X, "npartitions"):
        return list(X.to_delayed())
    raise TypeError(f"{name} must be a dask array or a dask DataFrame, not {type(X).__name__}: use lazyglm.SGDClassifier on one machine")


def _like(y: Any, X: Any, count: int, name: str) -> list[Any]:
    """A column, cut as X is."""
    if isinstance(y, da.Array):
        if y.ndim == 2 and y.numblocks[1] != 1:
            raise ValueError(f"the columns of {name} are split over chunks: {name}.rechunk({{1: -1}})")
        known = isinstance(X, da.Array) and not (np.isnan(X.shape[0]) or np.isnan(y.shape[0]))
        if known and X.shape[0] == y.shape[0] and X.chunks[0] != y.chunks[0]:
            y = y.rechunk({0: X.chunks[0]})
        blocks = list(y.to_delayed().ravel())
    elif hasattr(y, "to_delayed"):
        blocks = list(y.to_delayed())
    else:
        raise TypeError(f"{name} must be a dask collection like X, not {type(y).__name__}: dask.array.from_array({name}, chunks=...)")
    if len(blocks) != count:
        raise ValueError(f"{name} has {len(blocks)} partitions, and X has {count}: cut them alike")
    return blocks


def _pack(X: Any, y: Any, w: Any, partition: int, classes: Any) -> Any:
    return pack(X, y, w, partition=partition, classes=classes)


def _labels(y: Any, w: Any, partition: int) -> Any:
    y = np.asarray(y).reshape(-1)
    if w is not None:
        y = y[np.asarray(w).reshape(-1) > 0]
    return np.unique(finite(y, "y", partition), return_counts=True)
