"""Base of the estimators that are not trained by steps: the problem to solve, and the model found, whose attributes are theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lazyglm import _params
from lazyglm._core import Task
from lazyglm._data import len_of, means_of, validated, weights_of
from lazyglm._labels import check_learnable, label_sets
from lazyglm._solve import Found, task_of, warn_if_far
from lazyglm._targets import Targets, label_targets

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from lazyglm._types import Floats, Gap, Path, PerModel, RandomState, Weights


class Problem(NamedTuple):
    """Validated data, and the task that the compiled part made of them."""

    model: Any
    X: Any
    y: Any
    targets: Targets
    weights: Any
    task: Task
    kind: str


class Chosen(_params.Estimator):
    """Base class of estimators that solve one problem on all rows; not part of the public API."""

    loss: str
    fit_intercept: bool
    tol: Any
    epsilon: float
    precision: str | None
    n_jobs: int | None
    verbose: int
    progress: bool
    random_state: RandomState
    class_weight: dict[Any, float] | str | None
    multi_class: str
    penalty_factor: ArrayLike | None
    positive: bool
    lower: ArrayLike | None
    upper: ArrayLike | None
    exclude: Sequence[str | int] | ArrayLike | None
    quantile: float
    power: float

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    _sgd: type[Any]
    _shared: tuple[str, ...]
    _takes_labels = False  # whether a row may have any number of labels
    _found_model: Any

    def _model(self, **penalty: Any) -> Any:
        """An estimator by steps, with the parameters of this one."""
        same = {name: getattr(self, name) for name in ("loss", "random_state", *self._shared)}
        return self._sgd(penalty="elasticnet", **same, **penalty)

    def _couples(self) -> bool:
        """Whether more than two classes are one multinomial model."""
        return self.loss == "log_loss" and getattr(self, "multi_class", "ovr") != "ovr"

    def _problem(self, X: Any, y: Any, sample_weight: Any, offset: Any, target: str | None) -> Problem:
        model = self._model()
        X, y, sample_weight = model._opened(X, y, sample_weight, target)
        labels = label_sets(y) if self._takes_labels and y is not None else None
        X, y = validated(self, X, np.zeros(len_of(y)) if labels else y, with_y=True, reset=True, columns=model._table_columns(), **model._checks)
        if labels is not None:
            targets = label_targets(self, labels, weights_of(sample_weight, X.shape[0], may_be_zero=False))
            check_learnable(labels, targets.weights)
        else:
            targets = model._targets(X, y, sample_weight)
            if targets.classes is not None and targets.weights is not None and len(np.unique(targets.values[targets.weights > 0])) < 2:
                raise ValueError("the rows of all classes but one have weight zero, so that there is nothing to tell apart: give rows of two classes some weight")
        targets = targets.with_offsets(offset)
        kind = "softmax" if labels is None and targets.models > 1 and self._couples() else targets.kind
        task = task_of(X, targets, model._loss(), kind, model._reading)
        return Problem(model, X, y, targets, targets.row_weights(), task, kind)

    def _keep_model(self, problem: Problem, found: Sequence[Found], asked: dict[str, Any], **penalty: Any) -> None:
        """Keeps what was found on all rows."""
        model, rows = self._model(**penalty), problem.X.shape[0]
        model.n_features_in_, model._reading = self.n_features_in_, problem.model._reading
        model._means = None if model._reading else means_of(self, problem.X)
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        model._remember(problem.targets, rows, problem.kind, **{name: asked[name] for name in ("seed", "schedule", "solver")})
        model._adopt(found, rows, asked["single"])
        self._found_model = model
        warn_if_far(found, asked["tolerance"])

    @property
    def coef_(self) -> Weights:
        """The weights of the model."""
        return self._of_best("coef_")

    @property
    def intercept_(self) -> Floats:
        """The intercept of the model."""
        return self._of_best("intercept_")

    @property
    def n_iter_(self) -> int:
        """The steps, or epochs, of the model on all rows."""
        return self._of_best("n_iter_")

    @property
    def dual_gap_(self) -> Gap:
        """The relative duality gap of the model."""
        return self._of_best("dual_gap_")

    @property
    def loss_history_(self) -> PerModel:
        """The objective after each Newton step, or the mean loss of each epoch; empty for one model per class."""
        return self._of_best("loss_history_")

    @property
    def stop_reason_(self) -> str:
        """The rule that ended the solver: 'gap' proves the tolerance."""
        return self._of_best("stop_reason_")

    @property
    def _kind(self) -> str:
        return self._of_best("_kind")

    @property
    def _as_sets(self) -> bool:
        return self._of_best("_as_sets")

    @property
    def _thresholds(self) -> Any:
        return self._of_best("_thresholds")

    @property
    def _limits(self) -> Any:
        return self._of_best("_limits")

    def _of_best(self, name: str) -> Any:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        return getattr(self._found_model, name)

    def __sklearn_is_fitted__(self) -> bool:
        return "_found_model" in self.__dict__

    def _scores(self, X: Any, offset: Any = None) -> Any:
        check_is_fitted(self)
        return self._found_model._scores(X, offset, self)

    def _targets_of(self, path: Any) -> Any:
        return self._found_model._targets_of(path)

    def weights_frame(self) -> Any:
        """The non-zero weights with the names of their features, as a pandas Series, the largest first.

        With more than two classes, or with labels, it is a frame with one column for each.

        Returns
        -------
        pandas Series or DataFrame
            The weights, indexed by feature.
        """
        check_is_fitted(self)
        return self._found_model.weights_frame()

    def get_feature_names_out(self, input_features: Sequence[str] | NDArray[Any] | None = None) -> NDArray[np.object_]:
        """The names of the columns of ``coef_``, such as ``city=Rome`` for a table.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names for a model that was trained on an array without names.

        Returns
        -------
        ndarray of str objects
            One name per column.
        """
        check_is_fitted(self)
        return self._found_model.get_feature_names_out(input_features)

    def _names(self) -> Any:
        return self._found_model._names()

    def save(self, path: Path, *, index_base: int = 1) -> None:
        """Writes a model file that the program reads.

        Parameters
        ----------
        path : str or path-like
            The file, which is replaced.
        index_base : {0, 1}, default=1
            The number of the first column, for models without feature names.
        """
        check_is_fitted(self)
        self._found_model.save(path, index_base=index_base)


class WithBest(Chosen):
    """The same for a search: not for use."""

    @property
    def best_estimator_(self) -> Any:
        """The chosen model as an estimator of one penalty."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no best_estimator_ before it is fitted")
        return self._found_model


class ChosenClassifier(Chosen):
    """The same for classes: not for use."""

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes."""
        return self._of_best("classes_")
