"""AutoClassifier and AutoRegressor: a good model without tuning, by the program's default, the solver `auto`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lazyglm import _params, _show
from lazyglm._chosen import ChosenClassifier, WithBest
from lazyglm._classifier import CLASSIFIER_RULES, LinearClassifier, SGDClassifier
from lazyglm._cv import MULTI_CLASS
from lazyglm._regressor import REGRESSOR_RULES, LinearRegressor, SGDRegressor
from lazyglm._solve import limits_of, threads, trained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from lazyglm._types import Labels, RandomState, Rows

#: Parameters that the estimator of one penalty has as well.
SHARED = ("fit_intercept", "epsilon", "precision", "tol")

RULES: dict[str, _params.Rule] = {
    **{name: _params.COMMON[name] for name in SHARED},
    "tol": _params.real(0),
    "n_jobs": _params.N_JOBS,
    "scale": _params.one_of("auto", None),
    **{name: _params.COMMON[name] for name in ("verbose", "progress")},
    **_params.LIMITS,
}

_PARAMETERS = """
    The search tries four ratios of l1 to l2, each from strong penalties to weak ones. It looks at all penalties with a held-out loss within
    0.1 % of the lowest, and takes the one with the fewest weights. Then it trains on all rows, to the optimum. For numbers and two classes,
    FTRL-Proximal with early stopping is another candidate. It wins if its held-out loss is lower by more than 0.5 %. For losses with kinks
    (hinge, quantile, epsilon_insensitive), SGD does the search. Up to 20,000 rows (times classes) are split into five folds. If there are
    more, one part of the rows is held out.

    Parameters
    ----------
    loss : str
        The loss, as in :class:`{sgd}`.
    scale : {{'auto', None}}, default='auto'
        'auto' replaces counts by their tf-idf if this lowers the held-out loss. Counts are texts, and sparse rows of whole
        positive numbers. If these are all one, rows must have different numbers of them. The model also converts the
        rows that it predicts. In frames and dense arrays whose units are far apart, 'auto' also tries each column of numbers divided by its standard
        deviation; weights are in the units of X all the same, and ``alpha_`` in those of the divided columns.
    fit_intercept : bool, default=True
        Whether there is an intercept. It has no penalty.
    tol : float, default=1e-3
        The relative distance from the optimum at which the solver may stop.
    epsilon : float, default=0.1
        The width of huber and of both epsilon-insensitive losses.
    {more}
    penalty_factor : array-like of shape (n_features,) or None, default=None
        A factor of the penalty for each feature; 0 removes it.
    positive : bool, default=False
        Whether weights must not be negative.
    lower, upper : float, array-like of shape (n_features,) or None, default=None
        The lowest value (at most 0) and the highest value (at least 0) of each weight. If ``tf_idf_``, of the weights of tf-idf values.
    exclude : list of str or int, array-like of bool of shape (n_features,), or None, default=None
        Features whose weight is zero: names, numbers from 0, or a mask. A name is that of a feature, such as ``city=Rome``.
    precision : {{'f32', 'f64'}} or None, default=None
        The precision of the weights; None is that of the data. The program's default is 'f32'.
    n_jobs : int or None, default=None
        The number of threads: None is one, -1 is all cores.
    verbose : int, default=0
        Whether to print a line for each model that is tried.
    progress : bool, default=False
        Whether to show a progress bar (with tqdm, if it is installed).
    random_state : int, RandomState instance or None, default=None
        Chooses the held-out rows. An integer is the program's ``--seed``, which is 1 by default.

    Attributes
    ----------
    search_ : list of dict
        What was tried, in order: ``solver``, ``alpha``, ``l1_ratio``, ``l1``, ``l2``, the mean held-out ``loss`` (for squared_error, the mean
        squared error) and its standard error over rows (``se``), ``nonzeros``, the number of training ``rows``, ``seconds`` (NaN for models
        that were trained together), and whether it was ``chosen``. pandas.DataFrame makes a table of it.
    reason_ : str
        Why the model was chosen.
    solver_ : str
        The solver of the chosen model: 'newton', 'ftrl' or 'sgd'.
    alpha_, l1_ratio_ : float
        The penalty of the chosen model.
    best_index_ : int or None
        The place of the chosen model in ``search_``; None if nothing was tried.
    best_score_ : float
        Minus the held-out loss of the chosen model; NaN if nothing was tried.
    coef_, intercept_ : ndarray
        The chosen model, trained on all rows. If ``tf_idf_``, these are the weights of tf-idf values.
    tf_idf_ : bool
        Whether counts are replaced by their tf-idf.
    loss_history_ : ndarray
        The objective after each Newton step, or the mean loss of each epoch; empty for one model per class.
    n_iter_ : int
        The Newton steps, or epochs, of the chosen model.
    stop_reason_ : str
        The rule that ended the solver of the chosen model, such as 'gap' or 'predicted_decrease'.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str objects
        The columns of the frame that was learnt; only there if X was a frame with names.
    dual_gap_ : float or None
        An upper bound on the relative distance of the chosen model from the optimum. None for 'ftrl' and 'sgd', which
        stop early on purpose.
    best_estimator_ : {sgd}
        The chosen model as an estimator.
