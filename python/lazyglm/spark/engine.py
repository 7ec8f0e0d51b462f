"""Spark as an engine: a pass over the rows is one job of ``mapInArrow`` over packed partitions, without barriers.

Spark places the tasks, repeats those that are lost, and computes lost partitions again from their lineage.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import numpy as np
from py4j.protocol import Py4JError
from pyspark import inheritable_thread_target
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

import lazyglm
from lazyglm.distributed import tasks
from lazyglm.distributed.engine import FAN, Answer, EngineError, Task, add, tree
from lazyglm.spark import _wire, _worker

#: Seconds without any executor after which a run is given up.
ALONE = 60.0
#: The most bytes of answers that come to the leader to be added there; more are added where they are.
TO_LEADER = 256 << 20
#: Numbers in a slice of an array that is added where it is.
SLICE = 1 << 21


class Token:
    """Arrays as bytes, and the broadcast of them; on Spark Connect, which has none, they travel with the task."""

    def __init__(self, context: Any, arrays: Mapping[str, Any]) -> None:
        data = _wire.dumps(dict(arrays))
        self.broadcast = None if context is None else context.broadcast(data)
        self.sent = data if self.broadcast is None else self.broadcast


class SparkEngine:
    """Packed partitions of a frame, kept by Spark. ``timeout`` bounds one job, in seconds."""

    def __init__(self, session: Any, frame: Any, timeout: float) -> None:
        self.session, self.timeout, self.count = session, timeout, 0
        self.columns: int | None = None  # of all partitions, once it is known
        self.context = getattr(session, "_sc", None)  # none on Spark Connect
        self.kept: list[Token] = []
        self.frame = frame.persist(StorageLevel.MEMORY_AND_DISK)

    def share(self, arrays: Mapping[str, Any]) -> Any:
        return Token(self.context, arrays)

    def map(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> list[Any]:
        work = _worker.answering(task, dict(told), self._sent(tokens), self.columns, lazyglm.__version__)
        table = self._collected(self.frame.mapInArrow(work, _worker.SCHEMA))
        table = table.sort_by([("part", "ascending"), ("piece", "ascending")])
        answers: list[Any] = []
        for part, data, failed in _worker.joined(iter(table.to_batches())):
            if failed:
                raise _wire.loads(data)
            if part != len(answers):
                raise EngineError(f"partition {len(answers)} gave no answer: the frame changes each time it is computed")
            answers.append(_wire.loads(data))
        return answers

    def reduce(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> Answer:
        if self._is_large(task, told):
            return self._reduced_there(task, tokens, told)
        answers = self.map(task, tokens, told)
        for level in tree(len(answers)):
            answers = [add([answers[k] for k in group]) for group in level]
        return answers[0]

    def release(self, token: Any) -> None:
        if token.broadcast is not None:
            token.broadcast.destroy()
            token.broadcast = token.sent = None

    def rewrite(self, change: Callable[..., Any], arrays: Mapping[str, Any], columns: int) -> None:
        """Puts other shards in the place of these; these are needed until those are there."""
        before, token = self.frame, self.share(arrays)
        self.kept.append(token)  # lost partitions are computed again, from it too
        work = _worker.rewriting(change, self._sent([token]), self.columns)
        self.frame = before.mapInArrow(work, _worker.SCHEMA).persist(StorageLevel.MEMORY_AND_DISK)
        self.map(tasks.shape, [], {})
        before.unpersist()
        self.columns = columns

    def close(self) -> None:
        """Lets go of the partitions."""
        self.frame.unpersist()
        for token in self.kept:
            self.release(token)

    def _sent(self, tokens: Sequence[Any]) -> list[Any]:
        return [token.sent for token in tokens]

    def _is_large(self, task: Task, told: Mapping[str, Any]) -> bool:
        numbers_alone = task in (tasks.line_losses, tasks.slope_sums) or told.get("vector") is False
        return not numbers_alone and self.count * (self.columns or 0) * 8 > TO_LEADER

    def _reduced_there(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> Answer:
        """The same tree by groups of partitions, slice by slice: no place holds more than some slices."""
        work = _worker.answering(task, dict(told), self._sent(tokens), self.columns, lazyglm.__version__)
        frame = self.frame.mapInArrow(_worker.slicing(work, SLICE), _worker.SLICED)
        for _ in tree(self.count):
            group = F.floor(F.col("part") / FAN).cast("int").alias("group")
            frame = frame.groupBy(group, "slot").applyInArrow(_worker.adding, _worker.SLICED)
        table = self._collected(frame).sort_by("slot")
        arrays: dict[int, list[Any]] = {}
        for slot, failed, data in zip(table["slot"].to_pylist(), table["failed"].to_pylist(), table["data"], strict=True):
            if failed:
                raise _wire.loads(data.as_py())
            arrays.setdefault(slot // _worker.SLOTS, []).append(_wire.loads(data.as_py()))
        return tuple(np.concatenate(arrays[k]) for k in sorted(arrays))

    # Waiting

    def _collected(self, frame: Any) -> Any:
        """The rows of a frame as an Arrow table: in a thread, so that the wait can end."""
        tag, answers = f"lazyglm-{uuid.uuid4().hex}", SimpleQueue[tuple[Any, Any]]()

        def work() -> None:
            try:
                self.session.addTag(tag)
                answers.put((frame.toArrow(), None))
            except BaseException as error:
                answers.put((None, error))

        inherit: Any = inheritable_thread_target(self.session)  # pools, groups and tags of the caller
        Thread(target=inherit(work), daemon=True).start()
        try:
            table, error = self._waited(answers)
        except BaseException:
            self._interrupt(tag)
            raise
        if isinstance(error, (PySparkException, Py4JError, OSError)):
            raise EngineError(f"Spark could not run a step: {_cause(error)}") from error
        if error is not None:
            raise error
        return table

    def _waited(self, answers: Any) -> tuple[Any, Any]:
        started, alone = time.monotonic(), None
        while True:
            try:
                return answers.get(timeout=1.0)
            except Empty:
                now = time.monotonic()
            alone = (alone or now) if self._has_no_executors() else None
            if alone is not None and now - alone > ALONE:
                raise EngineError(f"no executors for {ALONE:.0f} s: all have died, or none was given to the application")
            if now - started > self.timeout:
                raise EngineError(f"a step took longer than {self.timeout:.0f} s: raise timeout, or use smaller partitions")

    def _has_no_executors(self) -> bool:
        if self.context is None or str(self.context.master).startswith("local["):
            return False
        try:
            return bool(self.context._jsc.sc().getExecutorMemoryStatus().size() <= 1)  # the driver is one
        except (Py4JError, OSError, AttributeError):  # stopped: the job itself says so
            return False

    def _interrupt(self, tag: str) -> None:
        try:
            self.session.interruptTag(tag)
        except Exception:  # the session may be what is gone; what is being raised says more
            pass


def _cause(error: BaseException) -> str:
    """The first lines of what Spark says: whole, it fills pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3])[:600] or repr(error)
