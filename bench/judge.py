"""One judge for everybody.

    F(w, b) = (1/n)·Σ log(1 + e^(−yᵢ(w·xᵢ + b))) + l1·‖w‖₁ + ½·l2·‖w‖²        y = ±1, the bias b free

on the training file, and the mean loss alone on the held-out file. The judge sees weights by the index as written,
and nothing of how they were learnt; it shares no code with any contender.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bench import svmlight

AGREE = 1e-6  # how far, relatively, a contender's own figure for F may be from the judge's


@dataclasses.dataclass
class Verdict:
    """What a model is worth."""

    objective: float
    loss: float  # mean, on the training rows
    held_out: float  # mean, on the held-out rows
    nonzeros: int


class Disagreement(Exception):
    """A contender reports another objective than the judge finds: one of the two is wrong, and no time counts."""


class Judge:
    """Holds the rows, so that each model is judged on the same."""

    def __init__(self, train: svmlight.Rows, held_out: svmlight.Rows, l1: float, l2: float):
        self.train, self.held_out, self.l1, self.l2 = train, held_out, l1, l2
        self.signs = svmlight.signs(train.targets)
        greater = train.targets[self.signs > 0][0]
        self.held_signs = np.where(held_out.targets == greater, 1.0, -1.0)
        self.width = max(train.width(), held_out.width())

    def judge(self, weights: dict[int, float], bias: float) -> Verdict:
        """Evaluates a model. Weights of features that occur nowhere still cost their penalty."""
        indices = np.fromiter(weights.keys(), dtype=np.int64, count=len(weights))
        given = np.fromiter(weights.values(), dtype=np.float64, count=len(weights))
        if not (np.isfinite(given).all() and np.isfinite(bias)):
            raise ValueError("a weight is not finite")
        if len(indices) and indices.min() < 0:
            raise ValueError("a feature index is negative")
        w = np.zeros(max(self.width, int(indices.max(initial=-1)) + 1))
        w[indices] = given
        loss = mean_loss(self.train.dot(w) + bias, self.signs)
        return Verdict(
            objective=loss + self.l1 * float(np.abs(w).sum()) + self.l2 / 2 * float(w @ w),
            loss=loss,
            held_out=mean_loss(self.held_out.dot(w) + bias, self.held_signs),
            nonzeros=int(np.count_nonzero(w)),
        )


def mean_loss(scores: np.ndarray, signs: np.ndarray) -> float:
    """Mean logistic loss; logaddexp neither overflows nor loses small losses."""
    return float(np.logaddexp(0.0, -signs * scores).mean())


def check(reported: float | None, verdict: Verdict) -> None:
    """Holds a contender to the objective it reports, if it reports one."""
    if reported is not None and not abs(reported - verdict.objective) <= AGREE * abs(verdict.objective):
        raise Disagreement(f"it reports F = {reported!r}, the judge finds {verdict.objective!r}")
