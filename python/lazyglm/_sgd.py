"""What the classifier and the regressor share: the learners, and attributes that are read from them."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lazyglm import _params, _show
from lazyglm._aim import LOSSES, Aim, Seen, looked_at, shifted
from lazyglm._core import Learner, learn, score_rows, scores
from lazyglm._data import by_model, is_path, lent, means_of, offsets_of, scaled, tf_idf, validated
from lazyglm._files import ModelFile
from lazyglm._plots import Plots
from lazyglm._solve import Solving, warn_after_epochs

if TYPE_CHECKING:
    from typing_extensions import Self


class LinearSGD(Solving, ModelFile, Plots, _params.Estimator):
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
    random_state: Any
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
    penalty_factor: Any
    intercept_rate: float

    n_features_in_: int
    _rules: dict[str, _params.Rule]
    _checks: dict[str, Any] = {}
    _splitter: str
    _learners: list[Learner]
    _rate: float | None = None  # instead of ``eta0``, where that diverges
    _kind: str = "ovr"  # how several models belong together: 'ovr', 'softmax' or 'labels'
    _as_sets: bool = False  # whether labels are predicted as sets
    _thresholds: Any = 0.0  # the score above which a row has a label
    _limits: Any = None  # the least and the largest prediction of numbers
    _means: Any = None  # of the columns of a frame of numbers: what stands for an empty cell of a file
    _file_bytes: bytes | None = None  # a model file that arrays do not hold: of tf-idf values
    _tf_idf: tuple[bool, Any] | None = None  # of a model of tf-idf values: whether counts have a logarithm, and the idf of each feature
    _zeroed: list[Any] | None = None  # the columns of each model that the zero test of `fit` sets to zero
    _losses: list[Any]
    _looked: Seen

    # Attributes that are read from the learners when asked for. Looking changes nothing: the learners keep the exact
    # state. What a user puts in their place is noticed at the next `partial_fit`.

    coef_, intercept_ = looked_at("coef"), looked_at("intercept")

    def _read_coef(self, learners: list[Learner] | None = None) -> Any:
        learners = learners or self._learners
        dtype = np.float32 if learners[0].made_with[3] else np.float64
        rows = [learner.weights() for learner in learners]
        for weights, zeros in zip(rows, self._zeroed or [], strict=False):
            weights[zeros] = 0.0
        stacked = rows[0].reshape(1, -1) if len(rows) == 1 else np.stack(rows)
        return self._shaped(stacked.astype(dtype, copy=False))

    def _read_intercept(self, learners: list[Learner] | None = None) -> Any:
        return np.array([learner.bias for learner in learners or self._learners])

    def _shaped(self, coef: Any) -> Any:
        return coef

    def sparsify(self) -> Self:
        """Turns ``coef_`` into a sparse matrix, for models whose weights are mostly zero.

        A pickle then contains only the sparse weights. After loading it, ``partial_fit`` continues from these weights and ``t_``.
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Turns ``coef_`` back into an array."""
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self._shaped(self.coef_.toarray())
        return self

    def __getstate__(self) -> Any:
        """For pickle: of learners and weights, the learners; of a sparsified model, the weights."""
        state = dict(super().__getstate__())
        looked = state.get("_looked")
        if looked is None or looked.coef is None or "_learners" not in state:
            return state
        kept = Seen()
        if sp.issparse(looked.coef):
            del state["_learners"]
            kept.coef, kept.intercept = looked.coef, self.intercept_
            state["_looked"] = kept
        elif np.array_equal(looked.coef, self._read_coef()):
            kept.intercept = looked.intercept
            state["_looked"] = kept
        return state

    # Learning

    def _check_params(self, *, for_partial_fit: bool = False) -> None:
        _params.check(self, self._rules)
        if for_partial_fit and self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")
        if for_partial_fit and self.scale is not None:
            raise ValueError("partial_fit goes on row by row, and cannot know the scale of later rows: leave scale at None")

    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        target: str | None = None,
    ) -> Self:
        """Trains on X and y. With ``solver="sgd"``, until ``tol`` stops it or after ``max_iter`` epochs.

        Ctrl-C with ``solver="sgd"`` raises KeyboardInterrupt and keeps what was learnt so far.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, texts or path of shape (n_rows, n_features)
            The rows, or the path of a file with rows and targets.
        y : array-like of shape (n_rows,) or None, default=None
            The targets. None if X is the path of a file, which has them.
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
        X, y, sample_weight = self._opened(X, y, sample_weight, target)
        X, y = validated(self, X, y, with_y=True, reset=True, columns=self._table_columns(), **self._checks)
        self._means = means_of(self, X)
        aim = shifted(self._aim(X, y, sample_weight), offset)
        if self.warm_start and self.__sklearn_is_fitted__():
            coef_init = self.coef_ if coef_init is None else coef_init
            intercept_init = self.intercept_ if intercept_init is None else intercept_init
        start = self._start(aim.models, X.shape[1], coef_init, intercept_init)
        if _params.takes_rows(self.solver) and not (aim.models > 1 and _params.is_multinomial(self)):
            self._fit_online(X, y, aim, *start)
        else:
            self._fit_solver(X, aim, None if coef_init is None and intercept_init is None else start)
        if aim.classes is not None:
            self.classes_ = aim.classes
        self._limits, self._thresholds = None, 0.0  # of a model file that was loaded
        self._warn_after_fit()
        return self

    def _fit_online(self, X: Any, y: Any, aim: Aim, coef: Any, intercept: Any) -> None:
        factors = self._factors(X)
        learners = self._new_learners(coef if factors is None else coef / factors, intercept, self._single(X.dtype))
        held_out = self._held_out(y, aim.weights)
        zero_test = self.penalty == "l1" and self.alpha > 0 and not self.average and self.learning_rate not in ("pa1", "pa2")
        try:
            self._learn(learners, scaled(X, factors), aim, held_out=held_out, epochs=self.max_iter, zero_test=zero_test)
        finally:
            if factors is not None and getattr(self, "_learners", None) is learners:  # from here on in units of the data
                coef = np.stack([learner.weights() for learner in learners]) * factors
                steps, epochs = learners[0].t, learners[0].epochs
                intercept = self._read_intercept()
                self._learners = self._new_learners(coef, intercept, learners[0].made_with[3], t=steps, epochs=epochs)

    def _aim(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Aim:
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

    def _held_out(self, y: Any, sample_weight: Any) -> Any:
        """The rows that judge each epoch, for early stopping."""
        if not self.early_stopping:
            return None
        from sklearn import model_selection  # takes long to import, and is needed here alone

        split = getattr(model_selection, self._splitter)(test_size=self.validation_fraction, random_state=self.random_state)
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
        self, learners: list[Learner], X: Any, aim: Aim, *, held_out: Any = None, epochs: int, zero_test: bool = False
    ) -> None:
        """Goes through the rows, and takes over what was learnt: all of it, what was learnt until Ctrl-C or, if it fails, nothing."""
        self._kind = "ovr"
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
            "intercept_rate": float(self.intercept_rate),
            "zero_test": zero_test,
        }
        before = max(learner.t for learner in learners)
        try:
            with _show.watching(self, len(learners) * epochs, _show.epochs_of(len(learners))) as watch:
                outcomes = learn(lent(X), aim.targets, aim.weights, aim.offsets, held_out, learners, aim.class_weights, options, watch)
        except KeyboardInterrupt:
            if max(learner.t for learner in learners) > before:  # what was learnt so far is the model
                self._take_over(learners, aim, X.shape[0], seed, [([], [], []) for _ in learners], "interrupted")
            raise
        self._take_over(learners, aim, X.shape[0], seed, outcomes, None, restart=epochs > 1 or learners[0].epochs == 1)
        if zero_test:
            self._zeroed = [np.array(zeros, dtype=np.intp) for _, _, zeros in outcomes]

    def _take_over(
        self, learners: list[Learner], aim: Aim, rows: int, seed: int, outcomes: Any, reason: str | None, *, restart: bool = True
    ) -> None:
        """Takes over learners, with the course of each."""
        self._learners, self._looked, self.dual_gap_, self.stop_reason_ = learners, Seen(), None, reason
        self._zeroed, self._tf_idf, self._file_bytes = None, None, None
        self._trained = {"seed": seed, "rows": rows, "weighted": aim.weighted, "offsets": aim.offsets is not None}
        self.n_iter_ = max(len(losses) for losses, _, _ in outcomes) or learners[0].epochs
        self.t_ = 1.0 + max(learner.t for learner in learners)
        self._history([(losses, held) for losses, held, _ in outcomes], restart=restart)
        if aim.classes is not None:
            self.classes_ = aim.classes

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

    def _partial_fit(self, X: Any, aim: Aim, *, first: bool) -> Self:
        """Learns these rows once."""
        if first:
            self._means = means_of(self, X)
            start = self._start(aim.models, X.shape[1], None, None)
            learners = self._new_learners(*start, self._single(X.dtype))
        else:
            learners = self._go_on()
        self._learn(learners, X, aim, epochs=1)
        return self

    # Predicting

    def _scores(self, X: Any, offset: Any = None, whose: Any = None) -> Any:
        """One row per row of X and one column per model, with the offsets added. Errors name the estimator ``whose`` model this is, if given."""
        found = self._bare_scores(X, whose)
        offsets = offsets_of(offset, len(found))
        if offsets is not None and found.shape[1] > 1:
            raise ValueError("offset is for numbers and for two classes: more classes have no common offset")
        return found if offsets is None else found + offsets[:, None]

    def _bare_scores(self, X: Any, whose: Any = None) -> Any:
        check_is_fitted(self)
        if is_path(X) or self._reads(X):
            return self._score_file(X)
        X = validated(whose or self, X, with_y=False, reset=False, columns=self._table_columns())
        coef, rows = self.coef_, lent(X)
        if self._tf_idf is not None:
            rows = lent(tf_idf(X, *self._tf_idf))
        if self._file_bytes is not None:
            return score_rows(rows, self._file_bytes).reshape(X.shape[0], -1)
        intercept = np.ascontiguousarray(np.ravel(self.intercept_), dtype=np.float64)
        if sp.issparse(coef):  # one model at a time is laid out, and the sums are those of a dense one
            each = (np.ascontiguousarray(coef[[k]].toarray(), dtype=np.float64) for k in range(coef.shape[0]))
            return np.hstack([scores(rows, weights, intercept[[k]], self._threads()) for k, weights in enumerate(each)])
        return scores(rows, np.ascontiguousarray(np.atleast_2d(coef), dtype=np.float64), intercept, self._threads())

    def __sklearn_is_fitted__(self) -> bool:
        return "_looked" in self.__dict__
