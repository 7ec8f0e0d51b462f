"""One-vs-rest with l1 to the optimum, against LIBLINEAR's own one-vs-rest; F is the sum over the classes."""

from bench.exact.contest import OURS, Context, compete, enter, our_training, show
from bench.exact.problem import Problem

TITLE = "one-vs-rest with l1 to the optimum; wanted: twice as fast on one core"
SETS = ["20news_train", "medline_sections"]


def run(context: Context, problem: Problem) -> None:
    most = problem.l1_max()
    for share in (100, 1000):
        asked = {"part": "ovr", "loss": "ovr", "l1": most / share, "l2": 0.0}
        context.report.say(f"  {problem.describe()}; l1 = {asked['l1']:.4g} (l1_max/{share}), l2 = 0; one thread, unless it says all cores")
        contenders = {
            OURS: lambda limit, asked=asked: our_training(context, problem, asked, 1, limit),
            f"{OURS}, all cores": lambda limit, asked=asked: our_training(context, problem, asked, None, limit),
        }
        show(context, "ovr", problem, asked, compete(context, contenders | enter(context, problem, asked)))
