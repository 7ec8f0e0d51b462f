"""Arrays as bytes: those that are mostly zero as the places and values of the rest, to the bit."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np

#: The most bytes in one cell of a frame: far below what a JVM array and an Arrow batch can hold.
PIECE = 16 << 20


def dumps(value: Any) -> bytes:
    return pickle.dumps(_thin(value), protocol=5)


def loads(data: bytes) -> Any:
    """What :func:`dumps` wrote, in this run and by this package alone."""
    return _thick(pickle.loads(data))


def pieces(data: bytes) -> Iterator[bytes]:
    """Cells of at most ``PIECE`` bytes; at least one."""
    for start in range(0, max(len(data), 1), PIECE):
        yield data[start : start + PIECE]


class Thin:
    """An array that is mostly zero. Its bits are looked at, not its values: -0.0 is kept."""

    def __init__(self, array: Any, places: Any) -> None:
        self.size, self.dtype = array.size, array.dtype
        self.places, self.values = places.astype(np.uint32), array[places]

    def thick(self) -> Any:
        array = np.zeros(self.size, self.dtype)
        array[self.places] = self.values
        return array


def _thin(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _thin(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_thin(part) for part in value)
    if isinstance(value, np.ndarray) and value.ndim == 1 and 1024 < value.size < 2**32 and value.dtype.kind in "fb":
        bits = np.ascontiguousarray(value).view(f"u{value.itemsize}")
        if np.count_nonzero(bits) * (value.itemsize + 4) < value.nbytes:
            return Thin(value, np.flatnonzero(bits))
    return value


def _thick(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _thick(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_thick(part) for part in value)
    return value.thick() if isinstance(value, Thin) else value
