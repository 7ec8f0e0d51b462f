"""A good citizen of scikit-learn: its checks, its tools, threads and signals."""

import copy
import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import SGDClassifier as TheirClassifier
from sklearn.linear_model import SGDRegressor as TheirRegressor
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

from lazyglm import SGDClassifier, SGDRegressor

TEXTS = ["free money now", "meeting at noon", "win money", "lunch at noon"] * 10
KINDS = ["spam", "ham", "spam", "ham"] * 10


@pytest.mark.filterwarnings("ignore")  # the checks look at warnings themselves
@pytest.mark.parametrize("ours, theirs", [(SGDClassifier, TheirClassifier), (SGDRegressor, TheirRegressor)])
def test_every_check_that_they_pass_we_pass(ours, theirs):
    statuses = [
        {result["check_name"]: result for result in estimator_checks.check_estimator(kind(), on_fail=None, on_skip=None)}
        for kind in (ours, theirs)
    ]
    passed = [name for name, result in statuses[1].items() if result["status"] == "passed"]
    # this one is for subclasses of a private mixin alone: it is called by hand below
    passed = [name for name in passed if name != "check_class_weight_balanced_linear_classifier"]
    assert len(passed) > 50
    failed = {name: statuses[0].get(name, {}).get("exception") for name in passed if name not in statuses[0] or statuses[0][name]["status"] != "passed"}
    assert failed == {}


@pytest.mark.filterwarnings("ignore")
def test_balanced_weights_are_those_computed():
    estimator_checks.check_class_weight_balanced_linear_classifier("SGDClassifier", SGDClassifier())


def test_parameters_are_theirs_with_the_same_defaults():
    for ours, theirs in ((SGDClassifier, TheirClassifier), (SGDRegressor, TheirRegressor)):
        mine = ours().get_params()
        assert {name: mine[name] for name in theirs().get_params()} == theirs().get_params()


def test_pipelines_searches_and_calibration():
    for vectorizer in (TfidfVectorizer(), HashingVectorizer(n_features=2**12)):
        pipe = make_pipeline(vectorizer, SGDClassifier("log_loss", random_state=0)).fit(TEXTS, KINDS)
        assert list(pipe.predict(["money money"])) == ["spam"]
    grid = GridSearchCV(
        make_pipeline(TfidfVectorizer(), SGDClassifier(random_state=0)),
        {"sgdclassifier__alpha": [1e-4, 1e-2], "sgdclassifier__penalty": ["l1", "elasticnet"]},
        cv=2,
        n_jobs=2,
    ).fit(TEXTS, KINDS)
    assert grid.best_score_ == 1
    calibrated = CalibratedClassifierCV(SGDClassifier(random_state=0), cv=2)
    X = TfidfVectorizer().fit_transform(TEXTS)
    assert calibrated.fit(X, KINDS).predict_proba(X).shape == (40, 2)


def test_sample_weights_are_routed():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y, weights = (X[:, 0] > 0).astype(int), np.arange(40.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = SGDClassifier(random_state=0).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model)
        found = cross_validate(pipe, X, y, params={"sample_weight": weights}, cv=2)
        assert len(found["test_score"]) == 2
        pipe.fit(X, y, sample_weight=weights)
    scaled = StandardScaler().fit(X, sample_weight=weights).transform(X)
    alone = SGDClassifier(random_state=0).fit(scaled, y, sample_weight=weights)
    assert np.array_equal(pipe[-1].coef_, alone.coef_)


def test_copies_are_the_same_and_go_their_own_way(tmp_path):
    X = sp.random(50, 10, density=0.3, random_state=0, format="csr")
    y = np.arange(50) % 2
    model = SGDClassifier(random_state=0, penalty="l1").partial_fit(X, y, classes=[0, 1])
    joblib.dump(model, tmp_path / "model")
    for other in (joblib.load(tmp_path / "model"), copy.deepcopy(model)):
        assert np.array_equal(other.coef_, model.coef_)
        before = model.coef_.copy()
        other.partial_fit(X, y)
        assert np.array_equal(model.coef_, before) and not np.array_equal(other.coef_, before)
    assert not hasattr(clone(model), "coef_")


def large(rows=60_000, columns=2_000):
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(0, columns // 50, size=(rows, 50)) + np.arange(50) * (columns // 50), axis=1)
    data = np.ones(rows * 50, dtype=np.float32)
    X = sp.csr_matrix((data, indices.ravel().astype(np.int32), np.arange(0, rows * 50 + 1, 50)), shape=(rows, columns))
    return X, rng.integers(0, 2, size=rows)


def test_the_interpreter_is_free_while_learning():
    X, y = large()
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    clock = threading.Thread(target=tick)
    clock.start()
    started = time.perf_counter()
    SGDClassifier(max_iter=10, tol=None, random_state=0).fit(X, y)
    ended = time.perf_counter()
    done.set()
    clock.join()
    inside = [t for t in ticks if started < t < ended]
    assert len(inside) > 10 and max(np.diff(inside)) < 0.5 * (ended - started), (len(inside), ended - started)


def test_two_fits_in_two_threads_give_what_each_gives_alone():
    X, y = large(rows=5_000)
    alone = [SGDClassifier(max_iter=3, tol=None, random_state=seed).fit(X, y).coef_ for seed in (0, 1)]
    models = [SGDClassifier(max_iter=3, tol=None, random_state=seed) for seed in (0, 1)]
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(np.array_equal(model.coef_, coef) for model, coef in zip(models, alone, strict=True))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_process_that_was_forked_works():
    X, y = large(rows=10_000)
    model = SGDClassifier(max_iter=2, tol=None, random_state=0).fit(X, y)
    before = model.predict(X)
    solved = lambda: SGDClassifier("log_loss", alpha=0.1, solver="newton", n_jobs=2).fit(X[:2000], y[:2000])  # noqa: E731
    exact = solved()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        same = np.array_equal(model.predict(X), before)
        again = SGDClassifier(max_iter=2, tol=None, random_state=0, n_jobs=2).fit(X, y)
        same = same and np.array_equal(solved().coef_, exact.coef_)
        os._exit(0 if same and np.array_equal(again.coef_, model.coef_) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_verbose_prints_each_epoch(capsys):
    X, y = np.eye(4), [0, 0, 1, 1]
    SGDClassifier(max_iter=2, tol=None, verbose=1, random_state=0).fit(X, y)
    out = capsys.readouterr().out
    assert out.count("-- Epoch") == 2 and "Avg. loss" in out and "NNZs" in out


@pytest.mark.slow
def test_importing_costs_little():
    code = (
        "import numpy, scipy.sparse, scipy.special, sklearn.base, sklearn.utils.validation, sklearn.utils.metaestimators, "
        "sklearn.utils.class_weight, sklearn.utils.multiclass, importlib.metadata, time;"
        "t = time.process_time(); import lazyglm; print(time.process_time() - t)"
    )
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    assert min(times) < 0.1, times
