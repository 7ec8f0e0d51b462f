"""The Dask engine when something goes wrong: no wait is without end, and what a task raises is reported as it is."""

import asyncio
import threading

import dask
import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster
from test_distributed import made, parts

from lazyglm.dask import DaskSGDClassifier
from lazyglm.dask.engine import DaskEngine
from lazyglm.distributed import EngineError, Problem, Threads, fit, pack, tasks

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
PROBLEM = Problem("logistic", l1=1e-3, l2=1e-4)
CALLED = []
OVER = threading.Event()


@pytest.fixture
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster, set_as_default=False) as client:
        yield client


def delayed(shards):
    return [dask.delayed(shard) for shard in shards]


def raising(shard, number, shared, told):
    CALLED.append(number)
    raise told["error"]


@pytest.mark.parametrize(
    "error", [KeyError("no such word"), OSError(28, "No space left on device"), TimeoutError("the store is slow"), ValueError("odd")]
)
def test_the_error_of_a_task_is_raised_at_once_as_it_is(client, error):
    CALLED.clear()
    engine = DaskEngine(client, delayed([pack(np.eye(2), [1.0, -1.0])]), 60.0)
    for ask in (engine.map, engine.reduce):
        with pytest.raises(type(error)) as raised:
            ask(raising, [], {"error": error})
        assert str(raised.value) == str(error)
    assert CALLED == [0, 0]  # once each: what a task raises is raised again by the next attempt


def load():
    CALLED.append("load")
    raise FileNotFoundError("part-7.svm")


def test_the_error_of_a_partition_that_cannot_be_read_is_raised_at_once(client):
    CALLED.clear()
    engine = DaskEngine(client, [dask.delayed(load, pure=False)()], 60.0)
    with pytest.raises(FileNotFoundError, match="part-7.svm"):
        engine.map(tasks.shape, [], {})
    assert CALLED == ["load"]


def test_weights_are_sent_without_what_may_never_end(cluster, client):
    """A worker that dies while Dask replicates data is asked for ever, and every later replication waits for that one."""

    async def never(*arguments, **more):
        await asyncio.sleep(3600)

    cluster.scheduler.replicate = never
    X, y = made(rows=400, columns=50)
    engine = DaskEngine(client, delayed(parts(X, y, 3)), 30.0)
    found = fit(engine, PROBLEM, tol=None, max_rounds=2)
    assert found.weights.tobytes() == fit(Threads(parts(X, y, 3)), PROBLEM, tol=None, max_rounds=2).weights.tobytes()


def test_weights_are_on_every_worker_before_tasks_ask_for_them(client):
    engine = DaskEngine(client, delayed([pack(np.eye(2), [1.0, -1.0])]), 60.0)
    token = engine.share({"weights": np.arange(1000.0)})
    assert len(client.who_has([token.future])[token.future.key]) == 2


@pytest.mark.parametrize("call", [pytest.param("scatter", marks=pytest.mark.slow), "gather"])
def test_a_call_of_the_client_that_never_ends_is_given_up(client, monkeypatch, call):
    OVER.clear()
    monkeypatch.setattr(client, call, lambda *arguments, **more: OVER.wait(3600))
    engine = DaskEngine(client, delayed([pack(np.eye(2), [1.0, -1.0])]), 2.0)
    try:
        with pytest.raises(EngineError, match="a step took longer than 2 s: raise timeout"):
            engine.share({"weights": np.zeros(2)})
            engine.map(tasks.shape, [], {})
    finally:
        OVER.set()


def waiting(shard, number, shared, told):
    OVER.wait(3600)


@pytest.mark.slow
def test_a_task_that_never_ends_is_given_up(client):
    OVER.clear()
    try:
        engine = DaskEngine(client, delayed([pack(np.eye(2), [1.0, -1.0])]), 2.0)
        with pytest.raises(EngineError, match="a step took longer than 2 s: raise timeout"):
            engine.map(waiting, [], {})
    finally:
        OVER.set()


def test_data_that_are_lost_are_sent_again(client):
    engine = DaskEngine(client, delayed([pack(np.eye(2), [1.0, -1.0])]), 60.0)
    token = engine.share({"weights": np.arange(2.0)})
    client.cancel([token.future], force=True)
    (answer,) = engine.map(lambda shard, number, shared, told: shared["weights"].tolist(), [token], {})
    assert answer == [0.0, 1.0]


@pytest.mark.slow
def test_a_checkpoint_of_other_rows_is_refused(client, tmp_path):
    import dask.array as da

    path = tmp_path / "run.npz"
    X, y = made(rows=600, columns=40)
    options = {"penalty": "elasticnet", "alpha": 1e-3, "client": client, "max_iter": 2, "tol": None, "checkpoint": path}

    def fitted(X, y):
        blocks = [da.from_delayed(dask.delayed(sp.csr_matrix(X[r])), (300, 40), dtype=float) for r in (slice(0, 300), slice(300, 600))]
        return DaskSGDClassifier(**options).fit(da.concatenate(blocks), da.from_array(y, chunks=300))

    first = fitted(X, y)
    assert fitted(X, y).coef_.tobytes() == first.coef_.tobytes()
    changed = X.copy()
    changed.data[-1] *= 2
    with pytest.raises(ValueError, match=r"run\.npz is a checkpoint of other rows than these \(1 of 2 partitions differ, the first is number 1\): give"):
        fitted(changed, y)
    with pytest.raises(ValueError, match="2 of 2 partitions differ"):
        fitted(X, -y)
    with pytest.raises(ValueError, match="2 of 2 partitions differ"):
        fitted(X[::-1], y[::-1])
    path.unlink()
    assert fitted(X, -y).coef_.tobytes() != first.coef_.tobytes()
