"""Dask as an engine: its scheduler places, moves and repeats tasks; nothing here listens, and no wait is without end."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from functools import partial
from typing import Any

import dask
from distributed import Client, Future, default_client, wait
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

import lazyglm
from lazyglm.distributed.engine import Answer, EngineError, Task, add, bounded, check_version, late, merged, polled, tree

#: Seconds without any worker after which a run is given up: restarted workers are back well before. Dask's configuration
#: may say otherwise, as ``lazyglm.without-workers``.
ALONE = 30.0
#: Seconds in which the scheduler must say which workers there are.
SILENT = 60.0
#: How often a step is asked for again when what it needs was lost with its workers.
ATTEMPTS = 5
#: What Dask itself raises when data or a connection were lost. A task may raise the same: that is a :class:`TaskError`.
LOST = (CancelledError, CommClosedError, OSError, KeyError)


class TaskError(Exception):
    """What a task raised itself: reported as it is, and never tried again."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class Token:
    """Arrays, and the future that stands for them on the workers. Kept here too: if all holders die it is sent again."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays = dict(arrays)
        self.future: Any = None


class DaskEngine:
    """Partitions as futures of a client. ``timeout`` bounds one step of a run, in seconds."""

    def __init__(self, client: Client, shards: Sequence[Any], timeout: float) -> None:
        self.client, self.count, self.timeout = client, len(shards), timeout
        self.seen = False  # any worker
        self.alone = float(dask.config.get("lazyglm.without-workers", ALONE))
        self.shards = [client.compute(shard) for shard in shards]

    def share(self, arrays: Mapping[str, Any]) -> Any:
        token = Token(arrays)
        self._attempt(partial(self._send, token))
        return token

    def map(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> list[Any]:
        return self._ask(tokens, lambda: self._started(task, tokens, told))

    def reduce(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> Answer:
        def start() -> list[Future]:
            futures = self._started(task, tokens, told)
            for level in tree(self.count):
                futures = [self._submit(_added, *(futures[k] for k in group)) for group in level]
            return futures

        return self._ask(tokens, start)[0]

    def release(self, token: Any) -> None:
        token.future = None

    def close(self) -> None:
        """Lets go of the partitions."""
        self.shards = []

    # Asking

    def _started(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> list[Future]:
        run = partial(self._submit, on_worker, lazyglm.__version__, _run, task)
        return [run(shard, k, told, *(token.future for token in tokens)) for k, shard in enumerate(self.shards)]

    def _submit(self, function: Callable[..., Any], *arguments: Any, workers: list[str] | None = None) -> Future:
        """A task, if possible on one of some workers."""
        return self.client.submit(function, *arguments, pure=False, workers=workers, allow_other_workers=workers is not None)

    def _ask(self, tokens: Sequence[Any], start: Callable[[], list[Future]]) -> list[Any]:
        def step(until: float) -> list[Any]:
            for token in tokens:
                if token.future is None or token.future.status in ("cancelled", "lost", "error"):
                    self._send(token, until)
            futures = start()
            self._wait(futures, until)
            return self._gathered(futures, until)

        def forget() -> None:
            for token in tokens:
                token.future = None

        return self._attempt(step, forget)

    def _attempt(self, step: Callable[[float], Any], forget: Callable[[], None] = lambda: None) -> Any:
        """A step, told when it must be over; again, from what the leader has, if what it needs was lost."""
        until = time.monotonic() + self.timeout
        for attempt in range(ATTEMPTS):
            self._check_client()
            try:
                return step(until)
            except EngineError:
                raise
            except TaskError as own:
                raise own.error from None
            except LOST as error:
                self._check_client()
                if attempt == ATTEMPTS - 1:
                    raise EngineError(f"data on the workers were lost {ATTEMPTS} times over: {error!r}") from error
                forget()
                self._wait_for_workers()
            except Exception:
                self._check_client()  # a client that was closed raises errors of many names
                raise
        raise AssertionError("unreachable")

    def _send(self, token: Token, until: float) -> None:
        """Sends arrays to one worker, from which all others fetch them.

        Not by ``broadcast=True``: a worker that dies meanwhile is asked for ever by Dask's scheduler, which does nothing else until then.
        """
        self._wait_for_workers()
        # hash=False: equal arrays of other rounds must not share a key that is being released.
        send = partial(self.client.scatter, [token.arrays], hash=False, timeout=ALONE)
        (token.future,) = self._polled(send, until)
        self._wait([self._submit(_nothing, token.future, workers=[one]) for one in self._addresses()], until)

    # Waiting

    def _wait(self, futures: list[Future], until: float) -> None:
        """Waits until all tasks have ended; the error of one is raised at once."""
        check, over = self._progress_check(until), False
        while not over:
            try:
                with self.client.as_current():  # `wait` asks the current client, which may be another one
                    wait(futures, timeout=1.0)
                over = True
            except (TimeoutError, asyncio.TimeoutError):  # two classes before Python 3.11
                pass
            for future in futures:
                _check_task(future)
            if not over:
                check()

    def _gathered(self, futures: list[Future], until: float) -> list[Any]:
        """Answers of tasks that have ended. Those whose worker dies now are computed again by Dask."""
        try:
            return list(self._polled(partial(self.client.gather, futures), until))
        except LOST:
            for future in futures:
                _check_task(future)
            raise

    def _polled(self, call: Callable[[], Any], until: float) -> Any:
        """A call of the client that knows no timeout of its own, while the cluster is looked at every second."""
        return polled(call, self._progress_check(until))

    def _progress_check(self, until: float) -> Callable[[], None]:
        """A function that raises an error if nothing more can be expected: no client, no workers for long, or no time left."""
        alone: float | None = None

        def check() -> None:
            nonlocal alone
            self._check_client()
            now = time.monotonic()
            alone = None if self._addresses() else alone or now
            if alone is not None and now - alone > self.alone:
                raise EngineError(self._no_workers())
            if now > until:
                raise late(self.timeout)

        return check

    def _wait_for_workers(self) -> None:
        check = self._progress_check(math.inf)
        while not self._addresses():
            check()
            time.sleep(0.2)

    def _addresses(self) -> list[str]:
        info = bounded(self.client.scheduler_info, SILENT, "asking the scheduler for its workers")
        self.seen = self.seen or bool(info["workers"])
        return list(info["workers"])

    def _no_workers(self) -> str:
        address = self.client.scheduler.address if self.client.scheduler else "the scheduler"
        cause = "all have died or left" if self.seen else "there have been none"
        return f"no workers at {address} for {self.alone:g} s: {cause}; start some"

    def _check_client(self) -> None:
        if self.client.status not in ("running", "connecting"):
            raise EngineError(f"the client was closed, or lost its scheduler, in the middle of a run ({self.client.status})")


def _check_task(future: Future) -> None:
    """Raises what a task raised, or what became of it. Data that were lost are no error of a task."""
    if future.status != "error":
        return
    error = future.exception(timeout=ALONE)
    if isinstance(error, KilledWorker):
        raise EngineError(
            f"a task was on several workers when they died ({error}): look into their logs; too little memory for a "
            "partition is the usual cause: make partitions smaller"
        ) from error
    if error is not None:
        raise TaskError(error)


def client_of(client: Any) -> Client:
    """The client given, or the one there is."""
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        raise ValueError("there is no Dask client: start one, distributed.Client(), or give client=") from None


def on_worker(version: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function, if this worker has the leader's version of lazyglm."""
    check_version(version)
    return function(*arguments)


def _run(task: Task, shard: Any, number: int, told: Mapping[str, Any], *shared: Any) -> Any:
    return task(shard, number, merged(shared), told)


def _nothing(arrays: Any) -> None:
    """On a worker: nothing; the arrays have been fetched for it, and are there for tasks to come."""


def _added(*answers: Answer) -> Answer:
    return add(answers)
