"""DaskSGDClassifier and DaskSGDRegressor: scikit-learn's parameters, data on many workers."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lazyglm import _params
from lazyglm._classifier import SGDClassifier, _gives_probabilities
from lazyglm._regressor import SGDRegressor
from lazyglm.dask._blocks import is_dask, labels_of, parts_of, shards_of
from lazyglm.dask._watch import Watching
from lazyglm.dask.engine import DaskEngine, client_of
from lazyglm.distributed import checkpoint, tasks
from lazyglm.distributed.run import SOLVERS, Found, fit, not_converged
from lazyglm.distributed.shard import aligned
from lazyglm.distributed.problem import Problem
from lazyglm.distributed.rounds import State

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
}
#: Those of the rate, which comes from the data: words, and no error.
OF_THE_RATE = ("learning_rate", "eta0", "power_t")
OWN = ("client", "solver", "checkpoint", "timeout")


class DaskLinear:
    """What both estimators share: not for use."""

    _base: type[Any]

    def _set(self, base: type[Any], given: dict[str, Any], own: dict[str, Any]) -> None:
        defaults = _defaults(base)
        unknown = sorted(set(given) - set(defaults))
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter {unknown[0]!r}")
        for name, value in {**defaults, **given, **own}.items():
            setattr(self, name, value)

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
            if getattr(self, name) is not only and not np.array_equal(getattr(self, name), only):
                raise ValueError(f"{name}={getattr(self, name)!r} has no meaning over partitions: leave it at {only!r}")
        defaults = _defaults(self._base)
        for name in OF_THE_RATE:
            if getattr(self, name) != defaults[name]:
                warnings.warn(f"{name} is not used: over partitions the rate comes from the data", UserWarning, stacklevel=4)
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {SOLVERS}, not {self.solver!r}")
        if not self.timeout > 0:
            raise ValueError(f"timeout must be above 0, not {self.timeout!r}")

    def _solve(self: Any, engine: DaskEngine, problems: list[Problem], columns: int, single: bool) -> list[Found]:
        """One model after another, from where a checkpoint left off."""
        seed = 0 if self.random_state is None else self._seed()  # the same bits again, unless asked for others
        of = {"problems": [problem.told() for problem in problems], "seed": seed, "columns": columns, "solver": self.solver}
        states: list[State] = []
        if self.checkpoint is not None:
            rows = engine.map(tasks.fingerprint, [], {})
            of = {**of, "precision": "f4" if single else "f8", "rows": rows}
            states = checkpoint.load(self.checkpoint, of) or []
        kept, states = states, []
        found = []
        for k, problem in enumerate(problems):
            start = kept[k] if k < len(kept) else None

            def after_round(state: State, before: list[State] = list(states)) -> None:
                if self.checkpoint is not None:
                    checkpoint.save(self.checkpoint, [*before, state], of)

            with Watching(self, k, len(problems)) as watch:
                one = fit(
                    engine,
                    problem,
                    solver=self.solver,
                    max_rounds=self.max_iter,
                    tol=self.tol,
                    seed=seed,
                    wire="f4" if single else "f8",
                    state=start,
                    after_round=after_round,
                    watch=watch,
                )
            states.append(one.state)
            found.append(one)
        return found

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
            warnings.warn(words, ConvergenceWarning, stacklevel=4)

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

    def _lazy(self: Any, X: Any, method: str, columns: int | None, dtype: Any) -> Any:
        """The method of the ordinary estimator, block by block, when it is computed."""
        model = dask.delayed(self.to_local(), pure=False)
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
        self,
        loss: str = "log_loss",
        *,
        client: Any = None,
        solver: str = "rounds",
        checkpoint: Any = None,
        timeout: float = 3600.0,
        **parameters: Any,
    ) -> None:
        own = {"client": client, "solver": solver, "checkpoint": checkpoint, "timeout": timeout}
        self._set(SGDClassifier, {**parameters, "loss": loss}, own)

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learns dask arrays (of sparse or dense blocks) or frames, cut alike."""
        self._check()
        l1, l2 = self._net()
        Problem(self._loss(), l1, l2)  # a loss that will not do is refused before data are touched
        parts = parts_of(X, y, sample_weight)
        client = client_of(self.client)
        labels = _gathered(client, labels_of(parts), self.timeout)
        classes = np.unique(np.concatenate([found for found, _ in labels])) if labels else np.array([])
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        if np.issubdtype(classes.dtype, np.floating) and not np.array_equal(classes, np.round(classes)):
            raise ValueError("Unknown label type: continuous. y holds numbers that are no classes")
        aims = [1] if len(classes) == 2 else range(len(classes))
        weigh = _class_weights(self.class_weight, classes, labels)
        problems = [
            Problem(self._loss(), l1, l2, bool(self.fit_intercept), aim, weigh(aim, len(classes) == 2)) for aim in aims
        ]
        engine = DaskEngine(client, shards_of(parts, classes), self.timeout)
        try:
            columns, single = _fitting(engine, self)
            found = self._solve(engine, problems, columns, single)
        finally:
            engine.close()
        self._take(found, columns, single, X)
        self.classes_ = classes
        return self

    def partial_fit(self, *arguments: Any, **more: Any) -> Self:
        """Not over partitions: ``to_local().partial_fit`` goes on with new rows."""
        raise AttributeError("partial_fit is for one machine: to_local().partial_fit(...)")

    def decision_function(self, X: Any) -> Any:
        """The score of each row; lazy if X is."""
        check_is_fitted(self)
        if not is_dask(X):
            return self.to_local().decision_function(X)
        return self._lazy(X, "decision_function", None if len(self.classes_) == 2 else len(self.classes_), np.float64)

    def predict(self, X: Any) -> Any:
        """The class of each row; lazy if X is."""
        check_is_fitted(self)
        return self._lazy(X, "predict", None, self.classes_.dtype) if is_dask(X) else self.to_local().predict(X)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """The probability of each class; lazy if X is."""
        check_is_fitted(self)
        if not is_dask(X):
            return self.to_local().predict_proba(X)
        return self._lazy(X, "predict_proba", len(self.classes_), np.float64)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of :meth:`predict_proba`."""
        return da.log(self.predict_proba(X)) if is_dask(X) else np.log(self.predict_proba(X))


class DaskSGDRegressor(DaskLinear, SGDRegressor):
    """:class:`lazyglm.SGDRegressor` on Dask. Parameters and attributes as for :class:`DaskSGDClassifier`."""

    _base = SGDRegressor

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        client: Any = None,
        solver: str = "rounds",
        checkpoint: Any = None,
        timeout: float = 3600.0,
        **parameters: Any,
    ) -> None:
        own = {"client": client, "solver": solver, "checkpoint": checkpoint, "timeout": timeout}
        self._set(SGDRegressor, {**parameters, "loss": loss}, own)

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learns dask arrays (of sparse or dense blocks) or frames, cut alike."""
        self._check()
        problem = Problem(self._loss(), *self._net(), bool(self.fit_intercept))
        engine = DaskEngine(client_of(self.client), shards_of(parts_of(X, y, sample_weight), None), self.timeout)
        try:
            columns, single = _fitting(engine, self)
            found = self._solve(engine, [problem], columns, single)
        finally:
            engine.close()
        self._take(found, columns, single, X)
        return self

    def partial_fit(self, *arguments: Any, **more: Any) -> Self:
        """Not over partitions: ``to_local().partial_fit`` goes on with new rows."""
        raise AttributeError("partial_fit is for one machine: to_local().partial_fit(...)")

    def predict(self, X: Any) -> Any:
        """The prediction for each row; lazy if X is."""
        check_is_fitted(self)
        return self._lazy(X, "predict", None, np.float64) if is_dask(X) else self.to_local().predict(X)


