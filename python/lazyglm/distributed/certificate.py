"""A proof of how good a point is: a bound below the objective that no weights beat (MATHS.md, "A proof").

Slopes of the losses at the point make the bound. With an intercept they must sum to zero, so the bias is moved to where
they do, found by passes that reduce numbers alone; without l2 they are shrunk until no |gradient| is above l1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyglm.distributed import tasks
from lazyglm.distributed.leader import Leader, owned
from lazyglm.distributed.plane import BLOCK
from lazyglm.distributed.problem import Problem


#: Shares of the slopes that are tried; none at all are always allowed.
SHARES = [1.0, 0.999, 0.99, 0.9, 0.5, 0.0]


@dataclass(frozen=True)
class Certificate:
    """``objective`` is at most ``relative_gap`` above the least there is; ``None`` without a penalty: no bound is known."""

    objective: float
    dual: float | None
    relative_gap: float | None


def is_one_step(problem: Problem) -> bool:
    """Whether a proof takes one reduction, and nothing must be known before it."""
    return not problem.intercept and (problem.l1 > 0 or problem.l2 > 0)


def certify(leader: Leader, weights: Any, bias: float, objective: float, known: Any = None) -> Certificate:
    """The certificate of a point whose objective is known.

    One reduction of a vector, unless its answer is ``known``, and some of numbers.
    """
    problem = leader.problem
    if problem.l1 == 0 and problem.l2 == 0:
        return Certificate(objective, None, None)
    weights, token = leader.send(weights)
    try:
        by = balance(leader, token, bias) if problem.intercept else (0.0, 0.0, 0.0)
        if by is not None:
            best = _best_bound(leader, token, bias, by, known)
        else:  # the one vector of slopes of one sign that sums to zero is zero
            (sums,) = leader.ask(tasks.dual_sums, token, bias=bias, by=(0.0, 0.0, 0.0), shares=[0.0], vector=False)
            best = -float(sums[1]) / leader.weight
    finally:
        leader.engine.release(token)
    gap = max(objective - best, 0.0)
    return Certificate(objective, best, gap / abs(objective) if gap else 0.0)


def _best_bound(leader: Leader, token: Any, bias: float, by: tuple[float, float, float], known: Any) -> float:
    """The best of some shares of the slopes."""
    problem, shares = leader.problem, SHARES
    sums, gradient = known or leader.ask(tasks.dual_sums, token, bias=bias, by=by, shares=shares, vector=True)
    gradient = owned(gradient)
    np.abs(gradient, out=gradient)
    gradient /= leader.weight
    largest = float(gradient.max(initial=0.0))
    if problem.l2 == 0 and largest > problem.l1:
        shares = [share * problem.l1 / largest for share in shares]
        (sums,) = leader.ask(tasks.dual_sums, token, bias=bias, by=by, shares=shares, vector=False)
    over = np.array([_over(gradient, share, problem.l1) if problem.l2 > 0 else 0.0 for share in shares])
    of_weights = over / (2 * problem.l2) if problem.l2 > 0 else over
    return float(np.max(-np.asarray(sums[1:]) / leader.weight - of_weights))


def _over(gradient: Any, share: float, l1: float) -> float:
    """Σ(share·|g| − λ₁)₊², piece by piece."""
    total = 0.0
    for first in range(0, len(gradient), BLOCK):
        over = np.maximum(share * gradient[first : first + BLOCK] - l1, 0.0)
        total += float(np.dot(over, over))
    return total


def balance(leader: Leader, token: Any, bias: float) -> tuple[float, float, float] | None:
    """Moves of the bias on both sides of the best one, and the share of the second at which slopes sum to zero.

    The sum rises with the bias. ``None`` if it has one sign everywhere.
    """
    steps = [1e-7 * 8.0**k for k in range(16)]
    moves = [*(-step for step in reversed(steps)), 0.0, *steps]
    low, high = -np.inf, np.inf
    sum_low, sum_high = -np.inf, np.inf
    for _ in range(12):
        (sums,) = leader.ask(tasks.slope_sums, token, bias=bias, moves=moves)
        for move, total in zip(moves, sums, strict=True):
            if total <= 0 and move > low:
                low, sum_low = move, float(total)
            if total >= 0 and move < high:
                high, sum_high = move, float(total)
        if not (np.isfinite(low) and np.isfinite(high)):
            return None
        width = high - low
        if width <= 1e-9 * (1 + abs(low)) or sum_low == 0 or sum_high == 0:
            break
        chord = low - sum_low * width / (sum_high - sum_low)
        beside = [chord + side * width * 10.0**-k for k in (2, 3, 4, 6, 8) for side in (-1, 1)]
        inner = {chord, *beside, *(low + width * k / 6 for k in range(1, 6))}
        moves = sorted(move for move in inner if low < move < high)
        if not moves:
            break
    if sum_low == 0 or sum_high == 0:
        exact = low if sum_low == 0 else high
        return exact, exact, 0.0
    return low, high, -sum_low / (sum_high - sum_low)
