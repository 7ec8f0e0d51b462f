"""lazyglm on Dask: real worker processes, some of them really killed."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster
from sklearn.base import clone
from test_distributed import made, objective

import lazyglm
from lazyglm.dask import DaskSGDClassifier, DaskSGDRegressor, read, read_svmlight
from lazyglm.dask import engine as dask_engine
from lazyglm.distributed import EngineError, Problem, Threads, fit, pack

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*not converged:sklearn.exceptions.ConvergenceWarning"),
]
QUIET = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
NET = {"penalty": "elasticnet", "alpha": 1.1e-4, "l1_ratio": 1 / 1.1}
PROBLEM = Problem("logistic", l1=1.1e-4 * (1 / 1.1), l2=1.1e-4 * (1 - 1 / 1.1), aim=1)


@pytest.fixture(scope="module")
def client():
    with LocalCluster(**QUIET) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    X, y = made(rows=3000, columns=600)
    return sp.csr_matrix(X), y


def blocks(X, y, count, kind=sp.csr_matrix, unknown=False):
    """X and y as dask arrays of sparse blocks."""
    cut = np.array_split(np.arange(X.shape[0]), count)
    rows = [np.nan if unknown else len(r) for r in cut]
    xs = [
        da.from_delayed(dask.delayed(kind(X[r])), (n, X.shape[1]), dtype=X.dtype, meta=kind((0, 0)))
        for r, n in zip(cut, rows, strict=True)
    ]
    ys = [da.from_delayed(dask.delayed(y[r]), (n,), dtype=y.dtype) for r, n in zip(cut, rows, strict=True)]
    return da.concatenate(xs, allow_unknown_chunksizes=True), da.concatenate(ys, allow_unknown_chunksizes=True)


def in_process(X, y, count, **options):
    cut = np.array_split(np.arange(X.shape[0]), count)
    return fit(Threads([pack(X[r], y[r], classes=np.unique(y)) for r in cut]), PROBLEM, **options)


@pytest.mark.parametrize(
    ("kind", "unknown", "count"),
    [(sp.csr_matrix, False, 5), *(pytest.param(*more, marks=pytest.mark.slow) for more in ((sp.csr_array, True, 5), (sp.csr_matrix, False, 1)))],
)
def test_bits_are_those_of_the_rounds_in_process(client, data, kind, unknown, count):
    model = DaskSGDClassifier(**NET, max_iter=3, tol=None, client=client).fit(*blocks(*data, count, kind, unknown))
    alone = in_process(*data, count, max_rounds=3, tol=None)
    assert model.coef_.tobytes() == alone.weights.reshape(1, -1).tobytes()
    assert model.intercept_[0] == alone.bias and model.n_iter_ == 3
    assert model.certificate_.objective == pytest.approx(
        objective(data[0], data[1], PROBLEM, model.coef_.ravel(), model.intercept_[0]), rel=1e-12
    )


@pytest.mark.slow
def test_bits_do_not_depend_on_workers(data):
    with LocalCluster(n_workers=1, threads_per_worker=3, processes=False, dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            X, y = blocks(*data, 64)  # more partitions than workers
            model = DaskSGDClassifier(**NET, max_iter=2, tol=None, client=client).fit(X, y)
    assert model.coef_.tobytes() == in_process(*data, 64, max_rounds=2, tol=None).weights.reshape(1, -1).tobytes()


@pytest.mark.parametrize("at", [3, 8])
@pytest.mark.slow
def test_a_worker_is_killed_in_the_middle(client, data, monkeypatch, at):
    X, y = blocks(*data, 6)
    whole = in_process(*data, 6, max_rounds=4, tol=None)
    options = {**NET, "max_iter": 4, "tol": None, "client": client}
    began = time.monotonic()
    DaskSGDClassifier(**options).fit(X, y)
    undisturbed = time.monotonic() - began
    asked, ask = [], dask_engine.DaskEngine._started

    def started(self, *arguments):
        asked.append(arguments[0].__name__)
        if len(asked) == at:
            (pid, *_) = client.run(os.getpid).values()
            threading.Timer(0.01, os.kill, (pid, signal.SIGKILL)).start()
        return ask(self, *arguments)

    monkeypatch.setattr(dask_engine.DaskEngine, "_started", started)
    began = time.monotonic()
    model = DaskSGDClassifier(**options).fit(X, y)
    # A round and ten seconds more on a machine that does nothing else; here all four rounds may be slower, once.
    assert len(asked) > at and time.monotonic() - began < 2 * undisturbed + 10
    assert model.coef_.tobytes() == whole.weights.reshape(1, -1).tobytes()


@contextlib.contextmanager
def workers_without_nannies(address, count):
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(count)]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait(30)


@pytest.mark.slow
def test_all_workers_are_killed(data, monkeypatch):
    ask, killed = dask_engine.DaskEngine._started, []
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster, Client(cluster) as client:
        with workers_without_nannies(cluster.scheduler_address, 2) as started:
            client.wait_for_workers(2, timeout=60)

            def start(self, *arguments):
                if not killed and arguments[0].__name__ == "local_pass":
                    killed.append(time.monotonic())
                    for process in started:
                        os.kill(process.pid, signal.SIGKILL)
                return ask(self, *arguments)

            monkeypatch.setattr(dask_engine.DaskEngine, "_started", start)
            with dask.config.set({"lazyglm.without-workers": 6}):
                with pytest.raises(EngineError, match=r"no workers at .* for 6 s: all have died"):
                    DaskSGDClassifier(**NET, client=client).fit(*blocks(*data, 4))
            assert time.monotonic() - killed[0] < 36  # 60 at the 30 s that are the default


@pytest.mark.slow
def test_no_workers_and_no_client(data, monkeypatch):
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster, Client(cluster, set_as_default=False) as client:
        with dask.config.set({"lazyglm.without-workers": 1}), pytest.raises(EngineError, match="no workers at .* for 1 s: there have been none"):
            DaskSGDClassifier(client=client).fit(*blocks(*data, 2))
    monkeypatch.setattr(dask_engine, "default_client", lambda: (_ for _ in ()).throw(ValueError("none")))
    with pytest.raises(ValueError, match="no Dask client"):
        DaskSGDClassifier().fit(*blocks(*data, 2))


def test_a_client_closed_in_the_middle(data):
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        client = Client(cluster, set_as_default=False)

        class Closing(DaskSGDClassifier):
            def _solve(self, *arguments):
                threading.Timer(0.3, client.close).start()
                return super()._solve(*arguments)

        with pytest.raises(EngineError, match="client was closed"):
            Closing(**NET, tol=None, max_iter=10000, client=client).fit(*blocks(*data, 4))


def test_workers_of_another_version(client, data):
    def pretend(version):
        import lazyglm

        lazyglm.__version__ = version

    client.run(pretend, "0.0.7")
    try:
        with pytest.raises(EngineError, match=r"a worker has lazyglm 0\.0\.7 and the leader"):
            DaskSGDClassifier(client=client).fit(*blocks(*data, 2))
    finally:
        client.run(pretend, lazyglm.__version__)


def test_partitions_that_do_not_fit(client, data):
    X, y = data
    xs = [da.from_delayed(dask.delayed(X[:9, : 600 - k]), (9, 600), dtype=float, meta=sp.csr_matrix((0, 0))) for k in (0, 0, 1)]
    with pytest.raises(ValueError, match="partition 0 has 600 features and partition 2 has 599"):
        DaskSGDClassifier(client=client).fit(da.concatenate(xs), da.from_array(np.tile(y[:9], 3), chunks=9))
    split = da.from_array(X.toarray(), chunks=(1000, 300))
    with pytest.raises(ValueError, match=r"split over 2 chunks.*rechunk"):
        DaskSGDClassifier(client=client).fit(split, da.from_array(y, chunks=1000))
    with pytest.raises(ValueError, match="y has 2 partitions, and X has 3"):
        DaskSGDClassifier(client=client).fit(blocks(X, y, 3, unknown=True)[0], blocks(X, y, 2, unknown=True)[1])
    with pytest.raises(TypeError, match="must be a dask collection"):
        DaskSGDClassifier(client=client).fit(blocks(X, y, 3)[0], y)
    with pytest.raises(TypeError, match="must be a dask array or a dask DataFrame"):
        DaskSGDClassifier(client=client).fit(X, y)


def test_what_is_no_number_is_named_by_partition_and_row(client, data):
    X, y = data[0].copy(), data[1]
    X.data[X.indptr[2500]] = np.nan
    with pytest.raises(ValueError, match="partition 2, row 500: X contains nan"):
        DaskSGDClassifier(client=client).fit(*blocks(X, y, 3))
    y = y.copy()
    y[1001] = np.nan
    with pytest.raises(ValueError, match="partition 1, row 1: y is nan"):
        DaskSGDRegressor(client=client).fit(*blocks(data[0], y, 3))
    with pytest.raises(ValueError, match="partition 1, row 1: y is nan"):
        DaskSGDClassifier(client=client).fit(*blocks(data[0], y, 3))


@pytest.mark.slow
def test_a_label_of_one_partition_alone_and_labels_that_are_words(client, data):
    X, y = data
    order = np.argsort(y, kind="stable")
    words = np.where(y[order] > 0, "spam", "ham")
    model = DaskSGDClassifier(**NET, client=client, tol=1e-4).fit(*blocks(X[order], words, 3))
    assert model.classes_.tolist() == ["ham", "spam"]
    predicted = model.predict(blocks(X, y, 2)[0])
    assert isinstance(predicted, da.Array)
    assert np.mean(predicted.compute() == np.where(y > 0, "spam", "ham")) > 0.6
    with pytest.raises(ValueError, match="number of classes has to be greater than one"):
        DaskSGDClassifier(client=client).fit(*blocks(X, np.ones(3000), 3))


@pytest.mark.slow
def test_many_classes_weights_and_lazy_predictions(client, data):
    X, y = data
    classes = np.where(y > 0, 2, np.where(np.arange(3000) % 2, 0, 1))
    weights = da.from_array(np.random.default_rng(0).integers(0, 3, 3000).astype(float), chunks=3000 // 4)
    model = DaskSGDClassifier(**NET, client=client, tol=1e-4, class_weight="balanced")
    x, labels = blocks(X, classes, 4)
    model.fit(x, labels, sample_weight=weights)
    local = model.to_local()
    assert isinstance(local, lazyglm.SGDClassifier) and local.coef_.shape == (3, 600)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        lazy = getattr(model, method)(x)
        assert isinstance(lazy, da.Array)
        assert np.array_equal(lazy.compute(), getattr(local, method)(X)), method
        assert np.array_equal(getattr(model, method)(X[:5]), getattr(local, method)(X[:5]))
    assert len(model.certificate_) == 3 and all(one.relative_gap < 0.1 for one in model.certificate_)
    again = clone(model).set_params(client=None)
    assert again.get_params()["class_weight"] == "balanced" and again.get_params()["solver"] == "rounds"
    assert pickle.loads(pickle.dumps(local)).coef_.tobytes() == local.coef_.tobytes()


def test_frames_and_numbers(client):
    random = np.random.default_rng(1)
    table = pd.DataFrame(random.normal(size=(400, 5)), columns=list("abcde"))
    y = table @ np.array([1.0, -2.0, 0.0, 0.5, 3.0]) + 4
    frame, target = dd.from_pandas(table, npartitions=3), dd.from_pandas(y, npartitions=3)
    model = DaskSGDRegressor(alpha=1e-6, tol=1e-7, client=client).fit(frame, target)
    assert model.coef_ == pytest.approx([1, -2, 0, 0.5, 3], abs=0.02) and model.intercept_[0] == pytest.approx(4, abs=0.02)
    assert model.predict(frame).compute() == pytest.approx(y.to_numpy(), abs=0.1)
    assert model.to_local().predict(table) == pytest.approx(y.to_numpy(), abs=0.1)


@pytest.mark.slow
def test_a_run_goes_on_from_its_checkpoint(client, data, tmp_path, capsys):
    X, y = blocks(*data, 4)
    options = {**NET, "tol": None, "client": client}
    whole = DaskSGDClassifier(**options, max_iter=5).fit(X, y)
    path = tmp_path / "run.npz"
    DaskSGDClassifier(**options, max_iter=2, checkpoint=path).fit(X, y)
    capsys.readouterr()
    resumed = DaskSGDClassifier(**options, max_iter=5, checkpoint=path, verbose=1).fit(X, y)
    shown = capsys.readouterr().out
    assert shown.count("-- Round") == 3 and "-- Round 3: objective" in shown
    assert resumed.coef_.tobytes() == whole.coef_.tobytes() and resumed.intercept_ == whole.intercept_
    with pytest.raises(ValueError, match="another problem"):
        DaskSGDClassifier(**{**options, "alpha": 0.5}, checkpoint=path).fit(X, y)


@pytest.mark.slow
def test_single_precision_is_that_of_the_rounds_in_process(client, data):
    X, y = data[0].astype(np.float32), data[1]
    model = DaskSGDClassifier(**NET, max_iter=3, tol=None, client=client).fit(*blocks(X, y, 4))
    alone = in_process(X, y, 4, max_rounds=3, tol=None, wire="f4")
    assert model.coef_.dtype == np.float32
    assert model.coef_.tobytes() == alone.weights.astype(np.float32).reshape(1, -1).tobytes()
    wide = DaskSGDClassifier(**NET, max_iter=3, tol=None, client=client, precision="f64").fit(*blocks(X, y, 4))
    assert wide.coef_.dtype == np.float64
    assert wide.coef_.tobytes() == in_process(X, y, 4, max_rounds=3, tol=None).weights.reshape(1, -1).tobytes()


def test_progress_is_shown_round_by_round(client, data, monkeypatch):
    shown = []

    class Bar:
        def __init__(self, total):
            self.total, self.n = total, 0
            shown.append(total)

        def update(self, by):
            self.n += by
            shown.append(by)

        def set_postfix(self, **figures):
            shown.append(sorted(figures))

        def close(self):
            shown.append("closed")

    monkeypatch.setattr("lazyglm._show._bar", Bar)
    DaskSGDClassifier(**NET, max_iter=2, tol=None, client=client, progress=True).fit(*blocks(*data, 2))
    assert shown == [2, *[1, ["nonzeros", "objective"]] * 2, 0, "closed"]


def test_files_are_partitions(client, data, tmp_path):
    X, y = data
    for k, rows in enumerate(np.array_split(np.arange(3000), 3)):
        lines = (
            " ".join([f"{y[r]:g}", *(f"{j + 1}:{x!r}" for j, x in zip(X[[r]].indices, X[[r]].data.tolist(), strict=True))])
            for r in rows
        )
        (tmp_path / f"part-{k}.svm").write_text("\n".join(lines) + "\n")
    x, labels = read_svmlight(tmp_path / "part-*.svm", n_features=600, index_base=1)
    assert x.numblocks == (3, 1)
    model = DaskSGDClassifier(**NET, client=client, max_iter=3, tol=None).fit(x, labels)
    alone = in_process(X, y, 3, max_rounds=3, tol=None)
    assert model.coef_.ravel() == pytest.approx(alone.weights, abs=1e-12)
    looked, _ = read_svmlight(tmp_path / "part-*.svm")
    assert looked.shape[1] == X.indices.max() + 1
    hashed, _ = read([tmp_path / "part-0.svm"], hash_bits=8, format="svmlight")
    assert hashed.compute().shape == (1000, 256)
    with pytest.raises(FileNotFoundError, match="no file is called"):
        read_svmlight(tmp_path / "nothing-*.svm")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"loss": "hinge"}, "jumps.*squared_hinge"),
        ({"average": True}, "no meaning over partitions"),
        ({"early_stopping": True}, "no meaning over partitions"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"timeout": 0}, "timeout must be above 0"),
        ({"alpha": -1.0}, "alpha"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_runs(data, wrong, words):
    with pytest.raises(ValueError, match=words):
        DaskSGDClassifier(**wrong).fit(*blocks(*data, 2))


def test_parameters_are_those_of_the_ordinary_estimator(data):
    for ours, base, loss in ((DaskSGDClassifier, lazyglm.SGDClassifier, "log_loss"), (DaskSGDRegressor, lazyglm.SGDRegressor, "squared_error")):
        own = {"client": None, "checkpoint": None, "timeout": 3600.0, "solver": "rounds", "loss": loss}
        assert ours().get_params() == {**base().get_params(), **own}
    with pytest.raises(TypeError, match="'alhpa'"):
        DaskSGDClassifier(alhpa=1)
    with pytest.raises(AttributeError, match="to_local"):
        DaskSGDClassifier().partial_fit(*data)


def test_the_core_needs_no_engine():
    code = "import sys, lazyglm, lazyglm.distributed; assert not {'dask', 'distributed', 'pyspark'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
