"""ElasticNetClassifier and ElasticNetRegressor: generalised linear models at the optimum of one elastic-net penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazyglm import _params, _show
from lazyglm._chosen import Chosen, ChosenClassifier, Problem
from lazyglm._classifier import CLASSIFIER_RULES, LinearClassifier, SGDClassifier
from lazyglm._cv import MULTI_CLASS
from lazyglm._data import by_model
from lazyglm._regressor import REGRESSOR_RULES, LinearRegressor, SGDRegressor
from lazyglm._solve import limits_of, threads, trained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from lazyglm._types import Labels, Rows

#: Parameters that the SGD estimators have as well.
SHARED = ("fit_intercept", "epsilon", "precision", "tol", "n_jobs")

RULES: dict[str, _params.Rule] = {
    **{name: _params.COMMON[name] for name in ("alpha", "fit_intercept", "epsilon", "precision", "warm_start", "verbose", "progress")},
    "l1_ratio": _params.real(0, 1),
    "tol": _params.real(0),
    "n_jobs": _params.N_JOBS,
    **_params.LIMITS,
}

_PARAMETERS = """
    The objective is scikit-learn's, with a mean over rows: Σ ωᵢ·ℓ(w·xᵢ + b + offsetᵢ, yᵢ)/Σ ωᵢ + alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²).
    The intercept b has no penalty. Rows may be sparse or dense, and are copied once.

    Parameters
    ----------
    loss : str
        The loss ℓ, as in :class:`{sgd}`.{losses}
    alpha : float, default={alpha}
        The strength of the penalty, {scaling}
    l1_ratio : float, default=0.5
        The share of l1 in the penalty.
    {more}
    fit_intercept : bool, default=True
        Whether there is an intercept.
    tol : float, default=1e-4
        The relative duality gap at which the solver stops. It also stops after 200 steps.
    epsilon : float, default=0.1
        The width of huber and of both epsilon-insensitive losses.
    penalty_factor : array-like of shape (n_features,) or None, default=None
        A factor of the penalty for each feature; 0 removes it.
    positive : bool, default=False
        Whether weights must not be negative.
    lower, upper : float, array-like of shape (n_features,) or None, default=None
        The lowest value (at most 0) and the highest value (at least 0) of each weight.
    exclude : list of str or int, array-like of bool of shape (n_features,), or None, default=None
        Features whose weight is zero: names, numbers from 0, or a mask. A name is that of a feature, such as ``city=Rome``.
    warm_start : bool, default=False
        Whether ``fit`` starts from the weights of the previous fit.
    precision : {{'f32', 'f64'}} or None, default=None
        The precision of the weights that are kept; None is that of the data.
    n_jobs : int or None, default=None
        The number of threads: None is one, -1 is all cores.
    verbose : int, default=0
        Whether to print a line for each step.
    progress : bool, default=False
        Whether to show a progress bar (with tqdm, if it is installed).

    Attributes
    ----------
    coef_ : ndarray of shape {shape}
        The weights.
    intercept_ : ndarray
        The intercept of each row of ``coef_``.
    dual_gap_ : float or None
        The relative duality gap, an upper bound on the relative distance from the optimum. None without a penalty.
    stop_reason_ : str
        The rule that ended the solver. 'gap': ``dual_gap_`` is at most ``tol``, which is a proof. 'predicted_decrease': a Newton step would
        lower the objective by less than a third of ``tol``; used for l1_ratio=1, where the gap is a loose bound. Others ('precision', 'steps',
        'no_minimum') come with a warning.
    n_iter_ : int
        The Newton steps; with one model per class, the largest number of any model.
    loss_history_ : ndarray
        The objective after each Newton step; empty for one model per class.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str objects
        The columns of the frame that was learnt; only there if X was a frame with names.
