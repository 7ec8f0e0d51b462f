"""On Dask, two worker processes: a fit from end to end, a fit with a worker killed, and what a round costs besides its tasks."""

import os
import signal
import threading
import time

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from bench.distributed.cost import of_tasks
from bench.distributed.made import cut
from bench.distributed.quality import PROBLEM, least, split
from lazyglm.dask import DaskSGDClassifier
from lazyglm.dask.engine import DaskEngine
from lazyglm.distributed import pack
from lazyglm.distributed.leader import Leader
from lazyglm.distributed.rounds import State, one_round

NET = {"penalty": "elasticnet", "alpha": PROBLEM.l1 + PROBLEM.l2, "l1_ratio": PROBLEM.l1 / (PROBLEM.l1 + PROBLEM.l2)}


def arrays(X, y, count):
    rows = cut(X, y, count)
    xs = [da.from_delayed(dask.delayed(X[r]), (len(r), X.shape[1]), dtype=X.dtype, meta=sp.csr_matrix((0, 0))) for r in rows]
    ys = [da.from_delayed(dask.delayed(y[r]), (len(r),), dtype=y.dtype) for r in rows]
    return dask.persist(da.concatenate(xs), da.concatenate(ys))


def measure(rows=200_000, columns=50_000, repeats=3, widths=(1_000_000, 16_000_000)):
    X, y, _, _ = split(1, rows, columns)
    F = least(X, y).certificate.objective
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        x, labels = arrays(X, y, 16)

        def fitted(**options):
            before, began = spent(client), time.perf_counter()
            model = DaskSGDClassifier(**NET, fit_intercept=False, client=client, **options).fit(x, labels)
            seconds = time.perf_counter() - began
            cost.append([after - one for after, one in zip(spent(client), before, strict=True)])
            return seconds, model

        cost = []
        runs = [fitted(max_iter=5, tol=None) for _ in range(repeats)]
        seconds, model = min(runs, key=lambda run: run[0])
        own, workers = min(cost, key=sum)
        gap = 100 * (model.certificate_.objective / F - 1)
        same = len({run[1].coef_.tobytes() for run in runs}) == 1
        print(
            f"five rounds, 16 partitions: {seconds:.2f} s (asked, idle: 6), processor: leader {own:.2f} s, both workers {workers:.2f} s; gap {gap:.4f} %, "
            f"{np.count_nonzero(model.coef_)} non-zeros, same bits: {same}; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        for most in range(1, 6):
            seconds, model = min((fitted(max_iter=most, tol=None) for _ in range(repeats)), key=lambda run: run[0])
            gap = 100 * (model.certificate_.objective / F - 1)
            if gap <= 0.1:
                break
        print(f"to a gap of at most 0.1 %: {seconds:.2f} s in {most} rounds, gap {gap:.4f} %", flush=True)
        whole = runs[0][1].coef_.tobytes()
        undisturbed = min(run[0] for run in runs)
        pid = next(iter(client.run(os.getpid).values()))
        threading.Timer(0.5 * seconds, os.kill, (pid, signal.SIGKILL)).start()
        seconds, model = fitted(max_iter=5, tol=None)
        print(f"five rounds, a worker killed: {seconds:.2f} s against {undisturbed:.2f} s, same bits: {model.coef_.tobytes() == whole}", flush=True)
        for width in widths:
            overhead(client, width, repeats)
    return same


def overhead(client, width, repeats):
    """A whole round (pass, plane, gradient) less the tasks of the slower worker, in single precision."""
    random = np.random.default_rng(3)
    shards = []
    for k in range(4):
        ids = np.sort(random.integers(0, width, (20_000, 60)), axis=1).ravel()
        X = sp.csr_array((np.ones(ids.size, dtype=np.float32), ids, np.arange(0, ids.size + 1, 60)), shape=(20_000, width))
        shards.append(pack(X, np.where(random.random(20_000) < 0.5, 1.0, -1.0), partition=k))
    engine = DaskEngine(client, [dask.delayed(shard, traverse=False) for shard in shards], 600.0)
    leader = Leader(engine, PROBLEM, wire="f4")
    state = State(np.zeros(width), 0.0)
    at = one_round(leader, state, leader.at(state.weights, 0.0), 0)  # the first has no last step, and brings shards to workers
    times = []
    for _ in range(repeats):
        before, began = spent(client), time.perf_counter()
        at = one_round(leader, state, at, 0)
        times.append((time.perf_counter() - began, *(after - one for after, one in zip(spent(client), before, strict=True))))
        state.round += 1
    alone = 2 * max(of_tasks(shard, at, leader, state, PROBLEM) for shard in shards)
    leader.close()
    seconds, own, workers = min(times)
    print(
        f"width {width / 1e6:.0f} million: a round {seconds:.2f} s (processor: leader {own:.2f} s, both workers {workers:.2f} s), its tasks on one "
        f"worker {alone:.2f} s, overhead {seconds - alone:.2f} s (asked, idle: {0.15 if width <= 1e6 else 0.8}); load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def spent(client):
    """Seconds of processors: the leader's, and all workers'."""
    return time.process_time(), sum(client.run(time.process_time).values())
