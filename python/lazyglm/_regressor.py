"""SGDRegressor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lazyglm import _params
from lazyglm._bases import RegressorMixin, available_if
from lazyglm._data import weights_of
from lazyglm._docs import SHARED
from lazyglm._losses import LOG_LINK, LOSSES
from lazyglm._sgd import LinearSGD
from lazyglm._targets import Targets, offset_keyword, targets_to_score
from lazyglm._warn import warn

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self

    from lazyglm._types import RandomState, Rows, Target

REGRESSOR_LOSSES = {
    name: LOSSES[name]
    for name in (
        "squared_error",
        "huber",
        "epsilon_insensitive",
        "squared_epsilon_insensitive",
        "absolute_error",
        "quantile",
        *LOG_LINK,
    )
}
#: The losses whose steps grow with the error, so that they may diverge.
SQUARED = ("squared_error", "squared_epsilon_insensitive")
#: A run has diverged if its last epoch has so many times the loss of a constant.
DIVERGED = 10.0
#: The same for ``partial_fit``, whose first rows may have a large loss in a run that converges.
DIVERGED_ROWS = 100.0

REGRESSOR_RULES: dict[str, _params.Rule] = {
    "loss": _params.one_of(*REGRESSOR_LOSSES),
    "quantile": _params.real(0, 1, open_low=True, open_high=True),
    "power": _params.real(1, 2, open_low=True, open_high=True),
}


def _mean_square(targets: Targets) -> float:
    """The mean squared loss of a model without weights."""
    return float(np.average(targets.values**2, weights=targets.weights)) / 2


class LinearRegressor(RegressorMixin):
    """Base class of regressors: predictions from scores. Not part of the public API."""

    def predict(self: Any, X: Rows, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """The prediction for each row: its score; the exponential of it for poisson, gamma and tweedie.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows.
        offset : array-like of shape (n_rows,) or None, default=None
            Numbers that are added to the scores, for a model that was trained with offsets.

        Returns
        -------
        ndarray of shape (n_rows,)
            The predictions.
        """
        scores = self._scores(X, offset).ravel()
        numbers = np.exp(scores) if self.loss in LOG_LINK else scores
        return numbers if self._limits is None else np.clip(numbers, *self._limits)

    def score(self: Any, X: Rows, y: Target | None = None, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None) -> float:
        """R² of the predictions.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,) or None, default=None
            The targets. None if X is the path of a file, which has them.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of each row.
        offset : array-like of shape (n_rows,) or None, default=None
            Numbers that are added to the scores, for a model that was trained with offsets.

        Returns
        -------
        float
            R².
        """
        y = targets_to_score(self, X, y, offset)
        from sklearn.metrics import r2_score  # takes long to import, and is needed here alone

        return float(r2_score(y, self.predict(X, **offset_keyword(offset)), sample_weight=sample_weight))


class SGDRegressor(LinearRegressor, LinearSGD):
    __doc__ = (
        """Linear regression by stochastic gradient descent with an exact penalty.

    Parameters are those of :class:`sklearn.linear_model.SGDRegressor`, with the same meaning, and some more.

    Parameters
    ----------
    loss : str, default='squared_error'
        'squared_error', 'huber', 'epsilon_insensitive', 'squared_epsilon_insensitive', 'absolute_error', 'quantile', 'poisson', 'gamma' or
        'tweedie'. The last three predict exp(score), for targets from 0 up (gamma: above 0).
