"""Solvers other than SGD, scales, and what can be proved of a model."""

import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lazyglm import _params, _show
from lazyglm._attributes import Seen
from lazyglm._core import Task, scale_factors, solve
from lazyglm._data import by_model, dense, lent, scaled, tf_idf
from lazyglm._labels import check_learnable
from lazyglm._params import refused, relative_gap
from lazyglm._targets import Targets
from lazyglm._warn import warn


def threads(n_jobs: int | None) -> int:
    """joblib's meaning of ``n_jobs``."""
    cores = os.cpu_count() or 1
    return 1 if n_jobs is None else max(1, cores + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs)


def factors_of(estimator: Any, columns: int) -> Any:
    """The factors of the penalty, one per feature, or None."""
    if estimator.penalty_factor is None:
        return None
    factors = np.asarray(estimator.penalty_factor, dtype=np.float64)
    if factors.shape != (columns,) or not np.all(np.isfinite(factors) & (factors >= 0)):
        raise refused(estimator, "penalty_factor", f"a number from 0 up for each of {columns} features")
    return factors


def bounds_of(estimator: Any, columns: int, names: Any) -> Any:
    """The lowest and the highest value of each weight by ``lower``, ``upper``, ``positive`` and ``exclude``, or None without any."""
    if estimator.lower is None and estimator.upper is None and not estimator.positive and estimator.exclude is None:
        return None
    sides = []
    for name, infinity in (("lower", -np.inf), ("upper", np.inf)):
        given = getattr(estimator, name)
        given = np.asarray(infinity if given is None else given, dtype=np.float64)
        if given.shape not in ((), (columns,)) or np.any(np.isnan(given)):
            raise refused(estimator, name, f"a number, or one number for each of {columns} features")
        if np.any(given > 0 if name == "lower" else given < 0):
            side = "at most" if name == "lower" else "at least"
            raise refused(estimator, name, f"{side} 0 for each feature, because 0 must lie between the bounds of a weight")
        sides.append(np.broadcast_to(given, (columns,)))
    kept = ~excluded(estimator, columns, names)
    lower = np.zeros(columns) if estimator.positive else sides[0]
    return np.where(kept, lower, 0.0).tolist(), np.where(kept, sides[1], 0.0).tolist()


def excluded(estimator: Any, columns: int, names: Any) -> Any:
    """Which features ``exclude`` leaves out: it has their names or numbers, or is a mask."""
    mask = np.zeros(columns, dtype=bool)
    if estimator.exclude is None:
        return mask
    given = np.asarray(estimator.exclude)
    if given.dtype == bool and given.shape == (columns,):
        return given
    places = None if names is None else {str(name): column for column, name in enumerate(names)}
    for one in given.tolist():
        if isinstance(one, str):
            column = (places or {}).get(one)
        else:
            column = one if not isinstance(one, bool) and isinstance(one, int) and 0 <= one < columns else None
        if column is None:
            known = f"one of {columns} features by number, from 0" + ("; the features of X have no names" if places is None else " or name")
            raise refused(estimator, "exclude", f"{known}; {one!r} is none")
        mask[column] = True
    return mask


def limits_of(estimator: Any, problem: Any) -> dict[str, Any]:
    """The factors of the penalty and the bounds of the weights, as a solver takes them."""
    columns, reading = problem.X.shape[1], problem.model._reading
    names = reading["names"] if reading else getattr(estimator, "feature_names_in_", None)
    return {"factors": factors_of(estimator, columns), "bounds": bounds_of(estimator, columns, names)}


