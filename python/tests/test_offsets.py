"""Offsets: a number per row that is added to its score, in learning and in prediction."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from lazyglm import (
    AutoClassifier,
    AutoRegressor,
    ElasticNetClassifier,
    ElasticNetClassifierCV,
    ElasticNetRegressor,
    ElasticNetRegressorCV,
    SGDClassifier,
    SGDRegressor,
    load,
)

SOLVERS = ["sgd", "newton", "svrg", "adagrad", "ftrl"]


def data(rows=300, columns=10):
    rng = np.random.default_rng(3)
    X = sp.random(rows, columns, density=0.5, random_state=1, format="csr")
    return X, X @ rng.normal(size=columns) + 0.1 * rng.normal(size=rows), rng.normal(size=rows)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("make", [sp.csr_matrix, lambda X: X.toarray(), lambda X: sp.csr_matrix(X)[:, ::-1]])
def test_for_squares_offsets_are_subtracted_from_targets(solver, make):
    X, y, offset = data()
    X = make(X)
    options = {"alpha": 1e-3, "solver": solver, "random_state": 1}
    options |= {"max_iter": 20, "tol": None} if solver == "sgd" else {"tol": 1e-9}
    with_offset = SGDRegressor(**options).fit(X, y + offset, offset=offset)
    without = SGDRegressor(**options).fit(X, y)
    np.testing.assert_allclose(with_offset.coef_, without.coef_, atol=1e-6)
    np.testing.assert_allclose(with_offset.predict(X, offset), without.predict(X) + offset, atol=1e-6)
    np.testing.assert_allclose(with_offset.predict(X), without.predict(X), atol=1e-6)


def test_the_logarithm_of_an_exposure():
    rng = np.random.default_rng(0)
    X, hours = rng.normal(size=(2000, 3)), rng.uniform(0.5, 20, size=2000)
    y = rng.poisson(hours * np.exp(X @ [0.5, -0.3, 0.0] + 0.2))
    model = SGDRegressor("poisson", alpha=1e-6, solver="newton").fit(X, y, offset=np.log(hours))
    np.testing.assert_allclose(model.coef_, [0.5, -0.3, 0.0], atol=0.03)
    assert model.predict(X, np.log(hours)).sum() == pytest.approx(y.sum(), rel=1e-3)
    assert model.duality_gap(X, y, offset=np.log(hours)) < 1e-3


def test_two_classes_have_probabilities_with_an_offset():
    X, y, offset = data()
    model = SGDClassifier("log_loss", solver="newton", alpha=1e-2).fit(X, y > 0, offset=offset)
    odds = model.decision_function(X) + offset
    np.testing.assert_allclose(model.decision_function(X, offset), odds)
    np.testing.assert_allclose(model.predict_proba(X, offset)[:, 1], 1 / (1 + np.exp(-odds)))
    assert np.array_equal(model.predict(X, offset), odds > 0)


def test_a_search_learns_with_offsets():
    X, y, offset = data()
    options = {"alphas": 5, "cv": 3, "random_state": 1, "precision": "f64"}
    with_offset = ElasticNetRegressorCV(**options).fit(X, y + offset, offset=offset)
    without = ElasticNetRegressorCV(**options).fit(X, y)
    assert with_offset.alpha_ == pytest.approx(without.alpha_, rel=1e-9)
    np.testing.assert_allclose(with_offset.coef_, without.coef_, atol=1e-6)
    np.testing.assert_allclose(with_offset.predict(X, offset), without.predict(X) + offset, atol=1e-6)


REGRESSORS = [SGDRegressor(random_state=1), ElasticNetRegressor(alpha=1e-3), ElasticNetRegressorCV(alphas=3, cv=2), AutoRegressor(random_state=1)]
CLASSIFIERS = [
    SGDClassifier("log_loss", random_state=1),
    ElasticNetClassifier(alpha=1e-3),
    ElasticNetClassifierCV(alphas=3, cv=2),
    AutoClassifier(random_state=1),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_r2_is_that_of_predictions_with_offsets(model):
    X, y, offset = data()
    model.fit(X, y + 3 * offset, offset=3 * offset)
    right = r2_score(y + 3 * offset, model.predict(X, 3 * offset))
    assert model.score(X, y + 3 * offset, offset=3 * offset) == pytest.approx(right) and right > 0.8
    with pytest.warns(UserWarning, match="trained with offsets, and is scored without"):
        without = model.score(X, y + 3 * offset)
    assert without == pytest.approx(r2_score(y + 3 * offset, model.predict(X))) and without < right - 0.1


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_accuracy_is_that_of_predictions_with_offsets(model):
    X, y, offset = data()
    classes = np.where(y + 5 * offset > 0, "up", "down")
    model.fit(X, classes, offset=5 * offset)
    right = accuracy_score(classes, model.predict(X, 5 * offset))
    weights = np.arange(300.0)
    assert model.score(X, classes, offset=5 * offset) == right > 0.9
    assert model.score(X, classes, weights, 5 * offset) == accuracy_score(classes, model.predict(X, 5 * offset), sample_weight=weights)
    with pytest.warns(UserWarning, match="scored without"):
        assert model.score(X, classes) < right - 0.1


def test_a_search_scores_with_offsets():
    X, y, offset = data()
    options = {"alphas": [0.01, 0.001], "cv": KFold(3), "precision": "f64", "tol": 1e-9}
    with_offset = ElasticNetRegressorCV(**options, scoring="r2").fit(X, y + offset, offset=offset)
    for k, (train, test) in enumerate(KFold(3).split(X)):
        for j, alpha in enumerate(options["alphas"]):
            alone = ElasticNetRegressor(alpha=alpha, tol=1e-9).fit(X[train], y[train])
            right = r2_score(y[test] + offset[test], alone.predict(X[test]) + offset[test])
            assert with_offset.scores_[k, 0, j] == pytest.approx(right, abs=1e-5)
    classes = np.where(y + offset > 0, "up", "down")
    for scoring, negative in [("neg_log_loss", True), ("accuracy", False)]:
        model = ElasticNetClassifierCV(**options, scoring=scoring).fit(X, classes, offset=offset)
        train, test = next(KFold(3).split(X))
        alone = ElasticNetClassifier(alpha=0.01, tol=1e-9).fit(X[train], classes[train], offset=offset[train])
        right = -log_loss(classes[test], alone.predict_proba(X[test], offset[test])) if negative else alone.score(X[test], classes[test], offset=offset[test])
        assert model.scores_[0, 0, 0] == pytest.approx(right, abs=1e-4)


@pytest.mark.parametrize("model", [*REGRESSORS, *CLASSIFIERS], ids=lambda model: type(model).__name__)
def test_metadata_routing_passes_offsets_to_fit_and_score(model):
    X, y, offset = data()
    y = y + 5 * offset
    y = np.where(y > 0, "up", "down") if sklearn.base.is_classifier(model) else y
    with sklearn.config_context(enable_metadata_routing=True):
        asked = sklearn.base.clone(model).set_fit_request(offset=True).set_score_request(offset=True)
        pipe = make_pipeline(MaxAbsScaler(), asked)
        found = cross_validate(pipe, X, y, cv=KFold(2), params={"offset": 5 * offset})["test_score"]
    for (train, test), score in zip(KFold(2).split(X), found, strict=True):
        scaler = MaxAbsScaler().fit(X[train])
        alone = sklearn.base.clone(model).fit(scaler.transform(X[train]), y[train], offset=5 * offset[train])
        assert score == pytest.approx(alone.score(scaler.transform(X[test]), y[test], offset=5 * offset[test]))
    assert min(found) > 0.8


def test_a_grid_search_chooses_with_offsets():
    X, y, offset = data()
    with sklearn.config_context(enable_metadata_routing=True):
        asked = SGDRegressor(random_state=1).set_fit_request(offset=True).set_score_request(offset=True)
        grid = GridSearchCV(asked, {"alpha": [1e-4, 10.0]}, cv=3).fit(X, y + 5 * offset, offset=5 * offset)
    assert grid.best_params_ == {"alpha": 1e-4} and grid.best_score_ > 0.9


@pytest.mark.parametrize("classes", [False, True])
def test_chunks_with_offsets_are_one_pass(classes):
    X, y, offset = data()
    y = y + offset > 0 if classes else y + offset
    kind, more = (SGDClassifier, {"classes": [False, True]}) if classes else (SGDRegressor, {})
    whole = kind(random_state=1, shuffle=False).partial_fit(X, y, offset=offset, **more)
    parts = kind(random_state=1, shuffle=False)
    for part in np.array_split(np.arange(300), 7):
        parts.partial_fit(X[part], y[part], offset=offset[part], **more)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    once = kind(random_state=1, shuffle=False, max_iter=1, tol=None).fit(X, y, offset=offset)
    np.testing.assert_array_equal(once.coef_, whole.coef_)
    assert not np.array_equal(kind(random_state=1, shuffle=False).partial_fit(X, y, **more).coef_, whole.coef_)
    with pytest.raises(ValueError, match="expected"):
        parts.partial_fit(X, y, offset=offset[:-1])


def test_held_out_rows_have_their_offsets():
    X, y, offset = data()
    model = SGDRegressor(early_stopping=True, random_state=1, max_iter=50).fit(X, y + 100 * offset, offset=100 * offset)
    assert model.validation_history_.max() > 0.99


def test_a_model_with_the_scores_of_another_as_offsets():
    X, y, _ = data()
    classes = y > 0
    before = LogisticRegression(C=1e-3).fit(X, classes).decision_function(X)
    model = ElasticNetClassifier(alpha=0.01, l1_ratio=0).fit(X, classes, offset=before)
    assert model.score(X, classes, offset=before) > 0.9


def test_offsets_that_do_not_fit_are_refused():
    X, y, offset = data()
    for wrong, words in [(offset[:-1], "expected"), (np.full(300, np.nan), "NaN"), (np.full(300, np.inf), "infinity")]:
        with pytest.raises(ValueError, match=words):
            SGDRegressor().fit(X, y, offset=wrong)
    three = np.arange(300) % 3
    with pytest.raises(ValueError, match="two classes"):
        SGDClassifier().fit(X, three, offset=offset)
    with pytest.raises(ValueError, match="two classes"):
        SGDClassifier().fit(X, three).predict(X, offset)
    with pytest.raises(ValueError, match="two classes"):
        SGDClassifier().partial_fit(X, three, classes=[0, 1, 2], offset=offset)
    with pytest.raises(ValueError, match="two classes"):
        SGDClassifier().fit(X, three).score(X, three, offset=offset)


def test_a_model_file_says_that_there_were_offsets(tmp_path):
    X, y, offset = data()
    SGDRegressor().fit(X, y, offset=offset).save(tmp_path / "m")
    assert load(tmp_path / "m")._trained["offsets"]
    text = "".join(f"{value} 1 0.5 | a:1\n" for value in (1, 2, 3))
    (tmp_path / "a.vw").write_text(text)
    with pytest.raises(ValueError, match="offset"):
        SGDRegressor().fit(tmp_path / "a.vw")
