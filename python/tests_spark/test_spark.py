"""lazyglm on Spark: two executors, fits equal to those in process to the bit, and what Spark's own estimators find."""

import doctest
import os
import resource
import signal
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.linalg import SparseVector, Vectors, VectorUDT
from pyspark.ml.regression import LinearRegression
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql.types import DoubleType, StructField, StructType

import lazyglm
from lazyglm.distributed import EngineError, Problem, Threads, fit, pack, tasks
from lazyglm.spark import LazyGLMClassificationModel, LazyGLMClassifier, LazyGLMRegressionModel, LazyGLMRegressor, _vectors, engine

pytestmark = [
    pytest.mark.filterwarnings("default"),  # of Spark's own making
    pytest.mark.filterwarnings("ignore:.*not converged:sklearn.exceptions.ConvergenceWarning"),
]
#: One round, without what takes more passes: 9 jobs.
SHORT = {"maxIter": 1, "fitIntercept": False, "standardization": False, "regParam": 1e-3, "elasticNetParam": 0.5}


def made(rows=400, columns=60, per_row=6, seed=1):
    random = np.random.default_rng(seed)
    X = sp.random(rows, columns, density=per_row / columns, format="csr", rng=random)
    X.sort_indices()
    y = (X @ random.normal(size=columns) + 0.3 * random.normal(size=rows) > 0).astype(float)
    return sp.csr_array(X), y


def vector(X, i, dense=False):
    a, b = X.indptr[i], X.indptr[i + 1]
    if dense:
        return Vectors.dense(X[[i]].toarray()[0])
    return SparseVector(X.shape[1], X.indices[a:b].tolist(), X.data[a:b].tolist())


def frame(spark, parts):
    """A frame of (features, label, weight) whose partitions have just these rows: some may have none."""
    cut = [[(x, float(y), float(w)) for x, y, w in part] for part in parts]
    fields = [StructField("features", VectorUDT()), StructField("label", DoubleType()), StructField("weight", DoubleType())]
    rdd = spark.sparkContext.parallelize(list(enumerate(cut)), len(cut)).flatMap(lambda part: part[1])
    return spark.createDataFrame(rdd, StructType(fields), verifySchema=False)


def framed(spark, X, y, w, cut, dense=lambda i: False):
    return frame(spark, [[(vector(X, i, dense(i)), y[i], w[i]) for i in rows] for rows in cut])


def in_process(X, y, w, cut, problem, **more):
    shards = [pack(X[rows], y[rows], None if w is None else w[rows], partition=k) for k, rows in enumerate(cut)]
    return fit(Threads(shards), problem, tol=0.0, **more)


@pytest.fixture(scope="module")
def data():
    """Rows sorted by label, so that partitions have one class; the third of five has no rows."""
    X, y = made()
    order = np.argsort(y, kind="stable")
    w = np.random.default_rng(2).uniform(0.5, 2, len(y))
    cut = np.array_split(order, 4)
    return X, y, w, [cut[0], cut[1], np.array([], dtype=int), cut[2], cut[3]]


PROBLEM = Problem("logistic", l1=5e-4, l2=5e-4, intercept=False, aim=1)


def same(model, found):
    assert np.array_equal(model.coefficients.toArray(), found.weights)
    assert model.intercept == found.bias
    assert model.reports[0]["relative_gap"] == found.certificate.relative_gap


def test_a_fit_is_the_one_in_process_to_the_bit(spark, data):
    X, y, w, cut = data
    rows = framed(spark, X, y, w, cut)
    model = LazyGLMClassifier(**{**SHORT, "maxIter": 3, "fitIntercept": True}, weightCol="weight", tol=0.0).fit(rows)
    same(model, in_process(X, y, w, cut, Problem("logistic", l1=5e-4, l2=5e-4, aim=1), max_rounds=3))
    assert model.totalIterations == 3
    assert len(model.objectiveHistory) == 4
    assert model.numFeatures == 60
    assert isinstance(model.coefficients, SparseVector)
    assert model.coefficients.numNonzeros() == len(model.coefficients.indices) < 60


def test_dense_vectors_and_sparse_ones_are_the_same_rows(spark, data):
    X, y, w, cut = data
    rows = framed(spark, X, y, w, cut, dense=lambda i: i % 3 > 0)
    same(LazyGLMClassifier(**SHORT, tol=0.0).fit(rows), in_process(X, y, None, cut, PROBLEM, max_rounds=1))


