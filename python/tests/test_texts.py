"""Counts and texts without tuning: tf-idf where it predicts better, as the program does it."""

import json
import os
import pickle
import subprocess

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

import lazyglm
from lazyglm import AutoClassifier, ElasticNetClassifier, SGDClassifier

PROGRAM = os.environ.get("LAZYGLM")
needs_program = pytest.mark.skipif(PROGRAM is None, reason="LAZYGLM is not set: `make test` sets it")


def counts(rows=600, columns=120):
    """Documents of many lengths, whose words come in bursts: tf-idf predicts better than counts do."""
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 2, rows)
    chances = np.tile(0.6 / np.arange(1, columns + 1) ** 0.5, (2, 1))
    chances[0, 30::4] *= 3
    chances[1, 31::4] *= 3
    lengths = rng.lognormal(0, 0.8, rows)[:, None]
    has = rng.random((rows, columns)) < 1 - np.exp(-lengths * chances[topic])
    bursts = rng.geometric(0.25, (rows, columns)) * (1 + lengths.astype(int))
    return sp.csr_matrix((has * bursts).astype(np.float64)), topic


def texts(rows=600):
    X, y = counts(rows)
    words = np.array([f"{chr(97 + j % 26)}{chr(97 + j // 26)}word" for j in range(X.shape[1])])
    X = X.toarray().astype(int)
    return [" ".join(np.repeat(words, row)) for row in X], y


@needs_program
def test_counts_become_tf_idf_as_in_the_program(tmp_path):
    X, y = counts()
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    command = [PROGRAM, "train", tmp_path / "data.svm", "-o", tmp_path / "model", "--json", "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "replaced by their tf-idf" in done.stderr
    report = json.loads(done.stdout)
    model = AutoClassifier(random_state=1, precision="f32").fit(X, y)
    assert model.tf_idf_ and len(model.search_) == len(report["tried"]) and model.solver_ == report["solver"]
    theirs = lazyglm.load(tmp_path / "model")
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-4)
    model.save(tmp_path / "ours")
    command = [PROGRAM, "predict", tmp_path / "ours", tmp_path / "data.svm", "--as", "score", "--quiet"]
    scores = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout.split()
    np.testing.assert_allclose(np.array(scores, dtype=float), model.decision_function(X), rtol=1e-5, atol=1e-6)


def test_tf_idf_is_part_of_the_model(tmp_path):
    X, y = counts()
    model = AutoClassifier(random_state=1).fit(X, y)
    assert model.tf_idf_ and "tf-idf: held-out loss" in model.reason_ and "scale=None keeps them" in repr(model)
    plain = clone(model).set_params(scale=None).fit(X, y)
    assert not plain.tf_idf_ and "tf-idf" not in plain.reason_ and plain.best_score_ < model.best_score_
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X.toarray()), scores)
    np.testing.assert_allclose(model.best_estimator_.decision_function(X), scores)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).decision_function(X), scores)
    model.save(tmp_path / "m")
    back = lazyglm.load(tmp_path / "m")
    np.testing.assert_allclose(back.decision_function(X), scores)
    assert not hasattr(back, "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit") as refused:
        back.partial_fit(X, y)
    assert "tf-idf" in str(refused.value.__cause__)
    anew = back.fit(X, y)  # of the rows as they are
    np.testing.assert_allclose(anew.decision_function(X), X @ anew.coef_.ravel() + anew.intercept_)
    assert hasattr(anew, "partial_fit")
    exact = AutoClassifier("squared_hinge", random_state=1).fit(X, y).best_estimator_
    assert exact._tf_idf is not None and (exact.solver == "ftrl" or exact.duality_gap(X, y) < 1e-2)
    with pytest.raises(AttributeError, match="partial_fit"):
        model.best_estimator_.set_params(solver="sgd").partial_fit(X, y)


def test_counts_are_told_from_amounts():
    X, y = counts()
    assert AutoClassifier(random_state=1).fit(X.toarray(), y).tf_idf_, "many columns, of which a row has few: counts in a table, too"
    rng = np.random.default_rng(0)
    amounts = rng.poisson(3, (600, 20)).astype(np.float64)
    assert not AutoClassifier(random_state=1).fit(amounts, amounts[:, 0] > amounts[:, 1]).tf_idf_, "a row has most columns of the table"
    one_hot = np.eye(40)[rng.integers(0, 40, 600)]
    assert not AutoClassifier(random_state=1).fit(one_hot, one_hot.argmax(axis=1) % 2).tf_idf_, "each row has one value"


MAKES = [list, np.array, lambda all: np.array(all, dtype=object), pd.Series, pl.Series, pa.array]
SGD = SGDClassifier("log_loss", random_state=0)


@pytest.mark.parametrize("make, estimator", [(list, AutoClassifier(random_state=1)), (list, ElasticNetClassifier()), *((make, SGD) for make in MAKES)])
def test_texts_go_straight_into_fit(make, estimator, tmp_path):
    given, y = texts(200)
    model = clone(estimator).fit(make(given), y)
    scores = model.decision_function(given)
    np.testing.assert_allclose(model.decision_function(make(given)), scores)
    assert model.score(given, y) > 0.75 and "hcword" in model.weights_frame().index
    (tmp_path / "a.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in zip(y, given, strict=True)))
    np.testing.assert_allclose(model.decision_function(tmp_path / "a.tsv"), scores)
    model.save(tmp_path / "m")
    np.testing.assert_allclose(lazyglm.load(tmp_path / "m").decision_function(given), scores, rtol=1e-6, atol=1e-9)
    assert np.isfinite(model.decision_function(["", "unknown words"])).all()


def test_chunks_of_texts():
    given, y = texts(200)
    model = SGDClassifier("log_loss", random_state=0).partial_fit(given[:100], y[:100], classes=[0, 1])
    names = list(model.get_feature_names_out())
    model.partial_fit([*given[100:], "entirely new"], [*y[100:], 0])
    assert list(model.get_feature_names_out()) == names and model.score(given, y) > 0.8


def test_texts_that_are_none_are_refused():
    given, y = texts(50)
    with pytest.raises(ValueError, match="its element 1 is None"):
        SGDClassifier().fit([given[0], None, *given[2:]], y)
    with pytest.raises(ValueError, match="y must be given"):
        SGDClassifier().fit(given)
