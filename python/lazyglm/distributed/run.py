"""From partitions to weights: rounds until a proof says that little is left to gain, and exact zeros."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyglm.distributed import checkpoint, newton, owlqn
from lazyglm.distributed.certificate import SHARES, Certificate, balance, certify, is_one_step
from lazyglm.distributed.engine import Engine
from lazyglm.distributed.leader import At, Leader
from lazyglm.distributed.problem import Problem
from lazyglm.distributed.rounds import PATIENCE, State, one_round
from lazyglm.distributed.solver import SOLVERS, Solver

#: The share of tol below which what seems to be left is worth a proof.
SAFE = 1 / 3
#: Rounds whose gains shrink by less than this factor give way to other steps once they seem to have settled and a proof has failed.
SLOW = 0.5
#: From this round on, rounds whose gains shrink by less than the second factor give way to OWL-QN.
WARM, CRAWL = 12, 0.8
#: One step of each solver.
STEPS = {Solver.ROUNDS: one_round, Solver.OWLQN: owlqn.one_iteration, Solver.NEWTON: newton.one_iteration}
Watch = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Found:
    """What a run found, and how."""

    weights: Any
    bias: float
    rounds: int
    converged: bool  # whether the certificate proves the tolerance
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

    A run ends when the duality gap over all partitions is at most ``tol`` of the objective (``converged`` is true then, and only then), when no
    step lowers the objective any more, or after ``max_rounds``. The gap is computed when gains have become small; where they hardly shrink,
    Newton's steps take over, or those of OWL-QN if more than a thousand features are active. Without a penalty, or with ``prove=False``, nothing can be proved: the run ends when gains have
    become small, and ``converged`` is false. ``rate`` multiplies the rate, which comes from the data. ``wire`` is what vectors travel in: ``f8`` or
    ``f4``. ``state`` is where to go on, ``after_round`` is given the state to keep, ``watch`` figures to show.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {SOLVERS}, not {solver!r}")
    leader = Leader(engine, problem, wire)
    try:
        if state is None:
            state = State(np.zeros(leader.columns), 0.0, rate=rate, solver=Solver(solver))
            state.bias = _first_bias(leader, state.weights)
        elif len(state.weights) != leader.columns:
            raise ValueError(f"the state has {len(state.weights)} weights, and the data {leader.columns} columns")
        return _run(leader, state, max_rounds, tol, seed, prove, after_round, watch)
    finally:
        leader.close()


def fit_each(
    engine: Engine,
    problems: Sequence[Problem | None],
    path: Any,
    of: dict[str, Any],
    watching: Callable[[int], AbstractContextManager[Watch | None]] = lambda model: nullcontext(),
    **options: Any,
) -> list[Found | None]:
    """Fits one model per problem, with the ``options`` of :func:`fit`; ``None`` in place of a problem stays ``None``.

    If ``path`` is not ``None``, a checkpoint is written there after each round, and a run goes on from the one it finds.
    ``of`` says what the run depends on: the checkpoint of another run is refused. ``watching`` makes ``watch`` for a model,
    by its number.
    """
    kept = [] if path is None else checkpoint.load(path, of) or []
    found: list[Found | None] = []
    states: list[State] = []
    for k, problem in enumerate(problems):
        if problem is None:
            found.append(None)
            continue

        def after_round(state: State) -> None:
            if path is not None:
                checkpoint.save(path, [*states, state], of)

        with watching(k) as watch:
            state = kept[len(states)] if len(states) < len(kept) else None
            one = fit(engine, problem, state=state, after_round=after_round, watch=watch, **options)
        states.append(one.state)
        found.append(one)
    return found


def _run(
    leader: Leader,
    state: State,
    max_rounds: int,
    tol: float | None,
    seed: int,
    prove: bool,
    after_round: Callable[[State], None] | None,
    watch: Watch | None,
) -> Found:
    """Rounds until a proof says that little is left to gain, or nothing goes on."""
    at = leader.at(state.weights, state.bias)  # the only name of it: a point that is left is let go
    state.weights = at.weights
    state.history = state.history or [at.objective]
    while True:
        if state.round >= state.proof_due and _settled(state, tol):
            found = _end(leader, state, at, tol, prove, last=state.round >= max_rounds)
            if found.converged or found.certificate.dual is None or _is_stuck(state) or state.round >= max_rounds:
                return found
            _after_failed_proof(leader, state, at)
        if state.round >= max_rounds:
            return _end(leader, state, at, tol, prove, last=True)
        if state.solver is Solver.ROUNDS and (state.rejected >= PATIENCE or (tol is not None and _is_crawling(state))):
            state.solver = Solver.OWLQN
        if state.solver is Solver.NEWTON and newton.active(leader, at) is None:
            state.solver = Solver.OWLQN
        at = STEPS[state.solver](leader, state, at, seed)
        state.round += 1
        state.history.append(at.objective)
        if after_round is not None:
            after_round(state)
        if watch is not None:
            watch(
                {
                    "round": state.round,
                    "objective": at.objective,
                    "loss": at.loss,
                    "nonzeros": int(np.count_nonzero(at.weights)),
                    "solver": state.solver.value,
                    "rejected": state.rejected,
                    "reductions": leader.reductions,
                }
            )


def _settled(state: State, tol: float | None) -> bool:
    """Whether rounds to come seem to lower the objective by less than a third of tol of it: a guess, that a proof is worth trying.

    What the last two rounds gained (OWL-QN: five iterations) over what those before gained, r, is what the next will over
    them: r + r² + … = r/(1 − r) of the last gain is left. Gains that shrink ever more slowly make the guess too small.
    """
    back = state.solver.gains_over
    if tol is None or len(state.history) <= back or (state.solver is Solver.ROUNDS and state.stayed):
        return False
    earlier, gained = _gains(state)
    now = state.history[-1]
    if gained > tol * abs(now):
        return False
    if state.solver.gains_vanish:
        return True
    if gained <= 0 or len(state.history) <= 2 * back:
        return gained <= 0
    return gained < earlier and gained * gained / (earlier - gained) <= SAFE * tol * abs(now)


def _gains(state: State) -> tuple[float, float]:
    """What the objective fell by in the last rounds but some, and in the last ones."""
    back = state.solver.gains_over
    first, before, now = state.history[max(-1 - 2 * back, -len(state.history))], state.history[-1 - back], state.history[-1]
    return first - before, before - now


def _is_crawling(state: State) -> bool:
    """Whether rounds gain a little less each time, after those that learn most: OWL-QN has a memory for such valleys."""
    earlier, gained = _gains(state) if state.round >= WARM else (0.0, 0.0)
    return not state.stayed and 0 < CRAWL * earlier < gained


def _is_stuck(state: State) -> bool:
    """Whether two iterations of OWL-QN, the second without its memory, found no way down: numbers are too coarse for more."""
    return state.solver is Solver.OWLQN and len(state.history) > 2 and state.history[-3] == state.history[-1]


def _after_failed_proof(leader: Leader, state: State, at: At) -> None:
    """Goes on. Where gains hardly shrink, Newton's steps take over, or OWL-QN's if there are too many active features.

    Proofs cost passes, so the next one waits for some rounds.
    """
    earlier, gained = _gains(state)
    if state.solver is Solver.NEWTON:
        state.solver = Solver.NEWTON if gained > 0 else Solver.OWLQN
    elif state.solver is Solver.OWLQN or gained > SLOW * earlier:
        state.solver = Solver.OWLQN if newton.active(leader, at) is None else Solver.NEWTON
    state.proof_due = state.round + (1 if state.solver is Solver.NEWTON else max(state.solver.gains_over, state.round // 8))


def _end(leader: Leader, state: State, at: At, tol: float | None, prove: bool, *, last: bool) -> Found:
    """The point with exact zeros by its gradient, unless they cost more than a round may; and what is proved of it.

    The ``last`` point is left before the proof: the leader may have few vectors to spare.
    """
    weights = leader.zero_test(at)
    objective, known = at.objective, None
    if not np.array_equal(weights, at.weights):
        if prove and is_one_step(leader.problem):
            tested, *known = leader.end(at, weights, SHARES)
        else:
            (tested,) = leader.line(at, weights, at.bias, [1.0])
        if tested <= objective + abs(objective) * (1e-3 if tol is None else min(1e-3, 0.1 * tol)):
            objective = tested
        else:
            weights, known = at.weights, None
    if last:
        leader.leave(at)
        at.gradient = None
    certificate = Certificate(objective, None, None)
    if prove:
        certificate = certify(leader, weights, at.bias, objective, known, least=state.dual, tol=tol)
        state.dual = certificate.dual
    return Found(
        weights=weights,
        bias=at.bias,
        rounds=state.round,
        converged=tol is not None and certificate.proves(tol),
        solver=state.solver.value,
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


def not_converged(found: list[Found], tol: float, rounds_name: str) -> str | None:
    """What to warn of where a proof is missing, with the figure that was reached; ``None`` if all models have converged."""
    missing = [one for one in found if not one.converged]
    if not missing:
        return None
    which = "not converged" if len(found) == 1 else f"{len(missing)} of {len(found)} models have not converged"
    if missing[0].certificate.relative_gap is None:
        return (
            f"{which}: no lower bound on the objective is known, so convergence cannot be proved; without a penalty there is no lower "
            "bound: add a penalty, and do not turn proofs off"
        )
    reached = max(one.certificate.relative_gap or 0.0 for one in missing)
    return (
        f"{which}: after {max(one.rounds for one in missing)} rounds the relative duality gap is {reached:.2g}, and tol is {tol:g}; "
        f"raise {rounds_name} or tol, scale the features, or raise the penalty"
    )
