"""DaskSGDClassifier and DaskSGDRegressor: scikit-learn's parameters, data on many workers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lazyglm import _params, _show
from lazyglm._classifier import SGDClassifier, _gives_probabilities
from lazyglm._regressor import SGDRegressor
from lazyglm._warn import warn
from lazyglm.dask._blocks import is_dask, labels_of, parts_of, shards_of
from lazyglm.dask.engine import DaskEngine, client_of
from lazyglm.distributed import tasks
from lazyglm.distributed.run import SOLVERS, Found, fit_each, not_converged
from lazyglm.distributed.shard import aligned, width
from lazyglm.distributed.problem import Problem

if TYPE_CHECKING:
    from typing_extensions import Self

#: Parameters of the base that have no meaning in rounds, and what they may be.
UNUSED: dict[str, Any] = {
    "early_stopping": False,
    "average": False,
    "warm_start": False,
    "method": "fobos",
    "scale": None,
    "penalty_factor": None,
    "intercept_rate": None,
    "multi_class": "ovr",
}
#: Those of the rate, which comes from the data: words, and no error.
OF_THE_RATE = ("learning_rate", "eta0", "power_t")
OWN = ("client", "solver", "checkpoint", "timeout")


class DaskLinear:
    """What both estimators share: not for use."""

    client: Any
    timeout: float
    _base: type[Any]

    def __sklearn_clone__(self: Any) -> Any:
        """A client is a connection: clones share it."""
        mine = self.get_params(deep=False)
        shared = {"client": mine.pop("client")}
        return type(self)(**{name: copy.deepcopy(value) for name, value in mine.items()}, **shared)

    def __getstate__(self: Any) -> Any:
        """Without the client: where it is read again, another is current."""
        state: Any = super().__getstate__()
        return {**state, "client": None}

    def _check(self: Any) -> None:
        _params.check_alone(self, {name: rule for name, rule in self._rules.items() if name not in OWN})
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be set when penalty is 'elasticnet'")
        for name, only in UNUSED.items():
            given = getattr(self, name, only)  # numbers have no classes
            if given is not only and not np.array_equal(given, only):
                raise ValueError(f"{name}={given!r} has no meaning over partitions: leave it at {only!r}")
        usual = self._base()
        for name in OF_THE_RATE:
            if getattr(self, name) != getattr(usual, name):
                warn(f"{name} is not used: over partitions the rate comes from the data", UserWarning)
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {SOLVERS}, not {self.solver!r}")
        if not self.timeout > 0:
            raise ValueError(f"timeout must be above 0, not {self.timeout!r}")

    def _fit(self: Any, X: Any, parts: list[Any], problems: list[Problem], classes: Any) -> None:
        """One model per problem, from where a checkpoint left off."""
        engine = DaskEngine(client_of(self.client), shards_of(parts, classes), self.timeout)
        try:
            columns, single = _fitting(engine, self)
            self._take(self._solve(engine, problems, columns, single), columns, single, X)
        finally:
            engine.close()

    def _solve(self: Any, engine: DaskEngine, problems: list[Problem], columns: int, single: bool) -> list[Any]:
        seed = 0 if self.random_state is None else self._seed()  # the same bits again, unless asked for others
        how = {"seed": seed, "solver": self.solver}
        options = {**how, "max_rounds": self.max_iter, "tol": self.tol, "wire": "f4" if single else "f8"}
        of = {**how, "problems": [problem.told() for problem in problems], "columns": columns, "precision": options["wire"]}
        if self.checkpoint is not None:
            of["rows"] = engine.map(tasks.fingerprint, [], {})

        def watching(model: int) -> Any:
            name = f" of model {model + 1}" if len(problems) > 1 else ""
            return _show.watching(self, self.max_iter, lambda figures: _shown(figures, name))

        return fit_each(engine, problems, self.checkpoint, of, watching, **options)

    def _take(self: Any, found: list[Found], columns: int, single: bool, X: Any) -> None:
        dtype = np.float32 if single else np.float64
        for name in ("_looked", "_learners"):
            self.__dict__.pop(name, None)
        self.coef_ = self._shaped(np.stack([one.weights for one in found]).astype(dtype))
        self.intercept_ = np.array([one.bias for one in found])
        self.n_features_in_, self.n_iter_ = columns, max(one.rounds for one in found)
        self.t_ = 1.0
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns):
            self.feature_names_in_ = np.array(X.columns, dtype=object)
        histories = [np.array(one.history) for one in found]
        self.objective_history_ = histories[0] if len(found) == 1 else histories
        certificates = [one.certificate for one in found]
        self.certificate_ = certificates[0] if len(found) == 1 else certificates
        self.converged_ = self.tol is not None and all(one.converged for one in found)
        words = None if self.tol is None else not_converged(found, self.tol, "max_iter")
        if words is not None:
            warn(words, ConvergenceWarning)

    def to_local(self: Any) -> Any:
        """The ordinary estimator with these weights: predicts, is saved and goes on learning on one machine."""
        check_is_fitted(self)
        mine = self.get_params(deep=False)
        local = self._base(**{name: value for name, value in mine.items() if name not in OWN})
        local.coef_, local.intercept_ = self.coef_, self.intercept_
        for name in ("classes_", "n_features_in_", "n_iter_", "t_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(local, name, getattr(self, name))
        return local

    def partial_fit(self, *arguments: Any, **more: Any) -> Self:
        """Not over partitions: ``to_local().partial_fit`` goes on with new rows."""
        raise AttributeError("partial_fit is for one machine: to_local().partial_fit(...)")

    def predict(self, X: Any, offset: Any = None) -> Any:
        """The prediction for each row (of a classifier, the class); lazy if X is."""
        return self._predicted(X, "predict", offset)

    def _predicted(self: Any, X: Any, method: str, offset: Any) -> Any:
        """The method of the ordinary estimator; on dask collections block by block, when it is computed."""
        local = self.to_local()
        if not is_dask(X):
            return getattr(local, method)(X, offset)
        if offset is not None:
            raise ValueError(f"offset is for rows in memory: to_local().{method}(X, offset)")
        classes = getattr(self, "classes_", np.zeros(0))
        is_column = method == "predict" or (method == "decision_function" and len(classes) == 2)
        columns, dtype = None if is_column else len(classes), classes.dtype if method == "predict" else np.float64
        model = dask.delayed(local, pure=False)
        if isinstance(X, da.Array):
            if X.numblocks[1] != 1:
                raise ValueError("the columns of X are split over chunks: X.rechunk({1: -1})")
            shape: dict[str, Any] = {"drop_axis": 1} if columns is None else {"chunks": (X.chunks[0], (columns,))}
            meta = np.empty((0,) if columns is None else (0, 0), dtype=dtype)
            return da.map_blocks(_called, X, method=method, model=model, dtype=dtype, meta=meta, **shape)
        call = dask.delayed(_called, pure=False)
        parts = [call(part, method=method, model=model) for part in X.to_delayed()]
        size = (np.nan,) if columns is None else (np.nan, columns)
        return da.concatenate([da.from_delayed(part, size, dtype=dtype) for part in parts], allow_unknown_chunksizes=True)


class DaskSGDClassifier(DaskLinear, SGDClassifier):
    """:class:`lazyglm.SGDClassifier` on Dask: linear classifiers with exact elastic-net regularisation.

    Parameters are those of :class:`lazyglm.SGDClassifier`; ``loss`` is ``'log_loss'`` unless given, and must have a slope that
    does not jump (not ``hinge``). ``max_iter`` bounds the rounds, and ``tol`` ends them: when the duality gap over all partitions is at
    most ``tol`` of the objective. If that is not proved, a ``ConvergenceWarning`` says what was reached. The rate comes from the data. Further:

    Parameters
    ----------
    client : distributed.Client, default=None
        Where to run; None takes the current one.
    solver : {'rounds', 'owlqn'}, default='rounds'
        Rounds of corrected local passes, or OWL-QN.
    checkpoint : path, default=None
        File that is written after each round. If it is there, a run on the same rows and the same problem goes on from it, to the same
        bits; the checkpoint of other rows is refused.
    timeout : float, default=3600
        Seconds one step of a round may take.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_ : as always; ``n_iter_`` counts rounds
    certificate_ : objective, a bound below it that no weights beat, and the relative gap; a list for many classes
    converged_ : whether every certificate proves ``tol``
    objective_history_ : the objective after each round
    """

    _base = SGDClassifier

    def __init__(
        self, loss: str = "log_loss", *, penalty: str | None = "l2", alpha: float = 0.0001, l1_ratio: float | None = 0.15,
        fit_intercept: bool = True, max_iter: int = 1000, tol: float | None = 1e-3, shuffle: bool = True, verbose: int = 0,
        epsilon: float = 0.1, n_jobs: int | None = None, random_state: Any = None, learning_rate: str = "optimal",
        eta0: float = 0.01, power_t: float = 0.5, early_stopping: bool = False, validation_fraction: float = 0.1,
        n_iter_no_change: int = 5, class_weight: dict[Any, float] | str | None = None, warm_start: bool = False,
        average: bool | int = False, method: str = "fobos", precision: str | None = None, progress: bool = False,
        scale: str | None = None, penalty_factor: Any = None, intercept_rate: float | None = None, multi_class: str = "ovr",
        client: Any = None, solver: str = "rounds", checkpoint: Any = None, timeout: float = 3600.0,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learns dask arrays (of sparse or dense blocks) or frames, cut alike."""
        self._check()
        l1, l2 = self._net()
        Problem(self._loss(), l1, l2)  # a loss that will not do is refused before data are touched
        parts = parts_of(X, y, sample_weight)
        labels = DaskEngine(client_of(self.client), labels_of(parts), self.timeout).map(_itself, [], {})
        classes = np.unique(np.concatenate([found for found, _ in labels])) if labels else np.array([])
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        if np.issubdtype(classes.dtype, np.floating) and not np.array_equal(classes, np.round(classes)):
            raise ValueError("Unknown label type: continuous. y holds numbers that are no classes")
        aims = [1] if len(classes) == 2 else range(len(classes))
        weigh = _class_weights(self.class_weight, classes, labels)
        problems = [Problem(self._loss(), l1, l2, bool(self.fit_intercept), aim, weigh(aim, len(classes) == 2)) for aim in aims]
        self._fit(X, parts, problems, classes)
        self.classes_ = classes
        return self

    def decision_function(self, X: Any, offset: Any = None) -> Any:
        """The score of each row; lazy if X is."""
        return self._predicted(X, "decision_function", offset)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any, offset: Any = None) -> Any:
        """The probability of each class; lazy if X is."""
        return self._predicted(X, "predict_proba", offset)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any, offset: Any = None) -> Any:
        """The logarithm of :meth:`predict_proba`; lazy if X is."""
        return self._predicted(X, "predict_log_proba", offset)


