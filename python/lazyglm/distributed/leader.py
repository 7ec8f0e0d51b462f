"""What the leader knows of a problem and asks of all partitions: statistics once, then points, lines and passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lazyglm import _core
from lazyglm.distributed import tasks
from lazyglm.distributed.engine import Engine, shared
from lazyglm.distributed.plane import BLOCK, Way
from lazyglm.distributed.problem import Problem

Lines = list[tuple[float | None, list[float]]]


@dataclass
class At:
    """A point and what all rows say of it: the objective, and the gradient of the mean loss."""

    weights: Any
    bias: float
    loss: float
    objective: float
    gradient: Any
    bias_gradient: float
    second_derivative: float
    token: Any  # of the weights, where the partitions are, until the point is left


class Leader:
    """Holds the only state there is. Vectors of a length of the columns: statistics (3), and those of a point."""

    def __init__(self, engine: Engine, problem: Problem, wire: str = "f8") -> None:
        self.engine, self.problem, self.wire = engine, problem, wire
        self.points: list[Any] = []  # tokens of those that have not been left
        self.reductions = 0  # of vectors
        self.passes = 0  # over the rows
        first = tasks.statistics if problem.intercept else tasks.start
        totals, self.counts, self.squares, *self.at_zero = self._reduce(first, [], {"wire": wire}, vector=True)
        self.reductions += bool(self.at_zero)
        self.rows, self.weight, self.parts = float(totals[0]), float(totals[1]), float(totals[2])
        if self.rows == 0:
            raise ValueError("no partition has any rows (of a weight above zero)")
        self.columns = len(self.counts)
        self.weight_scale = self.rows / self.weight
        self.squares *= 1 / self.weight  # the mean square of a column, its zeros included
        self.metric, self.bias_metric = self._metric()
        self.constant = engine.share({"metric": self.metric})

    def _metric(self) -> tuple[Any, float]:
        """A rate for each weight: (share of rows that hold it)^-1/2, in units of its own size."""
        metric = self.counts / self.rows
        metric *= 1.0 if self.problem.intercept else max(float(metric.max(initial=0.0)), 1e-300)
        np.sqrt(metric, out=metric)
        unused = self.squares == 0
        np.divide(metric, self.squares, out=metric, where=~unused)
        metric[unused] = 0.0
        return metric, 1.0

    @property
    def size(self) -> float:
        """The mean over rows of the sum of m x²: how long a row is in the metric."""
        bias = self.bias_metric if self.problem.intercept else 0.0
        return float(np.dot(self.metric, self.squares)) + bias

    def curvature(self, at: At) -> float:
        """A bound of the loss's second derivative; where there is none, twice its mean at the point."""
        bound = _core.loss_shape(self.problem.loss)[0]
        return bound if bound is not None else 2.0 * max(at.second_derivative, 1e-12)

    def at(self, weights: Any, bias: float) -> At:
        """Loss and gradient at a point: one reduction, or none where a run begins. Its weights stay where the partitions are until it is left."""
        weights, token = self.send(weights)
        self.points.append(token)
        known, self.at_zero = self.at_zero, []
        if not (known and bias == 0.0 and not weights.any()):  # asked with the statistics, where runs begin without a bias
            known = self._reduce(tasks.gradient, [token], {"bias": bias, "wire": self.wire}, vector=True)
        sums, gradient = known
        loss, slope, second_derivative = (float(number) / self.weight for number in sums)
        gradient = owned(gradient)
        gradient /= self.weight
        objective = loss + self.problem.penalty(weights)
        slope = slope if self.problem.intercept else 0.0
        return At(weights, bias, loss, objective, gradient, slope, second_derivative, token)

    def leave(self, at: At) -> None:
        """Nothing more is asked of a point."""
        self.points = [token for token in self.points if token is not at.token]
        self.engine.release(at.token)

    def moved(self, at: At, eta: float, leave: float, round_number: int, seed: int) -> tuple[Any, float]:
        """Corrected local passes from a point, and each weight's mean over the rows that hold it: one reduction.

        A weight of zero leaves it only where |gradient| is above ``leave`` of λ₁.
        """
        zeroed = self.zeroed(at)
        sent = {"zeroed": zeroed, "gradient": at.gradient.astype(self.wire, copy=False)}
        told = {
            "bias": at.bias,
            "bias_gradient": at.bias_gradient if self.problem.intercept else None,
            "bias_metric": self.bias_metric,
            "eta": eta,
            "weight_scale": self.weight_scale,
            "round": round_number,
            "seed": seed,
            "wire": self.wire,
        }
        bias, moved = self._reduce(tasks.local_pass, [self.constant, at.token], told, sent, vector=True)
        moved, quiet = owned(moved), leave * self.problem.l1
        for first in range(0, len(moved), BLOCK):
            part = slice(first, first + BLOCK)
            to, start, counts = moved[part], np.where(zeroed[part], 0.0, at.weights[part]), self.counts[part]
            np.divide(to, counts, out=to, where=counts > 0)
            to += start
            to[(start == 0) & (np.abs(at.gradient[part]) <= quiet)] = 0.0
        return moved, at.bias + float(bias[0]) / self.rows

    def hessian(self, at: At, ids: Any) -> Any:
        """The Hessian of the mean loss along some columns and the bias, which is last: one reduction."""
        size = len(ids) + 1
        told = {"bias": at.bias, "numbers": size * size}  # how long an answer is, where it is not as wide as the columns
        (found,) = self._reduce(tasks.hessian, [at.token], told, {"active": ids}, vector=True)
        return found.reshape(size, size) / self.weight

    def line(self, at: At, weights: Any, bias: float, thetas: list[float]) -> list[float]:
        """The objective at shares of the way to another point: numbers alone are reduced."""
        told = {"bias": at.bias, "end_bias": bias, "thetas": thetas}
        (losses,) = self._reduce(tasks.line_losses, [at.token], told, {"end": weights})
        return self._along(losses, at, weights, thetas)

    def end(self, at: At, weights: Any, shares: list[float]) -> tuple[float, Any, Any]:
        """The objective at the last point and, without an intercept, what its proof is made of: one reduction."""
        told = {"bias": at.bias, "shares": shares}
        losses, sums, gradient = self._reduce(tasks.end, [at.token], told, {"end": weights}, vector=True)
        return self._along(losses, at, weights, [1.0])[0], sums, gradient

    def _along(self, losses: Any, at: At, weights: Any, thetas: list[float]) -> list[float]:
        return self._objectives(losses, Way(at.weights, weights, None, (at.bias, at.bias, 0.0)), [(None, thetas)])

    def plane(self, at: At, way: Way, lines: Lines) -> list[float]:
        """The objective at points of a plane from a point, line by line: numbers alone are reduced."""
        vectors = {"end": way.end} if way.step is None else {"end": way.end, "step": way.step}
        sent = {name: vector.astype(self.wire, copy=False) for name, vector in vectors.items()}
        told = {"biases": way.biases, "lines": lines, "vector": False}  # an engine may add up numbers in another way
        (losses,) = self._reduce(tasks.plane_losses, [at.token], told, sent)
        return self._objectives(losses, way, lines)

    def _objectives(self, losses: Any, way: Way, lines: Lines) -> list[float]:
        """Losses of all rows, and the penalty of each point."""
        penalties = np.zeros(len(losses))
        for _, part in way.blocks():
            ends = ((_held(*part.line(phi)), thetas) for phi, thetas in lines)
            penalties += [self.problem.penalty(a + theta * (b - a)) for (a, b), thetas in ends for theta in thetas]
        return [float(loss) / self.weight + float(penalty) for loss, penalty in zip(losses, penalties, strict=True)]

    def zero_test(self, at: At) -> Any:
        """The weights with exact zeros."""
        return np.where(self.zeroed(at), 0.0, at.weights)

    def zeroed(self, at: At) -> Any:
        """Which weights the test sets to zero that are not."""
        found, net = np.empty(self.columns, dtype=bool), (self.problem.l1, self.problem.l2)
        for first in range(0, self.columns, BLOCK):
            part = slice(first, first + BLOCK)
            weights, curvature = at.weights[part], self.curvature(at) * self.squares[part]
            found[part] = (_core.zero_test(weights, at.gradient[part], curvature, *net) == 0.0) & (weights != 0.0)
        return found

    def send(self, weights: Any) -> tuple[Any, Any]:
        """Weights as they are sent (rounded, if vectors travel in single precision), and the token."""
        sent = np.ascontiguousarray(weights, dtype=self.wire)
        return self.rounded(weights), self.engine.share({"weights": sent})

    def rounded(self, vector: Any) -> Any:
        """A vector as it is on the other side."""
        return np.ascontiguousarray(vector.astype(self.wire, copy=False), dtype=np.float64)

    def ask(self, task: Any, token: Any, *, vector: bool | None = None, **told: Any) -> Any:
        """A reduction for a point that has been sent; of numbers alone, unless ``vector`` is asked for."""
        if vector is not None:
            told["vector"] = vector
        return self._reduce(task, [token], told, vector=bool(vector))

    def _reduce(
        self, task: Any, tokens: list[Any], told: dict[str, Any], sent: dict[str, Any] | None = None, *, vector: bool = False
    ) -> Any:
        """A reduction over all partitions. The arrays in ``sent`` are shared for its duration."""
        if sent is not None:
            with shared(self.engine, sent) as token:
                return self._reduce(task, [*tokens, token], told, vector=vector)
        self.reductions += vector
        self.passes += 1
        return self.engine.reduce(task, tokens, self.problem.told(**told))

    def close(self) -> None:
        for token in self.points:
            self.engine.release(token)
        self.engine.release(self.constant)


def owned(vector: Any) -> Any:
    """An answer as the leader's own, in double precision."""
    return vector if vector.dtype == np.float64 and vector.flags.writeable else vector.astype(np.float64)


def _held(start: Any, end: Any) -> tuple[Any, Any]:
    """Both ends of a line without the weights that are zero all along: most, and there are many points."""
    held = np.flatnonzero((start != 0) | (end != 0))
    return start[held], end[held]
