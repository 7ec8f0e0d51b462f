"""Rounds of corrected local lazy passes: see MATHS.md, "Many shards".

    round:  zero test by the gradient at W  ->  a lazy pass on each partition, corrected by that gradient  ->
            each weight's mean over the partitions that hold it  ->  the gradient there
    guard:  if the objective rose, back along the way that was gone, to the best of some points of it, at half the rate
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lazyglm.distributed.leader import At, Leader

#: How far a step throws an average row across its own error, on one partition; more partitions go through fewer rows each.
PULL = 0.2
GROWTH = 0.6
#: A rise of the objective that is no reason to step back.
SLACK = 5e-4
#: Steps back after which the other solver takes over.
PATIENCE = 4


@dataclass
class State:
    """All that a run depends on besides the data: what a checkpoint holds."""

    weights: Any
    bias: float
    round: int = 0
    rate: float = 1.0  # halved at each step back
    rejected: int = 0
    solver: str = "rounds"
    history: list[float] = field(default_factory=list)
    pairs: list[Any] = field(default_factory=list)  # of OWL-QN: (s, y) in scaled coordinates


def one_round(leader: Leader, state: State, at: At, seed: int) -> At:
    """One round: the state goes on, and what is known of the new point is returned."""
    tested = leader.zero_test(at)
    zeroed = (tested == 0.0) & (at.weights != 0.0)
    weights, bias = leader.moved(at, zeroed, _eta(leader, state, at), state.round, seed)
    after = leader.at(weights, bias)
    if not after.objective <= at.objective * (1 + SLACK) + 1e-12:  # not a number is a rise, too
        after = _back(leader, at, weights, bias)
        state.rate *= 0.5
        state.rejected += 1
    state.weights, state.bias = after.weights, after.bias
    return after


def _eta(leader: Leader, state: State, at: At) -> float:
    pull = PULL * leader.parts**GROWTH * state.rate / (1 + state.round)
    return pull / (leader.curvature(at) * leader.size)


def _back(leader: Leader, at: At, weights: Any, bias: float) -> At:
    """The best point on the way from an accepted one to a refused one; the accepted one if none is better."""
    thetas = [2.0**-k for k in range(1, 9)]
    objectives = leader.line(at, weights, bias, thetas)
    best = min(range(len(thetas)), key=lambda k: objectives[k] if objectives[k] == objectives[k] else float("inf"))
    if not objectives[best] < at.objective:
        return at
    theta = thetas[best]
    return leader.at(at.weights + theta * (weights - at.weights), at.bias + theta * (bias - at.bias))
