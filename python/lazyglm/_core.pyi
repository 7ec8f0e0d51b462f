from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

_Net: TypeAlias = tuple[float, float]
_Split: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
_MadeWith: TypeAlias = tuple[float, float, str, bool, bool, int]
_Head: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.float64], float]

class _PathModel(TypedDict):
    sequence: int
    heads: list[_Head]
    gap: float | None
    steps: int
    stop: str
    losses: list[float]
    of_splits: list[list[_Head] | None]

class _Lanes(TypedDict):
    eta0: float
    nonzeros: list[float]
    epochs: list[float]
    dropped: list[str]
    by_fold: list[list[float]]

__all__ = [
    "Learner",
    "Task",
    "column_stats",
    "dual_sums",
    "exact_path",
    "learn",
    "line_losses",
    "load_model",
    "local_pass",
    "loss_gradient",
    "loss_shape",
    "path",
    "read_file",
    "run_program",
    "save_model",
    "scale_factors",
    "score_file",
    "score_rows",
    "scores",
    "search",
    "second_derivatives",
    "slope_sums",
    "solve",
    "solvers",
    "zero_test",
]

@final
class Learner:
    def __new__(
        cls,
        weights: NDArray[np.float64],
        intercept: float,
        t: int,
        epochs: int,
        made_with: _MadeWith,
    ) -> Learner: ...
    @staticmethod
    def restored(state: bytes) -> Learner: ...
    def weights(self) -> NDArray[np.float64]: ...
    def now(self) -> tuple[NDArray[np.float64], float]: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...
    @property
    def bias(self) -> float: ...
    @property
    def t(self) -> int: ...
    @property
    def epochs(self) -> int: ...
    @property
    def made_with(self) -> _MadeWith: ...

@final
class Task:
    def __new__(
        cls,
        x: Any,
        y: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        offsets: NDArray[np.float64] | None,
        loss: str,
        heads: int,
        kind: str,
        labels: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
        reading: tuple[str, Sequence[str] | None] | None,
    ) -> Task: ...
    @property
    def mean_weight(self) -> float: ...
    def l1_max(self, asked: dict[str, Any]) -> float: ...
    def gap(self, head: int, weights: NDArray[np.float64], bias: float, asked: dict[str, Any]) -> float | None: ...

def solvers() -> list[dict[str, Any]]: ...
def solve(
    task: Task, head: int | None, asked: dict[str, Any], watch: Callable[..., Any] | None
) -> tuple[
    list[_Head], str, list[float], tuple[tuple[bool, NDArray[np.float64]] | None, str] | None, tuple[list[float], str] | None
]: ...
def exact_path(
    task: Task,
    sequences: Sequence[Sequence[_Net]],
    splits: Sequence[_Split],
    may_end: bool,
    max_features: int | None,
    keep_folds: bool,
    asked: dict[str, Any],
    watch: Callable[..., Any] | None,
) -> list[_PathModel]: ...
def search(
    task: Task,
    penalties: Sequence[_Net],
    splits: Sequence[_Split],
    halving: bool,
    asked: dict[str, Any],
    watch: Callable[..., Any] | None,
) -> _Lanes: ...
def path(task: Task, head: int, penalties: Sequence[_Net], asked: dict[str, Any]) -> list[_Head]: ...
def scale_factors(x: Any, scale: str) -> NDArray[np.float64]: ...
def learn(
    x: Any,
    y: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    offsets: NDArray[np.float64] | None,
    held_out: NDArray[np.bool_] | None,
    learners: Sequence[Learner],
    labels: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
    class_weights: Sequence[float] | None,
    options: dict[str, Any],
    watch: Callable[..., Any] | None,
) -> list[tuple[list[float], list[float], _Head | None]]: ...
def scores(x: Any, coef: NDArray[np.float64], intercept: NDArray[np.float64], threads: int) -> NDArray[np.float64]: ...
def read_file(path: str, said: dict[str, Any]) -> dict[str, Any]: ...
def run_program(arguments: list[str]) -> int: ...
def save_model(path: str, linear: dict[str, Any]) -> None: ...
def load_model(path: str) -> dict[str, Any]: ...
def score_file(path: str, model: dict[str, Any] | bytes) -> tuple[NDArray[np.float64], list[str]]: ...
def score_rows(x: Any, model: dict[str, Any] | bytes) -> NDArray[np.float64]: ...
def column_stats(shard: Any) -> tuple[int, float, NDArray[np.float64], NDArray[np.float64]]: ...
def loss_gradient(shard: Any, loss: str, at: Any) -> tuple[list[float], NDArray[np.float64]]: ...
def local_pass(shard: Any, loss: str, at: Any, told: dict[str, Any]) -> tuple[NDArray[np.float64], float]: ...
def line_losses(shard: Any, loss: str, start: Any, to: Any, thetas: Sequence[float]) -> NDArray[np.float64]: ...
def second_derivatives(shard: Any, loss: str, at: Any) -> NDArray[np.float64]: ...
def slope_sums(shard: Any, loss: str, at: Any, moves: Sequence[float]) -> NDArray[np.float64]: ...
def dual_sums(
    shard: Any, loss: str, at: Any, by: tuple[float, float, float], shares: Sequence[float]
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]: ...
def zero_test(
    weights: NDArray[np.float64], gradient: NDArray[np.float64], curvature: NDArray[np.float64], l1: float, l2: float
) -> NDArray[np.float64]: ...
def loss_shape(loss: str) -> tuple[float | None, bool]: ...
