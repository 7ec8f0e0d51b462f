"""What the classifier and the regressor share: the learners, and attributes that are read from them."""

import warnings
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lazyglm import _params, _show
from lazyglm._core import Learner, learn, score_rows, scores
from lazyglm._frames import is_table
from lazyglm._data import by_model, is_path, is_texts, lent, offsets_of, scaled, validated
from lazyglm._files import ModelFile
from lazyglm._plots import Plots
from lazyglm._solve import Solving

#: scikit-learn's names of losses, and the library's; what stands in braces is a parameter of the estimator.
LOSSES = {
    "hinge": "hinge",
    "log_loss": "logistic",
    "modified_huber": "modified-huber",
    "squared_hinge": "squared-hinge",
    "perceptron": "perceptron",
    "squared_error": "squared",
    "huber": "huber:delta={epsilon}",
    "epsilon_insensitive": "epsilon-insensitive:epsilon={epsilon}",
    "squared_epsilon_insensitive": "squared-epsilon-insensitive:epsilon={epsilon}",
    "quantile": "quantile:tau={quantile}",
    "poisson": "poisson",
    "gamma": "gamma",
    "tweedie": "tweedie:p={power}",
    "absolute_error": "epsilon-insensitive:epsilon=0",
}

#: The losses whose prediction is the exponential of the score.
LOG_LINK = ("poisson", "gamma", "tweedie")


class Seen:
    """What has been read from the learners, or put in its place. An object of its own: predicting changes no attribute."""

    coef: Any = None
    intercept: Any = None


def _looked_at(name: str) -> property:
    """An attribute that ``_read_`` and its name read from the learners when it is first looked at."""

    def get(self: Any) -> Any:
        if "_looked" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name}_ before it is fitted")
        if getattr(self._looked, name) is None:
            setattr(self._looked, name, getattr(self, f"_read_{name}")())
        return getattr(self._looked, name)

    def put(self: Any, value: Any) -> None:
        setattr(self.__dict__.setdefault("_looked", Seen()), name, value)

    return property(get, put)


class Aim(NamedTuple):
    """What is to be learnt: targets of one model, or numbers of classes for several."""

    models: int
    targets: Any
    weights: Any
    class_weights: list[float] | None = None
    classes: Any = None
    offsets: Any = None
    labels: Any = None

    @property
    def weighted(self) -> bool:
        return self.weights is not None or self.class_weights is not None


def shifted(aim: Aim, offset: Any) -> Aim:
    """The same with row offsets, if there are any."""
    offsets = offsets_of(offset, len(aim.targets))
    if offsets is not None and aim.models > 1:
        raise ValueError("offset is for numbers and for two classes: more classes have no common offset")
    return aim._replace(offsets=offsets)