class Found(NamedTuple):
    """Models that a solver has trained, one row of ``coef`` for each, with what is reported of them."""

    coef: Any
    intercept: list[float]
    steps: int
    gap: float | None
    stop: str
    losses: list[float]
    report: dict[str, Any]
    tf_idf: tuple[bool, Any] | None = None  # if counts were replaced by their tf-idf: whether they have a logarithm, and the idf
    limits: tuple[float, float] | None = None  # the least and the largest prediction
    notes: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The rule that ended the run, by a name of Python. What interrupts a run that goes on is its tolerance."""
        if self.stop == "interrupted":
            return "tolerance"
        return "predicted_decrease" if self.stop == "promise" else self.stop.replace("-", "_")


#: What to say of a run that ended before its tolerance, by its reason.
NOT_REACHED = {
    "no_minimum": "the objective has no minimum: without a penalty, weights that separate the targets grow without end; raise alpha",
    "precision": "the objective stopped decreasing in this precision; raise tol, raise alpha or scale the features",
    "steps": "the largest number of steps was reached; raise tol, raise alpha or scale the features",
}


def warn_if_far(found: Sequence[Found], tolerance: float) -> None:
    """Warns of the first model whose distance from the optimum is not known to be within the tolerance."""
    for each in found:
        gap = "there is no bound on it" if each.gap is None else f"dual_gap_ is {each.gap:.2g}"
        if each.reason in NOT_REACHED:
            text = f"The relative distance from the optimum may exceed {tolerance:g} ({gap}): {NOT_REACHED[each.reason]}."
        elif each.reason == "predicted_decrease" and each.gap is not None and each.gap > tolerance:
            text = (
                f"The solver stopped because a further step would lower the objective by less than a third of {tolerance:g}. The bound on the distance "
                f"from the optimum is loose where weights have no l2 penalty (l1_ratio=1, penalty_factor=0), and proves less: {gap}."
            )
        else:
            continue
        warn(text, ConvergenceWarning)
        return


def task_of(X: Any, targets: Targets, loss: str, kind: str, reading: dict[str, Any] | None = None) -> Task:
    """Rows and targets as the compiled part keeps them: one model, or several of a kind. A row counts alike for all of them."""
    known = None
    if reading is not None:
        known = reading["reading"], None if reading["names"] is None else [str(name) for name in reading["names"]]
    labels = None if targets.labels is None else targets.labels.arrays
    return Task(lent(X), targets.values, targets.row_weights(), targets.offsets, loss, targets.models, kind, labels, known)


def trained(task: Task, head: int | None, columns: int, asked: dict[str, Any], watch: Any = None) -> Found:
    """Trains one model of several, or all of them together."""
    heads, text, objectives, scaled, limits = solve(task, head, asked, watch)
    report = json.loads(text)
    losses = [epoch["running_loss"] for epoch in report["history"] if epoch["running_loss"] is not None]
    found = Found(*dense(heads, columns), report["epochs"], report["relative_gap"], report["stop"], losses or objectives, report)
    if scaled is not None:
        found = found._replace(tf_idf=scaled[0], notes=(scaled[1],))
    return found if limits is None else found._replace(limits=(limits[0][0], limits[0][1]), notes=(*found.notes, limits[1]))


class Solving:
    """For both estimators: all rows at once."""

    def _threads(self: Any) -> int:
        return threads(self.n_jobs)

    def _factors(self: Any, X: Any) -> Any:
        """By what columns are multiplied, or None."""
        return None if self.scale is None else scale_factors(lent(X), self.scale)

    def _asked(self: Any, task: Task, columns: int, **more: Any) -> dict[str, Any]:
        """What a solver depends on besides the data. Rows have a mean weight of one there: the penalty is divided instead."""
        l1, l2 = self._net()
        return {
            "l1": float(l1) / task.mean_weight,
            "l2": float(l2) / task.mean_weight,
            "choose": False,
            "scales": False,
            "solver": self.solver,
            "tolerance": relative_gap(self.tol),
            "method": self.method,
            "schedule": "cosine",
            "eta0": None,
            "epochs": int(self.max_iter),
            "plateau": None,
            "shuffle": bool(self.shuffle),
            "seed": 0,
            "single": self.precision == "f32",
            "intercept": bool(self.fit_intercept),
            "factors": factors_of(self, columns),
            "bounds": None,
            "start": None,
            "limit_predictions": False,
            "threads": self._threads(),
            **more,
        }

    def _tasks(self: Any, X: Any, targets: Any) -> Any:
        """A task for each model, and the number of the model in it: one for all, unless classes have weights of their own."""
        loss, kind = self._loss(), self._kind_of(targets)
        if kind == "softmax":
            yield task_of(X, targets, loss, kind), None
        elif targets.class_weights is None:
            if targets.labels is not None:
                check_learnable(targets.labels, targets.weights)
            task = task_of(X, targets, loss, kind)
            yield from ((task, k) for k in range(targets.models))
        else:
            for k in range(targets.models):
                yield task_of(X, Targets(1, *targets.against_rest(k)), loss, kind), 0

    def _kind_of(self: Any, targets: Any) -> str:
        """How several models belong together: 'ovr', 'softmax' or 'labels'."""
        return "softmax" if targets.models > 1 and _params.is_multinomial(self) else str(targets.kind)

    def _remember(self: Any, targets: Any, rows: int, kind: str, **how: Any) -> None:
        """Keeps what the targets are, and how they are learnt."""
        self._trained = {"rows": rows, "weighted": targets.weighted, "offsets": targets.offsets is not None, **how}
        self._kind, self._as_sets = kind, targets.as_sets
        if targets.classes is not None:
            self.classes_ = targets.classes

    def _fit_solver(self: Any, X: Any, targets: Any, start: Any) -> None:
        factors, seed, columns = self._factors(X), self._seed(), X.shape[1]
        found = []
        for k, (task, head) in enumerate(self._tasks(scaled(X, factors), targets)):
            begin = None
            if start is not None:
                whose = [k] if head is not None else range(targets.models)
                begin = [(start[0][j] if factors is None else start[0][j] / factors, float(start[1][j])) for j in whose]
            asked = self._asked(task, columns, seed=seed, start=begin)
            asked["eta0"] = _params.given(self, "eta0")  # the default is for scikit-learn's schedules: these solvers search for a rate
            if self.tol is not None and not _params.finds_optimum(self.solver):
                asked["plateau"] = (float(self.tol), int(self.n_iter_no_change))
            if _params.takes_rows(self.solver):  # a rate for any number of epochs
                asked["schedule"] = "inverse-sqrt"
            with _show.watching(self, 1, _show.steps_of()) as watch:
                found.append(trained(task, head, columns, asked, watch))
        warn_if_far(found, relative_gap(self.tol))
        self._remember(targets, X.shape[0], self._kind_of(targets), seed=seed, schedule=asked["schedule"], solver=self.solver)
        self._adopt(found, X.shape[0], self.precision == "f32", factors)

    def _adopt(self: Any, found: Sequence[Found], rows: int, single: bool, factors: Any = None) -> None:
        """Takes over models that a solver has trained, one by one or all together."""
        coef = np.vstack([each.coef for each in found]) * (1.0 if factors is None else factors)
        intercept = [bias for each in found for bias in each.intercept]
        self.n_iter_ = max(each.steps for each in found)
        self._learners = self._new_learners(coef, intercept, single, t=self.n_iter_ * rows, epochs=self.n_iter_)
        self._looked = Seen()
        self._polished: list[Any] | None = None
        self._tf_idf, self._limits = found[0].tf_idf, found[0].limits
        self._file_bytes: bytes | None = None
        self.t_ = 1.0 + self.n_iter_ * rows
        self._history([(each.losses, []) for each in found], restart=True)
        self.dual_gap_ = _together([each.gap for each in found])
        reasons = [each.reason for each in found]
        self.stop_reason_: str | None = next((reason for reason in (*NOT_REACHED, "predicted_decrease") if reason in reasons), reasons[0])

    def duality_gap(self: Any, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Any:
        """The relative duality gap of the model on these rows, an upper bound on its relative distance from the optimum.

        It takes about as long as an epoch, and a copy of the rows.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows of the objective: those that were learnt.
        y : array-like of shape (n_rows,) or None, default=None
            The targets. None if X is the path of a file, which has them.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of each row.
        offset : array-like of shape (n_rows,) or None, default=None
            Numbers that are added to the scores, for a model that was trained with offsets.

        Returns
        -------
        float, ndarray of shape (n_classes,), or None
            One gap, or one per class if there are more than two; None without a penalty.
        """
        check_is_fitted(self)
        X, y, sample_weight = self._opened_again(X, y, sample_weight)
        if self._kind == "softmax":
            raise ValueError("duality_gap is for one model per class: a multinomial model has its gap from fit, as dual_gap_")
        classes = getattr(self, "classes_", None)
        X, y, labels = self._validated(X, y, reset=False, classes=classes if self._kind == "labels" else None)
        targets = self._targets(X, labels or y, sample_weight, classes).with_offsets(offset)
        factors = self._factors(X)
        coef = by_model(self.coef_)
        coef = np.ascontiguousarray(coef if factors is None else coef / factors, dtype=np.float64)
        intercept = np.ravel(self.intercept_)
        X = X if self._tf_idf is None else tf_idf(X, *self._tf_idf)
        gaps = []
        for k, (task, head) in enumerate(self._tasks(scaled(X, factors), targets)):
            gaps.append(task.gap(head, coef[k], float(intercept[k]), self._asked(task, X.shape[1])))
        return _together(gaps)


def _together(gaps: list[float | None]) -> Any:
    if any(gap is None for gap in gaps):
        return None
    return gaps[0] if len(gaps) == 1 else np.array(gaps)


def warn_after_epochs(model: Any) -> None:
    """Gives scikit-learn's warnings after the epochs of a fit."""
    if model.tol is not None and model.n_iter_ == model.max_iter:
        warn(
            "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the fit.",
            ConvergenceWarning,
        )
    if model.power_t < 0:
        warn(
            "Negative values for `power_t` are deprecated in version 1.8 and will raise an error in 1.10. Use "
            "values in the range [0.0, inf) instead.",
            FutureWarning,
        )