"""


class Auto(WithBest):
    """Base class of AutoClassifier and AutoRegressor; not part of the public API."""

    scale: str | None

    search_: list[dict[str, Any]]
    reason_: str
    solver_: str
    alpha_: float
    l1_ratio_: float
    best_index_: int | None
    best_score_: float

    _rules: dict[str, _params.Rule]

    def fit(
        self, X: Rows, y: Labels | None = None, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None, target: str | None = None
    ) -> Self:
        """Chooses a penalty and a solver on held-out rows, and trains on all rows with them.

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
        problem = self._problem(X, y, sample_weight, offset, target)
        asked = problem.model._asked(problem.task, problem.X.shape[1], l1=1e-6, l2=1e-6, choose=True, solver="auto")
        asked |= limits_of(self, problem) | {"scales": self.scale == "auto", "limit_predictions": self._limiting()}
        asked |= {"seed": problem.model._seed(), "single": problem.model._single(problem.X.dtype), "threads": threads(self.n_jobs)}
        asked |= {"tolerance": float(self.tol), "epochs": 5}  # the program's
        with _show.watching(self, None, _show.candidates()) as watch:
            found = trained(problem.task, None, problem.X.shape[1], asked, watch)
        report = found.report
        if not _params.finds_optimum(report["solver"]):
            found = found._replace(gap=None)  # stopping early regularises: the distance from the optimum says nothing
        units = 2.0 if self.loss == "squared_error" else 1.0  # the loss has a half, a mean squared error has none
        self.search_ = [self._record(tried, units) for tried in report.get("tried", [])]
        self.solver_ = report["solver"]
        self.alpha_, self.l1_ratio_ = _scaled(report["l1"], report["l2"])
        chosen = [k for k, tried in enumerate(self.search_) if tried["chosen"]]
        self.best_index_ = chosen[0] if chosen else None
        self.best_score_ = -self.search_[chosen[0]]["loss"] if chosen else np.nan
        penalty = {"alpha": self.alpha_, "l1_ratio": self.l1_ratio_, "solver": self.solver_}
        self._keep_model(problem, [found], {**asked, "solver": self.solver_}, **penalty)
        self.reason_ = "; ".join(text for text in (self._reason(), *found.notes) if text)
        return self

    def _limiting(self) -> bool | None:
        """Whether predictions are limited; None if the held-out loss decides."""
        return False

    @staticmethod
    def _record(tried: dict[str, Any], units: float) -> dict[str, Any]:
        alpha, ratio = _scaled(tried["l1"], tried["l2"])
        figures = {name: np.nan if value is None else value for name, value in tried.items()}
        figures |= {"loss": units * figures["loss"], "se": units * figures["se"]}
        return {"solver": figures.pop("solver"), "alpha": alpha, "l1_ratio": ratio, **figures}

    def _reason(self) -> str:
        count, nonzeros = len(self.search_), np.count_nonzero(self.coef_)
        if self.best_index_ is None and nonzeros == 0:
            return "no feature tells the targets apart: the model is its intercept"
        if self.best_index_ is None:
            return "nothing was tried: there are fewer than ten rows, several classes and a loss with kinks, or values too large to compare"
        if nonzeros == 0 and self.search_[self.best_index_]["nonzeros"] == 0:
            return f"none of {count - 1} models predicts held-out rows better than no weights do, by more than chance explains"
        if _params.finds_optimum(self.solver_) and _params.finds_optimum(self.search_[self.best_index_]["solver"]):
            return f"of {count} models, it has the fewest weights with a held-out loss within 0.1 % of the lowest optimum's"
        if not (_params.finds_optimum(self.solver_) or _params.takes_rows(self.solver_)):
            return f"of {count} models, FTRL-Proximal has a lower held-out loss than the optimum for any penalty"
        return f"of {count} models, it has the lowest held-out loss"

    @property
    def tf_idf_(self) -> bool:
        """Whether counts are replaced by their tf-idf."""
        return self._of_best("_tf_idf") is not None

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = super().__repr__(N_CHAR_MAX)
        if not self.__sklearn_is_fitted__():
            return text
        penalty = f"solver={self.solver_!r}, alpha={self.alpha_:.3g}, l1_ratio={self.l1_ratio_:.3g}"
        lines = [text, f"  chosen: {penalty}; {np.count_nonzero(self.coef_)} of {self.coef_.size} weights are not zero"]
        if self.best_index_ is not None:
            best = self.search_[self.best_index_]
            lines.append(f"  held-out loss: {best['loss']:.5g} ± {best['se']:.2g}")
        return "\n".join([*lines, f"  why: {self.reason_}"])


