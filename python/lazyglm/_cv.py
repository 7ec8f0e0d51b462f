"""ElasticNetClassifierCV and ElasticNetRegressorCV: the penalty by rows held out, all models of the grid in one pass."""

from __future__ import annotations

from typing import Any

from lazyglm._classifier import CLASSIFIER_RULES, LinearClassifier, SGDClassifier
from lazyglm._regressor import REGRESSOR_RULES, LinearRegressor, SGDRegressor
from lazyglm._search import RULES, ElasticNetCV

_PARAMETERS = """
    Parameters
    ----------
    loss : str
        As in :class:`{sgd}`.
    l1_ratio : float or list of float, default=0.5
        The share of l1 in the penalty alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²); several are all tried.
    alphas : int or array-like, default=16
        The penalties to try, or how many: from where all weights are zero down to ``eps`` times that.
    eps : float, default=1e-5
        The smallest alpha of an automatic grid, relative to the largest.
    cv : int, splitter or iterable, default=5
        As in scikit-learn, if each row is held out once.
    choose : {{'best', 'one_se'}}, default='best'
        The penalty with the lowest held-out loss, or the strongest (l1, then l2) within one standard error of it.
    halving : bool, default=False
        Drop hopeless penalties on the way: faster, and ``cv_results_`` has their losses from when they were dropped.
    max_iter : int, default=20
        Epochs of every model.
    schedule : str, default='cosine'
        The rate over time: a schedule of the program (cosine, constant, inverse, inverse-sqrt, ...).
    eta0 : float or None, default=None
        The starting rate; None finds one on a sample of the rows.
    solver : str, default='sgd'
        What learns all rows in the end, with the penalty chosen. The search itself always uses 'sgd'.
    tol : float or None, default=1e-3
        The relative distance from the optimum at which a solver that finds the optimum may stop; never more than 1e-4.
    fit_intercept, shuffle, epsilon, {more}method, precision, n_jobs, random_state
        As in :class:`{sgd}`.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        What was chosen.
    best_estimator_ : {sgd}
        The model with it, on all rows. ``coef_``, ``intercept_``, ``n_iter_`` and ``dual_gap_`` are its.
    cv_results_ : dict of arrays
        As GridSearchCV has it; a score is minus the mean held-out loss. Also ``se_test_score``, ``mean_nonzeros``, ``dropped``.
    best_index_, one_se_index_ : int
        The rows of ``cv_results_`` that both rules choose.
    best_score_ : float
    alphas_ : ndarray of shape (n_alphas,), or (n_l1_ratio, n_alphas)
    path_alphas_, path_coef_ : ndarray, and a sparse matrix with a row for each (one a class if there are more than two)
        The weights at every alpha of the chosen l1_ratio, learnt from all rows.
    eta0_ : float
        The starting rate.
"""


class ElasticNetClassifierCV(LinearClassifier, ElasticNetCV):
    __doc__ = (
        """Linear classifiers whose elastic-net penalty is chosen by rows held out: all alphas, l1_ratios and folds are learnt in
    the same passes over the rows. Of more than two classes each has a model, and all share a penalty.
"""
        + _PARAMETERS.format(sgd="SGDClassifier", more="class_weight, ")
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from lazyglm import ElasticNetClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 30))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> model = ElasticNetClassifierCV(l1_ratio=[0.5, 1.0], choose="one_se", random_state=0).fit(X, y)
    >>> bool(np.all(np.abs(model.coef_[0, :2]) > np.abs(model.coef_[0, 2:]).max())), model.score(X, y) > 0.9
    (True, True)
    """
    )
    _sgd = SGDClassifier
    _rules = {**CLASSIFIER_RULES, **RULES}
    _own = ("class_weight", "n_jobs")

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        l1_ratio: Any = 0.5,
        alphas: Any = 16,
        eps: float = 1e-5,
        cv: Any = 5,
        choose: str = "best",
        halving: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 20,
        schedule: str = "cosine",
        eta0: float | None = None,
        shuffle: bool = True,
        epsilon: float = 0.1,
        class_weight: dict[Any, float] | str | None = None,
        method: str = "fobos",
        precision: str | None = None,
        solver: str = "sgd",
        tol: float | None = 1e-3,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self._keep(locals())

    @property
    def classes_(self) -> Any:
        """The classes."""
        return self._of_best("classes_")


class ElasticNetRegressorCV(LinearRegressor, ElasticNetCV):
    __doc__ = (
        """Linear regression whose elastic-net penalty is chosen by rows held out: all alphas, l1_ratios and folds are learnt in
    the same passes over the rows.
"""
        + _PARAMETERS.format(sgd="SGDRegressor", more="quantile, ")
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
    _sgd = SGDRegressor
    _rules = {**REGRESSOR_RULES, **RULES}
    _own = ("quantile",)

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        l1_ratio: Any = 0.5,
        alphas: Any = 16,
        eps: float = 1e-5,
        cv: Any = 5,
        choose: str = "best",
        halving: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 20,
        schedule: str = "cosine",
        eta0: float | None = None,
        shuffle: bool = True,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        method: str = "fobos",
        precision: str | None = None,
        solver: str = "sgd",
        tol: float | None = 1e-3,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self._keep(locals())
