"""Files: data of any format the program reads, and the program's model file."""

import os
import pathlib
import tempfile
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from lazyglm._core import load_model, read_file, save_model, score_file
from lazyglm._data import by_model, is_path
from lazyglm._frames import TARGET, arrow_file, is_table

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
    multilabel: bool | None = None,
) -> Data:
    """Reads svmlight, VW, CSV, TSV, JSON lines, text, Parquet or Arrow, plain or compressed: ``X``, ``y`` and the rest.

    With ``multilabel``, the targets of a row are labels, separated by commas, and ``y`` is a list of sets. By default, this holds
    for files that end in ``.mlsvm``, plain or compressed.
    """
    options = {**locals(), "drop": list(drop), "categorical": list(categorical)}
    given = os.fspath(options.pop("path"))
    options.pop("multilabel")
    found = read_file(given, options)
    shape = (len(found["indptr"]) - 1, found["columns"])
    X = sp.csr_matrix((found["data"], found["indices"], found["indptr"]), shape=shape)
    names = None if found["names"] is None else np.array(found["names"], dtype=object)
    if multilabel is None:
        multilabel = any(ending in (".mlsvm", ".mlsvmlight") for ending in pathlib.Path(given).suffixes[-2:])
    y = _sets(found["labels"]) if multilabel else np.asarray(found["labels"])
    return Data(X, y, found["weights"], names, found["base"], found["reading"])


def _sets(labels: Any) -> list[set[Any]]:
    """The labels of each row: what commas separate; integers if all of them are."""
    words = [[_written(label)] if not isinstance(label, str) else [word for word in label.split(",") if word] for label in labels]
    distinct = sorted({word for row in words for word in row})
    known = dict(zip(distinct, _as_numbers(distinct).tolist(), strict=True))
    return [{known[word] for word in row} for row in words]


