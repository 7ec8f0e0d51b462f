"""Solvers other than SGD, scales, and what can be proved of a model."""

import json
import os
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lazyglm._core import Task, scale_factors, solve
from lazyglm._data import by_model, dense, lent, scaled, validated
from lazyglm._params import relative_gap


def threads(n_jobs: int | None) -> int:
    """joblib's meaning of ``n_jobs``."""
    cores = os.cpu_count() or 1
    return 1 if n_jobs is None else max(1, cores + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs)


class Found(NamedTuple):
    """Models that a solver has trained, one row of ``coef`` for each, with what is reported of them."""

    coef: Any
    intercept: list[float]
    steps: int
    gap: float | None
    stop: str
    losses: list[float]
    report: dict[str, Any]

    @property
    def reached(self) -> bool:
        """Whether the run ended as it should, and not before the tolerance."""
        return self.stop not in ("no-minimum", "precision", "steps")


def trained(task: Task, head: int | None, columns: int, asked: dict[str, Any]) -> Found:
    """Trains one model of several, or all of them together."""
    heads, text = solve(task, head, asked)
    report = json.loads(text)
    losses = [epoch["running_loss"] for epoch in report["history"] if epoch["running_loss"] is not None]
    return Found(*dense(heads, columns), report["epochs"], report["relative_gap"], report["stop"], losses, report)


class Solving:
    """For both estimators: all rows at once."""

    def _factors(self: Any, X: Any) -> Any:
        """By what columns are multiplied, or None."""
        return None if self.scale is None else scale_factors(lent(X), self.scale)

    def _asked(self: Any, task: Task, columns: int, **more: Any) -> dict[str, Any]:
        """What a solver depends on besides the data. Rows have a mean weight of one there: the penalty is divided instead."""
        l1, l2 = self._net()
        factors = self.penalty_factor
        if factors is not None:
            factors = np.asarray(factors, dtype=np.float64)
            if factors.shape != (columns,) or not np.all(np.isfinite(factors) & (factors >= 0)):
                raise ValueError(f"penalty_factor must have a number from 0 up for each of {columns} features")
        return {
            "l1": float(l1) / task.mean_weight,
            "l2": float(l2) / task.mean_weight,
            "choose": False,
            "solver": self.solver,
            "tolerance": relative_gap(self.tol),
            "method": self.method,
            "schedule": "cosine",
            "eta0": None,
            "epochs": int(self.max_iter),
            "shuffle": bool(self.shuffle),
            "seed": 0,
            "single": self.precision == "f32",
            "intercept": bool(self.fit_intercept),
            "factors": factors,
            "start": None,
            "threads": self._threads(),
            **more,
        }

    def _tasks(self: Any, X: Any, aim: Any) -> Any:
        """A task for each model, and the number of the model in it: one for all, unless classes have weights of their own."""
        loss, rows = self._loss(), lent(X)
        if aim.class_weights is None:
            task = Task(rows, aim.targets, aim.weights, aim.offsets, loss, aim.models, False)
            yield from ((task, k) for k in range(aim.models))
            return
        for k, weight in enumerate(aim.class_weights):
            weights = np.where(aim.targets == k, weight, 1.0) * (1.0 if aim.weights is None else aim.weights)
            yield Task(rows, np.where(aim.targets == k, 1.0, -1.0), weights, None, loss, 1, False), 0

    def _fit_solver(self: Any, X: Any, aim: Any, start: Any) -> None:
        factors, seed, columns = self._factors(X), self._seed(), X.shape[1]
        found = []
        for k, (task, head) in enumerate(self._tasks(scaled(X, factors), aim)):
            begin = None
            if start is not None:
                begin = (start[0][k] if factors is None else start[0][k] / factors, float(start[1][k]))
            found.append(trained(task, head, columns, self._asked(task, columns, seed=seed, start=begin)))
        if not all(each.reached for each in found):
            warnings.warn(
                f"solver={self.solver!r} stopped before its relative distance from the optimum was {relative_gap(self.tol):g} "
                f"(tol={self.tol}): look at dual_gap_, raise alpha or scale the features",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._trained = {"seed": seed, "rows": X.shape[0], "weighted": aim.weighted, "schedule": "cosine", "solver": self.solver}
        self._trained["offsets"] = aim.offsets is not None
        self._adopt(found, X.shape[0], self.precision == "f32", factors)

    def _adopt(self: Any, found: Sequence[Found], rows: int, single: bool, factors: Any = None) -> None:
        """Takes over models that a solver has trained, one by one or all together."""
        from lazyglm._sgd import Seen

        coef = np.vstack([each.coef for each in found]) * (1.0 if factors is None else factors)
        intercept = [bias for each in found for bias in each.intercept]
        self._coupled = False
        self.n_iter_ = max(each.steps for each in found)
        self._learners = self._new_learners(coef, intercept, single, t=self.n_iter_ * rows, epochs=self.n_iter_)
        self._looked = Seen()
        self.t_ = 1.0 + self.n_iter_ * rows
        self._history([(each.losses, []) for each in found], restart=True)
        self.dual_gap_ = _together([each.gap for each in found])

    def duality_gap(self: Any, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Any:
        """The relative duality gap of the model on these rows: no weights have an objective that is lower by a larger share.

        One number, or one a class if there are more than two; None without a penalty. Takes about as long as an epoch, and a
        copy of the rows.
        """
        check_is_fitted(self)
        if getattr(self, "_coupled", False):
            raise ValueError("duality_gap is for one model per class: a multinomial model has its gap from fit, as dual_gap_")
        X, y = validated(self, X, y, with_y=True, reset=False, **self._checks)
        from lazyglm._sgd import shifted

        aim = shifted(self._aim(X, y, sample_weight, getattr(self, "classes_", None)), offset)
        factors = self._factors(X)
        coef = by_model(self.coef_)
        coef = np.ascontiguousarray(coef if factors is None else coef / factors, dtype=np.float64)
        intercept = np.ravel(self.intercept_)
        gaps = []
        for k, (task, head) in enumerate(self._tasks(scaled(X, factors), aim)):
            gaps.append(task.gap(head, coef[k], float(intercept[k]), self._asked(task, X.shape[1])))
        return _together(gaps)


def _together(gaps: list[float | None]) -> Any:
    if any(gap is None for gap in gaps):
        return None
    return gaps[0] if len(gaps) == 1 else np.array(gaps)
