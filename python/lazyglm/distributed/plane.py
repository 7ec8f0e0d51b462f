"""Where a round may go: points of a plane, judged by numbers alone.

    w(θ, φ) = A + θ(E − A) + φP          E where the passes led, P the last step; A is W; A and P are 0 where E is
    w(θ)    = W + θ(E − W)               the way itself, for a pass that threw weights too far

With P a round keeps what the rounds before have learnt of long and narrow valleys, as conjugate gradients do, and costs no
vector more. Weights that E has set to zero stay zero all over the plane: beyond E they would all come back with the other sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

#: Weights that are looked at together.
BLOCK = 1 << 16


class Way(NamedTuple):
    """W, E and P, each with its bias; ``step`` is ``None`` where there is no last step."""

    start: Any
    end: Any
    step: Any
    biases: tuple[float, float, float]

    def blocks(self) -> Iterator[tuple[slice, Way]]:
        """Piece by piece: no vector of the whole length is made."""
        for first in range(0, len(self.end), BLOCK):
            part = slice(first, first + BLOCK)
            yield part, Way(self.start[part], self.end[part], None if self.step is None else self.step[part], self.biases)

    def line(self, phi: float | None) -> tuple[Any, Any]:
        """Weights at θ = 0 and θ = 1 of the line of ``phi``; ``None`` is the way itself. Two new vectors at most."""
        if phi is None:
            return self.start, self.end
        base = np.array(self.start)
        if phi == 0 or self.step is None:
            _clear(base, self.end)
            return base, self.end
        slide = phi * self.step
        _clear(slide, self.end)
        _clear(base, self.end)
        base += slide
        slide += self.end
        return base, slide

    def bias_line(self, phi: float | None) -> tuple[float, float]:
        start, end, step = self.biases
        by = (phi or 0.0) * step
        return start + by, end + by

    def go(self, phi: float | None, theta: float) -> float:
        """Puts w(θ, φ) in the place of E; its bias."""
        for _, part in self.blocks():
            first, second = part.line(phi)
            part.end[:] = first + theta * (second - first)
        first_bias, second_bias = self.bias_line(phi)
        return first_bias + theta * (second_bias - first_bias)


def _clear(vector: Any, where: Any) -> None:
    """Zeros where another vector has them."""
    for first in range(0, len(vector), BLOCK):
        vector[first : first + BLOCK][where[first : first + BLOCK] == 0] = 0.0