def _defaults(base: type[Any]) -> dict[str, Any]:
    parameters = inspect.signature(base.__init__).parameters  # type: ignore[misc]
    return {name: of.default for name, of in parameters.items() if name != "self"}


def _signed(cls: type[Any], base: type[Any]) -> None:
    """Lists the parameters of the base in the signature, where scikit-learn looks for them: a second list would drift."""
    mine = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
    own = [of for of in mine.values() if of.kind is not inspect.Parameter.VAR_KEYWORD]
    theirs = [of for name, of in inspect.signature(base.__init__).parameters.items() if name not in mine]  # type: ignore[misc]
    cls.__init__.__signature__ = inspect.Signature([*own[:2], *theirs, *own[2:]])  # type: ignore[misc, attr-defined]


_signed(DaskSGDClassifier, SGDClassifier)
_signed(DaskSGDRegressor, SGDRegressor)


def _called(X: Any, method: str, model: Any) -> Any:
    """On a worker: a method of the ordinary estimator. What came over a network may lie at any byte."""
    if sp.issparse(X):
        X = type(X)((aligned(X.data), aligned(X.indices), aligned(X.indptr)), shape=X.shape)
    elif isinstance(X, np.ndarray):
        X = aligned(X)
    model.coef_, model.intercept_ = aligned(model.coef_), aligned(model.intercept_)
    return getattr(model, method)(X)


def _gathered(client: Any, parts: list[Any], timeout: float) -> list[Any]:
    """Small answers of delayed calls."""
    engine = DaskEngine(client, parts, timeout)
    return engine.map(_itself, [], {})


def _itself(answer: Any, number: int, shared: Any, told: Any) -> Any:
    return answer


def _fitting(engine: DaskEngine, estimator: Any) -> tuple[int, bool]:
    """How many columns all partitions have, and whether weights are kept in single precision."""
    shapes = engine.map(tasks.shape, [], {})
    columns = {columns: k for k, (_, columns, _) in reversed(list(enumerate(shapes)))}
    if len(columns) > 1:
        (first, one), (second, other) = sorted((k, count) for count, k in columns.items())[:2]
        raise ValueError(f"partition {first} has {one} features and partition {second} has {other}: give all the same")
    single = all(is_single for _, _, is_single in shapes)
    precision = estimator.precision
    return next(iter(columns)), bool(precision == "f32" or (precision is None and single))


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
