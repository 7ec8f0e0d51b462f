"""Shards as files beside Spark's own blocks, mapped into the memory of every Python worker of an executor.

A file is the length of its head (8 bytes), the head in JSON, and the arrays, each from a multiple of 64 bytes on:

    {"columns": 50000, "arrays": [["<u8", 1000], ["<u4", 60000], ["<f8", 60000], ["<f8", 1000], null]}

It is written under another name and renamed: who finds a file finds all of it. Spark removes the place with the executor; what runs
that are over have left there is removed when the next one begins.
"""

from __future__ import annotations

import json
import mmap
import os
import tempfile
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from lazyglm.distributed.engine import EngineError
from lazyglm.distributed.shard import Shard

ALIGNED = 64


def place() -> str:
    """The directory of the shards of an executor: where Spark has its own temporary files."""
    return os.path.join(os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir(), "lazyglm")


def path_of(run: str, part: int, stage: int) -> str:
    """Of a partition of a run, changed so many times. A run is named ``leader-number``."""
    return os.path.join(place(), f"{run}-{part}-{stage}.shard")


def write(path: str, shard: Shard) -> None:
    """Keeps a shard."""
    arrays = [None if array is None else np.ascontiguousarray(array) for array in _arrays(shard)]
    told = [None if array is None else [array.dtype.str, len(array)] for array in arrays]
    head = json.dumps({"columns": shard.columns, "arrays": told}).encode()
    partial = f"{path}.part-{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(partial, "wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)
            for array in arrays:
                if array is not None:
                    file.write(bytes(-file.tell() % ALIGNED))
                    file.write(array.data)
        os.replace(partial, path)
    except OSError as error:
        _remove(partial)
        raise EngineError(f"a partition could not be kept in {os.path.dirname(path)} ({error}): give spark.local.dir more room") from None


def read(path: str) -> Shard | None:
    """A shard that lies in the file, not in this process; ``None`` if there is no file."""
    try:
        with open(path, "rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError:
        return None
    at = 8 + int.from_bytes(data[:8], "little")
    head = json.loads(bytes(data[8:at]))
    arrays: list[Any] = []
    for told in head["arrays"]:
        if told is None:
            arrays.append(None)
            continue
        at += -at % ALIGNED
        array = np.frombuffer(data, np.dtype(told[0]), told[1], at) if told[1] else np.zeros(0, np.dtype(told[0]))
        arrays.append(array)
        at += array.nbytes
    offsets, ids, values, targets, weights = arrays
    return Shard(offsets, ids, values, head["columns"], targets, weights)


def digest(shard: Shard) -> int:
    """Of all bits of a shard: another one is another shard."""
    found = zlib.crc32(str(shard.columns).encode())
    for array in _arrays(shard):
        found = zlib.crc32(b"-" if array is None else np.ascontiguousarray(array).data, found)
    return found


def remove(run: str, part: int) -> None:
    """All that is kept of a partition of a run here."""
    for name in _names():
        if name.startswith(f"{run}-{part}-"):
            _remove(os.path.join(place(), name))


def sweep(leader: str, alive: Iterable[str]) -> None:
    """Removes what runs of a leader have left that are not alive any more: of partitions that were moved in the meantime."""
    for name in _names():
        run = "-".join(name.split("-")[:2])
        if run.startswith(f"{leader}-") and run not in alive:
            _remove(os.path.join(place(), name))


def _names() -> list[str]:
    try:
        return os.listdir(place())
    except OSError:
        return []


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:  # another worker was faster
        pass


def _arrays(shard: Shard) -> tuple[Any, ...]:
    return shard.offsets, shard.ids, shard.values, shard.targets, shard.weights
