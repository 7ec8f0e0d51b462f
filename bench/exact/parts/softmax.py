"""Softmax regression to the optimum: without l1 against lbfgs, newton-cholesky and newton-cg, with l1 against saga."""

from bench.exact.contest import OURS, Context, compete, enter, our_training, show
from bench.exact.problem import Problem

TITLE = "softmax regression to the optimum; wanted: 5 times as fast as lbfgs and newton-cholesky to 1e-3 and to 1e-6 without l1, and 3 times as fast with l1"
SETS = ["20news_train", "medline_sections"]


def run(context: Context, problem: Problem) -> None:
    most = problem.l1_max()
    for l1, l2, how in [(0.0, 1 / len(problem.rows), "l2 = 1/n"), (most / 100, 0.0, "l1_max/100"), (most / 1000, 0.0, "l1_max/1000")]:
        asked = {"part": "softmax", "loss": "softmax", "l1": l1, "l2": l2}
        context.report.say(f"  {problem.describe()}; l1 = {l1:.4g}, l2 = {l2:.4g} ({how}); one thread each")
        contenders = {OURS: lambda limit, asked=asked: our_training(context, problem, asked, 1, limit)}
        show(context, "softmax", problem, asked, compete(context, contenders | enter(context, problem, asked)))
