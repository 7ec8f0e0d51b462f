"""What runs in Spark's Python workers: functions from batches to batches, for ``mapInArrow`` and ``applyInArrow``.

What goes wrong with the data is an answer like others, raised by the leader: Spark would try such a task four times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyspark import TaskContext

from lazyglm.distributed.engine import EngineError, Task, add, check_version, merged
from lazyglm.distributed.shard import Shard, pack
from lazyglm.spark import _store, _wire
from lazyglm.spark._vectors import VectorError, csr
from lazyglm.spark._wire import Missing

#: A shard, or an answer: of which partition, which piece of it, and whether it is an error instead.
SCHEMA = "part int, piece int, failed boolean, data binary"
#: The same for slices of arrays that are to be added.
SLICED = "part int, slot int, failed boolean, data binary"
_TYPES = (pa.int32(), pa.int32(), pa.bool_(), pa.binary())
_NAMES = {SCHEMA: ("part", "piece", "failed", "data"), SLICED: ("part", "slot", "failed", "data")}
#: Columns up to which vectors are asked for that may not be needed: a job takes longer than they do.
NARROW = 1 << 17
#: Slices that an array may have.
SLOTS = 1 << 16

Batches = Iterator[Any]


@dataclass(frozen=True)
class Kept:
    """What the leader knows of a partition that was packed, and where its shard is."""

    path: str
    digest: str
    rows: int
    columns: int
    labels: Any
    ahead: Any = None  # an answer that will be asked for next

    def to_bytes(self) -> bytes:
        return _wire.dumps((self.path, self.digest, self.rows, self.columns, self.labels, self.ahead))

    @staticmethod
    def of_bytes(data: bytes) -> Kept:
        return Kept(*_wire.loads(data))


class Recipe(NamedTuple):
    """How rows become shards, and all that makes a shard again wherever it is missing."""

    run: str
    features: str
    classes: bool
    version: str
    alive: tuple[str, ...]  # runs of the same leader
    columns: int | None = None  # of all partitions, once it is known
    changes: tuple[tuple[Callable[..., Shard], Any], ...] = ()  # other columns or units, in their order, and their arrays

    def kept(self, path: str, part: int) -> Shard | None:
        """The shard, after all changes; ``None`` if it is not here."""
        for stage in range(len(self.changes), -1, -1):
            first = [path] if stage == 0 else []
            for where in [*first, _store.path_of(self.run, part, stage)]:
                shard = _store.read(where)
                if shard is not None:
                    return self.changed(shard, part, stage)
        return None

    def changed(self, shard: Shard, part: int, stage: int = 0) -> Shard:
        """A shard after the changes that it has not seen yet, kept for those who ask next."""
        if stage < len(self.changes):
            for change, sent in self.changes[stage:]:
                shard = change(shard, merged([_received(sent)]))
            _store.write(_store.path_of(self.run, part, len(self.changes)), shard)
        if shard.rows == 0 and self.columns is not None:
            shard = shard._replace(columns=self.columns)
        return shard


def packing(recipe: Recipe, task: Task, told: Mapping[str, Any]) -> Callable[[Batches], Batches]:
    """Rows of a partition (columns: features, label, maybe weight) as one shard, kept here; what is known of it is the answer.

    If the shard is narrow, so is its answer to the task that will be asked for first: it saves a job.
    """

    def work(batches: Batches) -> Batches:
        part = TaskContext.get().partitionId()  # type: ignore[union-attr]
        yield from _answered(recipe, part, lambda: pack_and_ask(batches, part))

    def pack_and_ask(batches: Batches, part: int) -> bytes:
        shard, kept = _packed_and_kept(batches, part, recipe)
        if 0 < shard.columns <= NARROW:
            kept = replace(kept, ahead=_done(task, shard, part, [], told))
        return kept.to_bytes()

    return work


def answering(task: Task, told: Mapping[str, Any], sent: Sequence[Any], recipe: Recipe) -> Any:
    """The answers of a task on shards that were kept."""

    def work(batches: Batches) -> Batches:
        for part, data, failed in joined(batches):
            if failed:
                yield from _rows(part, data, failed=True)
                continue
            yield from _answered(recipe, part, partial(_asked, task, told, sent, recipe, part, Kept.of_bytes(data).path))

    return work


def answering_anew(task: Task, told: Mapping[str, Any], sent: Sequence[Any], recipe: Recipe, digests: Mapping[int, str]) -> Any:
    """The same answers from the rows, of some partitions: their shards are packed again, and kept here."""

    def work(batches: Batches) -> Batches:
        part = TaskContext.get().partitionId()  # type: ignore[union-attr]
        if part in digests:
            yield from _answered(recipe, part, lambda: _asked_anew(task, told, sent, recipe, part, batches, digests[part]))

    return work


def forgetting(run: str) -> Any:
    """Removes the shards of a run."""

    def work(batches: Batches) -> Batches:
        for part, _, _ in joined(batches):
            _store.remove(run, part)
        yield from ()

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


def _packed_and_kept(batches: Batches, part: int, recipe: Recipe) -> tuple[Shard, Kept]:
    _store.sweep(recipe.run.split("-")[0], recipe.alive)
    shard = _packed(batches, part, recipe.features, recipe.classes)
    path = _store.path_of(recipe.run, part, 0)
    _store.write(path, shard)
    labels = np.unique(shard.targets, return_counts=True) if recipe.classes else None
    return shard, Kept(path, shard.digest(), shard.rows, shard.columns, labels)


def _packed(batches: Batches, part: int, features: str, classes: bool) -> Shard:
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
        return pack(sp.csr_array((0, 0)), np.zeros(0), partition=part)
    X = sp.vstack(blocks, format="csr") if len(blocks) > 1 else blocks[0]
    label, weight = np.concatenate(columns[0]), np.concatenate(columns[1]) if columns[1] else None
    if classes:
        wrong = np.isfinite(label) & ((label < 0) | (label != np.floor(label)))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"partition {part}, row {row}: label {label[row]} is not a number of a class (0, 1, ...): use StringIndexer"
            )
    return pack(X, label, weight, partition=part)


def _asked(task: Task, told: Any, sent: Sequence[Any], recipe: Recipe, part: int, path: str) -> bytes:
    shard = recipe.kept(path, part)
    if shard is None:
        raise Missing(path)
    return _wire.dumps(_done(task, shard, part, sent, told))


def _asked_anew(task: Task, told: Any, sent: Sequence[Any], recipe: Recipe, part: int, batches: Batches, digest: str) -> bytes:
    shard, kept = _packed_and_kept(batches, part, recipe)
    if kept.digest != digest:
        raise EngineError(
            f"partition {part} has other rows than before: the frame changes each time it is computed; cache it, or write it and read it"
        )
    return _wire.dumps(_done(task, recipe.changed(shard, part), part, sent, told))


class TaskError(Exception):
    """What a task raised itself, as the cause: an answer, and nothing that Spark should try again."""


def _done(task: Task, shard: Shard, part: int, sent: Sequence[Any], told: Any) -> Any:
    """The answer of a task."""
    shared = merged([_received(one) for one in sent])
    try:
        return task(shard, part, shared, told)
    except Exception as error:
        raise TaskError from error


def _received(sent: Any) -> Any:
    """Arrays that travelled by broadcast or with the function."""
    return _wire.loads(getattr(sent, "value", sent))


def _answered(recipe: Recipe, part: int, call: Callable[[], bytes]) -> Batches:
    try:
        check_version(recipe.version)
        data, failed = call(), False
    except TaskError as error:
        data, failed = _wire.dumps_error(error.__cause__ or error), True
    except (ValueError, TypeError, EngineError, Missing) as error:  # of the data; what else is raised is Spark's to try again
        data, failed = _wire.dumps_error(error), True
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
