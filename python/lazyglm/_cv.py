"""ElasticNetClassifierCV and ElasticNetRegressorCV: the penalty by rows held out, all models of the grid in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from lazyglm import _params
from lazyglm._classifier import CLASSIFIER_LOSSES, SGDClassifier, _gives_probabilities
from lazyglm._regressor import REGRESSOR_LOSSES, SGDRegressor
from lazyglm._search import RULES, ElasticNetCV

#: Parameters that go to the chosen estimator as they are.
_SHARED = ["loss", "fit_intercept", "max_iter", "shuffle", "epsilon", "method", "precision", "solver", "tolerance", "random_state"]

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
    tolerance : float, default=1e-4
        For solvers that find the minimum.
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


class ElasticNetClassifierCV(ClassifierMixin, ElasticNetCV):
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
    _rules = {
        "loss": _params.one_of(*CLASSIFIER_LOSSES),
        "class_weight": ((lambda v: v is None or isinstance(v, dict) or v == "balanced"), "a dict, 'balanced' or None"),
        **RULES,
    }

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
        tolerance: float = 1e-4,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.l1_ratio = l1_ratio
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.choose = choose
        self.halving = halving
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.schedule = schedule
        self.eta0 = eta0
        self.shuffle = shuffle
        self.epsilon = epsilon
        self.class_weight = class_weight
        self.method = method
        self.precision = precision
        self.solver = solver
        self.tolerance = tolerance
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _model(self, **penalty: Any) -> Any:
        same = [*_SHARED, "class_weight", "n_jobs"]
        return SGDClassifier(penalty="elasticnet", **{name: getattr(self, name) for name in same}, **penalty)

    @property
    def classes_(self) -> Any:
        """The classes."""
        return self._fitted("classes_").classes_

    def decision_function(self, X: Any) -> Any:
        """The score of each row, one a class if there are more than two."""
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        scores = self.decision_function(X)
        return self.best_estimator_._classes_of(scores)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """The probability of each class; for more than two, those of one against the rest, normalised."""
        scores = self.decision_function(X)
        return self.best_estimator_._probabilities(scores)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of :meth:`predict_proba`."""
        return np.log(self.predict_proba(X))


class ElasticNetRegressorCV(RegressorMixin, ElasticNetCV):
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
    _rules = {
        "loss": _params.one_of(*REGRESSOR_LOSSES),
        "quantile": _params.real(0, 1, open_low=True, open_high=True),
        **RULES,
    }

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
        tolerance: float = 1e-4,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.l1_ratio = l1_ratio
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.choose = choose
        self.halving = halving
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.schedule = schedule
        self.eta0 = eta0
        self.shuffle = shuffle
        self.epsilon = epsilon
        self.quantile = quantile
        self.method = method
        self.precision = precision
        self.solver = solver
        self.tolerance = tolerance
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _model(self, **penalty: Any) -> Any:
        same = [*_SHARED, "quantile"]
        return SGDRegressor(penalty="elasticnet", **{name: getattr(self, name) for name in same}, **penalty)

    def predict(self, X: Any) -> Any:
        """The prediction for each row: its score; with loss='poisson', the exponential of it."""
        scores = self._scores(X).ravel()
        return np.exp(scores) if self.loss == "poisson" else scores
