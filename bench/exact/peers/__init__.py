"""Peers, one module per tool. A module in this folder has `PEERS`, a list of instances of `Peer`, and is found by its presence.

Every peer minimises lazyglm's objective, F = loss + l1·‖W‖₁ + ½·l2·‖W‖², as far as the peer can; `judge.py` has the formulas.
The task `asked` has the keys part, loss, l1 and l2, or l1s for a path and for cross-validation.
"""

from __future__ import annotations

import importlib
import pkgutil


class Peer:
    """One solver of one tool."""

    name: str
    parts: tuple[str, ...]  # the parts of the benchmark that the peer enters
    ladder: list  # settings from loose to tight, one fit each, until the time is up
    python: str | None = None  # an interpreter of its own, for a peer that needs other versions of its dependencies

    def refuses(self, asked: dict) -> str | None:
        """Why the peer cannot solve the task, or None. `asked` also has `shape` and `classes` here."""
        return None

    def warm_up(self, asked: dict) -> None:
        """Compiles what is compiled at first use. Not timed."""

    def prepare(self, X, y, asked: dict):
        """Returns the data in the form that the peer wants in memory, from a CSR matrix. Not timed."""
        return X, y

    def fit(self, data, asked: dict, rung):
        """Solves the task. Timed."""
        raise NotImplementedError

    def learnt(self, data, asked: dict, found):
        """Returns the weights, one row per class or per l1, the biases, and optionally facts for the record. Not timed."""
        return found


def finer(first: int, last: int) -> list[int]:
    """Numbers of iterations that grow by √2, so that a peer is charged at most 41 % more than the iterations it needs."""
    steps, k = [], 0
    while not steps or steps[-1] < last:
        steps.append(round(first * 2 ** (k / 2)))
        k += 1
    return sorted(set(steps))


def tiny():
    """A small problem to warm up on."""
    import numpy as np
    import scipy.sparse as sp

    random = np.random.default_rng(1)
    X = sp.random(60, 12, density=0.5, format="csr", random_state=1)
    return X, np.where(random.random(60) < 0.5, -1.0, 1.0)


def find() -> tuple[dict[str, Peer], list[str]]:
    """All peers by name, and the modules that are missing, with the reason."""
    peers, missing = {}, []
    for found in pkgutil.iter_modules(__path__):
        try:
            module = importlib.import_module(f"{__name__}.{found.name}")
            peers |= {peer.name: peer for peer in module.PEERS}
        except ImportError as why:
            missing.append(f"{found.name}: {why}")
    return peers, missing
