"""Rows with any number of labels: indicator matrices and lists of sets, in steps, at the optimum and in searches."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold

import lazyglm
from lazyglm import ElasticNetClassifier, ElasticNetClassifierCV, SGDClassifier

CV = {"alphas": [0.1, 0.01, 0.001], "cv": KFold(3)}


def data(rows=300, columns=12, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random(rows, columns, density=0.5, random_state=seed, format="csr")
    marks = (X @ rng.normal(size=(columns, 3)) + 0.1 * rng.normal(size=(rows, 3)) > 0.1).astype(int)
    return X, marks, [{name for name, mark in zip("abc", row, strict=True) if mark} for row in marks]


@pytest.mark.parametrize("options", [{}, {"solver": "sgd", "max_iter": 5}])
def test_a_search_over_labels_is_the_sum_of_searches(options):
    X, marks, sets = data()
    options = options or {"tol": 1e-7}
    model = ElasticNetClassifierCV(**CV, **options, random_state=1).fit(X, marks)
    alone = [ElasticNetClassifierCV(**CV, **options, random_state=1).fit(X, marks[:, k]) for k in range(3)]
    if "solver" not in options:
        np.testing.assert_allclose(model.scores_, sum(one.scores_ for one in alone), rtol=5e-3)
        best = ElasticNetClassifier(alpha=model.alpha_, tol=1e-7).fit(X, marks)
        np.testing.assert_allclose(model.coef_, best.coef_, atol=2e-2)
    assert model.coef_.shape == (3, 12) and model.score(X, marks) > 0.5 and model.predict_proba(X).shape == (300, 3)
    named = ElasticNetClassifierCV(**CV, **options, random_state=1).fit(X, sets)
    assert named.classes_.tolist() == ["a", "b", "c"] and named.score(X, sets) == model.score(X, marks)
    np.testing.assert_array_equal(named.coef_, model.coef_)
    assert named.predict(X)[:2] == [{"abc"[k] for k in np.flatnonzero(row)} for row in model.predict(X)[:2]]


def test_a_search_over_labels_has_scorers():
    X, marks, sets = data()
    model = ElasticNetClassifierCV(**CV, scoring="f1_micro").fit(X, sets)
    from sklearn.metrics import f1_score

    train, test = next(KFold(3).split(marks))
    for j, alpha in enumerate(CV["alphas"]):
        alone = ElasticNetClassifier(alpha=alpha, tol=1e-6).fit(X[train], marks[train])
        assert model.scores_[0, 0, j] == pytest.approx(f1_score(marks[test], alone.predict(X[test]), average="micro"), abs=0.02)


@pytest.mark.parametrize("options", [{}, {"penalty": "l1", "alpha": 1e-3}, {"average": True}, {"n_jobs": 2}, {"solver": "newton", "loss": "log_loss"}])
def test_each_label_is_a_model_of_its_own(options):
    X, marks, sets = data()
    options = {"random_state": 0, **options}
    weights = np.random.default_rng(1).uniform(0.5, 2, size=300)
    model = SGDClassifier(**options).fit(X, marks, sample_weight=weights)
    for k in range(3):
        alone = SGDClassifier(**options).fit(X, marks[:, k], sample_weight=weights)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-6, atol=1e-9)
        assert model.intercept_[k] == pytest.approx(alone.intercept_[0])
    assert model.predict(X).shape == marks.shape and model.score(X, marks) > 0.4
    named = SGDClassifier(**options).fit(X, sets, sample_weight=weights)
    np.testing.assert_array_equal(named.coef_, model.coef_)
    assert named.predict(X)[0] == {"abc"[k] for k in np.flatnonzero(model.predict(X)[0])}
    assert named.score(X, sets) == model.score(X, marks)
    sparse = SGDClassifier(**options).fit(X, sp.csr_matrix(marks), sample_weight=weights)
    np.testing.assert_array_equal(sparse.coef_, model.coef_)


def test_held_out_rows_judge_each_label():
    X, marks, _ = data()
    model = SGDClassifier("log_loss", early_stopping=True, random_state=0).fit(X, marks)
    assert len(model.validation_history_) == 3 and all(history.max() > 0.7 for history in model.validation_history_)


@pytest.mark.parametrize("as_sets", [False, True])
def test_chunks_of_labels_are_one_pass(as_sets):
    X, marks, sets = data()
    y = sets if as_sets else marks
    classes = ["a", "b", "c"] if as_sets else [0, 1, 2]
    whole = SGDClassifier(shuffle=False, random_state=0).partial_fit(X, y, classes=classes)
    parts = SGDClassifier(shuffle=False, random_state=0)
    for start in range(0, 300, 50):
        parts.partial_fit(X[start : start + 50], y[start : start + 50], classes=classes if start == 0 else None)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    once = SGDClassifier(shuffle=False, random_state=0, max_iter=1, tol=None).fit(X, y)
    np.testing.assert_array_equal(once.coef_, whole.coef_)
    assert parts.score(X, y) == whole.score(X, y)


def test_files_of_labels(tmp_path):
    X, marks, sets = data()
    rows = zip(sets, X, strict=True)
    lines = [",".join(sorted(names)) + " " + " ".join(f"{j + 1}:{x!r}" for j, x in zip(row.indices, row.data.tolist(), strict=True)) for names, row in rows]
    (tmp_path / "data.mlsvm").write_text("\n".join(lines) + "\n")
    model = SGDClassifier("log_loss", random_state=0).fit(tmp_path / "data.mlsvm")
    assert model.classes_.tolist() == ["a", "b", "c"] and model.score(tmp_path / "data.mlsvm") > 0.4
    model.save(tmp_path / "model")
    assert lazyglm.load(tmp_path / "model").predict(X) == model.predict(X)
    search = ElasticNetClassifierCV(**CV).fit(tmp_path / "data.mlsvm")
    assert search.score(tmp_path / "data.mlsvm") > 0.4


def test_what_is_refused():
    X, marks, sets = data()
    for wrong in ({"class_weight": "balanced"}, {"multi_class": "multinomial", "loss": "log_loss"}):
        with pytest.raises(ValueError, match="one class each"):
            SGDClassifier(**wrong).fit(X, marks)
    with pytest.raises(ValueError, match="more classes have no common offset"):
        SGDClassifier().fit(X, marks, offset=np.zeros(300))
    model = SGDClassifier().fit(X, sets)
    with pytest.raises(ValueError, match="of another kind than before"):
        model.partial_fit(X, marks[:, 0])
    with pytest.raises(ValueError, match="of another kind than before"):
        SGDClassifier().fit(X, marks[:, 0]).partial_fit(X, marks)
    with pytest.raises(ValueError, match="these rows have others"):
        SGDClassifier().fit(X, marks).partial_fit(X, marks[:, :2])
    with pytest.raises(ValueError, match="of no row, or of all rows"):
        SGDClassifier(solver="newton").fit(X, np.column_stack([marks, np.zeros(300)]))
    with pytest.raises(ValueError, match="classes must be passed"):
        SGDClassifier().partial_fit(X, sets)
    with pytest.raises(ValueError, match="a set of labels per row"):
        lazyglm.SGDRegressor().fit(X, sets)
