"""The estimators without tuning: the program's default, with what was tried and why."""

import json
import os
import pickle
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.utils import estimator_checks

import lazyglm
from lazyglm import AutoClassifier, AutoRegressor

PROGRAM = os.environ.get("LAZYGLM")
needs_program = pytest.mark.skipif(PROGRAM is None, reason="LAZYGLM is not set: `make test` sets it")
NOT_EQUIVALENT = "which rows are held out depends on how many there are"
EXPECTED = {f"check_sample_weight_equivalence_on_{kind}_data": NOT_EQUIVALENT for kind in ("dense", "sparse")}


def data(rows=300, columns=30, classes=2):
    rng = np.random.default_rng(0)
    X = sp.random(rows, columns, density=0.3, random_state=0, format="csr")
    X.data = np.round(X.data, 3)
    scores = X @ rng.normal(size=(columns, classes)) + 0.3 * rng.normal(size=(rows, classes))
    return X, scores.argmax(axis=1), np.round(scores[:, 0], 3)


@pytest.mark.filterwarnings("ignore")  # the checks look at warnings themselves
@pytest.mark.parametrize("estimator", [AutoClassifier, AutoRegressor])
def test_every_check_of_scikit_learn_passes(estimator):
    results = estimator_checks.check_estimator(estimator(), expected_failed_checks=EXPECTED, on_skip=None, on_fail=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed == {} and len(results) > 40


@needs_program
@pytest.mark.parametrize("kind", ["classes", "several", "numbers"])
def test_it_is_the_programs_default(tmp_path, kind):
    X, y, numbers = data(classes=3 if kind == "several" else 2)
    X.data = X.data.astype(np.float32).astype(np.float64)  # what the program learns from
    target, estimator = (numbers, AutoRegressor) if kind == "numbers" else (y, AutoClassifier)
    dump_svmlight_file(X, target, str(tmp_path / "data.svm"), zero_based=False)
    several = ["--multiclass", "softmax"] if kind == "several" else []
    command = [PROGRAM, "train", tmp_path / "data.svm", "-o", tmp_path / "model", "--json", "--quiet", "--threads", "1", *several]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    model = estimator(random_state=1, precision="f32").fit(X, target)
    assert model.solver_ == report["solver"] and len(model.search_) == len(report["tried"]) > 10
    units = 2 if kind == "numbers" else 1
    for ours, theirs in zip(model.search_, report["tried"], strict=True):
        assert (ours["solver"], ours["l1"], ours["l2"], ours["chosen"]) == tuple(theirs[n] for n in ("solver", "l1", "l2", "chosen"))
        assert ours["loss"] == pytest.approx(units * theirs["loss"], rel=1e-5)
    back = lazyglm.load(tmp_path / "model")
    np.testing.assert_allclose(model.coef_, back.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, back.intercept_, rtol=1e-4, atol=1e-6)


def test_what_was_tried_chosen_and_why():
    X, y, _ = data()
    model = AutoClassifier(random_state=1)
    assert repr(model) == "AutoClassifier(random_state=1)"
    model.fit(X, y)
    chosen = model.search_[model.best_index_]
    assert [tried["chosen"] for tried in model.search_].count(True) == 1 and chosen["chosen"]
    assert model.alpha_ == chosen["alpha"] and model.l1_ratio_ == chosen["l1_ratio"] and model.solver_ == chosen["solver"]
    assert chosen["l1"] == pytest.approx(model.alpha_ * model.l1_ratio_)
    assert all(0 < tried["se"] < tried["loss"] and tried["seconds"] >= 0 for tried in model.search_)
    assert model.best_score_ == -chosen["loss"] > -0.6
    text = repr(model)
    assert model.reason_ in text and f"solver={model.solver_!r}" in text and f"of {model.coef_.size} weights" in text
    other = clone(model).set_params(n_jobs=2).fit(X, y)
    assert np.array_equal(other.coef_, model.coef_), "the threads do not change the model"
    assert not np.array_equal(clone(model).set_params(random_state=2).fit(X, y).coef_, model.coef_)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_several_classes_are_one_model_with_probabilities(tmp_path):
    X, y, _ = data(classes=4)
    names = np.array(["a", "b", "c", "d"])[y]
    model = AutoClassifier(random_state=1).fit(X, names)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.score(X, names) > 0.85 and model.dual_gap_ < 1e-2
    scores = np.exp(model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X), scores / scores.sum(axis=1, keepdims=True))
    model.save(tmp_path / "model")
    np.testing.assert_allclose(lazyglm.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    apart = AutoClassifier(multi_class="ovr", random_state=1).fit(X, names)
    assert not np.allclose(apart.coef_, model.coef_) and apart.score(X, names) > 0.85


def test_noise_is_not_learnt():
    rng = np.random.default_rng(0)
    model = AutoClassifier(random_state=1).fit(rng.normal(size=(200, 50)), rng.integers(0, 2, size=200))
    assert not model.coef_.any() and "better than no weights" in model.reason_
    few = AutoRegressor().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    assert few.best_index_ is None and np.isnan(few.best_score_) and "fewer than ten rows" in few.reason_
    nothing = AutoRegressor().fit(np.ones((30, 2)), np.arange(30.0))
    assert not nothing.coef_.any() and "no feature tells" in nothing.reason_ and "intercept" in repr(nothing)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "modified_huber"])
