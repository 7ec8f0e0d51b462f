"""What holds the partitions and runs tasks on them: the protocol, the tree of sums, and an engine of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Protocol

import lazyglm
from lazyglm.distributed.shard import Shard, aligned

Answer = tuple[Any, ...]
Task = Callable[[Shard, int, Mapping[str, Any], Mapping[str, Any]], Any]

#: Answers that are added in one go.
FAN = 4


class EngineError(RuntimeError):
    """The engine could not answer: what happened to it, and what to do."""


class Engine(Protocol):
    """What an engine must provide: see :mod:`lazyglm.distributed`."""

    count: int

    def share(self, arrays: Mapping[str, Any]) -> Any: ...

    def map(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> list[Any]: ...

    def reduce(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> Answer: ...

    def release(self, token: Any) -> None: ...


@contextmanager
def shared(engine: Engine, arrays: Mapping[str, Any]) -> Iterator[Any]:
    """The token of arrays that are needed for the block of a ``with`` statement alone."""
    token = engine.share(arrays)
    try:
        yield token
    finally:
        engine.release(token)


def add(answers: Sequence[Answer]) -> Answer:
    """The sum of some answers, in their order."""
    sums = tuple(part.copy() for part in answers[0]) if len(answers) > 1 else tuple(answers[0])
    for answer in answers[1:]:
        for total, part in zip(sums, answer, strict=True):
            total += part
    return sums


def added(answers: list[Answer]) -> Answer:
    """The sum of all answers, along the tree."""
    for level in tree(len(answers)):
        answers = [add([answers[k] for k in group]) for group in level]
    return answers[0]


def tree(count: int) -> Iterator[list[range]]:
    """The levels of the tree of sums: which answers of the level below each sum takes. The last level has one sum.

    >>> [[list(group) for group in level] for level in tree(6)]
    [[[0, 1, 2, 3], [4, 5]], [[0, 1]]]
    """
    while True:
        level = [range(first, min(first + FAN, count)) for first in range(0, count, FAN)]
        yield level
        count = len(level)
        if count <= 1:
            return


def merged(tokens: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The arrays of several tokens, once they are dicts."""
    return {name: aligned(array) for token in tokens for name, array in token.items()}


def check_version(version: str) -> None:
    """Refuses a worker whose version of lazyglm is not the leader's: other code would silently give other bits."""
    if lazyglm.__version__ != version:
        raise EngineError(
            f"a worker has lazyglm {lazyglm.__version__} and the leader {version}: install the same version everywhere"
        )


def late(timeout: float) -> EngineError:
    """The error of a step that takes longer than ``timeout`` seconds."""
    return EngineError(f"a step took longer than {timeout:g} s: raise timeout, or use smaller partitions")


def polled(call: Callable[[], Any], look: Callable[[], None], seconds: float = 1.0) -> Any:
    """The answer of a call that runs in a thread of its own. ``look`` is called every so many seconds until then.

    An error of ``look`` is raised, and the call is left behind.
    """
    answer: Future[Any] = Future()
    Thread(target=_settle, args=(answer, call), daemon=True).start()
    while not wait([answer], seconds).done:
        look()
    return answer.result()


def _settle(answer: Future[Any], call: Callable[[], Any]) -> None:
    try:
        answer.set_result(call())
    except BaseException as error:
        answer.set_exception(error)


def bounded(call: Callable[[], Any], seconds: float, what: str) -> Any:
    """The answer of a call that knows no timeout of its own; after ``seconds`` the call is left behind, and that is an error.

    >>> bounded(lambda: 7, 60.0, "counting")
    7
    """

    def give_up() -> None:
        raise EngineError(f"{what} took longer than {seconds:.0f} s, and was given up")

    return polled(call, give_up, seconds)


class Threads:
    """Partitions in this process, and threads: for tests, and for one machine. ``timeout`` bounds one step of a run, in seconds."""

    def __init__(self, shards: Sequence[Shard], threads: int = 1, timeout: float = 3600.0) -> None:
        if not shards:
            raise ValueError("there are no partitions: give at least one")
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self.shards, self.count, self.threads, self.timeout = list(shards), len(shards), threads, timeout

    def share(self, arrays: Mapping[str, Any]) -> Any:
        return dict(arrays)

    def map(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> list[Any]:
        """The answers of all partitions. The first error of a task is raised at once; tasks that have not begun are left out."""
        arrays, over = merged(tokens), Event()
        answers: list[Future[Any]] = [Future() for _ in self.shards]
        waiting = SimpleQueue[int]()
        for k in range(self.count):
            waiting.put(k)

        def work() -> None:
            with suppress(Empty):
                while not over.is_set():
                    k = waiting.get_nowait()
                    _settle(answers[k], partial(task, self.shards[k], k, arrays, told))

        for _ in range(min(self.threads, self.count)):
            Thread(target=work, daemon=True).start()  # neither a step nor the end of the process waits for a task that is late
        try:
            done, rest = wait(answers, self.timeout, FIRST_EXCEPTION)
        finally:
            over.set()
        failed = [answer for answer in answers if answer in done and answer.exception() is not None]
        if rest and not failed:
            raise late(self.timeout)
        return [answer.result() for answer in failed or answers]

    def reduce(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> Answer:
        return added(self.map(task, tokens, told))

    def release(self, token: Any) -> None:
        token.clear()
