"""Base of the estimators that choose a penalty: the problem to solve, and the chosen model, whose attributes are theirs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lazyglm import _params
from lazyglm._core import Task
from lazyglm._data import lent, validated
from lazyglm._sgd import Aim, shifted
from lazyglm._solve import Found


class Problem(NamedTuple):
    """Validated data, and the task that the compiled part made of them."""

    model: Any
    X: Any
    y: Any
    aim: Aim
    weights: Any
    task: Task
    coupled: bool


class Chosen(_params.Estimator):
    """Base class: not for use."""

    _sgd: type[Any]
    _shared: tuple[str, ...]
    best_estimator_: Any

    def _model(self, **penalty: Any) -> Any:
        """An estimator of one penalty, with the parameters of this one."""
        same = {name: getattr(self, name) for name in ("loss", "random_state", *self._shared)}
        return self._sgd(penalty="elasticnet", **same, **penalty)

    def _couples(self) -> bool:
        """Whether more than two classes are one multinomial model."""
        return self.loss == "log_loss" and getattr(self, "multi_class", "ovr") != "ovr"

    def _problem(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> Problem:
        model = self._model()
        X, y, sample_weight = model._opened(X, y, sample_weight)
        X, y = validated(self, X, y, with_y=True, reset=True, **model._checks)
        aim = shifted(model._aim(X, y, sample_weight), offset)
        weights = aim.weights
        if aim.class_weights is not None:  # a row counts alike for all classes
            weights = np.array(aim.class_weights)[aim.targets.astype(int)] * (1.0 if weights is None else weights)
        coupled = aim.models > 1 and self._couples()
        task = Task(lent(X), aim.targets, weights, aim.offsets, model._loss(), aim.models, coupled)
        return Problem(model, X, y, aim, weights, task, coupled)

    def _keep_model(self, problem: Problem, found: Sequence[Found], asked: dict[str, Any], **penalty: Any) -> None:
        """Keeps what was found on all rows as ``best_estimator_``."""
        model, rows = self._model(**penalty), problem.X.shape[0]
        model.n_features_in_, model._reading = self.n_features_in_, problem.model._reading
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        model._trained = {"seed": asked["seed"], "rows": rows, "weighted": problem.aim.weighted, "schedule": asked["schedule"]}
        model._trained |= {"offsets": problem.aim.offsets is not None, "solver": asked["solver"]}
        model._adopt(found, rows, asked["single"])
        model._coupled = problem.coupled
        if problem.aim.classes is not None:
            model.classes_ = problem.aim.classes
        self.best_estimator_ = model
        if not all(each.reached for each in found):
            warnings.warn(
                f"the solver stopped before its relative distance from the optimum was {asked['tolerance']:g} (tol={self.tol}): "
                "look at dual_gap_, choose a stronger penalty, or scale the features",
                ConvergenceWarning,
                stacklevel=4,
            )

    @property
    def coef_(self) -> Any:
        """The weights of the chosen model."""
        return self._of_best("coef_")

    @property
    def intercept_(self) -> Any:
        """The intercept of the chosen model."""
        return self._of_best("intercept_")

    @property
    def n_iter_(self) -> int:
        """The steps, or epochs, of the chosen model on all rows."""
        return self._of_best("n_iter_")

    @property
    def dual_gap_(self) -> Any:
        """The relative duality gap of the chosen model."""
        return self._of_best("dual_gap_")

    @property
    def _coupled(self) -> bool:
        return self._of_best("_coupled")

    def _of_best(self, name: str) -> Any:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        return getattr(self.best_estimator_, name)

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in self.__dict__

    def _scores(self, X: Any, offset: Any = None) -> Any:
        check_is_fitted(self)
        return self.best_estimator_._scores(X, offset)

    def save(self, path: Any, *, index_base: int = 1) -> None:
        """Writes the chosen model as the program's model file."""
        check_is_fitted(self)
        self.best_estimator_.save(path, index_base=index_base)


class ChosenClassifier(Chosen):
    """The same for classes: not for use."""

    @property
    def classes_(self) -> Any:
        """The classes."""
        return self._of_best("classes_")
