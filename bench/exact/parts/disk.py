"""Rows that stay on disk: `--memory` a tenth of what the rows take in memory, against the same rows in memory.

A set is repeated until the program itself and its features take little of a tenth. F, λ₁_max and the optimum of the repeated rows are
those of the set itself, so the judge computes F on the set. Both sides read the cache.
"""

import itertools
import json
import re
import shutil
from pathlib import Path

from bench import measure, table
from bench.exact import ours
from bench.exact.contest import AGREE, Context, verdict
from bench.exact.problem import Problem

TITLE = "rows at 10 times the memory limit, to a certified 1e-3; wanted: at most 6 times the time in memory, and the same F to 1e-3"
SETS = ["elife_methods"]
RATIOS = [100, 1000]  # λ₁_max/l1: with the second, many columns have a weight, and may not fit
COPIES = 16
BYTES = 8  # per non-zero in memory: an index of four bytes and a value of four
TIMES = 10  # the rows are this many times the memory limit
TOLERANCE = "1e-3"


def one(context: Context, file: Path, problem: Problem, asked: dict, tolerance: str, memory: int | None) -> dict:
    """One run, with the memory limit in megabytes or without: its cost, what it reports, and the judge's figures."""
    model = context.folder / "model"
    words = [context.binary, "train", file, "--solver", "newton", "--loss", "logistic", "--l1", repr(asked["l1"]), "--l2", repr(asked["l2"])]
    words += ["--tolerance", tolerance, "--threads", "1", "-o", model, "--json", "--quiet"]
    try:
        cost = measure.run([*words, *(["--memory", f"{memory}M"] if memory else [])])
    except measure.Failed as why:
        raise ours.Cannot(str(why)) from why
    report = json.loads(cost.stdout)
    said = verdict(problem, asked, *ours.weights(context.binary, model, problem))
    if not abs(report["objective"] - said["F"][0]) <= AGREE * abs(said["F"][0]):
        context.report.wrong = True
        raise ours.Cannot(f"DISAGREEMENT: lazyglm reports F = {report['objective']!r}, the judge finds {said['F'][0]!r}")
    known = {key: report.get(key) for key in ("solver", "stop", "relative_gap", "passes")}
    return {"seconds": report["seconds_train"], "wall": cost.wall, "peak": cost.peak, **known, **said}


def repeated(context: Context, problem: Problem) -> Path:
    """A file with the rows of the set, one copy after the other."""
    file = context.folder / f"{problem.name}.repeated.svm"
    with open(file, "wb") as into:
        for _ in range(COPIES):
            with open(problem.file, "rb") as rows:
                shutil.copyfileobj(rows, into, 1 << 24)
    return file


def limit(context: Context, file: Path, problem: Problem, asked: dict) -> tuple[int, str]:
    """A tenth of the rows in megabytes, or what the program's help text names as the least. Also makes the cache."""
    memory = COPIES * len(problem.rows.values) * BYTES // TIMES // 2**20
    try:
        one(context, file, problem, asked, TOLERANCE, memory)
    except ours.Cannot as why:
        least = re.search(r"give (\d+)M or more", str(why))
        if not least:
            raise
        return int(least[1]), f"the least that the program accepts; a tenth of the rows is {memory}M"
    return memory, "a tenth of the rows"


def run(context: Context, problem: Problem) -> None:
    file = repeated(context, problem)
    whole = COPIES * len(problem.rows.values) * BYTES / 2**20
    context.report.say(f"  {problem.describe()}; {COPIES} copies of it take {whole:.0f}M at {BYTES} bytes per non-zero")
    for ratio, l2 in itertools.product(RATIOS, [0.0, 1.0]):
        l1 = problem.l1_max() / ratio
        asked = {"loss": "logistic", "l1": l1, "l2": l2 * l1}
        context.report.say(f"    l1 = {asked['l1']:.4g} (l1_max/{ratio}), l2 = {asked['l2']:.4g}")
        contest(context, file, problem, asked)


def contest(context: Context, file: Path, problem: Problem, asked: dict) -> None:
    """Runs both sides by turns, and prints their best runs."""
    try:
        memory, how = limit(context, file, problem, asked)
        best = one(context, problem.file, problem, asked, "1e-6", None)["F"][0]  # the optimum is that of one copy
        modes = {"in memory": None, f"--memory {memory}M": memory}
        turns: dict[str, list[dict]] = {who: [] for who in modes}
        for _ in range(context.repeats):
            for who, megabytes in modes.items():
                turns[who].append(one(context, file, problem, asked, TOLERANCE, megabytes))
    except ours.Cannot as why:
        context.report.say(f"    lazyglm cannot: {why}")
        return
    context.report.say(f"    memory limit: {memory}M, {how}; both from the cache, at --tolerance {TOLERANCE}")
    best = min([best, *(run["F"][0] for of in turns.values() for run in of)])
    lines, reference = [], min(run["seconds"] for run in turns["in memory"])
    for who, of in turns.items():
        run = min(of, key=lambda run: run["seconds"])
        gap = "-" if run["relative_gap"] is None else f"{run['relative_gap']:.1e}"
        did = [run["solver"], gap, str(run["passes"] or "-")]
        quality = [f"{run['F'][0]:.9f}", f"{run['F'][0] / best - 1:.1e}", table.count(run["nonzeros"]), f"{run['held_out']:.5f}"]
        times = [table.seconds(run["seconds"]), table.seconds(run["wall"]), table.megabytes(run["peak"])]
        lines.append([who, *did, *quality, *times, f"{run['seconds'] / reference:.2f}"])
        context.report.keep({"part": "disk", "set": problem.name, "copies": COPIES, "who": who, "turns": of, **asked})
    heads = ["", "solver", "gap", "passes", "F", "distance", "non-zeros", "held-out", "seconds", "process", "peak", "× of memory"]
    context.report.say(table.table(heads, lines))