"""


class Exact(Chosen):
    """Base class of ElasticNetClassifier and ElasticNetRegressor; not part of the public API."""

    alpha: float
    l1_ratio: float
    warm_start: bool

    _rules: dict[str, _params.Rule]
    random_state = None  # nothing here is random

    def fit(
        self, X: Rows, y: Labels | None = None, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None, target: str | None = None
    ) -> Self:
        """Finds the optimum for X and y.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows, or the path of a file with rows and targets.
        y : array-like of shape (n_rows,) or None, default=None
            The targets. A classifier also takes several labels per row: an indicator matrix, or a list of sets.
            None if X is the path of a file, which has them.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of each row.
        offset : array-like of shape (n_rows,) or None, default=None
            A number per row, which is added to the score of the row: the logarithm of the exposure for counts, or the scores of
            another model. Predictions take the offsets of their own rows.
        target : str or None, default=None
            The target column, if X is the path of a table.

        Returns
        -------
        self
            This estimator.
        """
        _params.check_alone(self, self._rules)
        before = (self.coef_, self.intercept_) if self.warm_start and self.__sklearn_is_fitted__() else None
        problem = self._problem(X, y, sample_weight, offset, target)
        columns = problem.X.shape[1]
        l1, l2 = float(self.alpha * self.l1_ratio), float(self.alpha * (1 - self.l1_ratio))
        asked = problem.model._asked(problem.task, columns, l1=l1, l2=l2, solver="newton", start=self._start(before, problem))
        asked |= {"tolerance": float(self.tol), "single": problem.model._single(problem.X.dtype), "threads": threads(self.n_jobs)}
        asked |= limits_of(self, problem)
        with _show.watching(self, 1, _show.steps_of()) as watch:
            found = trained(problem.task, None, columns, asked, watch)
        if problem.kind == "softmax":  # a number that is added to all intercepts changes nothing: their mean is zero
            found = found._replace(intercept=(np.array(found.intercept) - np.mean(found.intercept)).tolist())
        self._keep_model(problem, [found], asked, alpha=self.alpha, l1_ratio=self.l1_ratio, solver="newton")
        return self

    def _start(self, before: Any, problem: Problem) -> Any:
        """The weights of the last fit, if they are for as many models and features."""
        if before is None:
            return None
        coef, intercept = by_model(before[0]), np.ravel(before[1])
        if coef.shape != (problem.targets.models, problem.X.shape[1]):
            return None
        return [(weights.tolist(), float(bias)) for weights, bias in zip(coef, intercept, strict=True)]


class ElasticNetClassifier(LinearClassifier, Exact, ChosenClassifier):
    __doc__ = (
        """A linear classifier at the optimum of an elastic-net penalty: logistic, softmax, hinge and other losses.

    The counterparts in scikit-learn are :class:`sklearn.linear_model.LogisticRegression`, with alpha = 1/(C·n_rows), and
    :class:`sklearn.svm.LinearSVC`.
"""
        + _PARAMETERS.format(
            sgd="SGDClassifier",
            losses="",
            alpha="0.001",
            scaling="1/(C·n_rows) of LogisticRegression.",
            shape="(1, n_features) or (n_classes, n_features)",
            more="""class_weight : dict, 'balanced' or None, default=None
        Weights of classes, which multiply the weights of their rows.
    multi_class : {'auto', 'multinomial', 'ovr'}, default='auto'
        More than two classes are one multinomial model (softmax), or one model per class against the rest. 'auto' is 'multinomial'
        for loss='log_loss', else 'ovr'.""",
        )
        + """    classes_ : ndarray of shape (n_classes,)
        The classes.

    Examples
    --------
    >>> import numpy as np
    >>> from lazyglm import ElasticNetClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 30))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "up", "down")
    >>> model = ElasticNetClassifier(alpha=0.05).fit(X, y)
    >>> model.dual_gap_ <= 1e-4, model.stop_reason_, int(np.count_nonzero(model.coef_)) < 10
    (True, 'gap', True)
    """
    )
    _sgd = SGDClassifier
    _rules = {**CLASSIFIER_RULES, **RULES, "multi_class": MULTI_CLASS}
    _shared = (*SHARED, "class_weight")
    _takes_labels = True

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        alpha: float = 0.001,
        l1_ratio: float = 0.5,
        class_weight: dict[Any, float] | str | None = None,
        multi_class: str = "auto",
        fit_intercept: bool = True,
        tol: float = 1e-4,
        epsilon: float = 0.1,
        penalty_factor: ArrayLike | None = None,
        positive: bool = False,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        exclude: Sequence[str | int] | ArrayLike | None = None,
        warm_start: bool = False,
        precision: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        progress: bool = False,
    ) -> None:
        self._keep(locals())


class ElasticNetRegressor(LinearRegressor, Exact):
    __doc__ = (
        """A linear regression at the optimum of an elastic-net penalty: squares, counts, amounts, quantiles and robust losses.

    With loss='squared_error', it has the objective of :class:`sklearn.linear_model.ElasticNet`. With other losses, its counterparts are
    ``PoissonRegressor``, ``GammaRegressor``, ``TweedieRegressor`` and ``QuantileRegressor``.
"""
        + _PARAMETERS.format(
            sgd="SGDRegressor",
            losses="",
            alpha="1.0",
            scaling="as in ElasticNet.",
            shape="(n_features,)",
            more="""quantile : float, default=0.5
        The quantile that loss='quantile' learns.
    power : float, default=1.5
        The power of the variance of loss='tweedie', between 1 and 2.""",
        )
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from lazyglm import ElasticNetRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 30))
    >>> claims, exposure = rng.poisson(np.exp(X[:, 0])), np.ones(200)
    >>> model = ElasticNetRegressor("poisson", alpha=0.1, positive=True).fit(X, claims, offset=np.log(exposure))
    >>> bool(model.dual_gap_ <= 1e-4), bool(np.all(model.coef_ >= 0))
    (True, True)
    """
    )
    _sgd = SGDRegressor
    _rules = {**REGRESSOR_RULES, **RULES}
    _shared = (*SHARED, "quantile", "power")

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        alpha: float = 1.0,
        l1_ratio: float = 0.5,
        quantile: float = 0.5,
        power: float = 1.5,
        fit_intercept: bool = True,
        tol: float = 1e-4,
        epsilon: float = 0.1,
        penalty_factor: ArrayLike | None = None,
        positive: bool = False,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        exclude: Sequence[str | int] | ArrayLike | None = None,
        warm_start: bool = False,
        precision: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        progress: bool = False,
    ) -> None:
        self._keep(locals())