def test_sums_that_are_too_large_for_the_leader_are_the_same(spark, data, monkeypatch):
    X, y, w, cut = data
    monkeypatch.setattr(engine, "TO_LEADER", 0)
    monkeypatch.setattr(engine, "SLICE", 25)
    same(LazyGLMClassifier(**SHORT, tol=0.0).fit(framed(spark, X, y, w, cut)), in_process(X, y, None, cut, PROBLEM, max_rounds=1))


@pytest.mark.parametrize("who", ["worker", "executor"])
def test_a_process_killed_in_a_round_changes_no_bit(spark, data, monkeypatch, tmp_path, who):
    X, y, w, cut = data
    real, mark = tasks.local_pass, str(tmp_path / "killed")

    def local_pass(shard, number, shared, told):
        if number == 1 and not os.path.exists(mark):
            open(mark, "w").close()
            daemon = os.getppid()
            with open(f"/proc/{daemon}/stat") as file:
                executor = int(file.read().rpartition(")")[2].split()[1])
            os.kill(os.getpid() if who == "worker" else executor, signal.SIGKILL)
        return real(shard, number, shared, told)

    monkeypatch.setattr(tasks, "local_pass", local_pass)
    model = LazyGLMClassifier(**SHORT, tol=0.0).fit(framed(spark, X, y, w, cut))
    monkeypatch.undo()
    assert os.path.exists(mark)
    same(model, in_process(X, y, None, cut, PROBLEM, max_rounds=1))


def test_a_step_that_takes_too_long_ends(spark, data, monkeypatch):
    X, y, w, cut = data

    def local_pass(shard, number, shared, told):
        import time

        time.sleep(30)  # Spark lets it end

    monkeypatch.setattr(tasks, "local_pass", local_pass)
    rows = framed(spark, X, y, w, cut)
    with pytest.raises(EngineError, match="longer than 12 s: raise timeout"):
        LazyGLMClassifier(**SHORT, timeout=12.0).fit(rows)


