"""Training over many partitions of the rows, on any engine: the rounds, without a cluster of their own.

An engine is what a user already has (Dask, Spark, a pool of threads). This package opens no sockets and starts no
processes; it asks an engine for three things, and everything it asks is pure, so that the engine may run it anywhere,
twice, or again after a machine is gone, and the weights are the same to the bit.

What an engine must provide (:class:`lazyglm.distributed.engine.Engine`):

``count``
    How many partitions it holds. Partition k is a :class:`~lazyglm.distributed.shard.Shard` made by
    :func:`~lazyglm.distributed.shard.pack` (or :meth:`Shard.of_bytes`), numbered 0, 1, ... in an order that is the same
    whenever the data are. Empty partitions count.
``share(arrays) -> token``
    Sends a dict of numpy arrays to where the partitions are (a broadcast), and returns what stands for it. It must be
    possible to send it again from the leader if all that hold it are lost.
``map(task, tokens, told) -> list``
    ``task(shard, k, shared, told)`` for every partition, the answers in the order of k; ``shared`` is the dict of all
    arrays of ``tokens``, ``told`` a small dict. Answers are small. An exception of a task is raised as it is.
``reduce(task, tokens, told) -> tuple of arrays``
    The same, and the answers (tuples of arrays) added up by :func:`~lazyglm.distributed.engine.add`, along the tree
    :func:`~lazyglm.distributed.engine.tree`: its shape depends on ``count`` alone, so sums round alike on any cluster.
``release(token)``
    The arrays are needed no more.

Every wait of an engine ends: with an answer, or with :class:`~lazyglm.distributed.engine.EngineError` naming the cause.
``tokens`` are never needed after the call that made them fails. Tasks are module-level functions of
:mod:`lazyglm.distributed.tasks`: they are pickled by name, and workers need the same version of lazyglm.

:func:`fit` does the rest::

    engine = Threads([pack(X, y) for X, y in parts], threads=2)
    found = fit(engine, Problem("logistic", l1=1e-5, l2=1e-6))
    found.weights, found.bias, found.certificate

>>> import numpy as np, scipy.sparse as sp
>>> from lazyglm.distributed import Problem, Threads, fit, pack
>>> X = sp.random(400, 30, density=0.2, format="csr", rng=np.random.default_rng(0))
>>> y = np.where(X @ np.linspace(-1, 1, 30) > 0, 1.0, -1.0)
>>> parts = [pack(X[k::4], y[k::4]) for k in range(4)]
>>> found = fit(Threads(parts), Problem("logistic", l1=1e-3, l2=1e-3), tol=1e-4)
>>> found.certificate.relative_gap < 0.01
True
"""

from lazyglm.distributed.engine import Engine, EngineError, Threads
from lazyglm.distributed.run import Found, fit
from lazyglm.distributed.problem import Problem
from lazyglm.distributed.shard import Shard, pack

__all__ = ["Engine", "EngineError", "Found", "Problem", "Shard", "Threads", "fit", "pack"]
