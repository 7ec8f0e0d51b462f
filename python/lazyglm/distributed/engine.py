"""What holds the partitions and runs tasks on them: the protocol, the tree of sums, and an engine of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
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


def add(answers: Sequence[Answer]) -> Answer:
    """The sum of some answers, in their order."""
    sums = tuple(part.copy() for part in answers[0]) if len(answers) > 1 else tuple(answers[0])
    for answer in answers[1:]:
        for total, part in zip(sums, answer, strict=True):
            total += part
    return sums


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
    """On a worker: whether it is like the leader."""
    if lazyglm.__version__ != version:
        raise EngineError(
            f"a worker has lazyglm {lazyglm.__version__} and the leader {version}: install the same version everywhere"
        )


class Threads:
    """Partitions in this process, and threads: for tests, and for one machine."""

    def __init__(self, shards: Sequence[Shard], threads: int = 1, timeout: float = 3600.0) -> None:
        if not shards:
            raise ValueError("there are no partitions: give at least one")
        self.shards, self.count, self.threads, self.timeout = list(shards), len(shards), threads, timeout

    def share(self, arrays: Mapping[str, Any]) -> Any:
        return dict(arrays)

    def map(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> list[Any]:
        shared = merged(tokens)
        with ThreadPoolExecutor(self.threads) as pool:
            calls = [pool.submit(task, shard, k, shared, told) for k, shard in enumerate(self.shards)]
            try:
                return [call.result(self.timeout) for call in calls]
            except Late:
                raise EngineError(f"a task took longer than {self.timeout} s: raise timeout, or cut partitions") from None

    def reduce(self, task: Task, tokens: Sequence[Any], told: Mapping[str, Any]) -> Answer:
        answers = self.map(task, tokens, told)
        for level in tree(self.count):
            answers = [add([answers[k] for k in group]) for group in level]
        return answers[0]

    def release(self, token: Any) -> None:
        token.clear()
