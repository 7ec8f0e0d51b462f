"""Regularisation paths of 50 values of l1, every model to within 1e-4 of the optimum.

All contenders solve the values of l1 that lazyglm makes of LOW..HIGH:50, which it rounds to four digits.
"""

from collections.abc import Iterator

import numpy as np

from bench.exact import ours
from bench.exact.contest import FLAGS, OURS, Context, agree, compete, enter, show, verdict
from bench.exact.problem import Problem

TITLE = "paths of 50 values of l1, each model to within 1e-4 (distance: the worst model); wanted: twice as fast as the fastest peer"
SETS = ["imdb_train", "a9a", "rcv1_small", "npm_downloads", "a9a squared"]
NEAR = (1e-3, 1e-4)
TOLERANCES = ["1e-2", "1e-3", "3e-4", "1e-4", "1e-5", "1e-6"]  # the last ones are there for a tighter F*
POINTS = 50


def our_path(context: Context, problem: Problem, asked: dict, limit: float) -> Iterator[dict]:
    words, spent = command(problem, asked), 0.0
    for tolerance in TOLERANCES:
        report = ours.call(context.binary, [*words, "--tolerance", tolerance, "--threads", "1"], limit)
        if report is None:
            return
        points = report["points"]
        if not np.allclose([point["l1"] for point in points], asked["l1s"], rtol=1e-12):
            raise ours.Cannot("the program solved other values of l1 than at first")
        said = verdict(problem, asked, *ours.path_weights(points, problem))
        agree([point["objective"] for point in points], said["F"])
        yield {"rung": tolerance, "seconds": report["seconds_train"], "gap": gap(points), **said}
        spent += report["seconds_train"]
        if spent > limit:
            return


def gap(points: list[dict]) -> float | None:
    gaps = [point["relative_gap"] for point in points]
    return None if None in gaps else max(gaps)


def command(problem: Problem, asked: dict) -> list:
    return ["path", problem.file, *FLAGS[asked["loss"]], "--l1", f"{asked['low']!r}..{asked['high']!r}:{POINTS}", "--l2", "0"]


def run(context: Context, problem: Problem) -> None:
    most = problem.l1_max()
    loss = "squared" if problem.numbers else "logistic"
    for share in (100, 1000):
        asked = {"part": "path", "loss": loss, "high": most, "low": most / share}
        try:  # a loose path, to have the values of l1
            asked["l1s"] = [p["l1"] for p in ours.call(context.binary, [*command(problem, asked), "--tolerance", "0.5"], 600)["points"]]
        except (ours.Cannot, TypeError) as why:
            context.report.say(f"    lazyglm cannot: {why}")
            return
        about = f"{loss} loss, {len(asked['l1s'])} values of l1 from l1_max = {most:.4g} to l1_max/{share}"
        context.report.say(f"  {problem.describe()}; {about}; one thread each; F and non-zeros are those of the smallest l1")
        contenders = {OURS: lambda limit, asked=asked: our_path(context, problem, asked, limit)}
        show(context, "path", problem, asked, compete(context, contenders | enter(context, problem, asked)), NEAR)
