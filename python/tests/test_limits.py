"""What limits a model: features that are left out, bounds, penalty factors, and the range of predictions."""

import os
import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

import lazyglm
from lazyglm import AutoClassifier, AutoRegressor, ElasticNetClassifier, ElasticNetClassifierCV, ElasticNetRegressor, ElasticNetRegressorCV

PROGRAM = os.environ.get("LAZYGLM")
needs_program = pytest.mark.skipif(PROGRAM is None, reason="LAZYGLM is not set: `make test` sets it")


def data(rows=300, columns=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, X @ rng.normal(size=columns) + 0.5 * rng.normal(size=rows)


ALL = [
    (ElasticNetRegressor, {"alpha": 0.01}),
    (ElasticNetRegressorCV, {"alphas": [0.1, 0.01], "cv": 3}),
    (AutoRegressor, {"random_state": 1}),
    (ElasticNetClassifier, {"alpha": 0.01}),
    (ElasticNetClassifierCV, {"alphas": [0.1, 0.01], "cv": 3}),
    (AutoClassifier, {"random_state": 1}),
]


@pytest.mark.parametrize("kind, options", ALL)
def test_features_that_are_left_out_have_no_weight(kind, options):
    X, y = data()
    y = np.digitize(y, [-1, 1]) if "Classifier" in kind.__name__ else y
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    rest = kind(**options).fit(np.delete(X, [1, 4], axis=1), y)
    for exclude in (["b", "e"], [1, 4], np.array([1, 4]), np.isin(np.arange(8), [1, 4])):
        model = kind(exclude=exclude, **options).fit(frame, y)
        assert np.all(np.atleast_2d(model.coef_)[:, [1, 4]] == 0)
        kept = np.delete(np.atleast_2d(model.coef_), [1, 4], axis=1)
        near = 0.02 if kind.__name__.startswith("Elastic") else 0.2  # the penalty is chosen on another grid
        np.testing.assert_allclose(kept, np.atleast_2d(rest.coef_), rtol=near, atol=near / 2)
    assert clone(model).exclude is not None


@pytest.mark.parametrize("kind, options", ALL)
def test_what_cannot_be_left_out_is_refused(kind, options):
    X, y = data(rows=40)
    y = y > 0 if "Classifier" in kind.__name__ else y
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    for wrong, of, words in [(["z"], frame, "'z' is none"), (["a"], X, "no names"), ([8], X, "8 is none"), ([-1], X, "-1 is none"), ("a", frame, "a list")]:
        with pytest.raises(InvalidParameterError, match=f"'exclude' parameter of {kind.__name__} must be .*{words}"):
            kind(exclude=wrong, **options).fit(of, y)


def test_features_of_tables_and_texts_are_left_out_by_name():
    table = pd.DataFrame({"city": ["Rome", "Oslo", "Paris"] * 20, "age": np.arange(60.0)})
    y = (table["city"] == "Rome") * 2.0 + 0.01 * table["age"]
    model = ElasticNetRegressor(alpha=1e-3, exclude=["city=Rome"]).fit(table, y)
    weights = dict(zip(model.get_feature_names_out(), model.coef_, strict=True))
    assert weights["city=Rome"] == 0 and weights["city=Oslo"] != 0
    texts = AutoClassifier(exclude=["free"], random_state=1).fit(["free money", "lunch at noon", "win money", "noon free"] * 10, [1, 0, 1, 0] * 10)
    assert "free" in texts.get_feature_names_out() and "free" not in texts.weights_frame().index


@pytest.mark.parametrize("kind", [AutoRegressor, AutoClassifier])
def test_models_without_tuning_have_bounds_and_factors(kind):
    X, y = data()
    y = np.digitize(y, [-1, 1]) if kind is AutoClassifier else y
    free = kind(random_state=1).fit(X, y)
    assert free.coef_.min() < 0 and free.coef_.max() > 0.3
    positive = kind(positive=True, upper=0.3, random_state=1).fit(X, y)
    assert positive.coef_.min() >= 0 and 0 < positive.coef_.max() <= 0.3
    factors = np.ones(8)
    factors[2] = 1e6
    model = kind(penalty_factor=factors, random_state=1).fit(X, y)
    assert np.all(np.atleast_2d(model.coef_)[:, 2] == 0) and np.any(np.atleast_2d(free.coef_)[:, 2] != 0)
    for wrong in ({"lower": 1.0}, {"upper": [1.0]}, {"penalty_factor": np.ones(3)}, {"positive": "yes"}):
        with pytest.raises(InvalidParameterError):
            kind(**wrong).fit(X, y)


def far(rows=200):
    """Numbers between 0 and 1 that a line leaves behind, as probabilities are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3)) * 3
    return X, (X[:, 0] + 0.3 * rng.normal(size=rows) > 0).astype(float)


def test_predictions_stay_within_the_range_of_the_targets_if_that_is_better(tmp_path):
    X, y = far()
    model = AutoRegressor(random_state=1).fit(X, y)
    assert model.limits_ == (0.0, 1.0) and "predictions are limited" in model.reason_ and "limit_predictions=False" in model.reason_
    assert model.predict(10 * X).min() == 0 and model.predict(10 * X).max() == 1
    free = AutoRegressor(limit_predictions=False, random_state=1).fit(X, y)
    np.testing.assert_array_equal(free.coef_, model.coef_)
    assert free.limits_ is None and free.predict(10 * X).max() > 2 and "limited" not in free.reason_
    np.testing.assert_array_equal(model.predict(X), np.clip(free.predict(X), 0, 1))
    model.save(tmp_path / "model")
    for back in (lazyglm.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(back.predict(10 * X), model.predict(10 * X), rtol=1e-6)
    X, y = data()
    assert AutoRegressor(random_state=1).fit(X, y).limits_ is None  # a line is as good without
    model = AutoRegressor(limit_predictions=True, random_state=1).fit(X, y)
    assert model.limits_ == (y.min(), y.max()) and model.predict(10 * X).max() == y.max()
    assert AutoRegressor(random_state=1).fit(*far(), offset=np.zeros(200)).limits_ is None
    with pytest.raises(ValueError, match="limit_predictions has no meaning for rows with offsets"):
        AutoRegressor(limit_predictions=True).fit(*far(), offset=np.zeros(200))
    with pytest.raises(InvalidParameterError, match="True, False, or 'auto'"):
        AutoRegressor(limit_predictions="yes").fit(X, y)


@needs_program
def test_the_program_limits_the_same_predictions(tmp_path):
    X, y = far()
    np.savetxt(tmp_path / "data.csv", np.column_stack([y, np.round(X, 4)]), delimiter=",", fmt="%g", header="target,a,b,c", comments="")
    model = AutoRegressor(random_state=1, precision="f32").fit(tmp_path / "data.csv")
    subprocess.run([PROGRAM, "train", tmp_path / "data.csv", "-o", tmp_path / "model", "--loss", "squared", "--quiet"], check=True)
    theirs = lazyglm.load(tmp_path / "model")
    assert model.limits_ == tuple(theirs._limits)
    theirs.save(tmp_path / "again")
    assert tuple(lazyglm.load(tmp_path / "again")._limits) == model.limits_
    model.save(tmp_path / "ours")
    told = subprocess.run([PROGRAM, "predict", tmp_path / "ours", tmp_path / "data.csv", "--quiet"], capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose([float(line) for line in told.split()], model.predict(tmp_path / "data.csv"), rtol=1e-4, atol=1e-5)


@needs_program
def test_thresholds_of_labels_are_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random(2000, 20, density=0.4, random_state=0, format="csr")
    # Rare labels with much noise: thresholds of 0 are far from the best.
    scores = X @ rng.normal(size=(20, 3)) - 1.2 + 2.0 * rng.normal(size=(2000, 3))
    lines = [
        ",".join(str(k) for k in np.flatnonzero(row > 0)) + " " + " ".join(f"{j + 1}:{x:.4f}" for j, x in zip(part.indices, part.data, strict=True))
        for row, part in zip(scores, X, strict=True)
    ]
    (tmp_path / "data.mlsvm").write_text("\n".join(lines) + "\n")
    subprocess.run([PROGRAM, "train", tmp_path / "data.mlsvm", "-o", tmp_path / "model", "--thresholds", "tuned", "--quiet"], check=True)
    model = lazyglm.load(tmp_path / "model")
    assert np.any(model._thresholds != 0)
    model.save(tmp_path / "again")
    again = lazyglm.load(tmp_path / "again")
    np.testing.assert_allclose(again._thresholds, model._thresholds)
    assert again.predict(X) == model.predict(X)
