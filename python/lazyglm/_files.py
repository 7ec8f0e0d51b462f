"""Files: data of any format the program reads, and the program's model file."""

import os
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from lazyglm._core import load_model, read_file, save_model, score_file
from lazyglm._data import by_model, is_path

#: Weights of a file of features by number are put into an array of this many at most.
MOST = 1 << 28


class Data(NamedTuple):
    """A file that has been read."""

    X: Any
    y: Any
    sample_weight: Any
    feature_names: Any
    index_base: int
    reading: str


def read(
    path: Any,
    *,
    format: str | None = None,
    target: str | None = None,
    drop: tuple[str, ...] | list[str] = (),
    categorical: tuple[str, ...] | list[str] = (),
    text: str | None = None,
    hash_bits: int | None = None,
    index_base: int | None = None,
    n_features: int | None = None,
) -> Data:
    """Reads svmlight, VW, CSV, TSV, JSON lines, text, Parquet or Arrow, plain or compressed: ``X``, ``y`` and the rest."""
    options = {**locals(), "drop": list(drop), "categorical": list(categorical)}
    found = read_file(os.fspath(options.pop("path")), options)
    shape = (len(found["indptr"]) - 1, found["columns"])
    X = sp.csr_matrix((found["data"], found["indices"], found["indptr"]), shape=shape)
    names = None if found["names"] is None else np.array(found["names"], dtype=object)
    return Data(X, np.asarray(found["labels"]), found["weights"], names, found["base"], found["reading"])


class ModelFile:
    """Model files and data files, for both estimators."""

    def _opened(self: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """If X is a path: what is in the file. How it was read is kept, so that new files are read alike."""
        self._reading = None
        if not is_path(X):
            return X, y, sample_weight
        if y is not None:
            raise ValueError("y must be None when X is a file: the targets are in it")
        data = read(X)
        self._reading = {"reading": data.reading, "base": data.index_base, "names": data.feature_names}
        return data.X, data.y, data.sample_weight if sample_weight is None else sample_weight

    def _linear(self: Any, index_base: int) -> dict[str, Any]:
        """This model as the compiled part takes it."""
        check_is_fitted(self)
        reading = getattr(self, "_reading", None)
        names = reading["names"] if reading else getattr(self, "feature_names_in_", None)
        classes = getattr(self, "classes_", None)
        l1, l2 = self._net()
        trained = {"seed": 0, "rows": 0, "weighted": False, "offsets": False, "schedule": None, "solver": self.solver}
        trained |= getattr(self, "_trained", {})
        return {
            "coef": np.ascontiguousarray(by_model(self.coef_), dtype=np.float64),
            "intercept": [float(bias) for bias in np.ravel(self.intercept_)],
            "coupled": getattr(self, "_coupled", False),
            "loss": self._loss(),
            "classes": None if classes is None else [_written(name) for name in classes],
            "names": None if names is None else [str(name) for name in names],
            "index_base": 0 if names is not None else reading["base"] if reading else index_base,
            "reading": reading["reading"] if reading else None,
            "training": {
                "l1": float(l1),
                "l2": float(l2),
                "alpha": float(self.alpha),
                "method": self.method,
                "learning_rate": self.learning_rate,
                "eta0": float(self.eta0),
                "power_t": float(self.power_t),
                "shuffle": bool(self.shuffle),
                **trained,
                "single": self.coef_.dtype == np.float32,
                "intercept": bool(self.fit_intercept),
                "average": int(self.average),
                "max_iter": int(self.max_iter),
                "n_iter": int(getattr(self, "n_iter_", 0)),
                "losses": [float(loss) for loss in getattr(self, "_losses", [[]])[0]],
            },
        }

    def save(self: Any, path: Any, *, index_base: int = 1) -> None:
        """Writes the program's model file. Without feature names, column j is feature j + ``index_base``."""
        if index_base not in (0, 1):
            raise ValueError(f"index_base must be 0 or 1, not {index_base!r}")
        save_model(os.fspath(path), self._linear(index_base))

    def _score_file(self: Any, path: Any) -> Any:
        return score_file(os.fspath(path), self._linear(1)).reshape(-1, np.size(self.intercept_))


def _written(name: Any) -> str:
    """A class as data files have it: 1.0 is written 1."""
    if isinstance(name, (float, np.floating)) and float(name).is_integer():
        return str(int(name))
    return str(name)


def load(path: Any) -> Any:
    """Reads a model file, of the program or of :meth:`save`: a classifier or a regressor, ready to predict."""
    from lazyglm._classifier import SGDClassifier
    from lazyglm._regressor import SGDRegressor
    from lazyglm._sgd import LOSSES

    found = load_model(os.fspath(path))
    if found["kind"] == "labels":
        raise ValueError(f"{path}: this is a model of labels, of which a row may have any number: the program alone has such")
    if found["normalised"]:
        raise ValueError(f"{path}: a model of tf-idf values can be scored by the program alone")
    name, _, keys = found["loss"].partition(":")
    loss = next(ours for ours, theirs in LOSSES.items() if theirs.partition(":")[0] == name)
    value = float(keys.partition("=")[2]) if keys else None
    options = {"loss": loss, "method": "sgd" if found["sgd"] else "fobos", "max_iter": found["max_iter"]}
    options |= {"average": found["average"] or False}
    options |= _penalty(found["l1"], found["l2"]) | {"fit_intercept": found["fit_intercept"]}
    options |= {} if value is None else {"quantile" if loss == "quantile" else "epsilon": value}
    model: Any = SGDRegressor(**options) if found["classes"] is None else SGDClassifier(**options)

    names = None if found["names"] is None else np.array(found["names"], dtype=object)
    columns = found["columns"] if names is None else len(names)
    coef = _coef(found, columns, path)
    model.coef_ = coef.ravel() if found["classes"] is None else coef
    model.intercept_ = np.array(found["intercept"])
    model._coupled = found["kind"] == "softmax"
    model._trained = {"offsets": found["offsets"]}
    model.n_features_in_, model.n_iter_ = columns, found["n_iter"]
    model.t_ = 1.0 + found["n_iter"] * found["rows"]
    model._reading = {"reading": found["reading"], "base": found["index_base"], "names": names}
    if names is not None:
        model.feature_names_in_ = names
    if found["classes"] is not None:
        model.classes_ = _as_numbers(found["classes"])
    return model


def _coef(found: dict[str, Any], columns: int, path: Any) -> Any:
    """One row a head."""
    heads = len(found["intercept"])
    if columns * heads > MOST:
        raise ValueError(f"{path}: {columns} features of {heads} models are too many for an array")
    coef = np.zeros((heads, columns))
    features = found["features"].astype(np.int64) - (found["index_base"] if found["names"] is None else 0)
    if found["ids"] is None:
        coef[0, features] = found["weights"]
    else:
        coef[found["ids"], np.repeat(features, np.diff(found["ends"], prepend=0))] = found["weights"]
    return coef


def _penalty(l1: float, l2: float) -> dict[str, Any]:
    alpha = l1 + l2
    if alpha == 0:
        return {"penalty": None, "learning_rate": "invscaling"}
    return {"penalty": "elasticnet", "alpha": alpha, "l1_ratio": l1 / alpha}


def _as_numbers(classes: list[str]) -> Any:
    """Classes that are all integers, as integers."""
    try:
        return np.array([int(name) for name in classes])
    except ValueError:
        return np.array(classes)
