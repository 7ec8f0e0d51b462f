"""ElasticNetClassifierCV and ElasticNetRegressorCV: the penalty is chosen by cross-validation of exact regularisation paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazyglm import _params
from lazyglm._chosen import ChosenClassifier
from lazyglm._classifier import CLASSIFIER_RULES, LinearClassifier, SGDClassifier
from lazyglm._regressor import REGRESSOR_RULES, LinearRegressor, SGDRegressor
from lazyglm._search import RULES, SHARED, ElasticNetCV

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from lazyglm._types import Floats, RandomState, Scoring, Splits

MULTI_CLASS = _params.one_of("auto", "multinomial", "ovr")

_PARAMETERS = """
    Parameters
    ----------
    loss : str
        The loss, as in :class:`{sgd}`.
    l1_ratio : float or list of float, default=0.5
        The share of l1 in the penalty alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²). All values of a list are tried.
    alphas : int or array-like, default=20
        The penalties to try, or their number. A number gives a grid downwards from the smallest alpha at which all weights are zero;
        an l1_ratio below 0.001 counts as 0.001 here. The path ends early if weaker penalties fit noise alone.
    eps : float, default=1e-5
        The smallest alpha of an automatic grid, relative to the smallest alpha at which l1_ratio=1 makes all weights zero.
    cv : int, splitter or iterable, default=5
        The splits, as in scikit-learn: a number of folds, any splitter, or pairs of training and held-out rows.
    scoring : str, callable or None, default=None
        The score that is compared, as in scikit-learn. None is minus the mean held-out loss in scikit-learn's units: the log loss,
        the mean squared error, the mean Poisson deviance; for other losses, the loss itself (summed over classes).
    choose : {{'best', 'one_se'}}, default='best'
        'best' takes the penalty with the best mean score, and 'one_se' the strongest (by l1, then l2) within one standard error of it.
    max_features : int or None, default=None
        The largest number of features of the model: a path ends before the first model that has more.
    solver : {{'newton', 'sgd'}}, default='newton'
        'newton' finds the optimum at every penalty on every split, each started from the last, and certifies the models of
        all rows. 'sgd' trains all models in the same passes over the rows, for ``max_iter`` epochs.
    tol : float or None, default=1e-3
        The relative distance from the optimum at which 'newton' may stop; never more than 1e-4.
    max_iter, schedule, eta0, shuffle, method, halving
        For solver='sgd': the epochs; the learning rate over time (cosine, constant, inverse, inverse-sqrt, ...); its start, or None
        to search for it; whether each epoch has its own order; how a step applies the penalty; whether to drop hopeless penalties.
    {more}
    penalty_factor : array-like of shape (n_features,) or None, default=None
        A factor of the penalty for each feature; 0 removes it.
    positive : bool, default=False
        Whether weights must not be negative.
    lower, upper : float, array-like of shape (n_features,) or None, default=None
        The lowest value (at most 0) and the highest value (at least 0) of each weight.
    exclude : list of str or int, array-like of bool of shape (n_features,), or None, default=None
        Features whose weight is zero: names, numbers from 0, or a mask. A name is that of a feature, such as ``city=Rome``.
    fit_intercept, epsilon, precision, n_jobs, random_state
        As in :class:`{sgd}`.
    verbose : int, default=0
        Whether to print a line whenever a share of the models is done.
    progress : bool, default=False
        Whether to show a progress bar (with tqdm, if it is installed).

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        The chosen penalty.
    coef_, intercept_ : ndarray
        The chosen model, trained on all rows.
    n_iter_ : int
        The Newton steps, or epochs, of the chosen model.
    loss_history_ : ndarray
        The mean loss of each epoch with solver='sgd'; else empty.
    stop_reason_ : str
        The rule that ended the solver of the chosen model, such as 'gap' or 'predicted_decrease'.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str objects
        The columns of the frame that was learnt; only there if X was a frame with names.
    dual_gap_ : float or None
        An upper bound on the relative distance of the chosen model from the optimum. It may exceed ``tol`` for l1_ratio=1,
        where the bound is loose and the solver stops by its predicted decrease.
    best_estimator_ : {sgd}
        The chosen model as an estimator.
    alphas_ : ndarray of shape (n_alphas,), or (n_l1_ratio, n_alphas)
        The grid, in descending order.
    scores_ : ndarray of shape (n_splits, n_l1_ratio, n_alphas)
        The held-out scores; NaN beyond the end of a path.{scores}
    cv_results_ : dict of arrays
        The scores in the form of GridSearchCV. Also ``se_test_score``, ``mean_nonzeros``, ``epochs`` (Newton steps) and ``dropped``.
    best_index_, one_se_index_ : int
        The rows of ``cv_results_`` that both rules choose.
    best_score_ : float
        The best mean score.
    n_splits_ : int
        The number of splits.
    path_alphas_, path_coef_ : ndarray, and a sparse matrix with a row for each (one matrix per class if there are more than two)
        The weights at every alpha of the chosen l1_ratio, trained on all rows.
    eta0_ : float
        With solver='sgd', the starting rate.