@pytest.mark.parametrize("classes", [2, 3])
def test_other_losses_of_classes(loss, classes):
    X, y, _ = data(classes=classes)
    model = AutoClassifier(loss, random_state=1).fit(X, y)
    assert model.score(X, y) > 0.85 and model.solver_ in ("newton", "sgd", "ftrl")
    assert hasattr(model, "predict_proba") == (loss == "modified_huber")


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive", "quantile", "poisson"])
def test_other_losses_of_numbers(loss):
    X, _, y = data()
    y = np.random.default_rng(0).poisson(np.exp(y)) if loss == "poisson" else y
    model = AutoRegressor(loss, random_state=1).fit(X, y)
    assert len(model.search_) > 10 and model.score(X, y) > 0.3


def test_weights_offsets_and_files(tmp_path):
    X, y, numbers = data()
    balanced = AutoClassifier(class_weight="balanced", random_state=1).fit(X, y, sample_weight=np.linspace(0.5, 2, 300))
    assert balanced.score(X, y) > 0.8
    offset = np.random.default_rng(0).normal(size=300)
    shifted = AutoRegressor(random_state=1).fit(X, numbers + offset, offset=offset)
    np.testing.assert_allclose(shifted.coef_, AutoRegressor(random_state=1).fit(X, numbers).coef_, atol=1e-3)
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    of_file = AutoClassifier(random_state=1).fit(tmp_path / "data.svm")
    assert np.mean(of_file.predict(tmp_path / "data.svm") == y) == of_file.score(X, y)


def test_what_is_refused():
    X, y, numbers = data()
    for name, value in [("loss", "ridge"), ("tol", -1), ("tol", None), ("precision", "f16"), ("n_jobs", "all"), ("fit_intercept", 2)]:
        with pytest.raises(ValueError, match=name):
            AutoClassifier(**{name: value}).fit(X, y)
    with pytest.raises(ValueError, match="greater than one"):
        AutoClassifier().fit(X, np.zeros(300))
    with pytest.raises(ValueError, match="does not admit the target"):
        AutoRegressor("poisson").fit(X, -1 - abs(numbers))


def test_as_good_as_a_tuned_logistic_regression():
    X, y, _ = data(rows=1500, columns=300)
    train, test = slice(0, 1000), slice(1000, 1500)
    ours = AutoClassifier(random_state=1).fit(X[train], y[train])
    options = dict(l1_ratios=(0.0,), use_legacy_attributes=False, scoring="neg_log_loss", cv=5, max_iter=500)
    theirs = LogisticRegressionCV(**options).fit(X[train], y[train])
    losses = [log_loss(y[test], model.predict_proba(X[test])) for model in (ours, theirs)]
    assert losses[0] < losses[1] + 0.005 < 0.6, losses
