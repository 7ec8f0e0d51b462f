"""Columns in other units and numbers: ``standardization``, and vectors that are far wider than what occurs in them.

    σ_j² = Σᵢ sᵢ (x_ij − μ_j)² / (S − Σᵢ sᵢ²/S)     μ_j = Σᵢ sᵢ x_ij / S     S = Σᵢ sᵢ

as MLlib has it (all rows count, their zeros too). v_j = σ_j w_j is what is penalised, so rows are divided by σ and weights
in the end as well. Nothing is centred: zeros stay zeros. A column that never changes has no σ, and a weight of zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lazyglm.distributed.engine import shared
from lazyglm.distributed.shard import Shard

#: From so many columns on, and if at most half of them occur, those that occur are numbered anew.
WIDE = 1 << 20


def held(shard: Any, number: int, shared: Any, told: Any) -> Any:
    """The columns that occur."""
    return np.unique(shard.ids)


def sums(shard: Any, number: int, shared: Any, told: Any) -> tuple[Any, ...]:
    """Weights and their squares; Σ s x and Σ s over the rows that hold a column."""
    s = _row_weights(shard)
    each = np.repeat(s, np.diff(shard.offsets.astype(np.int64)))
    wide = shard.columns
    return (
        np.array([s.sum(), np.dot(s, s)]),
        np.bincount(shard.ids, each * shard.values, wide)[:wide],
        np.bincount(shard.ids, each, wide)[:wide],
    )


def squares(shard: Any, number: int, shared: Any, told: Any) -> tuple[Any, ...]:
    """Σ s (x − μ)² over the rows that hold a column."""
    each = np.repeat(_row_weights(shard), np.diff(shard.offsets.astype(np.int64)))
    away = shard.values - shared["mean"][shard.ids]
    return (np.bincount(shard.ids, each * away * away, shard.columns)[: shard.columns],)


def deviations(engine: Any) -> Any:
    """σ of each column: two reductions."""
    totals, sum_x, sum_s = engine.reduce(sums, [], {})
    weight, weight_squares = totals
    mean = sum_x / weight
    with shared(engine, {"mean": mean}) as token:
        (of_held,) = engine.reduce(squares, [token], {})
    freedom = weight - weight_squares / weight
    spread = of_held + np.maximum(weight - sum_s, 0.0) * mean * mean
    # A column of one value leaves rounding in place of zero.
    spread[spread <= 1e-24 * weight * mean * mean] = 0.0
    return np.sqrt(spread / freedom) if freedom > 0 else np.zeros_like(spread)


def divided(shard: Shard, shared: Mapping[str, Any]) -> Shard:
    """A shard in other units: values by ``factor``; columns whose factor is zero are left out."""
    factors = shared["factor"][shard.ids]
    return _kept(shard, factors != 0, shard.ids, shard.values * factors, shard.columns)


def renumbered(shard: Shard, shared: Mapping[str, Any]) -> Shard:
    """A shard of the columns in ``held`` alone."""
    ids = np.searchsorted(shared["held"], shard.ids).astype(np.uint32)
    return shard._replace(ids=ids, columns=len(shared["held"]))


def _kept(shard: Shard, keep: Any, ids: Any, values: Any, columns: int) -> Shard:
    if keep.all():
        return shard._replace(ids=ids, values=values, columns=columns)
    before = np.concatenate([[0], np.cumsum(keep)])
    offsets = before[shard.offsets.astype(np.int64)].astype(shard.offsets.dtype)
    return shard._replace(offsets=offsets, ids=ids[keep], values=values[keep], columns=columns)


def _row_weights(shard: Any) -> Any:
    return np.ones(shard.rows) if shard.weights is None else shard.weights
