"""Answers and arrays as bytes: a plain format that runs nothing when it is read. Arrays that are mostly zero travel as the rest.

    the length of the tree (8 bytes, little-endian) · the tree, JSON · the bytes of all arrays, one after another

In the tree, numbers, strings, booleans and ``null`` are themselves; ``["tuple", ...]`` and ``["dict", {...}]`` hold others;
``["array", type, size]`` is an array; ``["thin", type, size, count]`` is one whose ``count`` places and values follow, all else zero.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from lazyglm.distributed.engine import EngineError

#: The most bytes in one cell of a frame: far below what a JVM array and an Arrow batch can hold.
PIECE = 16 << 20
#: The kinds of numbers that arrays may hold: floats, integers and booleans.
KINDS = "fiub"


class Missing(Exception):
    """The answer of a worker that has no shard of a partition: the leader asks again, with the rows."""


def dumps(value: Any) -> bytes:
    """Numbers, strings, one-dimensional arrays, and tuples and dicts of them, as bytes: to the bit."""
    arrays: list[Any] = []
    tree = json.dumps(_tree(value, arrays)).encode()
    return b"".join([len(tree).to_bytes(8, "little"), tree, *(array.data for array in arrays)])


def loads(data: Any) -> Any:
    """What :func:`dumps` wrote. Every length is checked."""
    data = memoryview(data)
    end = 8 + int.from_bytes(data[:8], "little")
    if len(data) < 8 or end > len(data):
        raise _damaged("the tree is cut off")
    try:
        reader = _Reader(data, end)
        value = reader.value(json.loads(bytes(data[8:end])))
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise _damaged(str(error)) from None
    if reader.at != len(data):
        raise _damaged(f"{len(data) - reader.at} bytes are left over")
    return value


def dumps_error(error: BaseException) -> bytes:
    """An error: the name of its type, and its message."""
    kinds = (kind.__name__ for kind in type(error).__mro__ if _error_type(kind.__name__) is kind)
    message = error.args[0] if len(error.args) == 1 and isinstance(error.args[0], str) else str(error)
    return dumps((next(kinds, "RuntimeError"), message))


def loads_error(data: Any) -> Exception:
    """What :func:`dumps_error` wrote: one of Python's own errors or of ours, and no other type."""
    name, message = loads(data)
    kind = _error_type(name) or RuntimeError
    try:
        return kind(message)
    except TypeError:  # one that wants more than a message
        return RuntimeError(f"{name}: {message}")


def pieces(data: bytes) -> Iterator[bytes]:
    """Cells of at most ``PIECE`` bytes; at least one."""
    for start in range(0, max(len(data), 1), PIECE):
        yield data[start : start + PIECE]


def _error_type(name: str) -> type[Exception] | None:
    ours = {"EngineError": EngineError, "Missing": Missing}
    kind = ours.get(name) or getattr(builtins, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, Exception) else None


def _tree(value: Any, arrays: list[Any]) -> Any:
    """What stands for a value in the tree; its arrays are appended."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (tuple, list)):
        return ["tuple", *(_tree(part, arrays) for part in value)]
    if isinstance(value, dict):
        return ["dict", {str(name): _tree(part, arrays) for name, part in value.items()}]
    if not (isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in KINDS):
        raise TypeError(f"a task answered with a {type(value).__name__}, and answers are numbers, strings and arrays of numbers")
    value = np.ascontiguousarray(value)
    if 1024 < value.size < 2**32 and value.dtype.kind in "fb":
        bits = value.view(f"u{value.itemsize}")  # looked at in place of values: -0.0 is kept
        if np.count_nonzero(bits) * (value.itemsize + 4) < value.nbytes:
            places = np.flatnonzero(bits)
            arrays += [places.astype("<u4"), value[places]]
            return ["thin", value.dtype.str, value.size, len(places)]
    arrays.append(value)
    return ["array", value.dtype.str, value.size]


class _Reader:
    """Goes through a tree, and takes the arrays one after another."""

    def __init__(self, data: memoryview, at: int) -> None:
        self.data, self.at = data, at

    def value(self, tree: Any) -> Any:
        if not isinstance(tree, list):
            if isinstance(tree, dict):
                raise _damaged("a dict has no name")
            return tree
        kind, *rest = tree
        if kind == "tuple":
            return tuple(self.value(part) for part in rest)
        if kind == "dict":
            return {name: self.value(part) for name, part in rest[0].items()}
        if kind == "array":
            return self.array(*rest)
        if kind == "thin":
            return self.thin(*rest)
        raise _damaged(f"there is a {kind!r}")

    def array(self, name: str, size: int) -> Any:
        dtype = _type(name)
        end = self.at + size * dtype.itemsize
        if size < 0 or end > len(self.data):
            raise _damaged("an array is cut off")
        array = np.frombuffer(self.data[self.at : end], dtype).copy()  # its own, aligned, to be written to
        self.at = end
        return array

    def thin(self, name: str, size: int, count: int) -> Any:
        places, values = self.array("<u4", count), self.array(name, count)
        if not 0 <= size < 2**32 or (count and int(places.max()) >= size):
            raise _damaged(f"{count} places of {size}")
        array = np.zeros(size, _type(name))
        array[places] = values
        return array


def _type(name: str) -> Any:
    dtype = np.dtype(name)
    if dtype.kind not in KINDS:
        raise _damaged(f"type {name}")
    return dtype


def _damaged(what: str) -> EngineError:
    return EngineError(f"an answer is damaged ({what}): all workers need the same version of lazyglm")
