"""Spark as an engine: a pass over the rows is one job of ``mapInArrow`` over partitions that were packed once, without barriers.

Spark places the tasks, repeats those that are lost, and computes lost partitions again from their lineage.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Thread
from typing import Any

import numpy as np
import scipy.sparse as sp
from py4j.protocol import Py4JError
from pyspark import inheritable_thread_target
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

import lazyglm
from lazyglm.distributed import tasks
from lazyglm.distributed.engine import FAN, Answer, EngineError, Task, added, bounded, late, polled, tree
from lazyglm.distributed.shard import pack
from lazyglm.spark import _wire, _worker

#: Seconds without any executor after which a run is given up.
ALONE = 60.0
#: The most bytes of answers that come to the leader to be added there; more are added where they are.
TO_LEADER = 256 << 20
#: Numbers in a slice of an array that is added where it is.
SLICE = 1 << 21
#: The most bytes of arrays that travel with the function: a broadcast takes longer.
SMALL = 1 << 20
#: This process among all that may use the same executors, and its runs that are not over.
LEADER = uuid.uuid4().hex
ALIVE: set[str] = set()


class Token:
    """Arrays as bytes. Few travel with the function; more by broadcast, unless this is Spark Connect, which has none."""

    def __init__(self, session: Any, context: Any, arrays: Mapping[str, Any], timeout: float) -> None:
        data = _wire.dumps(dict(arrays))
        self.broadcast = None
        if context is not None and len(data) > SMALL:
            inherit: Any = inheritable_thread_target(session)
            self.broadcast = bounded(inherit(lambda: context.broadcast(data)), timeout, "giving weights to Spark for a broadcast")
        self.sent = data if self.broadcast is None else self.broadcast


class SparkEngine:
    """Partitions of a frame (columns: features, label, maybe weight), packed and kept where they are; ``timeout`` is of one job.

    Spark persists a row a partition, which says where its shard is, and so runs tasks there. An executor that is lost takes
    that row along, and Spark packs the partition again. (Nothing may join partitions once they are packed: they are numbered
    by their task.) A worker elsewhere that has no shard says so, and is sent the rows.
    """

    def __init__(
        self, session: Any, rows: Any, features: str, classes: bool, timeout: float, first: tuple[Task, Mapping[str, Any]]
    ) -> None:
        """``first`` is a task, and what it is told, that will be asked for first."""
        self.session, self.rows, self.timeout, self.first = session, rows, timeout, first
        self.context = getattr(session, "_sc", None)  # none on Spark Connect
        self.changes: list[Token] = []
        run = f"{LEADER}-{uuid.uuid4().hex}"
        ALIVE.add(run)
        self.recipe = _worker.Recipe(run, features, classes, lazyglm.__version__, tuple(ALIVE))
        packed = rows.mapInArrow(_worker.packing(self.recipe, *first), _worker.SCHEMA)
        self.keys = packed.persist(StorageLevel.MEMORY_AND_DISK)
        self.parts: list[_worker.Kept] = []
        self.count = 0

    def pack(self) -> list[_worker.Kept]:
        """What is known of each partition, once it is packed."""
        self.parts = self._answers(self.keys, read=_worker.Kept.of_bytes)
        self.count = len(self.parts)
        return self.parts

    def share(self, arrays: Mapping[str, Any]) -> Any:
        return Token(self.session, self.context, arrays, self.timeout)

    def map(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> list[Any]:
        if not tokens and not self.changes and (task, told) == self.first and all(kept.ahead for kept in self.parts if kept.rows):
            return [kept.ahead if kept.rows else self._of_nothing() for kept in self.parts]
        asked = (task, dict(told), [token.sent for token in tokens], self.recipe)
        answers = self._answers(self.keys.mapInArrow(_worker.answering(*asked), _worker.SCHEMA))
        digests = {k: self.parts[k].digest for k, answer in enumerate(answers) if isinstance(answer, _wire.Missing)}
        if digests:
            rows = self.rows.where(F.spark_partition_id().isin(list(digests)))
            anew = rows.mapInArrow(_worker.answering_anew(*asked, digests), _worker.SCHEMA)
            for k, answer in zip(sorted(digests), self._answers(anew, sorted(digests)), strict=True):
                answers[k] = answer
        return answers

    def reduce(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> Answer:
        if self._is_large(task, told):
            return self._reduced_there(task, tokens, told)
        return added(self.map(task, tokens, told))

    def release(self, token: Any) -> None:
        if token.broadcast is not None:
            token.broadcast.destroy()
        token.broadcast = token.sent = None

    def change(self, change: Callable[..., Any], arrays: Mapping[str, Any], columns: int) -> None:
        """Other columns or units for all shards: each is changed by the task that next needs it."""
        token = self.share(arrays)
        self.changes.append(token)  # lost partitions are made again, with it too
        self.recipe = self.recipe._replace(columns=columns, changes=(*self.recipe.changes, (change, token.sent)))

    def close(self) -> None:
        """Lets go of the partitions; nobody waits for it."""
        ALIVE.discard(self.recipe.run)
        Thread(target=self._forget, daemon=True).start()

    def _forget(self) -> None:
        try:
            if self.parts:
                self.keys.mapInArrow(_worker.forgetting(self.recipe.run), _worker.SCHEMA).toArrow()
            self.keys.unpersist()
            for token in self.changes:
                self.release(token)
        except Exception:  # the session may be gone; what is left is removed by the next run, or by Spark with the executor
            pass

    def _of_nothing(self) -> Any:
        """The first answer of a partition without rows, once it is known how many columns it has."""
        task, told = self.first
        return task(pack(sp.csr_array((0, self.recipe.columns)), np.zeros(0)), 0, {}, told)

    def _answers(self, frame: Any, parts: Sequence[int] | None = None, read: Callable[[bytes], Any] = _wire.loads) -> list[Any]:
        """The answers in a frame, of all partitions or of some, in their order; ``Missing`` is one of them."""
        table = self._collected(frame).sort_by([("part", "ascending"), ("piece", "ascending")])
        answers: list[Any] = []
        found: list[int] = []
        for part, data, failed in _worker.joined(iter(table.to_batches())):
            answer = _wire.loads_error(data) if failed else read(data)
            if failed and not isinstance(answer, _wire.Missing):
                raise answer
            found.append(part)
            answers.append(answer)
        if found != list(parts or range(self.count or len(found))):
            raise EngineError(f"partitions {found} gave an answer, and others did not: the frame changes each time it is computed")
        return answers

    def _is_large(self, task: Task, told: Mapping[str, Any]) -> bool:
        numbers_alone = task in (tasks.line_losses, tasks.slope_sums) or told.get("vector") is False
        return not numbers_alone and self.count * told.get("numbers", self.recipe.columns or 0) * 8 > TO_LEADER

    def _reduced_there(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> Answer:
        """The same tree by groups of partitions, slice by slice: no place holds more than some slices."""
        asked = (task, dict(told), [token.sent for token in tokens], self.recipe)
        try:
            return self._added(self.keys.mapInArrow(_worker.slicing(_worker.answering(*asked), SLICE), _worker.SLICED))
        except _wire.Missing:
            digests = {k: kept.digest for k, kept in enumerate(self.parts)}
            anew = _worker.slicing(_worker.answering_anew(*asked, digests), SLICE)
            return self._added(self.rows.mapInArrow(anew, _worker.SLICED))

    def _added(self, frame: Any) -> Answer:
        for _ in tree(self.count):
            group = F.floor(F.col("part") / FAN).cast("int").alias("group")
            frame = frame.groupBy(group, "slot").applyInArrow(_worker.adding, _worker.SLICED)
        table = self._collected(frame).sort_by("slot")
        arrays: dict[int, list[Any]] = {}
        for slot, failed, data in zip(table["slot"].to_pylist(), table["failed"].to_pylist(), table["data"], strict=True):
            if failed:
                raise _wire.loads_error(data.as_py())
            arrays.setdefault(slot // _worker.SLOTS, []).append(_wire.loads(data.as_py()))
        return tuple(np.concatenate(arrays[k]) for k in sorted(arrays))

    # Waiting

    def _collected(self, frame: Any) -> Any:
        """The rows of a frame as an Arrow table: in a thread, so that the wait can end."""
        tag = f"lazyglm-{uuid.uuid4().hex}"

        def work() -> tuple[Any, BaseException | None]:
            try:
                self.session.addTag(tag)
                return frame.toArrow(), None
            except BaseException as error:
                return None, error

        try:
            table, error = self._waited(work)
        except BaseException:
            self._interrupt(tag)
            raise
        if isinstance(error, (PySparkException, Py4JError, OSError)):
            raise EngineError(f"Spark could not run a step: {_cause(error)}") from error
        if error is not None:
            raise error
        return table

    def _waited(self, work: Callable[[], Any]) -> Any:
        """The answer of a call; an error if no executor is left, or the time is over.

        Executors are counted by another thread: a JVM may hang.
        """
        started, over = time.monotonic(), Event()
        since: list[float | None] = [None]

        def count() -> None:
            while not over.wait(1.0):
                since[0] = (since[0] or time.monotonic()) if self._has_no_executors() else None

        def check() -> None:
            now, alone = time.monotonic(), since[0]
            if alone is not None and now - alone > ALONE:
                words = "all have died, or none was given to the application: look into their logs"
                raise EngineError(f"no executors for {ALONE:.0f} s: {words}")
            if now - started > self.timeout:
                raise late(self.timeout)

        inherit: Any = inheritable_thread_target(self.session)  # pools, groups and tags of the caller
        Thread(target=inherit(count), daemon=True).start()
        try:
            return polled(inherit(work), check)
        finally:
            over.set()

    def _has_no_executors(self) -> bool:
        if self.context is None or str(self.context.master).startswith("local["):
            return False
        try:
            return bool(self.context._jsc.sc().getExecutorMemoryStatus().size() <= 1)  # the driver is one
        except (Py4JError, OSError, AttributeError):  # stopped: the job itself says so
            return False

    def _interrupt(self, tag: str) -> None:
        """Asks Spark to end the jobs of a tag; nobody waits for long."""
        inherit: Any = inheritable_thread_target(self.session)
        try:
            bounded(inherit(lambda: self.session.interruptTag(tag)), 10.0, "ending a job")
        except Exception:  # the session may be what is gone; what is being raised says more
            pass


def _cause(error: BaseException) -> str:
    """The first lines of what Spark says: whole, it fills pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3])[:600] or repr(error)
