"""What runs in Spark's Python workers: functions from batches to batches, for ``mapInArrow`` and ``applyInArrow``.

What goes wrong with the data is an answer like others, raised by the leader: Spark would try such a task four times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyspark import TaskContext

import lazyglm
from lazyglm.distributed.engine import EngineError, Task, add, merged
from lazyglm.distributed.shard import Shard, pack
from lazyglm.spark import _wire
from lazyglm.spark._vectors import VectorError, csr

#: A shard, or an answer: of which partition, which piece of it, and whether it is an error instead.
SCHEMA = "part int, piece int, failed boolean, data binary"
#: The same for slices of arrays that are to be added.
SLICED = "part int, slot int, failed boolean, data binary"
_TYPES = (pa.int32(), pa.int32(), pa.bool_(), pa.binary())
_NAMES = {SCHEMA: ("part", "piece", "failed", "data"), SLICED: ("part", "slot", "failed", "data")}
#: Slices that an array may have.
SLOTS = 1 << 16

Batches = Iterator[Any]


def packing(features: str, classes: bool, version: str) -> Callable[[Batches], Batches]:
    """Rows of a partition (columns: features, label, maybe weight) as one shard."""

    def work(batches: Batches) -> Batches:
        part = TaskContext.get().partitionId()  # type: ignore[union-attr]
        yield from _answered(part, lambda: _packed(batches, part, features, classes, version))

    return work


def answering(task: Task, told: Mapping[str, Any], tokens: Sequence[Any], columns: int | None, version: str) -> Any:
    """The answers of a task on shards."""

    def work(batches: Batches) -> Batches:
        shared: Any = None
        for part, data, failed in joined(batches):
            if failed:
                yield from _rows(part, data, failed=True)
                continue
            if shared is None:
                check_version(version)
                shared = merged([_wire.loads(getattr(token, "value", token)) for token in tokens])
            yield from _answered(part, partial(_asked, task, data, columns, part, shared, told))

    return work


def slicing(answers: Callable[[Batches], Batches], size: int) -> Any:
    """Answers, tuples of arrays, in slices: for sums that are too large for the leader."""

    def work(batches: Batches) -> Batches:
        for part, data, failed in joined(answers(batches)):
            if failed:
                yield _batch(SLICED, part, -1, True, data)
                continue
            for k, array in enumerate(_wire.loads(data)):
                for s in range(max(-(-len(array) // size), 1)):
                    yield _batch(SLICED, part, k * SLOTS + s, False, _wire.dumps(array[s * size : (s + 1) * size]))

    return work


def adding(key: tuple[Any, ...], table: Any) -> Any:
    """The sum of a slice over one group of partitions, in their order; of the first that failed, its error."""
    group, slot = (scalar.as_py() for scalar in key)
    table = table.sort_by("part")
    failed = table["failed"].to_pylist()
    if any(failed):
        return pa.Table.from_batches([_batch(SLICED, group, slot, True, table["data"][failed.index(True)].as_py())])
    (total,) = add([(_wire.loads(cell.as_py()),) for cell in table["data"]])
    return pa.Table.from_batches([_batch(SLICED, group, slot, False, _wire.dumps(total))])


def rewriting(change: Callable[..., Shard], tokens: Sequence[Any], columns: int | None) -> Any:
    """Shards of shards: the same rows in other columns or units."""

    def work(batches: Batches) -> Batches:
        shared = merged([_wire.loads(getattr(token, "value", token)) for token in tokens])
        for part, data, failed in joined(batches):
            if failed:
                yield from _rows(part, data, failed=True)
            else:
                yield from _answered(part, change(_shard(data, columns), shared).to_bytes)

    return work


def check_version(version: str) -> None:
    """On a worker: whether it is like the leader."""
    if lazyglm.__version__ != version:
        raise EngineError(
            f"a worker has lazyglm {lazyglm.__version__} and the leader {version}: install the same version everywhere"
        )


def _packed(batches: Batches, part: int, features: str, classes: bool, version: str) -> bytes:
    check_version(version)
    blocks: list[Any] = []
    columns: list[list[Any]] = [[], []]
    first, width = 0, None
    for batch in batches:
        if batch.num_rows == 0:
            continue
        try:
            X = csr(batch.column(0), width)
        except VectorError as error:
            raise ValueError(f"partition {part}, row {first + error.row}: {features}: {error.what}") from None
        if not X.data.all():
            X = X.copy()  # what Arrow lends is read-only
            X.eliminate_zeros()
        blocks.append(X)
        width, first = X.shape[1], first + X.shape[0]
        for kept, column in zip(columns, batch.columns[1:], strict=False):
            kept.append(column.to_numpy(zero_copy_only=False).astype(np.float64))  # nulls become NaN
    if not blocks:
        return pack(sp.csr_array((0, 0)), np.zeros(0), partition=part).to_bytes()
    X = sp.vstack(blocks, format="csr") if len(blocks) > 1 else blocks[0]
    label, weight = np.concatenate(columns[0]), np.concatenate(columns[1]) if columns[1] else None
    if classes:
        wrong = np.isfinite(label) & ((label < 0) | (label != np.floor(label)))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"partition {part}, row {row}: label {label[row]} is no number of a class (0, 1, ...): use StringIndexer"
            )
    return pack(X, label, weight, partition=part).to_bytes()


def _asked(task: Task, data: bytes, columns: int | None, part: int, shared: Any, told: Any) -> bytes:
    return _wire.dumps(task(_shard(data, columns), part, shared, told))


def _shard(data: bytes, columns: int | None) -> Shard:
    shard = Shard.of_bytes(data)
    return shard if columns is None or shard.rows else shard._replace(columns=columns)


def _answered(part: int, call: Callable[[], bytes]) -> Batches:
    try:
        data, failed = call(), False
    except (ValueError, TypeError, EngineError) as error:  # of the data; what else is raised is Spark's to try again
        data, failed = _wire.dumps(error.with_traceback(None)), True
    yield from _rows(part, data, failed=failed)


def _rows(part: int, data: bytes, *, failed: bool) -> Batches:
    for piece, cell in enumerate(_wire.pieces(data)):
        yield _batch(SCHEMA, part, piece, failed, cell)


def _batch(schema: str, *cells: Any) -> Any:
    arrays = [pa.array([cell], kind) for cell, kind in zip(cells, _TYPES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(_NAMES[schema]))


def joined(batches: Batches) -> Iterator[tuple[int, bytes, bool]]:
    """(part, bytes, failed) of batches of pieces that follow each other."""
    part, cells, failed = None, [], False
    for batch in batches:
        for of, cell, wrong in zip(batch["part"].to_pylist(), batch["data"], batch["failed"].to_pylist(), strict=True):
            if part is not None and of != part:
                yield part, b"".join(cells), failed
                cells = []
            part, failed = of, wrong
            cells.append(cell.as_py())
    if part is not None:
        yield part, cells[0] if len(cells) == 1 else b"".join(cells), failed
