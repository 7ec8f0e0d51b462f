"""A run at rest: one file, written whole or not at all, from which it goes on to the same bits."""

from __future__ import annotations

import json
import math
import os
import zipfile
from typing import Any

import numpy as np

from lazyglm.distributed.rounds import State
from lazyglm.distributed.solver import Solver

VERSION = 3
PLAIN = ("bias", "round", "rate", "rejected", "stayed", "solver", "history", "step_bias", "dual", "proof_due")


def save(path: Any, states: list[State], of: dict[str, Any]) -> None:
    """Writes what is known of every model of a run (one, or one per class).

    ``of`` says of which problem; its ``rows`` are the fingerprints of the partitions, in their order.
    """
    path = os.fspath(path)
    head: dict[str, Any] = {"version": VERSION, "of": of, "models": []}
    arrays: dict[str, Any] = {}
    for k, state in enumerate(states):
        plain = {name: getattr(state, name) for name in PLAIN}
        head["models"].append({**plain, "step": state.step is not None, "pairs": len(state.pairs)})
        arrays[f"weights_{k}"] = state.weights
        if state.step is not None:
            arrays[f"step_{k}"] = state.step
        for p, (s, y) in enumerate(state.pairs):
            arrays[f"s_{k}_{p}"], arrays[f"y_{k}_{p}"] = s, y
    partial = f"{path}.part-{os.getpid()}"
    try:
        with open(partial, "wb") as file:
            np.savez(file, head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def load(path: Any, of: dict[str, Any]) -> list[State] | None:
    """The states of a run on the same problem and the same rows; ``None`` if there is no file."""
    if not os.path.exists(path):
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            head = json.loads(bytes(file["head"]))
            known = head["version"] == VERSION
            states = [_state(file, k, model) for k, model in enumerate(head["models"])] if known else []
            theirs = dict(head["of"])
    except (KeyError, ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a checkpoint of lazyglm ({error}): remove it to start anew") from None
    if not known:
        raise ValueError(f"{path} was written by another version of lazyglm: remove it to start anew")
    _check_same(path, theirs, json.loads(json.dumps(of)))
    return states


def _check_same(path: Any, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Refuses the checkpoint of another problem or of other rows."""
    differ = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
    if differ == ["rows"]:
        raise ValueError(
            f"{path} is a checkpoint of other rows than these ({_which(theirs.get('rows'), ours.get('rows'))}): give "
            "checkpoint= another path, or remove the file to start anew"
        )
    if differ:
        raise ValueError(f"{path} is of another problem ({', '.join(differ)} differ): remove it to start anew")


def _which(theirs: Any, ours: Any) -> str:
    """In which partitions the rows differ."""
    if not isinstance(theirs, list) or not isinstance(ours, list) or len(theirs) != len(ours):
        counts = [len(rows) if isinstance(rows, list) else "unknown" for rows in (theirs, ours)]
        return f"partitions: {counts[0]} there, {counts[1]} here"
    wrong = [k for k, (one, other) in enumerate(zip(theirs, ours, strict=True)) if one != other]
    return f"{len(wrong)} of {len(ours)} partitions differ, the first is number {wrong[0]}"


def _state(file: Any, k: int, model: dict[str, Any]) -> State:
    pairs = [(file[f"s_{k}_{p}"], file[f"y_{k}_{p}"]) for p in range(model.pop("pairs"))]
    step = file[f"step_{k}"] if model.pop("step") else None
    model["solver"] = Solver(model["solver"])
    state = State(weights=file[f"weights_{k}"], step=step, pairs=pairs, **model)
    _check(state)
    state.dual = None  # a bound is proved anew: nothing is believed because a file says so
    return state


def _check(state: State) -> None:
    """Refuses arrays that do not fit together and numbers that are none, before they are used."""
    columns = state.weights.size
    lengths = [(state.weights, columns), *((array, columns + 1) for pair in state.pairs for array in pair)]
    lengths += [] if state.step is None else [(state.step, columns)]
    if any(array.shape != (length,) or array.dtype.kind != "f" for array, length in lengths):
        raise ValueError("its arrays differ in length")
    if not all(np.isfinite(array).all() for array, _ in lengths):
        raise ValueError("its arrays hold what is not a number")
    numbers = [state.bias, state.rate, state.step_bias, state.proof_due, *state.history, *([] if state.dual is None else [state.dual])]
    if not all(isinstance(number, (int, float)) and math.isfinite(number) for number in numbers):
        raise ValueError("it holds what is not a number")
    if type(state.round) is not int or not 0 <= state.round < 2**63:
        raise ValueError(f"{state.round!r} is not a number of rounds")
