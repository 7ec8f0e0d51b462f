"""Proximal Newton steps on the active features: the end of a run, where a proof needs a more accurate point than other steps reach.

    A     = {j: w_j ≠ 0 or |g_j| > λ₁}                                the active features; the bias is always active
    model = gᵀd + ½dᵀ(H + λ₂)d + λ₁‖w + d‖₁ over A and the bias       H is the Hessian of the mean loss: one reduction of |A|² numbers
    step  = the best of some shares of the way to the minimum of the model, by the objective

Columns of raw counts with heavy tails have gradients far above λ₁ at points whose objective is near the minimum already, and a dual
point is made of these gradients. A Newton step takes all of them along at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyglm.distributed.leader import At, Leader
from lazyglm.distributed.rounds import State

#: The most active features: their Hessian is as large as a vector of a million columns.
LARGEST = 1023
#: Shares of the way that are tried.
THETAS = [1.0, 0.7, 0.5, 0.25, 0.1, 0.03, 0.01, 0.001]
#: Sweeps of coordinate descent before the support is tried as it is, and how often both are done.
SWEEPS, TRIES = 10, 20


def active(leader: Leader, at: At) -> Any:
    """The active features of a point; ``None`` if there are too many for a Hessian."""
    ids = np.flatnonzero((at.weights != 0) | (np.abs(at.gradient) > leader.problem.l1))
    return ids if len(ids) <= LARGEST else None


def one_iteration(leader: Leader, state: State, at: At, seed: int) -> At:
    """One iteration: the state goes on; the point is the same if no share of the way goes down."""
    ids = active(leader, at)
    if ids is None or (len(ids) == 0 and not leader.problem.intercept):
        return at
    hessian = leader.hessian(at, ids)
    z = np.append(at.weights[ids], at.bias)
    gradient = np.append(at.gradient[ids], at.bias_gradient)
    least = minimised(hessian, gradient, z, leader.problem.l1, leader.problem.l2, bias=leader.problem.intercept)
    end = at.weights.copy()
    end[ids] = least[:-1]
    end = leader.rounded(end)
    objectives = np.array(leader.line(at, end, float(least[-1]), THETAS))
    objectives[~np.isfinite(objectives)] = np.inf
    best = int(np.argmin(objectives))
    if not objectives[best] < at.objective:
        return at
    theta = THETAS[best]
    after = leader.at(at.weights + theta * (end - at.weights), at.bias + theta * (float(least[-1]) - at.bias))
    if not after.objective < at.objective:  # a difference that rounding took away
        leader.leave(after)
        return at
    leader.leave(at)
    state.weights, state.bias = after.weights, after.bias
    state.step, state.step_bias, state.pairs = None, 0.0, []
    return after


def minimised(hessian: Any, gradient: Any, z: Any, l1: float, l2: float, *, bias: bool) -> Any:
    """Where gᵀ(v − z) + ½(v − z)ᵀH(v − z) + l2/2 |v|² + l1 |v| is least, the last of v being the bias, without penalty.

    Coordinate descent finds the support; a linear system then has the weights, if their signs are those of the support.
    """
    size = len(z)
    l1s, l2s = np.full(size, l1), np.full(size, l2)
    l1s[-1] = l2s[-1] = 0.0
    hessian = hessian + np.diag(1e-9 * np.diag(hessian))  # of columns that are the same, any may be taken
    free = np.flatnonzero(np.diag(hessian) > 0)
    free = free if bias else free[free != size - 1]
    v, slope = z.copy(), gradient.copy()  # slope = g + H(v − z)
    for _ in range(TRIES):
        moved = 0.0
        for _ in range(SWEEPS):
            moved = _sweep(hessian, slope, v, l1s, l2s, free)
            if moved == 0.0:
                break
        exact = _on_support(hessian, gradient, z, v, l1s, l2s, free)
        if exact is not None:
            off = np.setdiff1d(free, np.flatnonzero(exact != 0), assume_unique=True)
            slope_there = gradient + hessian @ (exact - z)
            v, slope = exact, slope_there
            if (np.abs(slope_there[off]) <= l1s[off] * (1 + 1e-9)).all():
                break
        if moved == 0.0:
            break
    return v


def _sweep(hessian: Any, slope: Any, v: Any, l1s: Any, l2s: Any, free: Any) -> float:
    """Each free coordinate once; the largest decrease of the model."""
    largest = 0.0
    for j in free:
        second_derivative = hessian[j, j] + l2s[j]
        target = hessian[j, j] * v[j] - slope[j]
        to = np.sign(target) * max(abs(target) - l1s[j], 0.0) / second_derivative
        by = to - v[j]
        if by != 0.0:
            v[j] = to
            slope += by * hessian[:, j]
            largest = max(largest, float(0.5 * second_derivative * by * by))
    return largest if largest > 1e-18 * float(np.dot(np.abs(v), np.abs(slope) + l1s)) else 0.0


def _on_support(hessian: Any, gradient: Any, z: Any, v: Any, l1s: Any, l2s: Any, free: Any) -> Any:
    """The minimum among weights with the signs of ``v``; ``None`` if it has other signs, or there is none."""
    held = free[(v[free] != 0) | (l1s[free] == 0)]
    signs = np.where(l1s[held] == 0, 0.0, np.sign(v[held]))
    system = hessian[np.ix_(held, held)] + np.diag(l2s[held])
    # Coordinates that are not held go from z to v: zero, or where they were.
    away = v - z
    away[held] = -z[held]
    try:
        found = np.linalg.solve(system, -(gradient + hessian @ away)[held] - l1s[held] * signs)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(found).all() or (np.sign(found) * signs < 0).any():
        return None
    exact = v.copy()
    exact[held] = found
    return exact