class LinearSGD(Solving, ModelFile, Plots, _params.Estimator):
    """Base of both estimators: not for use."""

    _rules: dict[str, _params.Rule]
    _checks: dict[str, Any] = {}
    _splitter: str
    _learners: list[Learner]
    _rate: float | None = None  # instead of ``eta0``, where that diverges
    _kind: str = "ovr"  # how several models belong together: 'ovr', 'softmax' or 'labels'
    _as_sets: bool = False  # whether labels are predicted as sets
    _thresholds: Any = 0.0  # the score above which a row has a label
    _limits: Any = None  # the least and the largest prediction of numbers
    _file_bytes: bytes | None = None  # a model file that arrays do not hold: of tf-idf values
    _zeroed: list[Any] | None = None  # the columns of each model that the zero test of `fit` sets to zero
    _losses: list[Any]
    _looked: "Seen"

    # Attributes that are read from the learners when asked for. Looking changes nothing: the learners keep the exact
    # state. What a user puts in their place is noticed at the next `partial_fit`.

    coef_, intercept_ = _looked_at("coef"), _looked_at("intercept")

    def _read_coef(self, learners: list[Learner] | None = None) -> Any:
        learners = learners or self._learners
        dtype = np.float32 if learners[0].single else np.float64
        rows = [learner.weights() for learner in learners]
        for weights, zeros in zip(rows, self._zeroed or [], strict=False):
            weights[zeros] = 0.0
        stacked = rows[0].reshape(1, -1) if len(rows) == 1 else np.stack(rows)
        return self._shaped(stacked.astype(dtype, copy=False))

    def _read_intercept(self, learners: list[Learner] | None = None) -> Any:
        return np.array([learner.bias for learner in learners or self._learners])

    def _shaped(self, coef: Any) -> Any:
        return coef

    def sparsify(self) -> Any:
        """Turns ``coef_`` into a sparse matrix: for models most of whose weights are zero.

        A pickle then has the sparse weights alone: ``partial_fit`` of what comes back goes on from these weights and ``t_``.
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Any:
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
    ) -> Any:
        """Learns X and y, or the file X (and of a table its column ``target``): with ``solver="sgd"`` until it improves no more or ``max_iter`` epochs have passed.

        ``offset`` has one number per row, which is added to the score of the row: the logarithm of the exposure for
        ``loss="poisson"``, or the scores of another model. Predictions take the offsets of their own rows.
        """
        self._check_params()
        X, y, sample_weight = self._opened(X, y, sample_weight, target)
        X, y = validated(self, X, y, with_y=True, reset=True, **self._checks)
        aim = shifted(self._aim(X, y, sample_weight), offset)
        if self.warm_start and self.__sklearn_is_fitted__():
            coef_init = self.coef_ if coef_init is None else coef_init
            intercept_init = self.intercept_ if intercept_init is None else intercept_init
        start = self._start(aim.models, X.shape[1], coef_init, intercept_init)
        if _params.solver_of(self) == "sgd" and not (aim.models > 1 and _params.is_multinomial(self)):
            self._fit_online(X, y, aim, *start)
        else:
            self._fit_solver(X, aim, None if coef_init is None and intercept_init is None else start)
        if aim.classes is not None:
            self.classes_ = aim.classes
        self._warn_after_fit()
        return self

    def _fit_online(self, X: Any, y: Any, aim: Aim, coef: Any, intercept: Any) -> None:
        factors = self._factors(X)
        learners = self._new_learners(coef if factors is None else coef / factors, intercept, self._single(X.dtype))
        held_out = self._held_out(y, aim.weights)
        zero_test = self.penalty == "l1" and self.alpha > 0 and not self.average and self.learning_rate not in ("pa1", "pa2")
        self._learn(learners, scaled(X, factors), aim, held_out=held_out, epochs=self.max_iter, zero_test=zero_test)
        if factors is not None:  # from here on in units of the data
            coef = np.stack([learner.weights() for learner in learners]) * factors
            steps, epochs = learners[0].t, learners[0].epochs
            intercept = self._read_intercept()
            self._learners = self._new_learners(coef, intercept, learners[0].single, t=steps, epochs=epochs)

    def _aim(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Aim:
        raise NotImplementedError

    def _net(self) -> tuple[float, float]:
        """l1 and l2 of ``alpha`` and ``l1_ratio``."""
        ratio = {"l1": 1.0, "l2": 0.0}.get(self.penalty, self.l1_ratio)
        return (0.0, 0.0) if self.penalty is None else (self.alpha * ratio, self.alpha * (1 - ratio))

    def _loss(self) -> str:
        keys = {"epsilon": self.epsilon, "quantile": getattr(self, "quantile", 0.5), "power": getattr(self, "power", 1.5)}
        return LOSSES[self.loss].format(**{key: float(value) for key, value in keys.items()})

    def _new_learners(self, coef: Any, intercept: Any, single: bool, *, t: int = 0, epochs: int = 0) -> list[Learner]:
        l1, l2 = self._net()
        return [
            Learner(
                np.ascontiguousarray(weights, dtype=np.float64),
                float(bias),
                t=t,
                epochs=epochs,
                l1=l1,
                l2=l2,
                method=self.method,
                single=single,
                intercept=bool(self.fit_intercept),
                average=int(self.average),
            )
            for weights, bias in zip(coef, intercept, strict=True)
        ]

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
        made_with = (*self._net(), self.method, first.single, bool(self.fit_intercept), int(self.average))
        coef, intercept = seen.coef, seen.intercept
        same = coef is None or np.array_equal(self._shaped(by_model(coef)), self._read_coef(learners))
        same = same and (intercept is None or np.array_equal(intercept, self._read_intercept(learners)))
        if same and first.made_with == made_with:
            return learners
        if same:  # where there are means, learning goes on from the weights themselves
            start, biases = zip(*(learner.now() for learner in learners), strict=True)
        else:
            start, biases = tuple(by_model(self.coef_).reshape(len(learners), -1)), tuple(np.ravel(self.intercept_))
        return self._new_learners(start, biases, first.single, t=first.t, epochs=first.epochs)

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
        """Goes through the rows, and takes over what was learnt: all of it or, if it fails, nothing that is read."""
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
        with _show.watching(self, len(learners) * epochs, _show.epochs_of(len(learners))) as watch:
            outcomes = learn(lent(X), aim.targets, aim.weights, aim.offsets, held_out, learners, aim.class_weights, options, watch)
        self._zeroed = [np.array(zeros, dtype=np.intp) for _, _, zeros in outcomes] if zero_test else None
        self._learners, self._looked, self.dual_gap_, self.stop_reason_ = learners, Seen(), None, None
        self._trained = {"seed": seed, "rows": X.shape[0], "weighted": aim.weighted, "offsets": aim.offsets is not None}
        self.n_iter_ = max(len(losses) for losses, _, _ in outcomes)
        self.t_ = 1.0 + max(learner.t for learner in learners)
        self._history([(losses, held) for losses, held, _ in outcomes], restart=epochs > 1 or learners[0].epochs == 1)

    def _history(self, outcomes: list[tuple[list[float], list[float]]], *, restart: bool) -> None:
        losses = [np.array(losses) for losses, _ in outcomes]
        held = [np.array(held) for _, held in outcomes]
        if not restart and len(getattr(self, "_losses", [])) == len(losses):
            losses = [np.append(old, new) for old, new in zip(self._losses, losses, strict=True)]
        self._losses = losses
        self.loss_history_ = losses[0] if len(losses) == 1 else losses
        self.validation_history_ = None if not self.early_stopping else held[0] if len(held) == 1 else held

    def _warn_after_fit(self) -> None:
        if _params.solver_of(self) != "sgd" or self._kind == "softmax":
            return
        if self.tol is not None and self.n_iter_ == self.max_iter:
            warnings.warn(
                "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the "
                "fit.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if self.power_t < 0:
            warnings.warn(
                "Negative values for `power_t` are deprecated in version 1.8 and will raise an error in 1.10. Use "
                "values in the range [0.0, inf) instead.",
                FutureWarning,
                stacklevel=3,
            )

    def _partial_fit(self, X: Any, aim: Aim, *, first: bool) -> Any:
        """Learns these rows once."""
        if first:
            start = self._start(aim.models, X.shape[1], None, None)
            learners = self._new_learners(*start, self._single(X.dtype))
        else:
            learners = self._go_on()
        self._learn(learners, X, aim, epochs=1)
        if aim.classes is not None:
            self.classes_ = aim.classes
        return self

    # Predicting

    def _scores(self, X: Any, offset: Any = None) -> Any:
        """One row a row, one column a model; with its offset, if there are any."""
        found = self._bare_scores(X)
        offsets = offsets_of(offset, len(found))
        if offsets is not None and found.shape[1] > 1:
            raise ValueError("offset is for numbers and for two classes: more classes have no common offset")
        return found if offsets is None else found + offsets[:, None]

    def _bare_scores(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_path(X) or is_table(X) or (self._is_text() and is_texts(X)):
            return self._score_file(X)
        X = validated(self, X, with_y=False, reset=False)
        coef, rows = self.coef_, lent(X)
        if self._file_bytes is not None:
            return score_rows(rows, self._file_bytes).reshape(X.shape[0], -1)
        intercept = np.ascontiguousarray(np.ravel(self.intercept_), dtype=np.float64)
        if sp.issparse(coef):  # one model at a time is laid out, and the sums are those of a dense one
            each = (np.ascontiguousarray(coef[[k]].toarray(), dtype=np.float64) for k in range(coef.shape[0]))
            return np.hstack([scores(rows, weights, intercept[[k]], self._threads()) for k, weights in enumerate(each)])
        return scores(rows, np.ascontiguousarray(np.atleast_2d(coef), dtype=np.float64), intercept, self._threads())

    def __sklearn_is_fitted__(self) -> bool:
        return "_looked" in self.__dict__
