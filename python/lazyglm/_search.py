"""Searching penalties: grid, folds, the lanes of the library, and what was chosen learnt from all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from lazyglm import _params
from lazyglm._core import Task, path, search, solve, starting_rate
from lazyglm._data import is_path, lent, validated
from lazyglm._plots import PathPlots
from lazyglm._sgd import shifted
from lazyglm._solve import threads

if TYPE_CHECKING:
    from typing_extensions import Self

#: Where all weights of an automatic grid are zero also without any l1, as glmnet has it.
LEAST_RATIO = 1e-3

#: Parameters that an estimator of the search and the estimator that it chooses have in common.
SHARED = ("fit_intercept", "max_iter", "shuffle", "epsilon", "method", "precision", "solver", "tol")

RULES: dict[str, _params.Rule] = {
    **{name: _params.COMMON[name] for name in SHARED},
    "eps": _params.real(0, 1, open_low=True, open_high=True),
    "choose": _params.one_of("best", "one_se"),
    "halving": _params.BOOLEAN,
    "eta0": _params.or_none(_params.real(0, open_low=True)),
    "n_jobs": _params.N_JOBS,
}


class ElasticNetCV(PathPlots, _params.Estimator):
    """Base of both: not for use."""

    _rules: dict[str, _params.Rule]
    _sgd: type[Any]
    _own: tuple[str, ...]
    best_estimator_: Any

    def _model(self, **penalty: Any) -> Any:
        """An estimator with the parameters of this search."""
        same = {name: getattr(self, name) for name in ("loss", "random_state", *SHARED, *self._own)}
        return self._sgd(penalty="elasticnet", **same, **penalty)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> Self:
        """Tries every penalty on rows held out, chooses one, and learns all rows with it."""
        _params.check_alone(self, self._rules)
        ratios = self._ratios()
        model = self._model()
        X, y, sample_weight = model._opened(X, y, sample_weight)
        X, y = validated(self, X, y, with_y=True, reset=True, **model._checks)
        aim = shifted(model._aim(X, y, sample_weight), offset)
        weights = aim.weights
        if aim.class_weights is not None:  # a row counts alike for all classes
            weights = np.array(aim.class_weights)[aim.targets.astype(int)] * (1.0 if weights is None else weights)
        folds = self._folds(X, y, weights)
        task = Task(lent(X), aim.targets, weights, aim.offsets, model._loss(), aim.models)
        alphas = self._grid(task, ratios)
        grid = [(ratio, alpha) for ratio, row in zip(ratios, alphas, strict=True) for alpha in row]
        nets = [(ratio * alpha, (1 - ratio) * alpha) for ratio, alpha in grid]
        asked = model._asked(task, X.shape[1], l1=0.0, l2=0.0, solver="sgd", schedule=self.schedule)
        asked |= {"seed": model._seed(), "single": model._single(X.dtype), "threads": threads(self.n_jobs)}
        asked["eta0"] = self._rate(task, asked, nets)
        found = search(task, nets, folds, self.halving, asked)
        self._results(found, grid, alphas)
        chosen = self.best_index_ if self.choose == "best" else self.one_se_index_
        self.l1_ratio_, self.alpha_ = grid[chosen]
        self._refit(model, task, aim, asked, X)
        self._keep_path(task, asked, aim.models, X.shape[1])
        return self

    def _ratios(self) -> list[float]:
        fits, words = _params.real(0, 1)
        ratios = [self.l1_ratio] if np.ndim(self.l1_ratio) == 0 else list(self.l1_ratio)
        if not ratios or not all(fits(ratio) for ratio in ratios):
            raise ValueError(f"l1_ratio must be {words}, or a list of such. Got {self.l1_ratio!r} instead.")
        return [float(ratio) for ratio in ratios]

    def _grid(self, task: Task, ratios: list[float]) -> Any:
        """The alphas for each l1_ratio, falling."""
        if np.ndim(self.alphas) > 0:
            alphas = np.sort(np.asarray(self.alphas, dtype=np.float64).ravel())[::-1]
            if len(alphas) == 0 or not np.all(np.isfinite(alphas) & (alphas >= 0)):
                raise ValueError(f"alphas must be numbers from 0 up. Got {self.alphas!r} instead.")
            return np.tile(alphas, (len(ratios), 1))
        if not _params._is_int(self.alphas) or self.alphas < 1:
            raise ValueError(f"alphas must be how many to try, or a list of them. Got {self.alphas!r} instead.")
        most = task.l1_max(bool(self.fit_intercept))
        if not most > 0:  # no feature says anything
            return np.full((len(ratios), self.alphas), np.finfo(np.float64).resolution)
        tops = [most / max(ratio, LEAST_RATIO) for ratio in ratios]
        return np.array([np.geomspace(top, top * self.eps, self.alphas) for top in tops])

    def _folds(self, X: Any, y: Any, weights: Any) -> Any:
        """The fold in which each row is held out: scikit-learn's, or as given."""
        from sklearn.model_selection import check_cv  # takes long to import, and is needed here alone

        folds = np.full(X.shape[0], -1)
        for k, (train, test) in enumerate(check_cv(self.cv, y, classifier=is_classifier(self)).split(X, y)):
            if np.any(folds[test] >= 0) or len(np.union1d(train, test)) != len(folds) or len(np.intersect1d(train, test)):
                raise ValueError("cv must hold out each row once, and learn all others: KFold and its like do")
            folds[test] = k
        if np.any(folds < 0):
            raise ValueError("cv must hold out each row once: KFold and its like do")
        if weights is not None:
            folds = folds[weights > 0]
        return np.unique(folds, return_inverse=True)[1].astype(np.uint16)

    def _rate(self, task: Task, asked: dict[str, Any], nets: list[tuple[float, float]]) -> float:
        """The rate given, or the best of a ladder that is tried with a penalty from the middle of the grid."""
        if self.eta0 is not None:
            return float(self.eta0)
        l1, l2 = sorted(nets)[(len(nets) - 1) // 2][0], max(l2 for _, l2 in nets)
        return starting_rate(task, 0, {**asked, "l1": l1, "l2": l2})

    def _results(self, found: dict[str, Any], grid: list[tuple[float, float]], alphas: Any) -> None:
        losses = np.array(found["by_fold"])
        mean = np.array(found["mean"])
        rank = np.empty(len(mean), dtype=np.int32)
        rank[np.argsort(mean, kind="stable")] = np.arange(1, len(mean) + 1)
        self.cv_results_ = {
            "params": [{"alpha": alpha, "l1_ratio": ratio} for ratio, alpha in grid],
            "param_alpha": np.array([alpha for _, alpha in grid]),
            "param_l1_ratio": np.array([ratio for ratio, _ in grid]),
            **{f"split{k}_test_score": -column for k, column in enumerate(losses.T)},
            "mean_test_score": -mean,
            "std_test_score": losses.std(axis=1),
            "rank_test_score": rank,
            "se_test_score": np.array(found["se"]),
            "mean_nonzeros": np.array(found["nonzeros"]),
            "epochs": np.array(found["epochs"]),
            "dropped": np.array(found["dropped"]),
        }
        self.best_index_, self.one_se_index_ = int(found["best"]), int(found["one_se"])
        self.best_score_ = float(-mean[self.best_index_])
        self.n_splits_ = losses.shape[1]
        self.alphas_ = alphas[0] if np.ndim(self.l1_ratio) == 0 else alphas

    def _refit(self, model: Any, task: Task, aim: Any, asked: dict[str, Any], X: Any) -> None:
        """Learns all rows with what was chosen."""
        asked = {**asked, "l1": self.l1_ratio_ * self.alpha_, "l2": (1 - self.l1_ratio_) * self.alpha_, "solver": self.solver}
        if _params.solver_of(self) != "sgd":
            asked |= {"eta0": None, "single": self.precision == "f32"}
        found = [solve(task, head, asked) for head in range(aim.models)]
        model, opened = self._model(alpha=self.alpha_, l1_ratio=self.l1_ratio_), model
        model.n_features_in_, model._reading = self.n_features_in_, opened._reading
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        model._trained = {"seed": asked["seed"], "rows": X.shape[0], "weighted": aim.weighted, "offsets": aim.offsets is not None}
        model._trained |= {"schedule": self.schedule, "solver": self.solver}
        model._adopt(np.stack([each["weights"] for each in found]), found, X.shape[0], asked["single"])
        if aim.classes is not None:
            model.classes_ = aim.classes
        self.best_estimator_, self.eta0_ = model, found[0]["eta0"]

    def _keep_path(self, task: Task, asked: dict[str, Any], models: int, columns: int) -> None:
        """The weights at every alpha of the l1_ratio that was chosen, for :meth:`plot_path`."""
        ratio = self.l1_ratio_
        of_ratio = self.cv_results_["param_l1_ratio"] == ratio
        self.path_alphas_ = self.cv_results_["param_alpha"][of_ratio]
        nets = [(ratio * alpha, (1 - ratio) * alpha) for alpha in self.path_alphas_]
        heads = []
        for head in range(models):
            stops = path(task, head, nets, asked)
            ends = np.cumsum([0, *(len(ids) for ids, _, _ in stops)])
            ids = np.concatenate([ids for ids, _, _ in stops]).astype(np.int64)
            weights = np.concatenate([weights for _, weights, _ in stops])
            heads.append(sp.csr_matrix((weights, ids, ends), shape=(len(nets), columns)))
        self.path_coef_ = heads[0] if models == 1 else heads

    @property
    def coef_(self) -> Any:
        """The weights of the chosen model."""
        return self._of_best("coef_")

    @property
    def intercept_(self) -> Any:
        """The intercept of the chosen model."""
        return self._of_best("intercept_")

    @property
    def n_iter_(self) -> int:
        """The epochs, or steps, of the chosen model."""
        return self._of_best("n_iter_")

    @property
    def dual_gap_(self) -> Any:
        """The relative duality gap of the chosen model."""
        return self._of_best("dual_gap_")

    def _of_best(self, name: str) -> Any:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        return getattr(self.best_estimator_, name)

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in self.__dict__

    def _scores(self, X: Any, offset: Any = None) -> Any:
        check_is_fitted(self)
        if not is_path(X):
            X = validated(self, X, with_y=False, reset=False)
        return self.best_estimator_._scores(X, offset)

    def save(self, path: Any, *, index_base: int = 1) -> None:
        """Writes the chosen model as the program's model file."""
        check_is_fitted(self)
        self.best_estimator_.save(path, index_base=index_base)
