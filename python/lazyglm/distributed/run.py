"""From partitions to weights: rounds until they promise little, exact zeros, and a proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyglm.distributed import owlqn
from lazyglm.distributed.certificate import SHARES, Certificate, balance, certify, is_one_step
from lazyglm.distributed.engine import Engine
from lazyglm.distributed.leader import At, Leader
from lazyglm.distributed.problem import Problem
from lazyglm.distributed.rounds import PATIENCE, State, one_round

SOLVERS = ("rounds", "owlqn")
#: Of what may be left by tol, what may be left by the promise: gains that shrink ever more slowly promise too little.
SAFE = 1 / 3
Watch = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Found:
    """What a run found, and how."""

    weights: Any
    bias: float
    rounds: int
    converged: bool
    solver: str  # the one that ended the run
    rejected: int  # steps back
    history: list[float]  # the objective after each round; first at the start
    reductions: int  # of vectors, the one of statistics included
    certificate: Certificate
    state: State


def fit(
    engine: Engine,
    problem: Problem,
    *,
    solver: str = "rounds",
    max_rounds: int = 100,
    tol: float | None = 1e-3,
    seed: int = 0,
    rate: float = 1.0,
    wire: str = "f8",
    prove: bool = True,
    state: State | None = None,
    after_round: Callable[[State], None] | None = None,
    watch: Watch | None = None,
) -> Found:
    """Minimises a problem over all partitions of an engine.

    A run ends when all rounds to come promise, by how gains have shrunk so far, to lower the objective by less than a
    third of ``tol`` of it, or after ``max_rounds``. ``rate`` multiplies the rate, which comes from the data. ``wire`` is what vectors travel in: ``f8`` or
    ``f4``. ``state`` is where to go on, ``after_round`` is given the state to keep, ``watch`` figures to show.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {SOLVERS}, not {solver!r}")
    leader = Leader(engine, problem, wire)
    try:
        if state is None:
            state = State(np.zeros(leader.columns), 0.0, rate=rate, solver=solver)
            state.bias = _first_bias(leader, state.weights)
        elif len(state.weights) != leader.columns:
            raise ValueError(f"the state has {len(state.weights)} weights, and the data {leader.columns} columns")
        at, converged = _run(leader, state, max_rounds, tol, seed, after_round, watch)
        return _end(leader, state, at, converged, prove)
    finally:
        leader.close()


def _run(
    leader: Leader,
    state: State,
    max_rounds: int,
    tol: float | None,
    seed: int,
    after_round: Callable[[State], None] | None,
    watch: Watch | None,
) -> tuple[At, bool]:
    """Rounds; where they ended, and whether because little was left to gain."""
    at = leader.at(state.weights, state.bias)  # the only name of it: a point that is left is let go
    state.weights = at.weights
    state.history = state.history or [at.objective]
    converged = _settled(state, tol)
    while state.round < max_rounds and not converged:
        if state.solver == "rounds" and state.rejected >= PATIENCE:
            state.solver = "owlqn"
        at = (one_round if state.solver == "rounds" else owlqn.one_iteration)(leader, state, at, seed)
        state.round += 1
        state.history.append(at.objective)
        converged = _settled(state, tol)
        if after_round is not None:
            after_round(state)
        if watch is not None:
            watch(
                {
                    "round": state.round,
                    "objective": at.objective,
                    "loss": at.loss,
                    "nonzeros": int(np.count_nonzero(at.weights)),
                    "solver": state.solver,
                    "rejected": state.rejected,
                    "reductions": leader.reductions,
                }
            )
    return at, converged


def _settled(state: State, tol: float | None) -> bool:
    """Whether all rounds to come promise to lower the objective by less than a third of tol of it.

    What the last two rounds gained (OWL-QN: five iterations) over what those before gained, r, is what the next will over
    them: r + r² + … = r/(1 − r) of the last gain is left.
    """
    back = 2 if state.solver == "rounds" else 5
    if tol is None or len(state.history) <= back or (state.solver == "rounds" and state.stayed):
        return False
    first, before, now = state.history[max(-1 - 2 * back, -len(state.history))], state.history[-1 - back], state.history[-1]
    gained, earlier = before - now, first - before
    if gained > tol * abs(now):
        return False
    if gained <= 0 or len(state.history) <= 2 * back:
        return gained <= 0
    return gained < earlier and gained * gained / (earlier - gained) <= SAFE * tol * abs(now)


def _end(leader: Leader, state: State, at: At, converged: bool, prove: bool) -> Found:
    """Exact zeros by the gradient at the last point, unless they cost more than a round may; and a proof."""
    weights = leader.zero_test(at)
    objective, known = at.objective, None
    if not np.array_equal(weights, at.weights):
        if prove and is_one_step(leader.problem):
            tested, *known = leader.end(at, weights, SHARES)
        else:
            (tested,) = leader.line(at, weights, at.bias, [1.0])
        if tested <= objective * (1 + 1e-3):
            objective = tested
        else:
            weights, known = at.weights, None
    leader.leave(at)
    at.gradient = None  # all is known of it
    certificate = certify(leader, weights, at.bias, objective, known) if prove else Certificate(objective, None, None)
    return Found(
        weights=weights,
        bias=at.bias,
        rounds=state.round,
        converged=converged,
        solver=state.solver,
        rejected=state.rejected,
        history=list(state.history),
        reductions=leader.reductions,
        certificate=certificate,
        state=state,
    )


def _first_bias(leader: Leader, weights: Any) -> float:
    """The bias that is best without weights: counts in the thousands need not be climbed to by steps."""
    if not leader.problem.intercept:
        return 0.0
    _, token = leader.send(weights)
    try:
        found = balance(leader, token, 0.0)
    finally:
        leader.engine.release(token)
    return 0.0 if found is None else float(0.5 * (found[0] + found[1]))
