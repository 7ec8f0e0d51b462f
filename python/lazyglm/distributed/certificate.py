"""A proof of how good a point is: a bound below the objective that no weights beat (docs/maths/optimality.md).

Slopes of the losses at the point make the bound. With an intercept they must sum to zero, so the bias is moved to where
they do, found by passes that reduce numbers alone; without l2 they are shrunk until no |gradient| is above l1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyglm.distributed import tasks
from lazyglm.distributed.leader import Leader, owned
from lazyglm.distributed.plane import BLOCK
from lazyglm.distributed.problem import Problem


#: Shares of the slopes that are tried; none at all are always allowed.
SHARES = [1.0, 0.999, 0.99, 0.9, 0.5, 0.0]
#: How often the best share is looked for between those next to it.
FINER = 3


@dataclass(frozen=True)
class Certificate:
    """``objective`` is at most ``relative_gap`` above the least there is; ``None`` without a penalty: no bound is known."""

    objective: float
    dual: float | None
    relative_gap: float | None

    def proves(self, tol: float) -> bool:
        """Whether the objective is certainly at most ``tol`` above the minimum, relative to either."""
        if self.dual is None:
            return False
        same_sign = self.objective * self.dual >= 0
        return self.objective - self.dual <= tol * (min(abs(self.objective), abs(self.dual)) if same_sign else 0.0)


def is_one_step(problem: Problem) -> bool:
    """Whether a proof takes one reduction, and nothing must be known before it."""
    return not problem.intercept and is_provable(problem)


def is_provable(problem: Problem) -> bool:
    """Whether there is a lower bound at all: without a penalty none is known."""
    return problem.l1 > 0 or problem.l2 > 0


def certify(
    leader: Leader,
    weights: Any,
    bias: float,
    objective: float,
    known: Any = None,
    *,
    least: float | None = None,
    tol: float | None = None,
) -> Certificate:
    """The certificate of a point whose objective is known.

    One reduction of a vector, unless its answer is ``known``, and some of numbers. ``least`` is a lower bound that was found before.
    If the bound does not prove ``tol``, numbers are reduced a few times more for a better one.
    """
    problem = leader.problem
    if not is_provable(problem):
        return Certificate(objective, None, None)
    weights, token = leader.send(weights)
    try:
        by = balance(leader, token, bias) if problem.intercept else (0.0, 0.0, 0.0)
        if by is not None:
            enough = None if tol is None else (lambda dual: _certificate(objective, dual, least).proves(tol))
            best = _best_bound(leader, token, bias, by, known, enough)
        else:  # the one vector of slopes of one sign that sums to zero is zero
            (sums,) = leader.ask(tasks.dual_sums, token, bias=bias, by=(0.0, 0.0, 0.0), shares=[0.0], vector=False)
            best = -float(sums[1]) / leader.weight
    finally:
        leader.engine.release(token)
    return _certificate(objective, best, least)


def _certificate(objective: float, dual: float, least: float | None) -> Certificate:
    """The certificate of the higher of two bounds. A bound above the objective by more than rounding is wrong and proves nothing."""
    rounding = 1e-9 * abs(objective)
    bounds = [bound for bound in (dual, least) if bound is not None and bound <= objective + rounding]
    if not bounds:
        return Certificate(objective, None, None)
    best = min(max(bounds), objective)
    gap = max(objective - best, 0.0)
    return Certificate(objective, best, gap / abs(objective) if gap else 0.0)


def _best_bound(
    leader: Leader, token: Any, bias: float, by: tuple[float, float, float], known: Any, enough: Callable[[float], bool] | None
) -> float:
    """The best of some shares of the slopes; unless it is ``enough``, of more shares around it."""
    problem, shares = leader.problem, SHARES
    sums, gradient = known or leader.ask(tasks.dual_sums, token, bias=bias, by=by, shares=shares, vector=True)
    gradient = owned(gradient)
    np.abs(gradient, out=gradient)
    gradient /= leader.weight
    largest = float(gradient.max(initial=0.0))

    def bounds(shares: list[float], sums: Any) -> list[float]:
        over = np.array([_over(gradient, share, problem.l1) if problem.l2 > 0 else 0.0 for share in shares])
        of_weights = over / (2 * problem.l2) if problem.l2 > 0 else over
        return list(-np.asarray(sums[1:]) / leader.weight - of_weights)

    def asked(shares: list[float]) -> list[float]:
        (sums,) = leader.ask(tasks.dual_sums, token, bias=bias, by=by, shares=shares, vector=False)
        return bounds(shares, sums)

    feasible = problem.l1 / largest if largest > problem.l1 else 1.0  # the largest share that violates nothing
    if problem.l2 == 0 and feasible < 1:
        shares = [share * feasible for share in shares]
        found = asked(shares)
    else:
        found = bounds(shares, sums)
    if problem.l2 == 0 or enough is None:  # without l2 the largest feasible share is tried first, and is nearly always the best
        return float(max(found))
    tried = dict(zip(shares, found, strict=True))
    for _ in range(FINER):
        if enough(max(tried.values())):
            break
        more = [share for share in _between(tried, feasible) if share not in tried]
        if not more:
            break
        tried.update(zip(more, asked(more), strict=True))
    return float(max(tried.values()))


def _between(tried: dict[float, float], feasible: float) -> list[float]:
    """Shares on both sides of the best: the bound is concave in the share."""
    places = sorted(tried)
    best = max(places, key=lambda share: tried[share])
    at = places.index(best)
    low, high = places[max(at - 1, 0)], places[min(at + 1, len(places) - 1)]
    return sorted({*np.linspace(low, high, 18)[1:-1].tolist(), *({feasible} if low < feasible < high else {})})


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
