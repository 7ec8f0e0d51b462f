"""Dask as an engine: its scheduler places, moves and repeats tasks; nothing here listens, and no wait is without end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import dask
from distributed import Client, Future, default_client, wait
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

import lazyglm
from lazyglm.distributed.engine import Answer, EngineError, Task, add, check_version, merged, tree

#: Seconds without any worker after which a run is given up: restarted workers are back well before. Dask's configuration
#: may say otherwise, as ``lazyglm.without-workers``.
ALONE = 30.0
#: How often a step is asked for again when what it needs was lost with its workers.
ATTEMPTS = 5
#: What is raised when data or a connection were lost, and not by a task itself.
LOST = (CancelledError, FutureCancelledError, CommClosedError, TimeoutError, OSError, KeyError)


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
        self.shards = [_submitted(client, shard) for shard in shards]

    def share(self, arrays: Mapping[str, Any]) -> Any:
        token = Token(arrays)
        self._attempt(lambda: self._send(token))
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
        shared = [token.future for token in tokens]
        return [
            self._submit(_run, task, shard, k, told, lazyglm.__version__, *shared)
            for k, shard in enumerate(self.shards)
        ]

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        return self.client.submit(function, *arguments, pure=False)

    def _ask(self, tokens: Sequence[Any], start: Callable[[], list[Future]]) -> list[Any]:
        def step() -> list[Any]:
            for token in tokens:
                if token.future is None or token.future.status in ("cancelled", "lost", "error"):
                    self._send(token)
            futures = start()
            self._wait(futures)
            return [future.result(timeout=self.timeout) for future in futures]

        def forget() -> None:
            for token in tokens:
                token.future = None

        return self._attempt(step, forget)

    def _attempt(self, step: Callable[[], Any], forget: Callable[[], None] = lambda: None) -> Any:
        """A step; again, from what the leader has, if what it needs was lost."""
        for attempt in range(ATTEMPTS):
            self._check_client()
            try:
                return step()
            except KilledWorker as error:
                raise EngineError(
                    f"a task was on several workers when they died ({error}): look into their logs; too little memory for a "
                    "partition is the usual cause: make partitions smaller"
                ) from error
            except EngineError:
                raise
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

    def _send(self, token: Token) -> None:
        self._wait_for_workers()
        # hash=False: equal arrays of other rounds must not share a key that is being released.
        send = partial(self.client.scatter, [token.arrays], broadcast=True, hash=False, timeout=ALONE)
        token.future = bounded(send, self.timeout, "sending weights to the workers")[0]

    # Waiting

    def _wait(self, futures: list[Future]) -> None:
        started, alone = time.monotonic(), None
        while True:
            try:
                with self.client.as_current():  # `wait` asks the current client, which may be another one
                    wait(futures, timeout=1.0)
                return
            except TimeoutError:
                pass
            self._check_client()
            now = time.monotonic()
            alone = None if self._workers() else alone or now
            if alone is not None and now - alone > self.alone:
                raise EngineError(self._no_workers())
            if now - started > self.timeout:
                raise EngineError(f"a step took longer than {self.timeout:.0f} s: raise timeout, or use smaller partitions")

    def _wait_for_workers(self) -> None:
        started = time.monotonic()
        while not self._workers():
            self._check_client()
            if time.monotonic() - started > self.alone:
                raise EngineError(self._no_workers())
            time.sleep(0.2)

    def _workers(self) -> int:
        info = bounded(self.client.scheduler_info, ALONE, "asking the scheduler for its workers")
        self.seen = self.seen or bool(info["workers"])
        return len(info["workers"])

    def _no_workers(self) -> str:
        address = self.client.scheduler.address if self.client.scheduler else "the scheduler"
        cause = "all have died or left" if self.seen else "there have been none"
        return f"no workers at {address} for {self.alone:g} s: {cause}; start some"

    def _check_client(self) -> None:
        if self.client.status not in ("running", "connecting"):
            raise EngineError(f"the client was closed, or lost its scheduler, in the middle of a run ({self.client.status})")


def bounded(call: Callable[[], Any], seconds: float, what: str) -> Any:
    """A call of the client that knows no timeout of its own, given up after some time."""
    answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def work() -> None:
        try:
            answers.put((call(), None))
        except BaseException as error:
            answers.put((None, error))

    Thread(target=work, daemon=True).start()
    try:
        answer, error = answers.get(timeout=seconds)
    except Empty:
        raise EngineError(f"{what} took longer than {seconds:.0f} s: is the scheduler alive?") from None
    if error is not None:
        raise error
    return answer


def client_of(client: Any) -> Client:
    """The client given, or the one there is."""
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        raise ValueError("there is no Dask client: start one, distributed.Client(), or give client=") from None


def _submitted(client: Client, shard: Any) -> Future:
    return client.compute(shard)


def _run(task: Task, shard: Any, number: int, told: Mapping[str, Any], version: str, *shared: Any) -> Any:
    check_version(version)
    return task(shard, number, merged(shared), told)


def _added(*answers: Answer) -> Answer:
    return add(answers)
