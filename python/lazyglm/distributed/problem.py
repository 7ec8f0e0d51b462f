"""What is to be minimised, and what of it tasks are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lazyglm._core import loss_shape
from lazyglm.distributed.plane import BLOCK
from lazyglm.distributed.shard import aligned

#: What to take in place of a loss whose slope jumps.
SMOOTH = {
    "hinge": "loss='squared_hinge' or 'modified_huber'",
    "perceptron": "loss='log_loss'",
    "epsilon_insensitive": "loss='squared_epsilon_insensitive' or 'huber'",
    "quantile": "loss='huber' or 'squared_error'",
}


@dataclass(frozen=True)
class Problem:
    """The weighted mean loss of all rows, plus the penalty ``l1·‖w‖₁ + ½·l2·‖w‖²``.

    ``loss`` is the library's name (``logistic``, ``squared``, ``huber:delta=1.35``, ...). With ``aim`` targets are the
    numbers of classes, and the problem is that class against the rest; ``class_weight`` then weighs the rest and the class.
    """

    loss: str
    l1: float = 0.0
    l2: float = 0.0
    intercept: bool = True
    aim: int | None = None
    class_weight: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        name = self.loss.partition(":")[0].replace("-", "_")
        if loss_shape(self.loss)[1]:
            raise ValueError(
                f"the slope of loss {name!r} jumps, and rounds over partitions need one that does not: "
                f"use {SMOOTH.get(name, 'a smooth loss')}, or fit on one machine"
            )
        if not (0 <= self.l1 < np.inf and 0 <= self.l2 < np.inf):
            raise ValueError(f"l1 = {self.l1} and l2 = {self.l2} must be finite and not negative")

    def told(self, **more: Any) -> dict[str, Any]:
        return {**asdict(self), **more}

    def penalty(self, weights: Any) -> float:
        """Piece by piece: no vector of the whole length is made."""
        pieces = (weights[first : first + BLOCK] for first in range(0, len(weights), BLOCK))
        return float(sum(self.l1 * np.abs(w).sum() + 0.5 * self.l2 * np.dot(w, w) for w in pieces))


def lesson(shard: Any, told: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """A shard as the compiled part takes it, with the targets of this problem."""
    targets, weights = aligned(shard.targets), None if shard.weights is None else aligned(shard.weights)
    if told["aim"] is not None:
        positive = targets == told["aim"]
        targets = np.where(positive, 1.0, -1.0)
        rest, own = told["class_weight"]
        if (rest, own) != (1.0, 1.0):
            of_class = np.where(positive, own, rest)
            weights = of_class if weights is None else weights * of_class
    return shard.matrix, targets, weights