def _scaled(l1: float, l2: float) -> tuple[float, float]:
    """scikit-learn's alpha and l1_ratio."""
    alpha = l1 + l2
    return alpha, l1 / alpha if alpha > 0 else 0.5


class AutoClassifier(LinearClassifier, Auto, ChosenClassifier):
    __doc__ = (
        """A linear classifier without tuning: solver and penalty are chosen on held-out rows.
"""
        + _PARAMETERS.format(
            sgd="SGDClassifier",
            more="""class_weight : dict, 'balanced' or None, default=None
        Weights of classes, which multiply the weights of their rows.
    multi_class : {'auto', 'multinomial', 'ovr'}, default='auto'
        More than two classes are one multinomial model (softmax), or one model per class against the rest with one penalty for
        all. 'auto' is 'multinomial' for loss='log_loss', else 'ovr'.""",
        )
        + """    classes_ : ndarray of shape (n_classes,)
        The classes.

    Examples
    --------
    >>> import numpy as np
    >>> from lazyglm import AutoClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 40))
    >>> y = np.where(X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=300) > 0, "up", "down")
    >>> model = AutoClassifier(random_state=1).fit(X, y)
    >>> model.solver_ in ("newton", "ftrl"), len(model.search_) > 10, model.score(X, y) > 0.9
    (True, True, True)
    >>> model.predict_proba(X).shape
    (300, 2)
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
        scale: str | None = "auto",
        fit_intercept: bool = True,
        tol: float = 1e-3,
        epsilon: float = 0.1,
        class_weight: dict[Any, float] | str | None = None,
        multi_class: str = "auto",
        penalty_factor: ArrayLike | None = None,
        positive: bool = False,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        exclude: Sequence[str | int] | ArrayLike | None = None,
        precision: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        progress: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self._keep(locals())


class AutoRegressor(LinearRegressor, Auto):
    __doc__ = (
        """A linear regression without tuning: solver and penalty are chosen on held-out rows.
"""
        + _PARAMETERS.format(
            sgd="SGDRegressor",
            more="""quantile : float, default=0.5
        The quantile that loss='quantile' learns.
    power : float, default=1.5
        The power of the variance of loss='tweedie', between 1 and 2.
    limit_predictions : {'auto', True, False}, default='auto'
        Whether predictions are limited to the range of the training targets. 'auto' limits them if that lowers the held-out loss by more than
        1 %. There are no limits with offsets.""",
        )
        + """    limits_ : tuple of float, or None
        The least and the largest prediction; None without limits.

    Examples
    --------
    >>> import numpy as np
    >>> from lazyglm import AutoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 40))
    >>> model = AutoRegressor(random_state=1).fit(X, 3 * X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=300))
    >>> bool(model.score(X, 3 * X[:, 0] - X[:, 1]) > 0.95)
    True
    """
    )
    limit_predictions: str | bool
    _sgd = SGDRegressor
    _rules = {
        **REGRESSOR_RULES,
        **RULES,
        "limit_predictions": _params.or_text("auto", (_params.BOOLEAN[0], "True, False")),
    }
    _shared = (*SHARED, "quantile", "power", "n_jobs")

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        scale: str | None = "auto",
        fit_intercept: bool = True,
        tol: float = 1e-3,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        power: float = 1.5,
        limit_predictions: str | bool = "auto",
        penalty_factor: ArrayLike | None = None,
        positive: bool = False,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        exclude: Sequence[str | int] | ArrayLike | None = None,
        precision: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        progress: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self._keep(locals())

    def _limiting(self) -> bool | None:
        return None if self.limit_predictions == "auto" else bool(self.limit_predictions)

    @property
    def limits_(self) -> tuple[float, float] | None:
        """The least and the largest prediction; None without limits."""
        return self._of_best("_limits")
