"""Hinge loss to the optimum, against LIBLINEAR's dual coordinate descent; and with l1, where LIBLINEAR has no solver."""

from bench.exact.contest import OURS, Context, compete, enter, our_training, show
from bench.exact.problem import Problem

TITLE = "hinge loss to the optimum; wanted: as fast to 1e-3 (LIBLINEAR's weights are judged with their best bias, since it penalises its own)"
SETS = ["imdb_train", "a9a", "w8a"]
L2 = {"imdb_train": [1e-2]}
BOTH = [1e-4, 1e-2]


def run(context: Context, problem: Problem) -> None:
    penalties = [(0.0, l2) for l2 in L2.get(problem.name, BOTH)]
    if problem.name == "a9a":
        penalties.append((1e-3, 1e-4))
    for l1, l2 in penalties:
        asked = {"part": "hinge", "loss": "hinge", "l1": l1, "l2": l2}
        context.report.say(f"  {problem.describe()}; l1 = {l1:g}, l2 = {l2:g}; one thread each")
        contenders = {OURS: lambda limit, asked=asked: our_training(context, problem, asked, 1, limit)}
        turns = compete(context, contenders | enter(context, problem, asked))
        show(context, "hinge", problem, asked, turns)
        gaps = [rung["gap"] for turn in turns[OURS] for rung in turn if rung["gap"] is not None]
        if gaps:
            context.report.say(f"    lazyglm's smallest certified relative gap: {min(gaps):.1e}")
