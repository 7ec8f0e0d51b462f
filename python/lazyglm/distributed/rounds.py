"""Rounds of corrected local lazy passes: see MATHS.md, "Many shards".

    round:  zero test by the gradient at W  ->  a lazy pass on each partition, corrected by that gradient  ->
            each weight's mean over the partitions that hold it, by how many of their rows do  ->  how far to go that way  ->  the gradient there
    guard:  the objective at some points of the way from W is asked for (numbers alone travel); the best of them is where
            the round goes, and how far it was along the way corrects the rate. If none is better than W, the round stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lazyglm.distributed.leader import At, Leader

#: How far a step throws an average row across its own error, on one partition; more partitions go through fewer rows each.
PULL = 0.4
GROWTH = 0.6
#: Shares of the way that are tried.
THETAS = [1 / 64, 1 / 16, 1 / 8, 0.18, 0.25, 0.35, 0.5, 0.7, 0.85, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0]
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
    solver: str = "rounds"
    history: list[float] = field(default_factory=list)
    pairs: list[Any] = field(default_factory=list)  # of OWL-QN: (s, y) in scaled coordinates


def one_round(leader: Leader, state: State, at: At, seed: int) -> At:
    """One round: the state goes on, and what is known of the new point is returned."""
    zeroed = (leader.zero_test(at) == 0.0) & (at.weights != 0.0)
    weights, bias = leader.moved(at, zeroed, _eta(leader, state, at), state.round, seed)
    theta = _how_far(leader, at, weights, bias)
    state.stayed = theta is None
    if theta is None:
        state.rate *= 0.1
        state.rejected += 1
        return at
    state.rate *= min(theta, 2.0) ** 0.5
    weights -= at.weights  # in place: the leader may have few vectors to spare
    weights *= theta
    weights += at.weights
    after = leader.at(weights, at.bias + theta * (bias - at.bias))
    state.weights, state.bias = after.weights, after.bias
    return after


def _eta(leader: Leader, state: State, at: At) -> float:
    return PULL * leader.parts**GROWTH * state.rate / (leader.curvature(at) * leader.size)


def _how_far(leader: Leader, at: At, weights: Any, bias: float) -> float | None:
    """The share of the way at which the objective is least; ``None`` if it is least at the start."""
    if not (np.isfinite(weights).all() and np.isfinite(bias)):
        return None
    objectives = np.array(leader.line(at, weights, bias, THETAS))
    objectives[~np.isfinite(objectives)] = np.inf
    best = int(np.argmin(objectives))
    return THETAS[best] if objectives[best] < at.objective else None
