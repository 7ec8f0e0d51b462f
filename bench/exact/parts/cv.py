"""Choice of l1 by cross-validation: 50 values and 5 folds, against LogisticRegressionCV with as many values as its time allows.

lazyglm's clock sees the paths of all folds and of all rows, but not the last steps of the chosen model before it is written. A peer's
clock sees its whole `fit`, with the refit. A peer's time for fewer values is multiplied up to 50; the table says from how many.
"""

from collections.abc import Iterator

import numpy as np

from bench import table
from bench.exact import ours
from bench.exact.contest import Context, compete, enter, raw_peer, rungs, verdict
from bench.exact.problem import Problem

TITLE = "cross-validation of 50 values of l1, 5 folds; wanted: 10 times as fast"
SETS = ["a9a", "rcv1_small"]
POINTS, FOLDS, SHARE = 50, 5, 1000
OURS = "lazyglm tune"


def our_search(context: Context, problem: Problem, asked: dict, limit: float) -> Iterator[dict]:
    model = context.folder / "model"
    words = ["tune", problem.file, "--loss", "logistic", "--l1", f"{asked['low']!r}..{asked['high']!r}:{POINTS}", "--l2", "0"]
    report = ours.call(context.binary, [*words, "--folds", FOLDS, "--threads", "1", "-o", model], limit)
    if report is not None:
        l1 = report["chosen"]["l1"]
        said = verdict(problem, asked | {"l1": l1, "l2": 0.0}, *ours.weights(context.binary, model, problem))
        yield {"rung": len(report["points"]), "seconds": report["seconds_search"], "l1": l1, **said}


def run(context: Context, problem: Problem) -> None:
    most = problem.l1_max()
    grid = np.geomspace(most, most / SHARE, POINTS).tolist()
    asked = {"part": "cv", "loss": "logistic", "high": most, "low": most / SHARE, "folds": FOLDS}
    peers = enter(context, problem, asked | {"l1s": grid})
    contenders = {OURS: lambda limit: our_search(context, problem, asked, limit)}
    for name in peers:
        contenders[name] = lambda limit, name=name: their_search(context, name, problem, asked | {"l1s": grid}, limit)
    context.report.say(f"  {problem.describe()}; l1 from l1_max = {most:.4g} to l1_max/{SHARE}; one thread each")
    show(context, problem, asked, compete(context, contenders))


def their_search(context: Context, name: str, problem: Problem, asked: dict, limit: float) -> Iterator[dict]:
    """A peer's search is judged as a single model, at the l1 that the peer chose."""
    for rung, W, b in raw_peer(context, name, problem, asked, limit):
        one = {"loss": asked["loss"], "l1": rung["l1"], "l2": 0.0}
        yield rung | verdict(problem, one, W, b)


def show(context: Context, problem: Problem, asked: dict, turns: dict) -> None:
    lines, reference = [], None
    for who, of in turns.items():
        most = max((rung["rung"] for rung in rungs(of)), default=0)
        best = min((rung for rung in rungs(of) if rung["rung"] == most), key=lambda rung: rung["seconds"], default=None)
        context.report.keep({"part": "cv", "set": problem.name, "who": who, "turns": of, **asked})
        if best is None:
            lines.append([who, *["-"] * 8])
            continue
        scaled = best["seconds"] * POINTS / most
        reference = scaled if who == OURS else reference
        ratio = f"{scaled / reference:.2f}" if reference else "-"
        quality = [f"{best['held_out']:.5f}", f"{best['l1']:.3g}", table.count(best["nonzeros"]), f"{best['F'][0]:.6f}"]
        lines.append([who, *quality, str(most), table.seconds(best["seconds"]), table.seconds(scaled), ratio])
    heads = ["", "held-out", "chosen l1", "non-zeros", "F at it", "values", "seconds", f"s for {POINTS}", "×"]
    context.report.say(table.table(heads, lines))
