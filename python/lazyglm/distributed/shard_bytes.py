"""A shard as bytes: a plain format whose every length and index is checked when it is read. Reading runs no code of the writer.

    "lgshard1" · the length of the head (8 bytes, little-endian) · the head, JSON · the arrays, each from a multiple of 64 bytes on

    {"columns": 50000, "arrays": [["<u8", 1001], ["<u4", 60000], ["<f8", 60000], ["<f8", 1000], null]}

The arrays are the offsets, ids, values, targets and row weights of the shard; ``null`` stands for equal row weights.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

MAGIC = b"lgshard1"
ALIGNED = 64
#: The most bytes of a head: it holds six numbers and five names of types.
LONGEST_HEAD = 4096
#: The types that each array may have, in the order of the file.
TYPES = {
    "offsets": (np.dtype(np.uintp).str,),
    "ids": ("<u4",),
    "values": ("<f4", "<f8"),
    "targets": ("<f8",),
    "weights": ("<f8",),
}


def encoded(shard: Any) -> Iterator[Any]:
    """The bytes of a shard, piece by piece."""
    arrays = [None if array is None else np.ascontiguousarray(array) for array in _arrays(shard)]
    told = [None if array is None else [array.dtype.str, len(array)] for array in arrays]
    head = json.dumps({"columns": int(shard.columns), "arrays": told}).encode()
    yield MAGIC + len(head).to_bytes(8, "little") + head
    at = len(MAGIC) + 8 + len(head)
    for array in arrays:
        if array is not None:
            yield bytes(-at % ALIGNED)
            yield array.data
            at += -at % ALIGNED + array.nbytes


def decoded(data: Any, *, whole: bool = True) -> dict[str, Any]:
    """The fields of a shard, as arrays that lie in ``data``.

    Lengths, offsets and the bound of the ids are always checked. ``whole`` also checks that ids rise in each row and
    that all numbers are finite, which takes a pass over all values; the compiled part checks the same before it uses them.
    """
    data = memoryview(data).cast("B")
    columns, told, at = _head(data)
    fields: dict[str, Any] = {"columns": columns}
    for (name, types), array in zip(TYPES.items(), told, strict=True):
        if array is None and name == "weights":
            fields[name] = None
            continue
        dtype, length = _type_and_length(name, types, array)
        at += -at % ALIGNED
        end = at + length * dtype.itemsize
        if end > len(data):
            raise _damaged(f"{name} end at byte {end} of {len(data)}")
        fields[name] = np.frombuffer(data, dtype, length, at) if length else np.zeros(0, dtype)
        at = end
    if at != len(data):
        raise _damaged(f"{len(data) - at} bytes follow the last array")
    _check_rows(fields)
    if whole:
        _check_numbers(fields)
    return fields


def digest(shard: Any) -> str:
    """A fingerprint of all bits of a shard: 128 bits of BLAKE2, in hexadecimal."""
    found = hashlib.blake2b(digest_size=16)
    for piece in encoded(shard):
        found.update(piece)
    return found.hexdigest()


def _head(data: Any) -> tuple[int, list[Any], int]:
    """Reads the head: the number of columns, the type and length of each array, and the offset of the first array."""
    start = len(MAGIC) + 8
    if len(data) < start or bytes(data[: len(MAGIC)]) != MAGIC:
        raise _damaged("they do not begin with 'lgshard1'")
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    if end > min(len(data), start + LONGEST_HEAD):
        raise _damaged(f"the head ends at byte {end} of {len(data)}")
    try:
        head = json.loads(bytes(data[start:end]))
        columns, told = head["columns"], head["arrays"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damaged("the head is not the JSON that it should be") from None
    if type(columns) is not int or not 0 <= columns <= np.iinfo(np.int32).max:
        raise _damaged(f"{columns!r} is not a number of columns")
    if type(told) is not list or len(told) != len(TYPES):
        raise _damaged("the head does not describe five arrays")
    return columns, told, end


def _type_and_length(name: str, types: tuple[str, ...], told: Any) -> tuple[Any, int]:
    if not (type(told) is list and len(told) == 2 and told[0] in types and type(told[1]) is int and told[1] >= 0):
        raise _damaged(f"{told!r} does not describe {name}")
    return np.dtype(told[0]), told[1]


def _check_rows(fields: dict[str, Any]) -> None:
    """Lengths that fit together, offsets that rise from zero to the end, and ids below the number of columns."""
    offsets, ids, rows = fields["offsets"], fields["ids"], len(fields["targets"])
    lengths = {len(ids), len(fields["values"])}
    if len(offsets) != rows + 1 or (fields["weights"] is not None and len(fields["weights"]) != rows):
        raise _damaged(f"there are {rows} targets, {len(offsets)} offsets, and not as many row weights as targets or none")
    if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any() or lengths != {int(offsets[-1])}:
        raise _damaged("the offsets do not rise from 0 to the number of ids and values")
    if len(ids) and int(ids.max()) >= fields["columns"]:
        raise _damaged(f"there is an id {int(ids.max())}, and {fields['columns']} columns")


def _check_numbers(fields: dict[str, Any]) -> None:
    """Ids that rise in each row, finite numbers, and row weights above zero."""
    ids, starts = fields["ids"], fields["offsets"][1:-1]
    rises = np.ones(len(ids) + 1, dtype=bool)
    rises[1:-1] = ids[1:] > ids[:-1]
    rises[starts] = True
    if not rises.all():
        raise _damaged("the ids of a row do not rise")
    for name in ("values", "targets", "weights"):
        if fields[name] is not None and not np.isfinite(fields[name]).all():
            raise _damaged(f"the {name} are not all finite")
    if fields["weights"] is not None and not (fields["weights"] > 0).all():
        raise _damaged("the row weights are not all above zero")


def _arrays(shard: Any) -> tuple[Any, ...]:
    return tuple(getattr(shard, name) for name in TYPES)


def _damaged(what: str) -> ValueError:
    return ValueError(f"these bytes are not a shard of lazyglm: {what}; make them by Shard.to_bytes of the same version")
