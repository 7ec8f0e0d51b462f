"""Cross-validation of penalties: the grid, the splits, optima or SGD models on all of them, and the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

from lazyglm import _params, _show
from lazyglm._chosen import Problem, WithBest
from lazyglm._core import exact_path, path, search
from lazyglm._data import dense
from lazyglm._plots import PathPlots
from lazyglm._scoring import in_units, scorer_of, scores_of_splits
from lazyglm._solve import Found, limits_of, threads, trained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from lazyglm._types import Floats, Labels, Rows, Scoring, Splits

#: The smallest l1_ratio that counts for the largest alpha of an automatic grid, as in glmnet.
LEAST_RATIO = 1e-3

#: Parameters that the estimator of one penalty has as well.
SHARED = ("fit_intercept", "max_iter", "shuffle", "epsilon", "method", "precision", "solver", "tol")

#: The parameters without effect, by whether all penalties are lanes of SGD.
WITHOUT_EFFECT = {False: ("max_iter", "schedule", "eta0", "shuffle", "method", "halving"), True: ("tol",)}

RULES: dict[str, _params.Rule] = {
    **{name: _params.COMMON[name] for name in SHARED},
    "solver": _params.one_of("newton", "sgd"),
    "eps": _params.real(0, 1, open_low=True, open_high=True),
    "scoring": ((lambda value: value is None or isinstance(value, str) or callable(value)), "a name, a callable or None"),
    "choose": _params.one_of("best", "one_se"),
    "max_features": _params.or_none(_params.integer(1)),
    "halving": _params.BOOLEAN,
    "eta0": _params.or_none(_params.real(0, open_low=True)),
    "n_jobs": _params.N_JOBS,
    **{name: _params.COMMON[name] for name in ("verbose", "progress")},
    **_params.LIMITS,
}


class ElasticNetCV(PathPlots, WithBest):
    """Base class of both cross-validating estimators; not part of the public API."""

    l1_ratio: float | Sequence[float]
    alphas: int | ArrayLike
    eps: float
    cv: Splits
    scoring: Scoring
    choose: str
    max_features: int | None
    halving: bool
    max_iter: int
    schedule: str
    eta0: float | None
    shuffle: bool
    method: str
    solver: str

    n_splits_: int
    alpha_: float
    l1_ratio_: float
    alphas_: Floats
    scores_: Floats
    cv_results_: dict[str, Any]
    best_index_: int
    one_se_index_: int
    best_score_: float
    eta0_: float
    path_alphas_: Floats
    path_coef_: Any  # a sparse matrix of scipy, or a list of them
    _rules: dict[str, _params.Rule]

    def fit(
        self,
        X: Rows,
        y: Labels | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        target: str | None = None,
    ) -> Self:
        """Tries every penalty on held-out rows, chooses one, and trains on all rows with it.

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
        groups : array-like of shape (n_rows,) or None, default=None
            The group of each row, for a splitter that keeps the rows of a group together.
        target : str or None, default=None
            The target column, if X is the path of a table.

        Returns
        -------
        self
            This estimator.
        """
        _params.check_alone(self, self._rules)
        by_rows = _params.takes_rows(self.solver)
        _params.warn_of_idle(self, WITHOUT_EFFECT[by_rows], f"solver={self.solver!r}")
        if by_rows and getattr(self, "multi_class", "ovr") == "multinomial":
            raise ValueError(f"multi_class='multinomial' is for solver='newton', not for {self.solver!r}")
        ratios = self._ratios()
        problem = self._problem(X, y, sample_weight, offset, target)
        splits = self._splits(problem, groups)
        asked = problem.model._asked(problem.task, problem.X.shape[1], l1=0.0, l2=0.0, schedule=self.schedule)
        asked |= {"seed": problem.model._seed(), "threads": threads(self.n_jobs)} | limits_of(self, problem)
        alphas = self._grid(problem.task, ratios, asked)
        try_all = self._lanes if by_rows else self._minimisers
        try_all(problem, splits, ratios, alphas, asked)
        return self

    def _couples(self) -> bool:
        return not _params.takes_rows(self.solver) and super()._couples()

    def _ratios(self) -> list[float]:
        fits, words = _params.real(0, 1)
        given: Any = self.l1_ratio
        ratios = [given] if np.ndim(given) == 0 else list(given)
        if not ratios or not all(fits(ratio) for ratio in ratios):
            raise _params.refused(self, "l1_ratio", f"{words}, or a list of such numbers")
        return [float(ratio) for ratio in ratios]

    def _grid(self, task: Any, ratios: list[float], asked: dict[str, Any]) -> Any:
        """The alphas for each l1_ratio, falling."""
        given: Any = self.alphas
        if np.ndim(given) > 0:
            alphas = np.sort(np.asarray(given, dtype=np.float64).ravel())[::-1]
            if len(alphas) == 0 or not np.all(np.isfinite(alphas) & (alphas >= 0)):
                raise _params.refused(self, "alphas", "numbers from 0 up")
            return np.tile(alphas, (len(ratios), 1))
        if not _params._is_int(given) or given < 1:
            raise _params.refused(self, "alphas", "the number of penalties to try, or a list of penalties")
        most = task.l1_max(asked)
        if not most > 0:  # no feature has a gradient
            return np.full((len(ratios), given), np.finfo(np.float64).resolution)
        tops = [most / max(ratio, LEAST_RATIO) for ratio in ratios]
        return np.array([np.geomspace(top, most * self.eps, given) for top in tops])

    def _splits(self, problem: Problem, groups: Any) -> list[tuple[Any, Any]]:
        """The training rows and the held-out rows of each split; rows of weight zero are as if absent."""
        from sklearn.model_selection import check_cv  # takes long to import, and is needed here alone

        X, y = problem.X, problem.y
        present = np.ones(len(y), dtype=bool) if problem.weights is None else problem.weights > 0
        folds = check_cv(self.cv, y, classifier=is_classifier(self)).split(X, y, groups)
        rows = np.arange(len(y))
        splits = [tuple(rows[part][present[part]] for part in split) for split in folds]
        if any(len(train) == 0 or len(test) == 0 for train, test in splits):
            raise ValueError("cv has a split in which no row of some weight is trained on, or none is held out; shuffle the rows, or give a splitter that does")
        return splits  # type: ignore[return-value]

    def _minimisers(self, problem: Problem, splits: Any, ratios: Any, alphas: Any, asked: dict[str, Any]) -> None:
        """The optimum at every penalty, on all rows and on the training rows of every split."""
        sequences = [[_net(ratio, alpha) for alpha in row] for ratio, row in zip(ratios, alphas, strict=True)]
        may_end = self.scoring is None and np.ndim(self.alphas) == 0  # where weaker penalties fit noise, by the loss
        given = [tuple(_places(part, problem.weights) for part in split) for split in splits]
        scorer = scorer_of(self, problem)
        with _show.watching(self, 1, _show.penalties()) as watch:
            models = exact_path(problem.task, sequences, given, may_end, self.max_features, scorer is not None, asked, watch)
        shape, columns = alphas.shape, problem.X.shape[1]
        scores = np.full((*shape, len(splits)), np.nan)
        nonzeros, steps = np.full(shape, np.nan), np.full(shape, np.nan)
        at: dict[tuple[int, int], Any] = {}
        for model in models:
            k = model["sequence"]
            place = (k, sum(other == k for other, _ in at))
            at[place] = model
            if scorer is not None:
                scores[place] = scores_of_splits(self, problem, scorer, splits, model["of_splits"])
            else:
                scores[place] = in_units(self, np.array(model["losses"]), problem.y, problem.weights, splits)
            nonzeros[place] = sum(len(weights) for _, weights, _ in model["heads"])
            steps[place] = model["steps"]
        more = {"nonzeros": nonzeros.ravel(), "epochs": steps.ravel()}
        more["dropped"] = np.where(np.isnan(scores).any(axis=2), "ended", "").ravel()
        chosen = self._results(ratios, alphas, scores, more)
        model = at[chosen]
        coef, intercept = dense(model["heads"], columns)
        found = Found(coef, intercept, model["steps"], model["gap"], model["stop"].strip('"'), [], {})
        if len(coef) == 1 and found.reason == "predicted_decrease" and (found.gap or 0.0) > asked["tolerance"]:
            # The solves of a path end by an estimate of the distance. The model that is kept goes on for its certificate.
            l1, l2 = _net(self.l1_ratio_, self.alpha_)
            again = trained(problem.task, 0, columns, {**asked, "l1": l1, "l2": l2, "start": [(coef[0], float(intercept[0]))]})
            found = again._replace(steps=found.steps + again.steps)
        self._keep_model(problem, [found], asked, alpha=self.alpha_, l1_ratio=self.l1_ratio_)
        path = [model["heads"] for (k, _), model in at.items() if k == chosen[0]]
        self._keep_path(path, alphas[chosen[0]][: len(path)], columns)

    def _lanes(self, problem: Problem, splits: Any, ratios: Any, alphas: Any, asked: dict[str, Any]) -> None:
        """Models of SGD, all in the same passes over the rows."""
        if self.scoring is not None or self.max_features is not None:
            raise ValueError("scoring and max_features are for solver='newton'")
        if asked["factors"] is not None or asked["bounds"] is not None:
            raise ValueError("penalty_factor, positive, lower and upper are for solver='newton'")
        task, heads, columns = problem.task, problem.targets.models, problem.X.shape[1]
        asked |= {"single": problem.model._single(problem.X.dtype), "eta0": self.eta0}
        nets = [_net(ratio, alpha) for ratio, row in zip(ratios, alphas, strict=True) for alpha in row]
        given = [tuple(_places(part, problem.weights) for part in split) for split in splits]
        with _show.watching(self, 1, _show.penalties()) as watch:
            found = search(task, nets, given, self.halving, asked, watch)
        asked["eta0"] = self.eta0_ = found["eta0"]
        scores = np.array([in_units(self, np.array(row), problem.y, None, splits) for row in found["by_fold"]])
        scores[np.array(found["dropped"]) == "diverged"] = np.nan
        more = {name: np.array(found[name]) for name in ("nonzeros", "epochs", "dropped")}
        chosen = self._results(ratios, alphas, scores.reshape(*alphas.shape, -1), more)
        l1, l2 = _net(self.l1_ratio_, self.alpha_)
        models = [trained(task, head, columns, {**asked, "l1": l1, "l2": l2}) for head in range(heads)]
        self._keep_model(problem, models, asked, alpha=self.alpha_, l1_ratio=self.l1_ratio_)
        along = alphas[chosen[0]]
        paths = [path(task, head, [_net(self.l1_ratio_, alpha) for alpha in along], asked) for head in range(heads)]
        self._keep_path([list(heads) for heads in zip(*paths, strict=True)], along, columns)

    def _results(self, ratios: list[float], alphas: Any, scores: Any, more: dict[str, Any]) -> tuple[int, int]:
        """Keeps the scores, of shape (l1_ratio, alpha, split), and chooses a penalty: its place in the grid."""
        by_split = scores.reshape(-1, scores.shape[2])
        mean, splits = by_split.mean(axis=1), by_split.shape[1]
        if np.all(np.isnan(mean)):
            raise ValueError("every score is NaN: scoring is undefined on some held-out rows of each penalty; use fewer splits")
        rank = np.empty(len(mean), dtype=np.int32)
        rank[np.argsort(-mean, kind="stable")] = np.arange(1, len(mean) + 1)
        se = by_split.std(axis=1, ddof=1) / np.sqrt(splits) if splits > 1 else np.zeros(len(mean))
        alpha, ratio = alphas.ravel(), np.repeat(ratios, alphas.shape[1])
        self.cv_results_ = {
            "params": [{"alpha": float(a), "l1_ratio": float(r)} for a, r in zip(alpha, ratio, strict=True)],
            "param_alpha": alpha,
            "param_l1_ratio": ratio,
            **{f"split{k}_test_score": column for k, column in enumerate(by_split.T)},
            "mean_test_score": mean,
            "std_test_score": by_split.std(axis=1),
            "rank_test_score": rank,
            "se_test_score": se,
            "mean_nonzeros": more["nonzeros"],
            "epochs": more["epochs"],
            "dropped": more["dropped"],
        }
        best = int(np.nanargmax(mean))
        near = np.flatnonzero(mean >= mean[best] - se[best])
        strongest = max(near, key=lambda k: (ratio[k] * alpha[k], (1 - ratio[k]) * alpha[k]))
        self.best_index_, self.one_se_index_ = best, int(strongest)
        self.best_score_, self.n_splits_ = float(mean[best]), splits
        self.alphas_ = alphas[0] if np.ndim(self.l1_ratio) == 0 else alphas
        self.scores_ = np.moveaxis(scores, 2, 0)
        chosen = best if self.choose == "best" else self.one_se_index_
        self.l1_ratio_, self.alpha_ = float(ratio[chosen]), float(alpha[chosen])
        return divmod(chosen, alphas.shape[1])

    def _keep_path(self, models: list[Any], alphas: Any, columns: int) -> None:
        """The weights at every alpha of the chosen l1_ratio, for :meth:`plot_path`."""
        of_heads = []
        for heads in zip(*models, strict=True):
            ends = np.cumsum([0, *(len(ids) for ids, _, _ in heads)])
            ids = np.concatenate([ids for ids, _, _ in heads]).astype(np.int64)
            weights = np.concatenate([weights for _, weights, _ in heads])
            of_heads.append(sp.csr_matrix((weights, ids, ends), shape=(len(heads), columns)))
        self.path_alphas_, self.path_coef_ = alphas, of_heads[0] if len(of_heads) == 1 else of_heads


def _net(ratio: float, alpha: float) -> tuple[float, float]:
    return float(ratio * alpha), float((1 - ratio) * alpha)


def _places(rows: Any, weights: Any) -> Any:
    """The numbers of rows among those of some weight."""
    places = rows if weights is None else np.cumsum(weights > 0)[rows] - 1
    return np.ascontiguousarray(places, dtype=np.int64)
