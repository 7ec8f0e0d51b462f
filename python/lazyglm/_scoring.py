"""Scores of the models of a search on held-out rows, in scikit-learn's units."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy.special import xlogy

from lazyglm import _params
from lazyglm._chosen import Problem
from lazyglm._data import dense
from lazyglm._aim import LOG_LINK


def scorer_of(estimator: Any, problem: Problem) -> Any:
    """The scorer that ``scoring`` names, or None where the compiled part computes the score."""
    if estimator.scoring is None:
        apart = problem.aim.models > 1 and problem.kind == "ovr"
        return _neg_log_loss if apart and estimator.loss == "log_loss" and not _params.takes_rows(estimator.solver) else None
    if problem.aim.offsets is not None:
        raise ValueError("scoring is not for rows with an offset, which scorers do not pass on: leave scoring out")
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
    if problem.aim.classes is not None:
        model.classes_ = problem.aim.classes
    function = getattr(scorer, "_score_func", scorer)
    weighted = problem.weights is not None and "sample_weight" in inspect.signature(function).parameters
    scores = []
    for (_, test), heads in zip(splits, of_splits, strict=True):
        if heads is None:
            scores.append(np.nan)
            continue
        coef, intercept = dense(heads, columns)
        model.coef_, model.intercept_ = model._shaped(coef), np.array(intercept)
        more = {"sample_weight": problem.weights[test]} if weighted else {}
        scores.append(float(scorer(model, problem.X[test], problem.y[test], **more)))
    return scores


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
