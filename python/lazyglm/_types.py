"""Types of what estimators take and give, for type checkers and hover texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray


class SparseMatrix(Protocol):
    """A sparse matrix or array of scipy."""

    def tocsr(self) -> Any:
        """The matrix in CSR format."""


class Frame(Protocol):
    """A frame of pandas or polars, or a table of Arrow."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""


class Splitter(Protocol):
    """A splitter of scikit-learn."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[Any]:
        """The training rows and held-out rows of each split."""


#: The path of a file.
Path: TypeAlias = Union[str, "os.PathLike[str]"]
#: Rows: an array, a sparse matrix, a frame, texts, or the path of a file.
Rows: TypeAlias = Union[ArrayLike, SparseMatrix, Frame, Sequence[str], "os.PathLike[str]"]
#: Targets: numbers or classes.
Target: TypeAlias = ArrayLike
#: Targets: one class or any number of labels per row, the latter as an indicator matrix or as sets.
Labels: TypeAlias = Union[ArrayLike, SparseMatrix, Sequence[Collection[Hashable]]]
#: Weights, in the precision of the model.
Weights: TypeAlias = NDArray[np.floating[Any]]
#: Numbers in double precision.
Floats: TypeAlias = NDArray[np.float64]
#: Numbers for one model, or for each of several.
PerModel: TypeAlias = Union[Floats, list[Floats]]
#: A relative duality gap for one model, for each of several, or none.
Gap: TypeAlias = Union[float, Floats, None]
#: What chooses random numbers.
RandomState: TypeAlias = Union[int, np.random.RandomState, None]
#: How rows are split.
Splits: TypeAlias = Union[int, Splitter, Iterable[Any], None]
#: How held-out rows are scored.
Scoring: TypeAlias = Union[str, Callable[..., float], None]
