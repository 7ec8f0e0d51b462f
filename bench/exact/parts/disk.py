"""Rows that stay on disk: `--memory` a tenth of what the rows take, or the least that the program accepts, against rows in memory."""

import json
import re

from bench import measure, table
from bench.exact import ours
from bench.exact.contest import AGREE, Context, verdict
from bench.exact.problem import Problem

TITLE = "Newton steps with the rows on disk; wanted: at most 6 times the time, and F to within 1e-3"
SETS = ["elife_methods"]
BYTES = 8  # per non-zero in memory: an index of four bytes and a value of four
TOLERANCE = "1e-3"


def one(context: Context, problem: Problem, asked: dict, tolerance: str, memory: int | None) -> dict:
    """One run, with the memory limit in megabytes or without: time, peak memory, and the judge's figures."""
    model = context.folder / "model"
    words = [context.binary, "train", problem.file, "--solver", "newton", "--loss", "logistic", "--l1", repr(asked["l1"]), "--l2", "0"]
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
    return {"seconds": report["seconds_train"], "wall": cost.wall, "peak": cost.peak, "solver": report["solver"], **said}


def least_memory(context: Context, problem: Problem, asked: dict) -> tuple[int, str]:
    """A tenth of the rows in megabytes, or what the program's help text names as the least."""
    memory = max(1, len(problem.rows.values) * BYTES // 10 // 2**20)
    try:
        one(context, problem, asked, TOLERANCE, memory)
    except ours.Cannot as why:
        least = re.search(r"give (\d+)M or more", str(why))
        if not least:
            raise
        return int(least[1]), f"the least that the program accepts; a tenth of the rows is {memory}M"
    return memory, "a tenth of the rows"


def run(context: Context, problem: Problem) -> None:
    asked = {"loss": "logistic", "l1": problem.l1_max() / 100, "l2": 0.0}
    whole = len(problem.rows.values) * BYTES / 2**20
    context.report.say(f"  {problem.describe()} ({whole:.0f}M at {BYTES} bytes per non-zero); l1 = {asked['l1']:.4g} (l1_max/100), l2 = 0")
    try:
        memory, how = least_memory(context, problem, asked)
        best = one(context, problem, asked, "1e-6", None)["F"][0]
        modes = {"in memory": None, f"--memory {memory}M": memory}
        turns: dict[str, list[dict]] = {who: [] for who in modes}
        for _ in range(context.repeats):
            for who, limit in modes.items():
                turns[who].append(one(context, problem, asked, TOLERANCE, limit))
    except ours.Cannot as why:
        context.report.say(f"    lazyglm cannot: {why}")
        return
    context.report.say(f"    memory limit: {memory}M, {how}; both from the cache, at --tolerance {TOLERANCE}")
    best = min([best, *(run["F"][0] for of in turns.values() for run in of)])
    lines, reference = [], min(run["seconds"] for run in turns["in memory"])
    for who, of in turns.items():
        run = min(of, key=lambda run: run["seconds"])
        quality = [f"{run['F'][0]:.9f}", f"{run['F'][0] / best - 1:.1e}", table.count(run["nonzeros"]), f"{run['held_out']:.5f}"]
        times = [table.seconds(run["seconds"]), table.seconds(run["wall"]), table.megabytes(run["peak"])]
        lines.append([who, *quality, *times, f"{run['seconds'] / reference:.2f}"])
        context.report.keep({"part": "disk", "set": problem.name, "who": who, "turns": of, **asked})
    context.report.say(table.table(["", "F", "distance", "non-zeros", "held-out", "seconds", "process", "peak", "× of memory"], lines))
