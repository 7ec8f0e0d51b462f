"""Judge of every contender: the objective F and the held-out loss, computed with numpy from weights alone.

    softmax    F = (1/n)·Σᵢ (log Σ_c e^(s_ic) − s_i,yᵢ)  + penalty                    s_ic = w_c·xᵢ + b_c
    ovr        F = Σ_c (1/n)·Σᵢ log(1 + e^(−y_ic·s_ic))  + penalty                    y_ic = +1 if row i has class c, else −1
    logistic   F = (1/n)·Σᵢ log(1 + e^(−yᵢ·sᵢ))          + penalty                    yᵢ = ±1
    hinge      F = (1/n)·Σᵢ max(0, 1 − yᵢ·sᵢ)            + penalty
    squared    F = (1/n)·Σᵢ ½(sᵢ − yᵢ)²                  + penalty                    penalty = l1·‖W‖₁ + ½·l2·‖W‖²

The biases are free of any penalty. The judge shares no code with any contender; scipy multiplies the sparse rows with the weights.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from bench import svmlight


def scores(rows: svmlight.Rows, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scores of all rows, one column per row of `W`. Columns of the data beyond those of `W` have no weight."""
    if not (np.isfinite(W).all() and np.isfinite(b).all()):
        raise ValueError("a weight is not finite")
    width = max(rows.width(), W.shape[1])
    X = sp.csr_matrix((rows.values, rows.columns, rows.starts), shape=(len(rows), width))
    return X @ np.pad(W, ((0, 0), (0, width - W.shape[1]))).T + b


def softmax_loss(s: np.ndarray, y: np.ndarray) -> float:
    """Mean softmax loss; `y` holds the column of each row's class."""
    top = s.max(axis=1)
    return float((top + np.log(np.exp(s - top[:, None]).sum(axis=1)) - s[np.arange(len(y)), y]).mean())


def ovr_loss(s: np.ndarray, y: np.ndarray) -> float:
    """Mean logistic loss of every class against the others, summed over the classes."""
    signs = np.where(np.arange(s.shape[1]) == y[:, None], 1.0, -1.0)
    return float(np.logaddexp(0.0, -signs * s).sum(axis=1).mean())


def logistic_loss(s: np.ndarray, y: np.ndarray) -> float:
    """Mean logistic loss of a single column of scores."""
    return float(np.logaddexp(0.0, -y * s[:, 0]).mean())


def hinge_loss(s: np.ndarray, y: np.ndarray) -> float:
    """Mean hinge loss of a single column of scores."""
    return float(np.maximum(0.0, 1.0 - y * s[:, 0]).mean())


def squared_loss(s: np.ndarray, y: np.ndarray) -> float:
    """Mean of half the squared residuals of a single column of scores."""
    return float(0.5 * ((s[:, 0] - y) ** 2).mean())


LOSSES = {
    "softmax": softmax_loss, "ovr": ovr_loss, "logistic": logistic_loss, "hinge": hinge_loss, "squared": squared_loss,
}  # fmt: skip


def penalty(W: np.ndarray, l1: float, l2: float) -> float:
    return l1 * float(np.abs(W).sum()) + l2 / 2 * float((W * W).sum())


def objective(loss: str, rows: svmlight.Rows, y: np.ndarray, W: np.ndarray, b: np.ndarray, l1: float, l2: float) -> float:
    """F of one model: `W` has one row per class, or a single row."""
    return LOSSES[loss](scores(rows, W, b), y) + penalty(W, l1, l2)


def path_objectives(
    loss: str, rows: svmlight.Rows, y: np.ndarray, W: np.ndarray, b: np.ndarray, l1s: list[float]
) -> np.ndarray:
    """F of every model of a path: row k of `W` belongs to `l1s[k]`, and l2 is zero."""
    s = scores(rows, W, b)
    return np.array([LOSSES[loss](s[:, [k]], y) + penalty(w, l1, 0.0) for k, (w, l1) in enumerate(zip(W, l1s, strict=True))])


def path_losses(loss: str, rows: svmlight.Rows, y: np.ndarray, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Mean loss of every model of a path, without the penalty."""
    return path_objectives(loss, rows, y, W, b, [0.0] * len(W))


def best_hinge_bias(rows: svmlight.Rows, y: np.ndarray, w: np.ndarray) -> float:
    """Bias that minimises the hinge loss of given weights.

    In the bias, n times the loss is convex and piecewise linear, with the breakpoints yᵢ − w·xᵢ. Its slope is minus the number of
    positive rows at first and grows by one at each breakpoint, so the minimum is at the breakpoint with that number.
    """
    breakpoints = y - scores(rows, w[None, :], np.zeros(1))[:, 0]
    return float(np.sort(breakpoints)[max(int((y > 0).sum()) - 1, 0)])