"""
        + SHARED
        + """    learning_rate : {'optimal', 'constant', 'invscaling', 'adaptive', 'pa1', 'pa2'}, default='invscaling'
        The learning-rate schedule of solver='sgd', with scikit-learn's formulas. 'optimal' starts lower for losses whose slope has no bound,
        such as squared_hinge.
    power_t : float, default=0.25
        The exponent of 'invscaling'.
    quantile : float, default=0.5
        The quantile that loss='quantile' learns.
    power : float, default=1.5
        The power of the variance of loss='tweedie', between 1 and 2.
    n_jobs : int or None, default=None
        The number of threads of predictions and of solvers other than 'sgd': None is one, -1 is all cores.
    method : {'fobos', 'sgd'}, default='fobos'
        How a step applies the penalty: its proximal step, or its gradient clipped at zero.
    precision : {'f32', 'f64'} or None, default=None
        The precision of the weights; None is that of the data.
    progress : bool, default=False
        Show a progress bar (with tqdm, if it is installed).
    solver : str, default='sgd'
        'sgd' takes stochastic steps, one row at a time. 'newton' finds the optimum to a proved ``tol`` (a loss with kinks needs a penalty).
        Every solver of the program is known by its name. Those other than 'sgd' copy the rows. A parameter that has no effect with the
        solver comes with a warning.
    eta0 : float, default=0.01
        With solver='sgd', as in scikit-learn. For 'adagrad', 'ftrl' and 'svrg', it is the starting rate. At the default, they search
        for one.
    tol : float or None, default=1e-3
        With solver='sgd', as in scikit-learn. Solvers that find the optimum ('newton', 'svrg', 'auto') stop at a relative
        distance of at most ``tol`` from the optimum, and never at more than 1e-4.
    scale : {'maxabs', 'std'} or None, default=None
        Divide each feature by its largest magnitude, or by its standard deviation, while learning: the penalty then falls on
        the weights of the scaled features. ``coef_`` is in the units of the data.
    penalty_factor : array-like of shape (n_features,) or None, default=None
        Scales the penalty of each feature; 0 removes it. Not for solver='sgd'.
    intercept_rate : float or None, default=None
        With solver='sgd': the learning rate of the intercept in the end, as a multiple of that of the weights. None is the share of the features
        that rows have, on average, and at least 0.01; so it is 1 for rows without zeros. Below 1, the rate begins at that of the weights.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights; a sparse matrix after :meth:`sparsify`.
    intercept_ : ndarray of shape (1,)
        The intercept.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str objects
        The columns of the frame that was learnt; only there if X was a frame with names.
    n_iter_ : int
        The number of epochs.
    t_ : float
        The number of rows that were learnt, plus one.
    loss_history_ : ndarray
        The running loss of each epoch: the mean loss of its rows, each measured before the model learns the row.
    dual_gap_ : float or None
        The relative duality gap, an upper bound on the relative distance from the optimum. None with solver='sgd', which
        does not compute it (see :meth:`duality_gap`), and if no bound is known.
    stop_reason_ : str or None
        The rule that ended a solver other than 'sgd'; 'interrupted' after Ctrl-C; else None.
    validation_history_ : ndarray or None
        With early stopping: R² on the rows held out, after each epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from lazyglm import SGDRegressor
    >>> X = np.linspace(-1, 1, 50).reshape(-1, 1)
    >>> model = SGDRegressor(alpha=1e-6, eta0=0.1, random_state=1).fit(X, 3 * X.ravel() + 1)
    >>> bool(abs(model.predict([[0.5]])[0] - 2.5) < 0.1)
    True
    """
    )

    loss_functions = REGRESSOR_LOSSES
    _checks = {"y_numeric": True}
    _splitter = "ShuffleSplit"
    quantile: float
    power: float
    _largest_square: float | None = None  # the largest loss of rows that were learnt together, of a model without weights
    _rules = {**REGRESSOR_RULES, **_params.COMMON, "n_jobs": _params.N_JOBS}

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float | None = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        epsilon: float = 0.1,
        random_state: RandomState = None,
        learning_rate: str = "invscaling",
        eta0: float = 0.01,
        power_t: float = 0.25,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        average: bool | int = False,
        quantile: float = 0.5,
        power: float = 1.5,
        n_jobs: int | None = None,
        method: str = "fobos",
        precision: str | None = None,
        progress: bool = False,
        solver: str = "sgd",
        scale: str | None = None,
        penalty_factor: ArrayLike | None = None,
        intercept_rate: float | None = None,
    ) -> None:
        self._keep(locals())

    @available_if(_params.goes_on)
    def partial_fit(
        self, X: Rows, y: Target | None = None, sample_weight: ArrayLike | None = None, offset: ArrayLike | None = None, target: str | None = None
    ) -> Self:
        """Learns these rows once. Calls with chunks of rows give exactly the model of one pass over all rows.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows. Frames, texts and files after the first have the features of the first.
        y : array-like of shape (n_rows,) or None, default=None
            The targets. None if X is the path of a file, which has them.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of each row.
        offset : array-like of shape (n_rows,) or None, default=None
            A number per row, which is added to the score of the row, as in ``fit``.
        target : str or None, default=None
            The target column, if X is the path of a table. Needed at the first call alone.

        Returns
        -------
        SGDRegressor
            This estimator.
        """
        first = not self.__sklearn_is_fitted__()
        self._check_params(for_partial_fit=True)
        X, y, sample_weight = self._opened_again(X, y, sample_weight, target)
        X, y, _ = self._validated(X, y, reset=first)
        targets = self._targets(X, y, sample_weight).with_offsets(offset)
        self._partial_fit(X, targets, first=first)
        self._warn_if_diverged(targets, first)
        return self

    def _warn_if_diverged(self, targets: Targets, first: bool) -> None:
        """Warns if the rows of a call of ``partial_fit`` have a loss far above that of no weights, in this call and all before it."""
        if self.loss not in SQUARED:
            return
        square, loss = _mean_square(targets), float(self.loss_history_[-1])
        before = 0.0 if first else loss if self._largest_square is None else self._largest_square
        self._largest_square = max(square, before)
        if not loss <= DIVERGED_ROWS * self._largest_square:
            warn(
                f"SGD has diverged: the mean loss of these rows is {loss:.3g}, and that of a model without weights is {square:.3g}. Scale the features "
                "or lower eta0, and begin anew.",
                ConvergenceWarning,
            )

    def _fit_online(self, X: Any, targets: Targets, coef: Any, intercept: Any) -> None:
        """The same at a rate that does not diverge: a tenth of ``eta0`` and so on, if it does."""
        super()._fit_online(X, targets, coef, intercept)
        self._largest_square = _mean_square(targets)
        if self.loss not in SQUARED:
            return
        known = float(np.average((targets.values - np.average(targets.values, weights=targets.weights)) ** 2, weights=targets.weights)) / 2
        first, most = self.loss_history_[-1], max(DIVERGED * known, self._largest_square)  # few epochs may not reach the mean of the targets
        if self.learning_rate not in ("constant", "invscaling", "adaptive"):
            if not first <= most:
                warn(
                    f"SGD diverged with learning_rate={self.learning_rate!r}: the loss of its last epoch is {first:.3g}, and that of a constant is "
                    f"{known:.3g}. Use learning_rate='invscaling', scale the features (scale='std'), or use solver='newton'.",
                    ConvergenceWarning,
                )
            return
        try:
            for power in range(1, 9):
                if self.loss_history_[-1] <= most:
                    break
                self._rate = float(self.eta0) / 10**power
                super()._fit_online(X, targets, coef, intercept)
            used = self._rate
        finally:
            self._rate = None
        if used is not None:
            warn(
                f"SGD diverged at eta0={self.eta0:g}: the loss of its last epoch was {first:.3g}, and that of a constant is {known:.3g}. "
                f"The model was trained with eta0={used:g} instead. Scale the features (scale='std'), or use solver='newton'.",
                ConvergenceWarning,
            )

    def _targets(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Targets:
        weights = weights_of(sample_weight, X.shape[0], may_be_zero=self.early_stopping)
        return Targets(1, np.ascontiguousarray(y, dtype=np.float64), weights)

    def _shaped(self, coef: Any) -> Any:
        return coef.ravel()
