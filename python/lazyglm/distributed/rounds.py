"""Rounds of corrected local lazy passes: see docs/maths/shards.md.

    round:  zero test by the gradient at W  ->  a lazy pass on each partition, corrected by that gradient  ->
            each weight's mean over the partitions that hold it, by how many of their rows do  ->  how far to go that way and
            the last step's  ->  the gradient there
    guard:  the objective at some points of the plane of both ways is asked for (numbers alone travel); the best of them is
            where the round goes, and how far it was along the way corrects the rate. If none is better than W, the round stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lazyglm.distributed.leader import At, Leader, Lines
from lazyglm.distributed.plane import Way
from lazyglm.distributed.solver import Solver

#: How far a step throws an average row across its own error, on one partition; more partitions go through fewer rows each.
PULL = 0.4
GROWTH = 0.6
#: Shares of the way that are tried: from W, in a first round and in later ones; of the lines of the plane; of the last step.
FIRST = [1 / 64, 1 / 16, 1 / 8, 0.18, 0.25, 0.35, 0.5, 0.7, 0.85, 1.0]
SHORT = [1 / 64, 1 / 16, 1 / 8, 0.25, 0.5]
THETAS = [0.5, 0.7, 1.0, 1.4, 2.0, 3.0]
PHIS = [0.0, 0.3, 0.6, 1.0, 2.5]
#: Rounds that stayed where they were, after which the other solver takes over.
PATIENCE = 3


@dataclass
class State:
    """All that a run depends on besides the data: what a checkpoint holds."""

    weights: Any
    bias: float
    round: int = 0
    rate: float = 1.0  # a factor, corrected after each round
    rejected: int = 0  # rounds that stayed where they were
    stayed: bool = False  # whether the last one did
    solver: Solver = Solver.ROUNDS
    history: list[float] = field(default_factory=list)
    step: Any = None  # the last one, and of the bias
    step_bias: float = 0.0
    pairs: list[Any] = field(default_factory=list)  # of OWL-QN: (s, y) in scaled coordinates
    dual: float | None = None  # the best lower bound on the objective so far
    proof_due: int = 0  # the round from which on a proof is tried again


def one_round(leader: Leader, state: State, at: At, seed: int) -> At:
    """One round: the state goes on, and what is known of the new point is returned."""
    end, bias = leader.moved(at, _eta(leader, state, at), _leave(state.round), state.round, seed)
    end = leader.rounded(end)
    way = Way(at.weights, end, state.step, (at.bias, bias, state.step_bias))
    best = _how_far(leader, at, way)
    state.stayed = best is None
    if best is None:
        state.rate *= 0.1
        state.rejected += 1
        state.step, state.step_bias = None, 0.0
        return at
    phi, theta = best
    state.rate *= min(theta, 2.0) ** 0.5
    bias = way.go(phi, theta)
    at.gradient = None  # a point that is left: the leader may have few vectors to spare
    after = leader.at(end, bias)
    leader.leave(at)
    state.step = None  # as above; only now, as a run that is interrupted keeps its state
    del way, end
    state.step, state.step_bias = leader.rounded(after.weights - at.weights), after.bias - at.bias
    state.weights, state.bias = after.weights, after.bias
    return after


def _eta(leader: Leader, state: State, at: At) -> float:
    return PULL * leader.parts**GROWTH * state.rate / (leader.curvature(at) * leader.size)


def _leave(round_number: int) -> float:
    """The share of λ₁ that a gradient must be above for its weight to leave zero.

    At the minimum it is 1. Passes over few rows each move many weights that will be zero again; but in the first rounds
    gradients still change much, and who waits for the very last of them misses weights.
    """
    return 1.0 - 0.4 * min(1.0, 5.0 / (round_number + 1))


def _how_far(leader: Leader, at: At, way: Way) -> tuple[float | None, float] | None:
    """The line and the share of it at which the objective is least; ``None`` if it is least at the start."""
    if not (np.isfinite(way.end).all() and np.isfinite(way.biases).all()):
        return None
    lines: Lines = [(None, FIRST), (0.0, THETAS)]
    if way.step is not None:
        lines = [(None, SHORT), *((phi, THETAS) for phi in PHIS)]
    objectives = np.array(leader.plane(at, way, lines))
    objectives[~np.isfinite(objectives)] = np.inf
    best = int(np.argmin(objectives))
    points = [(phi, theta) for phi, thetas in lines for theta in thetas]
    return points[best] if objectives[best] < at.objective else None
