"""What runs where the partitions are. Pure functions, pickled by name; answers are tuples of arrays that can be added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from lazyglm import _core
from lazyglm.distributed.plane import Way
from lazyglm.distributed.problem import lesson

Shared = Mapping[str, Any]
Told = Mapping[str, Any]


def shape(shard: Any, number: int, shared: Shared, told: Told) -> tuple[int, int, bool]:
    """Rows, columns, and whether values are in single precision."""
    return shard.rows, shard.columns, shard.values.dtype == np.float32


def fingerprint(shard: Any, number: int, shared: Shared, told: Told) -> str:
    """A fingerprint of all bits of a partition: what tells the rows of a checkpoint from others."""
    return str(shard.digest())


def statistics(shard: Any, number: int, shared: Shared, told: Told) -> tuple[Any, ...]:
    """Rows, their weight, partitions with rows; rows that hold a column, and its squares."""
    rows, weight, counts, squares = _core.column_stats(lesson(shard, told))
    return np.array([rows, weight, float(rows > 0)]), counts, squares


def gradient(shard: Any, number: int, shared: Shared, told: Told) -> tuple[Any, ...]:
    """Loss, slope of the bias and second_derivative; the gradient."""
    sums, gradient = _core.loss_gradient(lesson(shard, told), told["loss"], _point(shared, "weights", told["bias"]))
    return np.array(sums), gradient.astype(told["wire"], copy=False)


def hessian(shard: Any, number: int, shared: Shared, told: Told) -> tuple[Any, ...]:
    """The Hessian of the loss along the columns in ``active`` (sorted) and the bias, row by row."""
    active = shared["active"]
    size = len(active) + 1
    found = np.zeros((size, size))
    if shard.rows and size > 1:
        bends = _core.second_derivatives(lesson(shard, told), told["loss"], _point(shared, "weights", told["bias"]))
        places = np.minimum(np.searchsorted(active, shard.ids), size - 2)
        held = active[places] == shard.ids
        ends = np.concatenate([[0], np.cumsum(held)])[shard.offsets.astype(np.int64)]
        values = shard.values[held].astype(np.float64)
        X = sp.csr_array((values, places[held], ends), shape=(shard.rows, size - 1))
        bent = sp.csr_array((values * np.repeat(bends, np.diff(ends)), X.indices, X.indptr), shape=X.shape)
        found[:-1, :-1] = (X.T @ bent).toarray()
        found[-1, :-1] = found[:-1, -1] = X.T @ bends
        found[-1, -1] = bends.sum()
    return (found.ravel(),)


def start(shard: Any, number: int, shared: Shared, told: Told) -> tuple[Any, ...]:
    """Statistics, and the gradient without any weights: all that is asked before the first round."""
    at_zero = {"weights": np.zeros(shard.columns)}
    return *statistics(shard, number, shared, told), *gradient(shard, number, at_zero, {**told, "bias": 0.0})


def local_pass(shard: Any, number: int, shared: Shared, told: Told) -> tuple[Any, ...]:
    """How far one pass moved each weight, times the rows of the partition that hold it; the bias, times all of them."""
    if shard.rows == 0:
        return np.zeros(1), np.zeros(len(shared["weights"]), dtype=told["wire"])
    pass_told = {
        "zeroed": shared["zeroed"],
        "gradient": _wide(shared["gradient"]),
        "metric": shared["metric"],
        "seed": seed(told["seed"], told["round"], number),
        **{name: told[name] for name in ("bias_gradient", "bias_metric", "eta", "l1", "l2", "weight_scale")},
    }
    point = _point(shared, "weights", told["bias"])
    moved, bias = _core.local_pass(lesson(shard, told), told["loss"], point, pass_told)
    half = (len(moved) + 1) // 2  # counts are as wide as weights: never all at once
    for first in (0, half):
        part = moved[first : first + half]
        part *= np.bincount(shard.ids[(shard.ids >= first) & (shard.ids < first + half)] - first, minlength=len(part))
    return np.array([bias * shard.rows]), moved.astype(told["wire"], copy=False)


def line_losses(shard: Any, number: int, shared: Shared, told: Told) -> tuple[Any, ...]:
    """The loss at shares of the way from ``weights`` to ``end``."""
    start, to = _point(shared, "weights", told["bias"]), _point(shared, "end", told["end_bias"])
    return (_core.line_losses(lesson(shard, told), told["loss"], start, to, told["thetas"]),)


def plane_losses(shard: Any, number: int, shared: Shared, told: Told) -> tuple[Any, ...]:
    """The loss at points of a plane, line by line: ``lines`` are (φ, shares of the line)."""
    start, end, step = (_wide(shared[name]) if name in shared else None for name in ("weights", "end", "step"))
    way = Way(start, end, step, told["biases"])
    rows, losses = lesson(shard, told), []
    for phi, thetas in told["lines"]:
        (first, second), (bias, second_bias) = way.line(phi), way.bias_line(phi)
        losses.append(_core.line_losses(rows, told["loss"], (first, bias), (second, second_bias), thetas))
        del first, second  # before the next line makes its own
    return (np.concatenate(losses),)


def end(shard: Any, number: int, shared: Shared, told: Told) -> tuple[Any, ...]:
    """The loss at the last point, and what its proof is made of."""
    at_end = {**told, "by": (0.0, 0.0, 0.0), "thetas": [1.0], "end_bias": told["bias"], "vector": True}
    return *line_losses(shard, number, shared, at_end), *dual_sums(shard, number, {"weights": shared["end"]}, at_end)


def slope_sums(shard: Any, number: int, shared: Shared, told: Told) -> tuple[Any, ...]:
    """The slope of the bias where it is moved."""
    point = _point(shared, "weights", told["bias"])
    return (_core.slope_sums(lesson(shard, told), told["loss"], point, told["moves"]),)


def dual_sums(shard: Any, number: int, shared: Shared, told: Told) -> tuple[Any, ...]:
    """What a bound below the minimum is made of; the gradient only where it is asked for."""
    point = _point(shared, "weights", told["bias"])
    by, shares = told["by"], told["shares"]
    slopes, conjugates, gradient = _core.dual_sums(lesson(shard, told), told["loss"], point, by, shares)
    sums = np.array([slopes, *conjugates])
    return (sums, gradient) if told["vector"] else (sums,)


def seed(base: int, round_number: int, partition: int) -> int:
    """Of the order of the rows: the same wherever and whenever a partition is learnt."""
    mixed = base * 0x9E3779B97F4A7C15 + round_number * 0xD1B54A32D192ED03 + partition * 0x8CB92BA72F3D8DD7
    return mixed % 2**64


def _point(shared: Shared, name: str, bias: float) -> tuple[Any, float]:
    return _wide(shared[name]), bias


def _wide(vector: Any) -> Any:
    """A vector as the compiled part takes it, whatever it travelled in."""
    return vector.astype(np.float64, copy=False)
