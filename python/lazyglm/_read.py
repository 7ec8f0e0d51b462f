"""Reading data files: :func:`read`."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lazyglm._core import read_file
from lazyglm._frames import of_frame
from lazyglm._warn import warn

#: Default options of :func:`read`.
OPTIONS: dict[str, Any] = {name: None for name in ("format", "target", "text", "missing", "hash_bits", "index_base", "n_features")}
#: The options that name columns.
COLUMNS = ("drop", "categorical", "text_columns")
OPTIONS |= {name: [] for name in COLUMNS}


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
    drop: str | tuple[str, ...] | list[str] = (),
    categorical: str | tuple[str, ...] | list[str] = (),
    text: str | None = None,
    text_columns: str | tuple[str, ...] | list[str] = (),
    missing: str | None = None,
    hash_bits: int | None = None,
    index_base: int | None = None,
    n_features: int | None = None,
    multilabel: bool | None = None,
) -> Data:
    """Reads a data file: svmlight, VW, CSV, TSV, JSON lines, text, Parquet or Arrow, plain or compressed.

    Parameters
    ----------
    path : str or path-like
        The file.
    format : str or None, default=None
        The name of the format; None detects it.
    target : str or None, default=None
        The target column of a table.
    drop, categorical, text_columns : str or sequence of str, default=()
        Columns of a table: those to leave out, those whose numbers are categories, and those whose words are features.
    text : str or None, default=None
        How text becomes features, as in the program: ``'words=1-2,case=keep'``.
    missing : {'zero', 'mean', 'indicator'} or None, default=None
        What a missing number of a table becomes: zero, the mean of its column, or the mean and a feature ``column=missing`` (the default).
    hash_bits : int or None, default=None
        Hashes the names of features into 2**hash_bits columns; None keeps the names.
    index_base, n_features : int or None, default=None
        The number of the first feature, and the number of features, of files with features by number.
    multilabel : bool or None, default=None
        Whether the targets of a row are labels, separated by commas. Then ``y`` is a list of sets. By default, this holds for files that
        end in ``.mlsvm``, plain or compressed, for svmlight files with a comma in a target, and for fastText files with several labels
        in a line: the program's rule.

    Returns
    -------
    Data
        A named tuple with ``X`` (CSR), ``y``, ``sample_weight``, ``feature_names``, ``index_base`` and ``reading``.

    Warns
    -----
    UserWarning
        If cells of a number column are not numbers, and count as missing.

    Examples
    --------
    >>> import tempfile, os, lazyglm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "people.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("age,city,target\\n30,Rome,1\\n40,Oslo,0\\n")
    ...     data = lazyglm.read(path)
    >>> data.X.shape, data.feature_names.tolist(), data.y.tolist()
    ((2, 3), ['age', 'city=Rome', 'city=Oslo'], [1.0, 0.0])
    """
    options = {**locals()}
    options |= {name: [value] if isinstance(value, str) else list(value) for name, value in options.items() if name in COLUMNS}
    options.pop("multilabel")
    return read_as(os.fspath(options.pop("path")), multilabel, **options)


def read_as(
    given: str, multilabel: bool | None = None, *, like: tuple[str, list[str]] | None = None, frame: bool = False, **options: Any
) -> Data:
    """Reads a file, or reads it as others of this reading and these feature names were read. Warnings name X if it is the file of a frame."""
    options = {**OPTIONS, **options, "like": like}
    found = read_file(given, options)
    pass_on(found["warnings"], given if frame else None)
    shape = (len(found["indptr"]) - 1, found["columns"])
    X = sp.csr_matrix((found["data"], found["indices"], found["indptr"]), shape=shape)
    names = None if found["names"] is None else np.array(found["names"], dtype=object)
    if multilabel is None:
        multilabel = _has_sets(given, found)
    y = _sets(found["labels"]) if multilabel else np.asarray(found["labels"])
    return Data(X, y, found["weights"], names, found["base"], found["reading"])


def _has_sets(given: str, found: dict[str, Any]) -> bool:
    """Whether targets are sets of labels, by the program's rule: by the ending, or by commas in a format that has such targets."""
    if any(ending in (".mlsvm", ".mlsvmlight") for ending in pathlib.Path(given).suffixes[-2:]):
        return True
    recipe = json.loads(found["reading"])["recipe"]
    may = recipe["format"] == "svmlight" or recipe.get("label_sets", False)
    return may and isinstance(found["labels"], list) and any("," in label for label in found["labels"])


def pass_on(warnings: list[str], frame: str | None = None) -> None:
    """Passes the warnings of a reader on to Python. ``frame`` is the path of a temporary file, if it holds a frame."""
    for text in warnings:
        warn(text if frame is None else of_frame(text, frame), UserWarning)


def _sets(labels: Any) -> list[set[Any]]:
    """The labels of each row: what commas separate; integers if all of them are."""
    words = [[written(label)] if not isinstance(label, str) else [word for word in label.split(",") if word] for label in labels]
    distinct = sorted({word for row in words for word in row})
    known = dict(zip(distinct, as_numbers(distinct).tolist(), strict=True))
    return [{known[word] for word in row} for row in words]


def written(name: Any) -> str:
    """A class as data files have it: 1.0 is written 1."""
    if isinstance(name, (float, np.floating)) and float(name).is_integer():
        return str(int(name))
    return str(name)


def as_numbers(classes: list[str]) -> Any:
    """Classes that are all integers, as integers; False and True as booleans."""
    try:
        return np.array([int(name) for name in classes])
    except ValueError:
        if set(classes) <= {"False", "True"}:
            return np.array([name == "True" for name in classes])
        return np.array(classes)
