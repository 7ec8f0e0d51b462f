"""SGDRegressor."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from lazyglm import _params
from lazyglm._data import is_path, validated, weights_of
from lazyglm._sgd import LOG_LINK, LOSSES, Aim, LinearSGD

if TYPE_CHECKING:
    from typing_extensions import Self

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

REGRESSOR_RULES: dict[str, _params.Rule] = {
    "loss": _params.one_of(*REGRESSOR_LOSSES),
    "quantile": _params.real(0, 1, open_low=True, open_high=True),
    "power": _params.real(1, 2, open_low=True, open_high=True),
}


class LinearRegressor(RegressorMixin):
    """What regressors predict from their scores: not for use."""

    def predict(self: Any, X: Any, offset: Any = None) -> Any:
        """The prediction for each row: its score, plus its ``offset`` if given; the exponential of it for poisson, gamma and tweedie."""
        scores = self._scores(X, offset).ravel()
        numbers = np.exp(scores) if self.loss in LOG_LINK else scores
        return numbers if self._limits is None else np.clip(numbers, *self._limits)

    def score(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R² of the predictions. Of a file, y is in it."""
        if is_path(X) and y is None:
            y = self._targets_of(X)
        return float(super().score(X, y, sample_weight))


class SGDRegressor(LinearRegressor, LinearSGD):
    """Linear regression by stochastic gradient steps with an exact penalty.

    Parameters are those of :class:`sklearn.linear_model.SGDRegressor`, with the same meaning, and:

    Parameters
    ----------
    loss : also 'absolute_error', 'quantile', 'poisson', 'gamma' and 'tweedie'
        The last three predict exp(score), for targets from 0 up (gamma: above 0).
    quantile : float, default=0.5
        The quantile that loss='quantile' learns.
    power : float, default=1.5
        The power of the variance of loss='tweedie', between 1 and 2.
    n_jobs : int or None, default=None
        The number of threads of predictions and of solvers other than 'sgd': None is one, -1 is all cores.
    method : {'fobos', 'sgd'}, default='fobos'
        How a step applies the penalty: its proximal step, or its gradient clipped at zero.
    precision : {'f32', 'f64'} or None, default=None
        What weights are kept in; None goes by the data.
    progress : bool, default=False
        Show a progress bar (with tqdm, if it is installed).
    solver : str, default='sgd'
        'sgd' takes stochastic steps, one row at a time. 'newton' finds the optimum to a proved ``tol`` (a loss with kinks needs a penalty).
        Every solver of the program is known by its name. Those other than 'sgd' copy the rows and choose rates themselves.
    tol : float or None, default=1e-3
        With solver='sgd', as in scikit-learn. Solvers that find the optimum ('newton', 'svrg', 'auto') stop at a relative
        distance of at most ``tol`` from the optimum, and never at more than 1e-4.
    scale : {'maxabs', 'std'} or None, default=None
        Divide each feature by its largest magnitude, or by its standard deviation, while learning: the penalty then falls on
        the weights of the scaled features. ``coef_`` is in the units of the data.
    penalty_factor : array-like of shape (n_features,) or None, default=None
        A factor of the penalty for each feature (0: free); not for solver='sgd'.
    intercept_rate : float, default=1.0
        With solver='sgd': the learning rate of the intercept in the end, as a multiple of that of the weights. Below 1, it begins at 1 and
        falls within some thousand rows. scikit-learn has 0.01 for sparse X, from the first row on.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : ndarray of shape (1,)
    n_iter_ : int
        Epochs run.
    t_ : float
        One more than the rows learnt.
    loss_history_ : ndarray
        The mean loss of the rows of each epoch, each before it was learnt.
    dual_gap_ : float or None
        The relative duality gap: no weights have an objective that is lower by a larger share. None with solver='sgd', which
        does not look at all rows at the end (see :meth:`duality_gap`), and where there is no bound.
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

    loss_functions = REGRESSOR_LOSSES
    _checks = {"y_numeric": True}
    _splitter = "ShuffleSplit"
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
        random_state: Any = None,
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
        penalty_factor: Any = None,
        intercept_rate: float = 1.0,
    ) -> None:
        self._keep(locals())

    @available_if(_params.goes_on)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learns these rows, or those of the file X, once, and goes on from there at the next call: exactly as if all had come at once."""
        first = not self.__sklearn_is_fitted__()
        self._check_params(for_partial_fit=True)
        X, y, sample_weight = self._opened_again(X, y, sample_weight)
        X, y = validated(self, X, y, with_y=True, reset=first, y_numeric=True)
        return self._partial_fit(X, self._aim(X, y, sample_weight), first=first)

    def _fit_online(self, X: Any, y: Any, aim: Aim, coef: Any, intercept: Any) -> None:
        """The same at a rate that does not diverge: a tenth of ``eta0`` and so on, if it does."""
        super()._fit_online(X, y, aim, coef, intercept)
        if self.loss not in SQUARED or self.learning_rate not in ("constant", "invscaling", "adaptive"):
            return
        known = float(np.average((aim.targets - np.average(aim.targets, weights=aim.weights)) ** 2, weights=aim.weights)) / 2
        first = self.loss_history_[-1]
        try:
            for power in range(1, 9):
                if self.loss_history_[-1] <= DIVERGED * known:
                    break
                self._rate = float(self.eta0) / 10**power
                super()._fit_online(X, y, aim, coef, intercept)
            used = self._rate
        finally:
            self._rate = None
        if used is not None:
            warnings.warn(
                f"SGD diverged at eta0={self.eta0:g}: the loss of its last epoch was {first:.3g}, and that of a constant is {known:.3g}. "
                f"The model was trained with eta0={used:g} instead. Scale the features (scale='std'), or use solver='newton'.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _aim(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Aim:
        weights = weights_of(sample_weight, X.shape[0], may_be_zero=self.early_stopping)
        return Aim(1, np.ascontiguousarray(y, dtype=np.float64), weights)

    def _shaped(self, coef: Any) -> Any:
        return coef.ravel()
