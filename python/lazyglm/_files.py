"""Files: data of any format the program reads, and the program's model file."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from lazyglm import _params
from lazyglm._core import load_model, save_model, score_file
from lazyglm._data import by_model, is_path
from lazyglm._frames import TARGET, arrow_file, columns_of, is_frame, is_table, missing_columns, text_file, texts_of
from lazyglm._read import Data, as_numbers, pass_on, read, read_as, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lazyglm._classifier import SGDClassifier
    from lazyglm._regressor import SGDRegressor
    from lazyglm._types import Path, Weights

#: Weights of a file of features by number are put into an array of this many at most.
MOST = 1 << 28

#: Settings of a run that no model file has.
NOT_KEPT = {"tolerance": 0.0, "threads": 1} | dict.fromkeys(("eta0", "plateau", "factors", "bounds", "start", "limit_predictions"))

TARGET_OF_FILES = "target names a column of a file: give it if X is the path of one; a frame has its targets in y"


class ModelFile:
    """Model files and data files, for both estimators."""

    def _opened(self: Any, X: Any, y: Any, sample_weight: Any, target: str | None = None) -> tuple[Any, Any, Any]:
        """What is in X if it is a path, a frame that is a table, or texts. How it was read is kept, so that new data are read alike."""
        self._reading = None
        if is_path(X):
            if y is not None:
                raise ValueError("y must be None when X is a file: the targets are in it")
            data = read(X, target=target)
            if self._checks.get("y_numeric") and isinstance(data.y, np.ndarray) and data.y.dtype.kind in "UO":
                raise ValueError(f"{X}: the targets are words, such as {str(data.y[0])!r}: name a column of numbers with target, or use a classifier")
            self._keep_reading(data, target)
            return data.X, data.y, data.sample_weight if sample_weight is None else sample_weight
        if target is not None:
            raise ValueError(TARGET_OF_FILES)
        table = is_table(X)
        texts = None if table else texts_of(X)
        if not table and texts is None:
            return X, y, sample_weight
        if y is None:
            raise ValueError("y must be given with a frame or with texts: it is not a column of X")
        if table:
            with arrow_file(X) as path:
                data = read_as(path, target=TARGET, frame=True)
            self._keep_reading(data, TARGET, columns_of(X))
        else:
            with text_file(texts or []) as path:
                data = read(path, format="text")
            self._keep_reading(data, None)
        return data.X, y, sample_weight

    def _keep_reading(self: Any, data: Data, target: str | None, columns: list[str] | None = None) -> None:
        self._reading = {"reading": data.reading, "base": data.index_base, "names": data.feature_names, "target": target, "columns": columns}

    def _opened_again(self: Any, X: Any, y: Any, sample_weight: Any, target: str | None = None) -> tuple[Any, Any, Any]:
        """The same for more rows: they have the columns of the first ones, and what is new in them is left out."""
        known = getattr(self, "_reading", None)
        if not self.__sklearn_is_fitted__():
            return self._opened(X, y, sample_weight, target)
        if target is not None:
            _check_target(target, X, known)
        if not (is_path(X) or self._reads(X)):
            return X, y, sample_weight
        if is_path(X) and y is not None:
            raise ValueError("y must be None when X is a file: the targets are in it")
        if not known:
            self._refuse_missing(X)
            raise ValueError("the model has learnt arrays before: read the file with lazyglm.read, or make X numbers, and give its X and y")
        if known["names"] is None:
            data = read(X, target=known["target"], index_base=known["base"], n_features=self.n_features_in_)
        else:
            with self._file_of(X) as path:
                data = read_as(path, like=(known["reading"], [str(name) for name in known["names"]]), frame=not is_path(X))
        if not is_path(X):
            return data.X, y, sample_weight
        return data.X, data.y, data.sample_weight if sample_weight is None else sample_weight

    def _reads(self: Any, X: Any) -> bool:
        """Whether X is a frame or texts that are read by the names of their features, as the training data were."""
        reading = getattr(self, "_reading", None)
        if is_frame(X):
            if reading is None:
                return hasattr(self, "feature_names_in_") and is_table(X)
            return reading["columns"] is not None or is_table(X) or columns_of(X) != [str(name) for name in _or_none(reading["names"])]
        return self._is_text() and texts_of(X) is not None

    def _table_columns(self: Any) -> list[str] | None:
        """The columns of the frame whose features were learnt, or None."""
        return (getattr(self, "_reading", None) or {}).get("columns")

    @contextlib.contextmanager
    def _file_of(self: Any, X: Any) -> Iterator[str]:
        """The path of a file with these rows."""
        if is_path(X):
            yield os.fspath(X)
            return
        self._refuse_missing(X)
        with arrow_file(X) if is_frame(X) else text_file(texts_of(X) or []) as path:
            yield path

    def _refuse_missing(self: Any, X: Any) -> None:
        """Refuses a frame with missing numbers if the model was trained on a frame of numbers, all of them known: it has no mean to fill in."""
        if not is_frame(X) or not _is_plain(getattr(self, "_reading", None)):
            return
        learnt = {str(name) for name in getattr(self, "feature_names_in_", ())}
        missing = [name for name in missing_columns(X) if name in learnt]
        if missing:
            raise ValueError(
                f"X contains NaN or null in column {missing[0]!r}, and the training data had no missing number, so that the model knows no value for "
                "one: fill it in, or train on a frame with missing numbers"
            )

    def _targets_of(self: Any, path: Any) -> Any:
        """The targets of a file, read as the training data were."""
        target = (getattr(self, "_reading", None) or {}).get("target")
        y = read(path, target=target, multilabel=self._kind == "labels").y
        classes = getattr(self, "classes_", None)
        if classes is not None and self._kind != "labels" and np.asarray(classes).dtype.kind in "US":
            y = np.array([written(name) for name in y])
        return y

    def _is_text(self: Any) -> bool:
        """Whether rows are texts: the model was trained on a file of text."""
        return '"format":"text"' in str((getattr(self, "_reading", None) or {}).get("reading"))

    def _linear(self: Any, index_base: int) -> dict[str, Any]:
        """This model as the compiled part takes it."""
        check_is_fitted(self)
        reading = getattr(self, "_reading", None)
        names = self._names()
        classes = getattr(self, "classes_", None)
        l1, l2 = self._net()
        trained = {"seed": 0, "rows": 0, "weighted": False, "offsets": False, "schedule": None, "solver": self.solver}
        trained |= getattr(self, "_trained", {})
        return {
            "coef": np.ascontiguousarray(by_model(self.coef_), dtype=np.float64),
            "intercept": [float(bias) for bias in np.ravel(self.intercept_)],
            "kind": self._kind,
            "loss": self._loss(),
            "classes": None if classes is None else [written(name) for name in classes],
            "names": None if names is None else [str(name) for name in names],
            "means": self._means,
            "index_base": 0 if names is not None else reading["base"] if reading else index_base,
            "reading": reading["reading"] if reading else None,
            "limits": self._limits,
            "thresholds": np.asarray(self._thresholds, dtype=np.float64).tolist() if np.any(self._thresholds != 0.0) else None,
            "tf_idf": None if self._tf_idf is None else (self._tf_idf[0], self._tf_idf[1].tolist()),
            "training": {
                "settings": {
                    "l1": float(l1),
                    "l2": float(l2),
                    "method": self.method,
                    "shuffle": bool(self.shuffle),
                    **{name: trained[name] for name in ("seed", "schedule", "solver")},
                    "single": self.coef_.dtype == np.float32,
                    "intercept": bool(self.fit_intercept),
                    "epochs": int(self.max_iter),
                    **NOT_KEPT,
                },
                **{name: trained[name] for name in ("rows", "weighted", "offsets")},
                **{name: float(getattr(self, name)) for name in ("alpha", "eta0", "power_t")},
                "learning_rate": self.learning_rate,
                "average": int(self.average),
                "n_iter": int(getattr(self, "n_iter_", 0)),
                "losses": [] if _params.finds_optimum(trained["solver"]) else [float(loss) for loss in getattr(self, "_losses", [[]])[0]],
            },
        }

    def save(self: Any, path: Path, *, index_base: int = 1) -> None:
        """Writes a model file that the program reads.

        Parameters
        ----------
        path : str or path-like
            The file, which is replaced.
        index_base : {0, 1}, default=1
            The number of the first column, for models without feature names.
        """
        if index_base not in (0, 1):
            raise ValueError(f"index_base must be 0 or 1, not {index_base!r}")
        check_is_fitted(self)
        if self._file_bytes is not None:
            pathlib.Path(path).write_bytes(self._file_bytes)
            return
        save_model(os.fspath(path), self._linear(index_base))

    def _names(self: Any) -> Any:
        """The names of the columns of ``coef_``, or None."""
        reading = getattr(self, "_reading", None)
        return reading["names"] if reading else getattr(self, "feature_names_in_", None)

    def get_feature_names_out(self: Any, input_features: Sequence[str] | NDArray[Any] | None = None) -> NDArray[np.object_]:
        """The names of the columns of ``coef_``, such as ``city=Rome`` for a table.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names for a model that was trained on an array without names.

        Returns
        -------
        ndarray of str objects
            One name per column.
        """
        check_is_fitted(self)
        names, columns = self._names(), by_model(self.coef_).shape[1]
        names = input_features if names is None else names
        names = [f"x{j}" for j in range(columns)] if names is None else names
        if len(names) != columns:
            raise ValueError(f"input_features should have length equal to number of features ({columns}), got {len(names)}")
        return np.array([str(name) for name in names], dtype=object)

    def weights_frame(self: Any) -> Any:
        """The non-zero weights with the names of their features, as a pandas Series, the largest first.

        With more than two classes, or with labels, it is a frame with one column for each.

        Returns
        -------
        pandas Series or DataFrame
            The weights, indexed by feature.
        """
        import pandas as pd

        check_is_fitted(self)
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else by_model(self.coef_)
        names = self._names()
        kept = np.flatnonzero(np.any(coef != 0, axis=0))
        kept = kept[np.argsort(-np.abs(coef[:, kept]).max(axis=0), kind="stable")] if len(kept) else kept
        index = pd.Index(kept if names is None else [str(names[j]) for j in kept], name="feature")
        if len(coef) == 1:
            return pd.Series(coef[0, kept], index=index, name="weight")
        return pd.DataFrame(coef[:, kept].T, index=index, columns=[str(name) for name in self.classes_])

    def _score_file(self: Any, X: Any) -> Any:
        """The scores of the rows of a file, a table or texts."""
        model = self._linear(1) if self._file_bytes is None else self._file_bytes
        with self._file_of(X) as path:
            scores, warnings = score_file(path, model)
            pass_on(warnings, None if is_path(X) else path)
        return scores.reshape(-1, np.size(self.intercept_))


def _check_target(target: str, X: Any, known: dict[str, Any] | None) -> None:
    """Refuses a target column for rows that have none, or another one than that of the first rows."""
    if not is_path(X):
        raise ValueError(TARGET_OF_FILES)
    first = (known or {}).get("target")
    if first is not None and target != first:
        raise ValueError(f"target={target!r} is not the target column of the rows that were learnt before, {first!r}: leave it out")


def _is_plain(reading: dict[str, Any] | None) -> bool:
    """Whether data were read as arrays: a model has no reading then or, once it was saved, that of a table without a target."""
    if reading is None:
        return True
    return reading["names"] is not None and '"format":"csv"' in reading["reading"] and _target_in(reading["reading"]) is None


def _or_none(names: Any) -> Any:
    return [] if names is None else names


def load(path: Path) -> SGDClassifier | SGDRegressor:
    """Reads a model file, of the program or of :meth:`save`.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    SGDClassifier or SGDRegressor
        An estimator that is ready to predict.

    Examples
    --------
    >>> import tempfile, os, lazyglm
    >>> model = lazyglm.SGDRegressor(random_state=0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "my.model"))
    ...     back = lazyglm.load(os.path.join(folder, "my.model"))
    >>> bool((back.predict([[1.5]]) == model.predict([[1.5]])).all())
    True
    """
    from lazyglm._classifier import SGDClassifier
    from lazyglm._regressor import SGDRegressor
    from lazyglm._losses import LOSSES

    found = load_model(os.fspath(path))
    name, _, keys = found["loss"].partition(":")
    loss = next(ours for ours, theirs in LOSSES.items() if theirs.partition(":")[0] == name)
    value = float(keys.partition("=")[2]) if keys else None
    training = found["training"]
    skipped, report = training.get("average"), training["report"]
    options = {"loss": loss, "method": training["method"], "max_iter": training["epochs"]}
    options |= {"average": False if skipped is None else skipped + 1}
    options |= _penalty(training["l1"], training["l2"]) | {"fit_intercept": training["bias"]}
    options |= {} if value is None else {{"quantile": "quantile", "tweedie": "power"}.get(loss, "epsilon"): value}
    model: Any = SGDRegressor(**options) if found["classes"] is None else SGDClassifier(**options)

    names = None if found["names"] is None else np.array(found["names"], dtype=object)
    columns = found["columns"] if names is None else len(names)
    coef = _coef(found, columns, path)
    model.coef_ = coef.ravel() if found["classes"] is None else coef
    model.intercept_ = np.array(found["intercept"])
    model._kind, model._as_sets = found["kind"] or "ovr", found["kind"] == "labels"
    model._limits, model._file_bytes = found["limits"], found["bytes"]
    if found["thresholds"] is not None:
        model._thresholds = np.array(found["thresholds"])
    model._trained = {"offsets": training.get("offsets", False)}
    model.n_features_in_, model.n_iter_ = columns, report["epochs"]
    model.t_ = 1.0 + report["epochs"] * report["rows"]
    target = _target_in(found["reading"])
    model._reading = {"reading": found["reading"], "base": found["index_base"], "names": names, "target": target, "columns": None}
    if names is not None:
        model.feature_names_in_ = names
    if found["classes"] is not None:
        model.classes_ = as_numbers(found["classes"])
    return model


def _target_in(reading: str) -> str | None:
    """The column of targets in tables that a model was trained on, so that ``score(path)`` finds it; None for other formats."""
    recipe = json.loads(reading)["recipe"]
    named = [column["name"] for column in recipe.get("columns", ()) if column.get("kind") == "target"]
    return recipe.get("target") or next(iter(named), None)


def _coef(found: dict[str, Any], columns: int, path: Any) -> Any:
    """The weights, with one row per head."""
    heads = len(found["intercept"])
    if columns * heads > MOST:
        raise ValueError(f"{path}: {columns} features of {heads} models are too many for an array")
    coef = np.zeros((heads, columns))
    features = found["features"].astype(np.int64) - (found["index_base"] if found["names"] is None else 0)
    if found["ids"] is None:
        coef[0, features] = found["weights"]
    else:
        coef[found["ids"], np.repeat(features, np.diff([0, *found["ends"]]))] = found["weights"]
    return coef


def _penalty(l1: float, l2: float) -> dict[str, Any]:
    alpha = l1 + l2
    if alpha == 0:
        return {"penalty": None, "learning_rate": "invscaling"}
    return {"penalty": "elasticnet", "alpha": alpha, "l1_ratio": l1 / alpha}