class ModelFile:
    """Model files and data files, for both estimators."""

    def _opened(self: Any, X: Any, y: Any, sample_weight: Any, target: str | None = None) -> tuple[Any, Any, Any]:
        """If X is a path: what is in the file. How it was read is kept, so that new files are read alike."""
        self._reading = None
        if is_table(X):
            return self._opened_table(X, y), y, sample_weight
        if not is_path(X):
            if target is not None:
                raise ValueError("target names a column of a file: give it if X is the path of one")
            return X, y, sample_weight
        if y is not None:
            raise ValueError("y must be None when X is a file: the targets are in it")
        data = read(X, target=target)
        self._reading = {"reading": data.reading, "base": data.index_base, "names": data.feature_names, "target": target}
        return data.X, data.y, data.sample_weight if sample_weight is None else sample_weight

    def _opened_table(self: Any, X: Any, y: Any) -> Any:
        """The features of a frame. How its columns were read is kept, so that further frames and files are read alike."""
        if y is None:
            raise ValueError("y must be given with a frame: it is not a column of X")
        with arrow_file(X) as path:
            data = read(path, target=TARGET)
        self._reading = {"reading": data.reading, "base": data.index_base, "names": data.feature_names, "target": TARGET}
        return data.X

    def _opened_again(self: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """The same for more rows: a further file has the columns of the first one, and what is new in it is left out."""
        if not is_path(X) or not self.__sklearn_is_fitted__():
            reading = getattr(self, "_reading", None)
            opened = self._opened(X, y, sample_weight)
            self._reading = self._reading if is_path(X) else reading
            return opened
        if y is not None:
            raise ValueError("y must be None when X is a file: the targets are in it")
        known = getattr(self, "_reading", None)
        if not known:
            raise ValueError("partial_fit has learnt arrays before: read the file with lazyglm.read, and give its X and y")
        if known["names"] is None:
            data = read(X, target=known["target"], index_base=known["base"], n_features=self.n_features_in_)
            return data.X, data.y, data.sample_weight if sample_weight is None else sample_weight
        data = read(X, target=known["target"])
        column_of = {name: column for column, name in enumerate(known["names"])}
        columns = np.array([column_of.get(name, -1) for name in data.feature_names])
        kept = np.flatnonzero(columns >= 0)
        shape = (len(kept), self.n_features_in_)
        places = sp.csr_matrix((np.ones(len(kept), dtype=data.X.dtype), columns[kept], np.arange(len(kept) + 1)), shape=shape)
        return data.X[:, kept] @ places, data.y, data.sample_weight if sample_weight is None else sample_weight

    def _targets_of(self: Any, path: Any) -> Any:
        """The targets of a file, read as the training data were."""
        target = (getattr(self, "_reading", None) or {}).get("target")
        y = read(path, target=target, multilabel=True if self._kind == "labels" else None).y
        classes = getattr(self, "classes_", None)
        if classes is not None and self._kind != "labels" and np.asarray(classes).dtype.kind in "US":
            y = np.array([_written(name) for name in y])
        return y

    def _is_text(self: Any) -> bool:
        """Whether rows are texts: the model was trained on a file of text."""
        return '"format":"text"' in str((getattr(self, "_reading", None) or {}).get("reading"))

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
            "kind": self._kind,
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
        check_is_fitted(self)
        if self._file_bytes is not None:
            pathlib.Path(path).write_bytes(self._file_bytes)
            return
        if self._limits is not None or np.any(self._thresholds != 0.0):
            raise ValueError("a model with limits of predictions or thresholds of labels is written by the program alone: copy its file")
        save_model(os.fspath(path), self._linear(index_base))

    def weights_frame(self: Any) -> Any:
        """The weights that are not zero by the names of their features: a pandas Series, the largest first.

        More than two classes and labels have a column each, in a frame.
        """
        import pandas as pd

        check_is_fitted(self)
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else by_model(self.coef_)
        reading = getattr(self, "_reading", None)
        names = reading["names"] if reading else None
        names = getattr(self, "feature_names_in_", None) if names is None else names
        kept = np.flatnonzero(np.any(coef != 0, axis=0))
        kept = kept[np.argsort(-np.abs(coef[:, kept]).max(axis=0), kind="stable")] if len(kept) else kept
        index = pd.Index(kept if names is None else [str(names[j]) for j in kept], name="feature")
        if len(coef) == 1:
            return pd.Series(coef[0, kept], index=index, name="weight")
        return pd.DataFrame(coef[:, kept].T, index=index, columns=[str(name) for name in self.classes_])

    def _score_file(self: Any, X: Any) -> Any:
        """The scores of the rows of a file, or of texts."""
        model = self._linear(1) if self._file_bytes is None else self._file_bytes
        if is_path(X):
            return score_file(os.fspath(X), model).reshape(-1, np.size(self.intercept_))
        if is_table(X):
            with arrow_file(X) as path:
                return score_file(path, model).reshape(-1, np.size(self.intercept_))
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "texts.tsv"
            file.write_text("".join(f"\t{' '.join(text.split())}\n" for text in X), encoding="utf-8")
            return score_file(os.fspath(file), model).reshape(-1, np.size(self.intercept_))


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
    name, _, keys = found["loss"].partition(":")
    loss = next(ours for ours, theirs in LOSSES.items() if theirs.partition(":")[0] == name)
    value = float(keys.partition("=")[2]) if keys else None
    options = {"loss": loss, "method": "sgd" if found["sgd"] else "fobos", "max_iter": found["max_iter"]}
    options |= {"average": found["average"] or False}
    options |= _penalty(found["l1"], found["l2"]) | {"fit_intercept": found["fit_intercept"]}
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
    model._trained = {"offsets": found["offsets"]}
    model.n_features_in_, model.n_iter_ = columns, found["n_iter"]
    model.t_ = 1.0 + found["n_iter"] * found["rows"]
    model._reading = {"reading": found["reading"], "base": found["index_base"], "names": names, "target": None}
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
