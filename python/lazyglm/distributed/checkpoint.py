"""A run at rest: one file, written whole or not at all, from which it goes on to the same bits."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from lazyglm.distributed.rounds import State

VERSION = 2
PLAIN = ("bias", "round", "rate", "rejected", "stayed", "solver", "history", "step_bias")


def save(path: Any, states: list[State], of: dict[str, Any]) -> None:
    """Writes what is known of every model of a run (one, or one a class); ``of`` says of which problem."""
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
    """The states of a run on the same problem; ``None`` if there is no file."""
    if not os.path.exists(path):
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            head = json.loads(bytes(file["head"]))
            known = head["version"] == VERSION
            states = [_state(file, k, model) for k, model in enumerate(head["models"])] if known else []
    except (KeyError, ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} is not a checkpoint of lazyglm ({error}): remove it to start anew") from None
    if not known:
        raise ValueError(f"{path} was written by another version of lazyglm: remove it to start anew")
    if head["of"] != json.loads(json.dumps(of)):
        other = [name for name, value in json.loads(json.dumps(of)).items() if head["of"].get(name) != value]
        raise ValueError(f"{path} is of another problem ({', '.join(other)} differ): remove it to start anew")
    return states


def _state(file: Any, k: int, model: dict[str, Any]) -> State:
    pairs = [(file[f"s_{k}_{p}"], file[f"y_{k}_{p}"]) for p in range(model.pop("pairs"))]
    step = file[f"step_{k}"] if model.pop("step") else None
    return State(weights=file[f"weights_{k}"], step=step, pairs=pairs, **model)