"""

_CLASSES = """class_weight : dict, 'balanced' or None, default=None
        Weights of classes, which multiply the weights of their rows.
    multi_class : {'auto', 'multinomial', 'ovr'}, default='auto'
        More than two classes are one multinomial model (softmax), or one model per class against the rest with one penalty for
        all. 'auto' is 'multinomial' for loss='log_loss' and solver='newton', else 'ovr'."""

_QUANTILE = """quantile : float, default=0.5
        The quantile that loss='quantile' learns.
    power : float, default=1.5
        The power of the variance of loss='tweedie', between 1 and 2."""

_MSE = """
    mse_path_ : ndarray of shape (n_l1_ratio, n_alphas, n_splits), or (n_alphas, n_splits)
        With loss='squared_error' and no ``scoring``: the mean squared errors, as ElasticNetCV has them."""


class ElasticNetClassifierCV(LinearClassifier, ElasticNetCV, ChosenClassifier):
    __doc__ = (
        """Linear classifiers with an elastic-net penalty that is chosen by cross-validation.

    Every model is the optimum for its penalty, to a tolerance. The counterpart in scikit-learn is
    :class:`sklearn.linear_model.LogisticRegressionCV`, with alpha = 1/(C·n_rows).
"""
        + _PARAMETERS.format(sgd="SGDClassifier", more=_CLASSES, scores="")
        + """    classes_ : ndarray of shape (n_classes,)
        The classes, or the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from lazyglm import ElasticNetClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 30))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> model = ElasticNetClassifierCV(l1_ratio=[0.5, 0.9], choose="one_se", random_state=0).fit(X, y)
    >>> bool(np.all(np.abs(model.coef_[0, :2]) > np.abs(model.coef_[0, 2:]).max())), model.score(X, y) > 0.9
    (True, True)
    """
    )
    _sgd = SGDClassifier
    _rules = {**CLASSIFIER_RULES, **RULES, "multi_class": MULTI_CLASS}
    _shared = (*SHARED, "class_weight", "n_jobs")
    _takes_labels = True

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        l1_ratio: float | Sequence[float] = 0.5,
        alphas: int | ArrayLike = 20,
        eps: float = 1e-5,
        cv: Splits = 5,
        scoring: Scoring = None,
        choose: str = "best",
        max_features: int | None = None,
        halving: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 20,
        schedule: str = "cosine",
        eta0: float | None = None,
        shuffle: bool = True,
        epsilon: float = 0.1,
        class_weight: dict[Any, float] | str | None = None,
        multi_class: str = "auto",
        method: str = "fobos",
        precision: str | None = None,
        solver: str = "newton",
        tol: float | None = 1e-3,
        penalty_factor: ArrayLike | None = None,
        positive: bool = False,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        exclude: Sequence[str | int] | ArrayLike | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        progress: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self._keep(locals())


class ElasticNetRegressorCV(LinearRegressor, ElasticNetCV):
    __doc__ = (
        """Linear regression with an elastic-net penalty that is chosen by cross-validation.

    Every model is the optimum for its penalty, to a tolerance. The counterpart in scikit-learn is
    :class:`sklearn.linear_model.ElasticNetCV`; lazyglm also has losses for counts, quantiles and robust regression.
"""
        + _PARAMETERS.format(sgd="SGDRegressor", more=_QUANTILE, scores=_MSE)
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from lazyglm import ElasticNetRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 30))
    >>> model = ElasticNetRegressorCV(random_state=0).fit(X, 3 * X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=200))
    >>> bool(model.score(X, 3 * X[:, 0] - X[:, 1]) > 0.95)
    True
    """
    )
    mse_path_: Floats
    _sgd = SGDRegressor
    _rules = {**REGRESSOR_RULES, **RULES}
    _shared = (*SHARED, "quantile", "power", "n_jobs")

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        l1_ratio: float | Sequence[float] = 0.5,
        alphas: int | ArrayLike = 20,
        eps: float = 1e-5,
        cv: Splits = 5,
        scoring: Scoring = None,
        choose: str = "best",
        max_features: int | None = None,
        halving: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 20,
        schedule: str = "cosine",
        eta0: float | None = None,
        shuffle: bool = True,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        power: float = 1.5,
        method: str = "fobos",
        precision: str | None = None,
        solver: str = "newton",
        tol: float | None = 1e-3,
        penalty_factor: ArrayLike | None = None,
        positive: bool = False,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        exclude: Sequence[str | int] | ArrayLike | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        progress: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self._keep(locals())

    def _results(self, ratios: list[float], alphas: Any, scores: Any, more: dict[str, Any]) -> tuple[int, int]:
        if self.loss == "squared_error" and self.scoring is None:
            self.mse_path_ = -(scores if np.ndim(self.l1_ratio) else scores[0])
        return super()._results(ratios, alphas, scores, more)
