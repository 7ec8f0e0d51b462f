"""Draws the pictures of the explanations as SVG files beside this script: `python make_pictures.py`."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
ETA, L1, L2 = 0.5, 0.08, 0.1
STEPS, START = 18, 0.4
PULLS = {4: 0.3, 9: 0.12}  # steps whose row has the feature, and what the gradient adds to the weight


def penalised(weight, steps):
    """The weight after some penalty steps without a gradient: one formula, whatever the number of steps."""
    ratio = (1 / (1 + ETA * L2)) ** steps
    return max(0.0, ratio * weight - L1 / L2 * (1 - ratio))


def dense():
    """The weight after each step, updated at every step."""
    weights = [START]
    for step in range(STEPS):
        weights.append(penalised(weights[-1] + PULLS.get(step, 0.0), 1))
    return weights


def lazy():
    """Steps at which the weight is brought up to date, with the weight there: where its feature occurs, and at the end."""
    points, weight, current = [(0, START)], START, 0
    for step in [*PULLS, STEPS]:
        weight, current = penalised(weight, step - current), step
        points.append((step, weight))
        weight += PULLS.get(step, 0.0)
    return points


def lazy_updates():
    """The same weight with dense and with lazy updates."""
    plt.rcParams.update({"svg.hashsalt": "lazyglm", "svg.fonttype": "path", "font.size": 10})
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    weights, touched = dense(), lazy()
    axes.plot(range(STEPS + 1), weights, "o-", color="#1f77b4", markersize=4, linewidth=1, label="dense: every step")
    axes.plot(*zip(*touched), "s", color="#d95f02", markersize=9, markerfacecolor="none", label="lazy: when needed")
    for step in PULLS:
        axes.axvline(step, color="#888888", linewidth=0.8, linestyle=":")
        axes.annotate("feature occurs", (step, 0.5), ha="left", xytext=(4, 0), textcoords="offset points", color="#666666")
    axes.set(xlabel="step", ylabel="weight", ylim=(-0.02, 0.55), xticks=range(0, STEPS + 1, 2))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right")
    figure.savefig(HERE / "lazy-updates.svg", metadata={"Date": None})
    return weights, touched


if __name__ == "__main__":
    weights, touched = lazy_updates()
    for step, weight in touched:
        assert abs(weights[step] - weight) < 1e-12, (step, weight, weights[step])
