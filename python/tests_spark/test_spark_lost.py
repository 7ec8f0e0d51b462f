"""What is lost on the way: shards, rows that change, all executors; and a session of Spark Connect, in a process of its own."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import functions as F

from lazyglm.distributed import EngineError, Problem, Threads, fit, pack, tasks
from lazyglm.spark import LazyGLMClassifier, _store, engine
from test_spark import SHORT, framed, made

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors have no tests
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore:.*not converged:sklearn.exceptions.ConvergenceWarning"),
]
TOLD = Problem("logistic", l1=1e-3, intercept=False).told(wire="f8")


def asking(spark, columns):
    return engine.SparkEngine(spark, columns, "features", False, 300.0, (tasks.statistics, TOLD))


def on_executors(spark, call, *arguments):
    """What a call answers on each of the two executors."""

    def work(_):
        time.sleep(0.5)  # so that both are asked
        yield _store.base(), call(*arguments)

    until, answers = time.monotonic() + 60, {}
    while len(answers) < 2:
        assert time.monotonic() < until
        answers.update(spark.sparkContext.parallelize(range(2), 2).mapPartitions(work).collect())
    return list(answers.values())


def kept(run):
    return os.listdir(_store.place(run)) if os.path.exists(_store.place(run)) else []


def lost(run):
    for name in kept(run):
        os.remove(os.path.join(_store.place(run), name))


@pytest.fixture(scope="module")
def rows(spark):
    X, y = made()
    cut = [*np.array_split(np.arange(400), 3), np.array([], dtype=int)]
    return framed(spark, X, y, np.ones(400), cut).cache()


def test_shards_that_are_lost_are_made_again_and_all_are_removed_in_the_end(spark, rows, monkeypatch):
    asked = asking(spark, rows.select(F.unwrap_udt("features").alias("features"), (2 * F.col("label") - 1).alias("label")))
    run = asked.recipe.run
    try:
        asked.pack()
        asked.recipe = asked.recipe._replace(columns=60)
        token = asked.share({"weights": np.linspace(-1, 1, 60)})
        told = {**TOLD, "bias": 0.5}
        before = asked.reduce(tasks.gradient, [token], told)
        for most in (engine.TO_LEADER, 0):
            assert sum(map(len, on_executors(spark, kept, run))) == 4
            on_executors(spark, lost, run)
            assert on_executors(spark, kept, run) == [[], []]
            monkeypatch.setattr(engine, "TO_LEADER", most)
            after = asked.reduce(tasks.gradient, [token], told)
            assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    finally:
        asked.close()
    until = time.monotonic() + 60
    while on_executors(spark, kept, run) != [[], []]:
        assert time.monotonic() < until


@pytest.mark.parametrize("kind", [KeyError, OSError, MemoryError])
def test_the_error_of_a_task_is_raised_at_once_as_it_is(spark, rows, tmp_path, kind):
    calls, name = str(tmp_path / "calls"), kind.__name__

    def task(shard, number, shared, told):
        with open(calls, "a") as file:
            file.write("x")
        raise getattr(__import__("builtins"), name)("of the task itself")

    asked = asking(spark, rows.select(F.unwrap_udt("features").alias("features"), "label").where(F.spark_partition_id() == 0))
    try:
        asked.pack()
        asked.recipe = asked.recipe._replace(columns=60)
        with pytest.raises(kind, match="of the task itself"):
            asked.map(task, [], {})
    finally:
        asked.close()
    with open(calls) as file:
        assert len(file.read()) == 4  # once per partition: Spark would try each four times


def test_rows_that_change_are_noticed(spark, rows):
    def other(batches):
        for batch in batches:
            label = pa.array([float(os.urandom(1)[0]) for _ in range(batch.num_rows)])
            yield pa.RecordBatch.from_arrays([batch.column(0), label], names=["features", "label"])

    columns = rows.select(F.unwrap_udt("features").alias("features"), "label")
    asked = asking(spark, columns.mapInArrow(other, columns.schema))
    try:
        asked.pack()
        on_executors(spark, lost, asked.recipe.run)
        with pytest.raises(EngineError, match="partition 0 has other rows than before: the frame changes"):
            asked.map(tasks.shape, [], {})
    finally:
        asked.close()


def test_a_fit_goes_on_from_its_checkpoint_to_the_same_bits(rows, tmp_path):
    path = str(tmp_path / "run.npz")
    whole = LazyGLMClassifier(**{**SHORT, "maxIter": 2}, tol=0.0).fit(rows)
    half = LazyGLMClassifier(**SHORT, tol=0.0, checkpoint=path).fit(rows)
    rest = LazyGLMClassifier(**{**SHORT, "maxIter": 2}, tol=0.0, checkpoint=path).fit(rows)
    assert half.coefficients != whole.coefficients
    assert rest.coefficients == whole.coefficients
    assert rest.objectiveHistory == whole.objectiveHistory
    with pytest.raises(ValueError, match="is of another problem"):
        LazyGLMClassifier(**{**SHORT, "regParam": 1e-2}, checkpoint=path).fit(rows)
    with pytest.raises(ValueError, match=r"run\.npz is a checkpoint of other rows than these \(2 of 4 partitions differ"):
        LazyGLMClassifier(**SHORT, checkpoint=path).fit(rows.withColumn("label", F.when(F.spark_partition_id() < 2, 1 - F.col("label")).otherwise(F.col("label"))))


def test_a_connect_session_finds_the_same_bits(tmp_path):
    X, y = made(rows=80, columns=6, per_row=4)
    np.savez(tmp_path / "rows.npz", X=X.toarray(), y=y)
    script = Path(__file__).parent / "on_connect.py"
    files = [str(tmp_path / name) for name in ("rows.npz", "found.npz", "model")]
    without = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_GATEWAY", "SPARK_CONNECT", "SPARK_ENV"))}
    ran = subprocess.run([sys.executable, str(script), *files], env=without, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = np.load(tmp_path / "found.npz")
    assert "connect" in str(found["kind"])
    there = fit(Threads([pack(X, y)]), Problem("logistic", l1=5e-4, l2=5e-4, intercept=False, aim=1), max_rounds=1, tol=0.0)
    assert np.array_equal(found["weights"], there.weights)
    assert found["classes"].tolist() == (X @ there.weights > 0).astype(float).tolist()


def executors():
    """The processes of executors among the descendants of this one."""
    parents, names = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                parents[int(pid)] = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{pid}/cmdline") as file:
                names[int(pid)] = file.read()
        except OSError:
            continue  # it has ended

    def is_ours(pid):
        while pid in parents:
            pid = parents[pid]
            if pid == os.getpid():
                return True
        return False

    return [pid for pid, name in names.items() if "CoarseGrainedExecutorBackend" in name and is_ours(pid)]


def test_without_any_executor_a_fit_ends_and_says_so(spark, rows, monkeypatch):
    """The last test: executors come back only once nobody kills them any more."""
    began, over = [], threading.Event()

    def kill():
        while not over.wait(0.1):
            for pid in executors():
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    real = engine.SparkEngine.map

    def ask(self, task, tokens, told):
        if task is tasks.local_pass:
            assert executors()
            began.append(time.monotonic())
            killer.start()
        return real(self, task, tokens, told)

    monkeypatch.setattr(engine.SparkEngine, "map", ask)
    monkeypatch.setattr(engine, "ALONE", 5.0)
    try:
        with pytest.raises(EngineError, match="no executors for 5 s: all have died|Spark could not run a step: .*(?i:executor|application)"):
            LazyGLMClassifier(**SHORT).fit(rows)
        assert time.monotonic() - began[0] < 5 + 30
    finally:
        over.set()
        killer.join(10)
