"""What the classifier and the regressor share: the learners, and attributes that are read from them."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from lazyglm import _params, _show
from lazyglm._attributes import Seen, looked_at
from lazyglm._core import Learner, learn
from lazyglm._data import by_model, lent, means_of, scaled, validated
from lazyglm._files import ModelFile
from lazyglm._labels import label_sets
from lazyglm._losses import LOSSES
from lazyglm._plots import Plots
from lazyglm._predict import Predicting
from lazyglm._solve import Solving, warn_after_epochs
from lazyglm._sparsify import Sparsifying
from lazyglm._targets import Targets

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self

    from lazyglm._types import Floats, Gap, Labels, PerModel, RandomState, Rows, SparseMatrix, Weights


class LinearSGD(Solving, Sparsifying, Predicting, ModelFile, Plots, _params.Estimator):
    """Base class of SGDClassifier and SGDRegressor; not part of the public API."""

    loss: str
    penalty: str | None
    alpha: float
    l1_ratio: float | None
    fit_intercept: bool
    max_iter: int
    tol: float | None
    shuffle: bool
    verbose: int
    epsilon: float
    random_state: RandomState
    learning_rate: str
    eta0: float
    power_t: float
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    warm_start: bool
    average: bool | int
    n_jobs: int | None
    method: str
    precision: str | None
    progress: bool
    solver: str
    scale: str | None
    penalty_factor: ArrayLike | None
    intercept_rate: float | None

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    n_iter_: int
    t_: float
    loss_history_: PerModel
    validation_history_: PerModel | None
    dual_gap_: Gap
    stop_reason_: str | None
    _rules: dict[str, _params.Rule]
    _checks: dict[str, Any] = {}
    _splitter: str
    _takes_labels = False  # whether a row may have any number of labels
    _learners: list[Learner]
    _rate: float | None = None  # instead of ``eta0``, where that diverges
    _kind: str = "ovr"  # how several models belong together: 'ovr', 'softmax' or 'labels'
    _as_sets: bool = False  # whether labels are predicted as sets
    _thresholds: Any = 0.0  # the score above which a row has a label
    _limits: Any = None  # the least and the largest prediction of numbers
    _means: Any = None  # of the columns of a frame of numbers: what stands for an empty cell of a file
    _file_bytes: bytes | None = None  # a model file that arrays do not hold: of tf-idf values
    _tf_idf: tuple[bool, Any] | None = None  # of a model of tf-idf values: whether counts have a logarithm, and the idf of each feature
    _polished: list[Any] | None = None  # columns, weights and intercept of each model after the last steps of `fit` with penalty='l1'
    _losses: list[Any]
    _looked: Seen

    # Attributes that are read from the learners when asked for. Looking changes nothing: the learners keep the exact
    # state. What a user puts in their place is noticed at the next `partial_fit`.

    if TYPE_CHECKING:
        coef_: Weights
        intercept_: Floats
    else:
        coef_, intercept_ = looked_at("coef"), looked_at("intercept")

    def _read_coef(self, learners: list[Learner] | None = None) -> Any:
        learners = learners or self._learners
        dtype = np.float32 if learners[0].made_with[3] else np.float64
        rows = [learner.weights() for learner in learners]
        for weights, (columns, polished, _) in zip(rows, self._polished or [], strict=False):
            weights[:] = 0.0
            weights[columns] = polished
        stacked = rows[0].reshape(1, -1) if len(rows) == 1 else np.stack(rows)
        return self._shaped(stacked.astype(dtype, copy=False))

    def _read_intercept(self, learners: list[Learner] | None = None) -> Any:
        if self._polished is not None:
            return np.array([bias for _, _, bias in self._polished])
        return np.array([learner.bias for learner in learners or self._learners])

    def _shaped(self, coef: Any) -> Any:
        return coef

    # Learning

    def _check_params(self, *, for_partial_fit: bool = False) -> None:
        _params.check(self, self._rules)
        if for_partial_fit and self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")
        if for_partial_fit and self.scale is not None:
            raise ValueError("partial_fit goes on row by row, and cannot know the scale of later rows: leave scale at None")

    def fit(
        self,
        X: Rows,
        y: Labels | None = None,
        coef_init: ArrayLike | SparseMatrix | None = None,
        intercept_init: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        target: str | None = None,
    ) -> Self:
        """Trains on X and y. With ``solver="sgd"``, until ``tol`` stops it or after ``max_iter`` epochs.

        Ctrl-C with ``solver="sgd"`` raises KeyboardInterrupt and keeps what was learnt so far.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows, or the path of a file with rows and targets.
        y : array-like of shape (n_rows,) or None, default=None
            The targets. A classifier also takes several labels per row: an indicator matrix, or a list of sets.
            None if X is the path of a file, which has them.
        coef_init : array-like of shape (n_features,) or (n_classes, n_features), or None, default=None
            The weights to start from.
        intercept_init : array-like of shape (1,) or (n_classes,), or None, default=None
            The intercepts to start from.
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
        self._check_params()
        rows, y, sample_weight = self._opened(X, y, sample_weight, target)
        return self._fit_rows(rows, y, coef_init, intercept_init, sample_weight, offset)

    def _fit_rows(self, X: Any, y: Any, coef_init: Any, intercept_init: Any, sample_weight: Any, offset: Any) -> Self:
        """The same for rows that have been read, if they were in a file."""
        X, y, labels = self._validated(X, y, reset=True)
        self._means = means_of(self, X)
        targets = self._targets(X, labels or y, sample_weight).with_offsets(offset)
        if self.warm_start and self.__sklearn_is_fitted__():
            coef_init = self.coef_ if coef_init is None else coef_init
            intercept_init = self.intercept_ if intercept_init is None else intercept_init
        start = self._start(targets.models, X.shape[1], coef_init, intercept_init)
        if _params.takes_rows(self.solver) and self._kind_of(targets) != "softmax":
            self._fit_online(X, targets, *start)
        else:
            self._fit_solver(X, targets, None if coef_init is None and intercept_init is None else start)
        self._limits, self._thresholds = None, 0.0  # of a model file that was loaded
        self._warn_after_fit()
        return self

    def _validated(self, X: Any, y: Any, *, reset: bool, classes: Any = None) -> tuple[Any, Any, Any]:
        """X and y after scikit-learn's checks; and the labels, if rows may have any number of them."""
        labels = label_sets(y, classes) if self._takes_labels and y is not None else None
        y = y if labels is None else np.zeros(labels.indicator.shape[0])
        X, y = validated(self, X, y, with_y=True, reset=reset, columns=self._table_columns(), **self._checks)
        return X, y, labels

    def _fit_online(self, X: Any, targets: Targets, coef: Any, intercept: Any) -> None:
        factors = self._factors(X)
        learners = self._new_learners(coef if factors is None else coef / factors, intercept, self._single(X.dtype))
        held_out = self._held_out(targets)
        polish = self.penalty == "l1" and self.alpha > 0 and not self.average and self.learning_rate not in ("pa1", "pa2")
        try:
            self._learn(learners, scaled(X, factors), targets, held_out=held_out, epochs=self.max_iter, polish=polish)
        finally:
            if factors is not None and getattr(self, "_learners", None) is learners:  # from here on in units of the data
                coef = np.stack([learner.weights() for learner in learners]) * factors
                steps, epochs = learners[0].t, learners[0].epochs
                intercept = np.array([learner.bias for learner in learners])
                if self._polished is not None:
                    self._polished = [(columns, weights * factors[columns], bias) for columns, weights, bias in self._polished]
                self._learners = self._new_learners(coef, intercept, learners[0].made_with[3], t=steps, epochs=epochs)

    def _targets(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Targets:
        raise NotImplementedError

    def _net(self) -> tuple[float, float]:
        """l1 and l2 of ``alpha`` and ``l1_ratio``."""
        if self.penalty is None:
            return 0.0, 0.0
        ratio = {"l1": 1.0, "l2": 0.0}.get(self.penalty, self.l1_ratio or 0.0)
        return self.alpha * ratio, self.alpha * (1 - ratio)

    def _loss(self) -> str:
        keys = {"epsilon": self.epsilon, "quantile": getattr(self, "quantile", 0.5), "power": getattr(self, "power", 1.5)}
        return LOSSES[self.loss].format(**{key: float(value) for key, value in keys.items()})

    def _new_learners(self, coef: Any, intercept: Any, single: bool, *, t: int = 0, epochs: int = 0) -> list[Learner]:
        made_with = self._made_with(single)
        return [
            Learner(np.ascontiguousarray(weights, dtype=np.float64), float(bias), t, epochs, made_with)
            for weights, bias in zip(coef, intercept, strict=True)
        ]

    def _made_with(self, single: bool) -> tuple[float, float, str, bool, bool, int]:
        """What learners are made with: l1, l2, method, single precision, intercept, average."""
        return (*self._net(), self.method, single, bool(self.fit_intercept), int(self.average))

    def _start(self, models: int, columns: int, coef_init: Any, intercept_init: Any) -> tuple[Any, Any]:
        """The weights to start from, one row a model, and the intercepts."""
        if coef_init is None:
            coef = np.zeros((models, columns))
        else:
            coef = np.asarray(coef_init.toarray() if sp.issparse(coef_init) else coef_init, dtype=np.float64)
            if coef.size != models * columns or (models > 1 and coef.shape != (models, columns)):
                raise ValueError(f"Provided coef_init does not match dataset: {coef.shape}, {models} x {columns}")
            coef = coef.reshape(models, columns)
        intercept = np.zeros(models) if intercept_init is None else np.asarray(intercept_init, dtype=np.float64)
        if intercept.size != models or intercept.ndim > 1:
            raise ValueError(f"Provided intercept_init does not match dataset: {intercept.shape}, {models} models")
        return coef, intercept.reshape(models)

    def _single(self, dtype: Any) -> bool:
        return bool(self.precision == "f32" or (self.precision is None and dtype == np.float32))

    def _go_on(self) -> list[Learner]:
        """The learners as they are; new ones if parameters or ``coef_`` have been changed from outside."""
        learners, seen = self._learners_of_coef(), self._looked
        first = learners[0]
        single = first.made_with[3]
        coef, intercept = seen.coef, seen.intercept
        same = coef is None or np.array_equal(self._shaped(by_model(coef)), self._read_coef(learners))
        same = same and (intercept is None or np.array_equal(intercept, self._read_intercept(learners)))
        if same and first.made_with == self._made_with(single):
            return learners
        if same:  # where there are means, learning goes on from the weights themselves
            start, biases = zip(*(learner.now() for learner in learners), strict=True)
        else:
            start, biases = tuple(by_model(self.coef_).reshape(len(learners), -1)), tuple(np.ravel(self.intercept_))
        return self._new_learners(start, biases, single, t=first.t, epochs=first.epochs)

    def _learners_of_coef(self) -> list[Learner]:
        """The learners; of a model that was loaded or put together by hand: new ones."""
        if "_learners" not in self.__dict__:
            coef, steps = by_model(self.coef_), int(getattr(self, "t_", 1)) - 1
            return self._new_learners(coef, np.ravel(self.intercept_), self._single(coef.dtype), t=steps)
        return self._learners

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _held_out(self, targets: Targets) -> Any:
        """The rows that judge each epoch, for early stopping."""
        if not self.early_stopping:
            return None
        from sklearn import model_selection  # takes long to import, and is needed here alone

        y, sample_weight = targets.values, targets.weights
        splitter = getattr(model_selection, self._splitter if targets.labels is None else "ShuffleSplit")
        split = splitter(test_size=self.validation_fraction, random_state=self.random_state)
        train, held = next(split.split(np.zeros((len(y), 1)), y))
        if len(train) == 0 or len(held) == 0:
            raise ValueError(
                f"Splitting {len(y)} samples with validation_fraction={self.validation_fraction!r} led to an empty set "
                f"({len(train)} and {len(held)} samples): change validation_fraction or disable early_stopping"
            )
        if sample_weight is not None and not np.any(sample_weight[held] > 0):
            raise ValueError("The sample weights for validation set are all zero, consider using a different random state.")
        mask = np.zeros(len(y), dtype=bool)
        mask[held] = True
        return mask

    def _learn(
        self, learners: list[Learner], X: Any, targets: Targets, *, held_out: Any = None, epochs: int, polish: bool = False
    ) -> None:
        """Goes through the rows, and takes over what was learnt: all of it, what was learnt until Ctrl-C or, if it fails, nothing."""
        labels = None if targets.labels is None or targets.models == 1 else targets.labels.rows
        options = {
            "loss": self._loss(),
            "learning_rate": self.learning_rate,
            "eta0": float(self.eta0 if self._rate is None else self._rate),
            "alpha": float(self.alpha),
            "power_t": float(self.power_t),
            "epochs": int(epochs),
            "tol": None if self.tol is None else float(self.tol),
            "patience": int(self.n_iter_no_change),
            "shuffle": bool(self.shuffle),
            "seed": (seed := self._seed()),
            "threads": self._threads(),
            "intercept_rate": None if self.intercept_rate is None else float(self.intercept_rate),
            "polish": polish,
        }
        before = max(learner.t for learner in learners)
        try:
            with _show.watching(self, len(learners) * epochs, _show.epochs_of(len(learners))) as watch:
                outcomes = learn(lent(X), targets.values, targets.weights, targets.offsets, held_out, learners, labels, targets.class_weights, options, watch)
        except KeyboardInterrupt:
            if max(learner.t for learner in learners) > before:  # what was learnt so far is the model
                self._take_over(learners, targets, X.shape[0], seed, [([], [], []) for _ in learners], "interrupted")
            raise
        self._take_over(learners, targets, X.shape[0], seed, outcomes, None, restart=epochs > 1 or learners[0].epochs == 1)
        if polish:
            self._polished = [polished for _, _, polished in outcomes]

    def _take_over(
        self, learners: list[Learner], targets: Targets, rows: int, seed: int, outcomes: Any, reason: str | None, *, restart: bool = True
    ) -> None:
        """Takes over learners, with the course of each."""
        self._learners, self._looked, self.dual_gap_, self.stop_reason_ = learners, Seen(), None, reason
        self._polished, self._tf_idf, self._file_bytes = None, None, None
        self._remember(targets, rows, targets.kind, seed=seed)
        self.n_iter_ = max(len(losses) for losses, _, _ in outcomes) or learners[0].epochs
        self.t_ = 1.0 + max(learner.t for learner in learners)
        self._history([(losses, held) for losses, held, _ in outcomes], restart=restart)

    def _history(self, outcomes: list[tuple[list[float], list[float]]], *, restart: bool) -> None:
        losses = [np.array(losses) for losses, _ in outcomes]
        held = [np.array(held) for _, held in outcomes]
        if not restart and len(getattr(self, "_losses", [])) == len(losses):
            losses = [np.append(old, new) for old, new in zip(self._losses, losses, strict=True)]
        self._losses = losses
        self.loss_history_ = losses[0] if len(losses) == 1 else losses
        self.validation_history_ = None if not self.early_stopping else held[0] if len(held) == 1 else held

    def _warn_after_fit(self) -> None:
        if not _params.takes_rows(self.solver) or self._kind == "softmax":
            return
        warn_after_epochs(self)

    def _partial_fit(self, X: Any, targets: Targets, *, first: bool) -> Self:
        """Learns these rows once."""
        if first:
            self._means = means_of(self, X)
            start = self._start(targets.models, X.shape[1], None, None)
            learners = self._new_learners(*start, self._single(X.dtype))
        else:
            learners = self._go_on()
        self._learn(learners, X, targets, epochs=1)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "_looked" in self.__dict__