def test_very_wide_vectors_cost_what_occurs_in_them(spark):
    wide, (X, y) = 50_000_000, made(rows=60)
    places = np.sort(np.random.default_rng(3).choice(wide, X.shape[1], replace=False))
    sparse = [SparseVector(wide, places[X[[i]].indices].tolist(), X[[i]].data.tolist()) for i in range(60)]
    cut = [list(range(30)), list(range(30, 60))]
    rows = frame(spark, [[(sparse[i], y[i], 1.0) for i in part] for part in cut])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = LazyGLMClassifier(**SHORT, tol=0.0).fit(rows)
    held = np.unique(X.indices)
    found = in_process(X[:, held], y, None, cut, PROBLEM, max_rounds=1)
    assert model.coefficients.size == wide
    assert np.array_equal(model.coefficients.indices, places[held][found.weights != 0])
    assert np.array_equal(model.coefficients.values, found.weights[found.weights != 0])
    classes = [row.prediction for row in model.transform(rows).select("prediction").collect()]
    assert classes == [float(score > 0) for score in X[:, held] @ found.weights]
    workers = spark.sparkContext.parallelize(range(2), 2).map(lambda _: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert max(workers.collect()) * 1024 < wide * 8 + 200_000_000  # below one vector of that width and a bare worker
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < wide * 8


@pytest.mark.parametrize("standardization", [True, False])
def test_the_minimum_is_that_of_mllib(spark, standardization):
    X, y = made(rows=300, columns=8, per_row=4)
    X.data *= np.logspace(-1, 1, 8)[X.indices]
    w = np.random.default_rng(2).integers(1, 4, 300)
    rows = framed(spark, X, y, w, np.array_split(np.arange(300), 2)).cache()
    net = {"regParam": 0.02, "elasticNetParam": 0.5, "standardization": standardization, "weightCol": "weight"}
    ours = LazyGLMClassifier(**net, solver="owlqn", tol=1e-8).fit(rows)
    theirs = LogisticRegression(**net, tol=1e-12, maxIter=500).fit(rows)
    assert ours.objectiveHistory[-1] == pytest.approx(theirs.summary.objectiveHistory[-1], rel=1e-6)
    assert ours.coefficients.toArray() == pytest.approx(theirs.coefficients.toArray(), abs=2e-3)
    assert ours.intercept == pytest.approx(theirs.intercept, abs=2e-3)
    assert set(ours.coefficients.indices) == set(np.flatnonzero(theirs.coefficients.toArray()))
    assert ours.reports[0]["relative_gap"] < 1e-4


def test_the_lasso_is_that_of_mllib_and_is_saved(spark, tmp_path):
    X, _ = made(rows=200, columns=6, per_row=3)
    X = sp.csr_array(sp.hstack([X, np.full((200, 1), 3.0)]))  # a column that never changes
    y = 5 * X[:, [0]].toarray()[:, 0] - 2 * X[:, [1]].toarray()[:, 0] + np.random.default_rng(1).normal(size=200) + 4
    rows = framed(spark, X, y, np.ones(200), np.array_split(np.arange(200), 2)).cache()
    net = {"regParam": 0.05, "elasticNetParam": 1.0}
    ours = LazyGLMRegressor(**net, solver="owlqn", tol=1e-8).fit(rows)
    theirs = LinearRegression(**net, tol=1e-12, maxIter=500).fit(rows)
    assert ours.coefficients.toArray() == pytest.approx(theirs.coefficients.toArray(), abs=1e-3)
    assert ours.coefficients[6] == 0
    assert ours.intercept == pytest.approx(theirs.intercept, abs=1e-3)
    ours.write().overwrite().save(str(tmp_path / "model"))
    ours.write().overwrite().save(str(tmp_path / "model"))
    again = LazyGLMRegressionModel.load(str(tmp_path / "model"))
    assert again.coefficients == ours.coefficients
    assert (again.intercept, again.reports, again.uid) == (ours.intercept, ours.reports, ours.uid)
    predicted = np.array([row.prediction for row in again.transform(rows).collect()])
    assert predicted == pytest.approx(X @ ours.coefficients.toArray() + ours.intercept, rel=1e-12)
    assert again.predict(vector(X, 0)) == predicted[0]
    with pytest.raises(ValueError, match="holds a lazyglm.spark.LazyGLMRegressionModel, and not"):
        LazyGLMClassificationModel.load(str(tmp_path / "model"))


def test_it_is_a_stage_of_a_pipeline_and_of_a_search(spark, tmp_path):
    random = np.random.default_rng(5)
    table = random.normal(size=(120, 3))
    labels = (table[:, 0] - table[:, 1] > 0).astype(float)
    rows = [(*map(float, row), float(label)) for row, label in zip(table, labels, strict=True)]
    rows = spark.createDataFrame(rows, "a double, b double, c double, label double").coalesce(2).cache()
    stage = LazyGLMClassifier(**{**SHORT, "elasticNetParam": 0.0})
    pipeline = Pipeline(stages=[VectorAssembler(inputCols=["a", "b", "c"], outputCol="features"), stage])
    grid = ParamGridBuilder().addGrid(stage.regParam, [1e-3, 1e3]).build()
    found = CrossValidator(
        estimator=pipeline, estimatorParamMaps=grid, evaluator=BinaryClassificationEvaluator(), numFolds=2, seed=1
    ).fit(rows)
    assert found.avgMetrics[0] > 0.95
    assert found.bestModel.stages[1].getRegParam() in (1e-3, 1e3)
    found.bestModel.save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    chosen = ["prediction", "probability", "rawPrediction"]
    assert again.transform(rows).select(chosen).collect() == found.bestModel.transform(rows).select(chosen).collect()
    stage.save(str(tmp_path / "stage"))
    assert LazyGLMClassifier.load(str(tmp_path / "stage")).extractParamMap() == stage.extractParamMap()


def test_scores_probabilities_thresholds_and_many_classes(spark):
    X, _ = made(rows=150, columns=5, per_row=3)
    y = np.array([0.0, 1.0, 3.0])[np.argmax(X[:, [0, 1, 2]].toarray(), axis=1)]  # nothing is of class 2
    rows = framed(spark, X, y, np.ones(150), np.array_split(np.arange(150), 2)).cache()
    model = LazyGLMClassifier(**SHORT).fit(rows)
    assert model.numClasses == 4
    with pytest.raises(AttributeError, match="use coefficientMatrix"):
        model.coefficients  # noqa: B018
    scores = X @ model.coefficientMatrix.toArray().T + np.array(model.interceptVector)
    each = 1 / (1 + np.exp(-scores))
    expected = each / each.sum(axis=1, keepdims=True)
    got = model.transform(rows).collect()
    assert np.array([row.rawPrediction.toArray() for row in got]) == pytest.approx(scores)
    assert np.array([row.probability.toArray() for row in got]) == pytest.approx(expected)
    assert [row.prediction for row in got] == np.argmax(scores, axis=1).tolist()
    assert 2.0 not in [row.prediction for row in got]
    t = [0.9, 0.05, 0.5, 0.5]
    chosen = [row.prediction for row in model.setThresholds(t).transform(rows).collect()]
    assert chosen == np.argmax(expected / t, axis=1).tolist() != [row.prediction for row in got]
    assert model.predict(vector(X, 0)) == chosen[0]
    assert model.predictProbability(vector(X, 0)).toArray() == pytest.approx(expected[0])
    with pytest.raises(ValueError, match="2 thresholds and 4 classes"):
        model.setThresholds([0.5, 0.5]).transform(rows)


BAD = {
    "NaN": (lambda p: p[1].__setitem__(2, (SparseVector(3, [1], [np.nan]), 1, 1)), "partition 1, row 2: X contains nan in column 1"),
    "size": (lambda p: p[1].__setitem__(0, (SparseVector(4, [1], [1.0]), 1, 1)), "partition 1, row 1: features: the vector has 3 features"),
    "sizes": (lambda p: p.__setitem__(1, [(SparseVector(4, [1], [1.0]), 1, 1)]), "partition 0 has 3 features and partition 1 has 4"),
    "null": (lambda p: p[0].__setitem__(1, (None, 1, 1)), "partition 0, row 1: features: features are null"),
    "label": (lambda p: p[1].__setitem__(1, (SparseVector(3, [1], [1.0]), -1, 1)), "partition 1, row 1: label -1.0 is not a number of a class"),
    "label NaN": (lambda p: p[1].__setitem__(1, (SparseVector(3, [1], [1.0]), np.nan, 1)), "partition 1, row 1: y is nan"),
    "weight": (lambda p: p[0].__setitem__(0, (SparseVector(3, [1], [1.0]), 1, -2)), "partition 0, row 0: sample_weight -2.0 is below"),
    "one class": (lambda p: [part.__setitem__(slice(None), [(x, 1, w) for x, _, w in part]) for part in p], "all labels are 1"),
    "nothing": (lambda p: [part.clear() for part in p], "there are no rows"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_rows_are_refused_with_their_place(spark, what):
    parts = [[(SparseVector(3, [i % 3], [1.0]), i % 2, 1) for i in range(4)] for _ in range(2)]
    spoil, words = BAD[what]
    spoil(parts)
    with pytest.raises(ValueError, match=words):
        LazyGLMClassifier(**SHORT, weightCol="weight").fit(frame(spark, parts))


def test_another_version_on_a_worker_is_refused(spark, monkeypatch):
    monkeypatch.setattr(lazyglm, "__version__", "9.9")
    with pytest.raises(EngineError, match="a worker has lazyglm .* and the leader 9.9: install the same"):
        LazyGLMClassifier(**SHORT).fit(frame(spark, [[(SparseVector(3, [0], [1.0]), 1, 1)]]))


def test_bad_columns_and_parameters_are_refused_before_any_job(spark):
    rows = spark.createDataFrame([([1.0], "a", 1.0)], "features array<double>, name string, label double")
    with pytest.raises(TypeError, match="array<double>, and features are vectors: use VectorAssembler"):
        LazyGLMClassifier().fit(rows)
    with pytest.raises(ValueError, match="weightCol: there is no column 'w'"):
        LazyGLMClassifier(weightCol="w").fit(rows)
    with pytest.raises(ValueError, match="slope of loss 'hinge' jumps"):
        LazyGLMClassifier(loss="hinge").fit(rows)
    for bad in ({"regParam": -1.0}, {"elasticNetParam": 2.0}, {"maxIter": 0}, {"solver": "l-bfgs"}, {"tol": float("nan")}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            LazyGLMRegressor(**bad).fit(rows)


def test_the_examples_are_true(spark):
    guide = Path(__file__).parents[2] / "docs" / "python" / "spark.md"
    tried = doctest.testfile(str(guide), module_relative=False, globs={"spark": spark})
    assert tried.attempted > 10
    assert tried.failed == 0
    assert doctest.testmod(_vectors).failed == 0
