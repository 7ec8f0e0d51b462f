"""Scores of the models of a search on held-out rows, in scikit-learn's units."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
from scipy.special import xlogy

from lazyglm import _params
from lazyglm._chosen import Problem
from lazyglm._data import dense
from lazyglm._losses import LOG_LINK

#: The methods of models that take the offsets of rows.
PREDICTING = ("decision_function", "predict", "predict_proba", "predict_log_proba", "score")


def scorer_of(estimator: Any, problem: Problem) -> Any:
    """The scorer that ``scoring`` names, or None where the compiled part computes the score."""
    if estimator.scoring is None:
        apart = problem.targets.models > 1 and problem.kind == "ovr"
        return _neg_log_loss if apart and estimator.loss == "log_loss" and not _params.takes_rows(estimator.solver) else None
    from sklearn.metrics import check_scoring  # takes long to import, and is needed here alone

    return check_scoring(estimator, scoring=estimator.scoring)


def _neg_log_loss(model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Minus the log loss, also where some class has no held-out row."""
    own = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(np.average(np.log(np.maximum(own, np.finfo(np.float64).tiny)), weights=sample_weight))


def scores_of_splits(estimator: Any, problem: Problem, scorer: Any, splits: Any, of_splits: Any) -> list[float]:
    """The score of the model of each split on its held-out rows; NaN where its path ended before."""
    model = estimator._model()
    model.n_features_in_, model._kind, columns = problem.X.shape[1], problem.kind, problem.X.shape[1]
    if problem.targets.classes is not None:
        model.classes_ = problem.targets.classes
    function = getattr(scorer, "_score_func", scorer)
    weighted = problem.weights is not None and "sample_weight" in inspect.signature(function).parameters
    labels, scores = problem.targets.labels, []
    truth = problem.y if labels is None else labels.indicator.toarray()
    for (_, test), heads in zip(splits, of_splits, strict=True):
        if heads is None:
            scores.append(np.nan)
            continue
        coef, intercept = dense(heads, columns)
        model.coef_, model.intercept_ = model._shaped(coef), np.array(intercept)
        more = {"sample_weight": problem.weights[test]} if weighted else {}
        offsets = problem.targets.offsets
        scored = model if offsets is None else WithOffsets(model, offsets[test])
        scores.append(float(scorer(scored, problem.X[test], truth[test], **more)))
    return scores


class WithOffsets:
    """A model that predicts rows with these offsets: scorers give a model the rows alone."""

    def __init__(self, model: Any, offsets: Any) -> None:
        self._model, self._offsets = model, offsets

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._model, name)
        if name not in PREDICTING:
            return found

        @functools.wraps(found)
        def with_offsets(X: Any, *more: Any, **options: Any) -> Any:
            return found(X, *more, **{"offset": self._offsets, **options})

        return with_offsets


def in_units(estimator: Any, losses: Any, y: Any, weights: Any, splits: Any) -> Any:
    """Minus the mean held-out losses in scikit-learn's units: squared errors without a half, deviances."""
    if estimator.loss == "squared_error":
        return -2 * losses
    if estimator.loss in LOG_LINK:
        weights = np.ones(len(y)) if weights is None else weights
        least = _least_loss(estimator, y)
        return -2 * (losses - [np.average(least[test], weights=weights[test]) for _, test in splits])
    return -losses


def _least_loss(estimator: Any, y: Any) -> Any:
    """The loss of a prediction equal to y."""
    if estimator.loss == "poisson":
        return y - xlogy(y, y)
    if estimator.loss == "gamma":
        return 1 + np.log(y)
    a, b = estimator.power - 1, 2 - estimator.power
    return y**b * (1 / a + 1 / b)
