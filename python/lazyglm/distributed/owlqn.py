"""OWL-QN (Andrew & Gao 2007) in column-scaled coordinates, on the same gradient task.

v = σw with σ the root mean square of a column: the objective is then about as steep along every coordinate. One iteration
is one gradient, seldom two; neither the number of partitions nor their order matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyglm.distributed.leader import At, Leader
from lazyglm.distributed.rounds import State

#: Pairs of steps and changes of the gradient that are kept.
MEMORY = 10


def one_iteration(leader: Leader, state: State, at: At, seed: int) -> At:
    """One iteration: the state goes on; the point is the same if no step goes down."""
    scale = _scale(leader)
    v, g = _scaled(leader, at, scale)
    l1 = np.append(leader.problem.l1 / scale, 0.0)
    slope = _pseudo_gradient(v, g, l1)
    direction = _direction(slope, state.pairs)
    direction[direction * slope >= 0] = 0.0  # only where the slope goes down as well
    orthant = np.where(v != 0, np.sign(v), np.sign(-slope))
    steps = _first_steps(leader, at, v, direction, scale) if not state.pairs else [2.0**-k for k in range(12)]
    for step in steps:
        moved = v + step * direction
        moved[:-1][moved[:-1] * orthant[:-1] < 0] = 0.0  # λ₁ is linear in an orthant alone; the bias has none
        after = leader.at(moved[:-1] / scale, float(moved[-1]))
        if after.objective <= at.objective + 1e-4 * float(np.dot(slope, moved - v)):
            after_v, after_g = _scaled(leader, after, scale)
            s, y = after_v - v, after_g - g
            if np.dot(s, y) > 1e-10 * np.dot(y, y):
                state.pairs = [*state.pairs, (s, y)][-MEMORY:]
            state.weights, state.bias = after.weights, after.bias
            leader.leave(at)
            return after
        leader.leave(after)
    state.pairs = []  # the memory misled, or nothing goes down any more
    return at


def _scale(leader: Leader) -> Any:
    scale = np.sqrt(leader.squares)
    scale[scale == 0] = 1.0
    return scale


def _scaled(leader: Leader, at: At, scale: Any) -> tuple[Any, Any]:
    """The point, and the gradient of loss and λ₂ there, bias last."""
    gradient = (at.gradient + leader.problem.l2 * at.weights) / scale
    return np.append(at.weights * scale, at.bias), np.append(gradient, at.bias_gradient)


def _pseudo_gradient(v: Any, g: Any, l1: Any) -> Any:
    """The slope of the steepest way down."""
    up, down = g + l1, g - l1
    at_zero = np.where(up < 0, up, np.where(down > 0, down, 0.0))
    return np.where(v > 0, up, np.where(v < 0, down, at_zero))


def _direction(slope: Any, pairs: list[Any]) -> Any:
    """The two loops of L-BFGS."""
    q, alphas = -slope, []
    for s, y in reversed(pairs):
        alpha = np.dot(s, q) / np.dot(s, y)
        alphas.append(alpha)
        q = q - alpha * y
    if pairs:
        s, y = pairs[-1]
        q = q * (np.dot(s, y) / np.dot(y, y))
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        q = q + (alpha - np.dot(y, q) / np.dot(s, y)) * s
    return q


def _first_steps(leader: Leader, at: At, v: Any, direction: Any, scale: Any) -> list[float]:
    """Without a memory the length of a step is unknown: numbers alone are asked for many of them, then some below the best."""
    if not direction.any():
        return []
    longest = 1e3 / max(float(np.abs(direction).max()), 1e-300)
    end = v + longest * direction
    thetas = [4.0**-k for k in range(16)]
    objectives = leader.line(at, end[:-1] / scale, float(end[-1]), thetas)
    best = min(range(len(thetas)), key=lambda k: objectives[k] if objectives[k] == objectives[k] else float("inf"))
    return [longest * thetas[best] * 2.0**-k for k in range(12)]
