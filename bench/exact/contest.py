"""Turns of all contenders on one problem, and the table of their times with the quality of their answers beside them."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench import measure, table
from bench.exact import judge, ours
from bench.exact.problem import Problem
from bench.exact.report import Report

OURS = "lazyglm newton"
TOLERANCES = ["3e-1", "1e-1", "3e-2", "1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7"]
NEAR = (1e-3, 1e-6)
AGREE = 1e-6  # largest relative difference between the objective that lazyglm reports and the judge's
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")}
FLAGS = {
    "softmax": ["--multiclass", "softmax"], "ovr": ["--multiclass", "ovr"], "hinge": ["--loss", "hinge"],
    "logistic": ["--loss", "logistic"], "squared": ["--loss", "squared"],
}  # fmt: skip


class Failed(Exception):
    """A contender that ended with an error, or with an objective that the judge does not find."""


@dataclasses.dataclass
class Context:
    """What every part of the benchmark needs."""

    binary: Path
    data: Path
    folder: Path
    limit: float
    repeats: int
    peers: dict  # peers by name
    report: Report


def verdict(problem: Problem, asked: dict, W: np.ndarray, b: np.ndarray) -> dict:
    """The judge's figures of one answer: F (of every model, for a path), non-zeros and held-out loss."""
    loss = asked["loss"]
    if "l1s" in asked:
        F = judge.path_objectives(loss, problem.rows, problem.y, W, b, asked["l1s"])
        held_out = float(judge.path_losses(loss, problem.held_rows, problem.held_y, W, b).min())
        return {"F": F.tolist(), "nonzeros": int(np.count_nonzero(W[-1])), "held_out": held_out}
    F = judge.objective(loss, problem.rows, problem.y, W, b, asked["l1"], asked["l2"])
    held_out = judge.LOSSES[loss](judge.scores(problem.held_rows, W, b), problem.held_y)
    return {"F": [F], "nonzeros": int(np.count_nonzero(W)), "held_out": held_out}


def agree(reported: list[float], found: list[float]) -> None:
    for one, other in zip(reported, found, strict=True):
        if not abs(one - other) <= AGREE * abs(other):
            raise Failed(f"DISAGREEMENT: lazyglm reports F = {one!r}, the judge finds {other!r}")


def our_training(context: Context, problem: Problem, asked: dict, threads: int | None, limit: float) -> Iterator[dict]:
    """Runs `lazyglm train --solver newton` at one tolerance after the other; None threads are all cores."""
    model, spent = context.folder / "model", 0.0
    words = ["train", problem.file, "--solver", "newton", *FLAGS[asked["loss"]], "--l1", repr(asked["l1"]), "--l2", repr(asked["l2"])]
    words += ["-o", model, *(["--threads", threads] if threads else [])]
    for tolerance in TOLERANCES:
        report = ours.call(context.binary, [*words, "--tolerance", tolerance], limit)
        if report is None:
            return
        said = verdict(problem, asked, *ours.weights(context.binary, model, problem))
        agree([report["objective"]], said["F"])
        yield {"rung": tolerance, "seconds": report["seconds_train"], "gap": report["relative_gap"], **said}
        spent += report["seconds_train"]
        if spent > limit:
            return


def raw_peer(
    context: Context, name: str, problem: Problem, asked: dict, limit: float
) -> Iterator[tuple[dict, np.ndarray, np.ndarray]]:
    """Runs a peer in a child process, which ends when its time is up: figures, weights and biases of every finished fit."""
    task = context.folder / "asked.json"
    task.write_text(json.dumps(asked))
    python = context.peers[name].python or sys.executable
    command = [python, "-m", "bench.exact.child", name, problem.arrays, task, context.folder / "peer", repr(limit)]
    out, err = context.folder / "peer.out", context.folder / "peer.err"
    with open(out, "w") as stdout, open(err, "w") as stderr:
        try:  # the time outside of fits is bounded too: reading, warming up, saving
            done = subprocess.run(
                command, stdout=stdout, stderr=stderr, cwd=measure.ROOT, env=os.environ | ONE_THREAD, timeout=2 * limit + 600
            ).returncode
        except subprocess.TimeoutExpired:
            done = None
    for line in out.read_text().splitlines():
        rung = json.loads(line)
        yield rung, *load(Path(rung.pop("weights")))
    if done == 3:
        raise Failed(measure.last_lines(err.read_text()).rpartition(" / ")[2])


def peer(context: Context, name: str, problem: Problem, asked: dict, limit: float) -> Iterator[dict]:
    """Runs a peer, and judges every answer."""
    for rung, W, b in raw_peer(context, name, problem, asked, limit):
        if asked["loss"] == "hinge":  # the peer penalises its bias: its weights are judged with their best bias
            b = np.array([judge.best_hinge_bias(problem.rows, problem.y, W[0])])
        yield rung | verdict(problem, asked, W, b)


