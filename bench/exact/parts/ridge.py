"""Ridge regression (squared loss, l1 = 0) on sparse rows to the optimum, against scikit-learn's Ridge."""

from bench.exact.contest import OURS, Context, compete, enter, our_training, show
from bench.exact.problem import Problem

TITLE = "ridge regression (l1 = 0) to the optimum; wanted: as fast as the fastest solver of scikit-learn's Ridge"
SETS = ["npm_downloads", "elife_methods numbers"]


def run(context: Context, problem: Problem) -> None:
    for l2, how in [(1 / len(problem.rows), "alpha = 1"), (1e-4, "l2 = 1e-4")]:
        asked = {"part": "ridge", "loss": "squared", "l1": 0.0, "l2": l2}
        context.report.say(f"  {problem.describe()}; l2 = {l2:.4g} ({how}); one thread each")
        contenders = {OURS: lambda limit, asked=asked: our_training(context, problem, asked, 1, limit)}
        show(context, "ridge", problem, asked, compete(context, contenders | enter(context, problem, asked)))