class DaskSGDRegressor(DaskLinear, SGDRegressor):
    """:class:`lazyglm.SGDRegressor` on Dask. Parameters and attributes as for :class:`DaskSGDClassifier`."""

    _base = SGDRegressor

    def __init__(
        self, loss: str = "squared_error", *, penalty: str | None = "l2", alpha: float = 0.0001, l1_ratio: float | None = 0.15,
        fit_intercept: bool = True, max_iter: int = 1000, tol: float | None = 1e-3, shuffle: bool = True, verbose: int = 0,
        epsilon: float = 0.1, random_state: Any = None, learning_rate: str = "invscaling", eta0: float = 0.01,
        power_t: float = 0.25, early_stopping: bool = False, validation_fraction: float = 0.1, n_iter_no_change: int = 5,
        warm_start: bool = False, average: bool | int = False, quantile: float = 0.5, power: float = 1.5,
        n_jobs: int | None = None, method: str = "fobos",
        precision: str | None = None, progress: bool = False, scale: str | None = None, penalty_factor: Any = None,
        intercept_rate: float | None = None,
        client: Any = None, solver: str = "rounds", checkpoint: Any = None, timeout: float = 3600.0,
    ) -> None:  # fmt: skip
        self._keep(locals())

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learns dask arrays (of sparse or dense blocks) or frames, cut alike."""
        self._check()
        problem = Problem(self._loss(), *self._net(), bool(self.fit_intercept))
        self._fit(X, parts_of(X, y, sample_weight), [problem], None)
        return self


def _shown(figures: dict[str, Any], model: str) -> tuple[float, int, str]:
    """Objective, non-zeros, and the line that ``verbose`` shows of a round."""
    objective, nonzeros = figures["objective"], figures["nonzeros"]
    line = f"-- Round {figures['round']}{model}: objective {objective:.6f}, nonzeros {nonzeros}, "
    return objective, nonzeros, f"{line}{figures['solver']}, steps back {figures['rejected']}"


def _called(X: Any, method: str, model: Any) -> Any:
    """On a worker: a method of the ordinary estimator. What came over a network may lie at any byte."""
    if sp.issparse(X):
        X = type(X)((aligned(X.data), aligned(X.indices), aligned(X.indptr)), shape=X.shape)
    elif isinstance(X, np.ndarray):
        X = aligned(X)
    model.coef_, model.intercept_ = aligned(model.coef_), aligned(model.intercept_)
    return getattr(model, method)(X)


def _itself(answer: Any, number: int, shared: Any, told: Any) -> Any:
    return answer


def _fitting(engine: DaskEngine, estimator: Any) -> tuple[int, bool]:
    """How many columns all partitions have, and whether weights are kept in single precision."""
    shapes = engine.map(tasks.shape, [], {})
    single = estimator.precision == "f32" or (estimator.precision is None and all(single for _, _, single in shapes))
    return width((k, columns) for k, (_, columns, _) in enumerate(shapes)), single


def _class_weights(asked: Any, classes: Any, labels: list[Any]) -> Callable[[int, bool], tuple[float, float]]:
    """(weight of the rest, weight of the class) for each class."""
    if asked is None:
        return lambda aim, two: (1.0, 1.0)
    if asked == "balanced":
        counts = dict.fromkeys(classes.tolist(), 0)
        for found, times in labels:
            for label, count in zip(found.tolist(), times.tolist(), strict=True):
                counts[label] += count
        total = sum(counts.values())
        of = {label: total / (len(classes) * count) for label, count in counts.items()}
    else:
        of = {label: float(asked.get(label, 1.0)) for label in classes.tolist()}
    weights = [of[label] for label in classes.tolist()]
    return lambda aim, two: (weights[0] if two else 1.0, weights[aim])