def load(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Weights that a child saved, as a dense array, and the biases; the file is removed."""
    kept = np.load(file)
    W = np.zeros(tuple(kept["shape"]))
    W[np.repeat(np.arange(len(W)), np.diff(kept["starts"])), kept["columns"]] = kept["values"]
    b = kept["b"].copy()
    file.unlink()
    return W, b


def compete(context: Context, contenders: dict[str, Callable[[float], Iterator[dict]]]) -> dict[str, list[list[dict]]]:
    """Lets all contenders take turns. A contender that fails keeps what it had found, and does not run again."""
    turns: dict[str, list[list[dict]]] = {who: [] for who in contenders}
    failed: dict[str, str] = {}
    for _ in range(context.repeats):
        for who, run in contenders.items():
            if who in failed:
                continue
            turns[who].append([])
            try:
                for rung in run(context.limit / context.repeats):
                    turns[who][-1].append(rung)
            except (Failed, ours.Cannot) as why:
                failed[who] = str(why)
    for who, why in failed.items():
        context.report.say(f"    {who} failed: {why}")
        context.report.wrong |= why.startswith("DISAGREEMENT")
    return turns


def rungs(turns: list[list[dict]]) -> list[dict]:
    return [rung for turn in turns for rung in turn]


def distances(turns: dict[str, list[list[dict]]]) -> None:
    """Adds to every answer its relative distance from the least F that any contender found; on a path, the worst of all models."""
    everything = [rung for of in turns.values() for rung in rungs(of)]
    least = np.min([rung["F"] for rung in everything], axis=0) if everything else None
    for rung in everything:
        rung["distance"] = float(np.max((np.array(rung["F"]) - least) / np.abs(least)))


def time_to(turns: list[list[dict]], near: float) -> float | None:
    """The least time of an answer within the distance."""
    return min((rung["seconds"] for rung in rungs(turns) if rung["distance"] <= near), default=None)


def not_within(turns: list[list[dict]], near: float) -> float | None:
    """A lower bound on the time to a distance that no answer came to: the time of the longest finished fit."""
    if time_to(turns, near) is not None:
        return None
    least: dict = {}
    for rung in rungs(turns):
        least[rung["rung"]] = min(rung["seconds"], least.get(rung["rung"], np.inf))
    return max(least.values(), default=None)


def show(context: Context, part: str, problem: Problem, asked: dict, turns: dict, near: tuple = NEAR) -> None:
    """Prints the table of one problem, and records every run."""
    distances(turns)
    reference = {e: time_to(turns[OURS], e) for e in near}
    lines = []
    for who, of in turns.items():
        best = min(rungs(of), key=lambda rung: (rung["distance"], rung["seconds"]), default=None)
        line = [who] + (["-"] * 4 if best is None else quality(best))
        times, bounds = {e: time_to(of, e) for e in near}, {e: not_within(of, e) for e in near}
        line += [table.seconds(times[e]) if times[e] is not None or bounds[e] is None else f"> {bounds[e]:.3f}" for e in near]
        line += [factor(reference[e], times[e], bounds[e]) for e in near]
        lines.append(line)
        keep = {"part": part, "set": problem.name, "who": who, "seconds": {str(e): times[e] for e in near}, "turns": of}
        context.report.keep(keep | {key: value for key, value in asked.items()})
    heads = ["", "F", "distance", "non-zeros", "held-out", *(f"s to {e:g}" for e in near), *(f"× at {e:g}" for e in near)]
    context.report.say(table.table(heads, lines))


def quality(best: dict) -> list[str]:
    """F (of the weakest penalty on a path), distance, non-zeros and held-out loss of the best answer."""
    return [f"{best['F'][-1]:.9f}", f"{best['distance']:.1e}", table.count(best["nonzeros"]), f"{best['held_out']:.5f}"]


def factor(ours_seconds: float | None, seconds: float | None, bound: float | None) -> str:
    """How many times as long as lazyglm a contender takes: above 1, lazyglm is faster."""
    if ours_seconds is None or (seconds is None and bound is None):
        return "-"
    return f"{seconds / ours_seconds:.2f}" if seconds is not None else f"> {bound / ours_seconds:.2f}"


def enter(context: Context, problem: Problem, asked: dict) -> dict[str, Callable[[float], Iterator[dict]]]:
    """The peers that can solve the problem; for each other peer of the part, says why not."""
    entered = {}
    for name, one in context.peers.items():
        if asked["part"] not in one.parts:
            continue
        why = one.refuses(asked | {"shape": [len(problem.rows), problem.width], "classes": len(problem.labels)})
        if why:
            context.report.once(f"    {name} does not enter: {why}")
        else:
            entered[name] = lambda limit, name=name: peer(context, name, problem, asked, limit)
    return entered
