"""One peer a file; a file in this folder is found by itself.

    NAME                          what the table calls it
    supports(regression, l2)      None, or why it cannot solve the problem
    LADDER                        settings from loose to tight: each is run until one is near enough, or time is up
    warm_up()                     not timed: compile what is compiled at first use
    prepare(X, y)                 not timed: the data in the form the peer wants them in memory
    fit(data, regression, l1, l2, rung)      timed; weights and bias, or what `learnt` makes them of
    learnt(data, found)           if it has such, not timed: weights and bias of what `fit` gave

The problem is ours for all: F = mean loss + l1·‖w‖₁ + ½·l2·‖w‖², the bias free; logistic loss, or ½r² for regression.
"""

import importlib
import pkgutil


def find() -> tuple[dict, list[str]]:
    """All peers by name, and who is missing, and why."""
    peers, missing = {}, []
    for found in pkgutil.iter_modules(__path__):
        try:
            peer = importlib.import_module(f"{__name__}.{found.name}")
            peers[peer.NAME] = peer
        except ImportError as why:
            missing.append(f"{found.name}: {why}")
    return peers, missing


def tiny():
    """A small problem to warm up on."""
    import numpy as np
    import scipy.sparse as sp

    random = np.random.default_rng(1)
    X = sp.random(60, 12, density=0.5, format="csc", random_state=1)
    return X, np.where(random.random(60) < 0.5, -1.0, 1.0)
