"""Offsets: a number per row that is added to its score, in learning and in prediction."""

import numpy as np
import pytest
import scipy.sparse as sp

from lazyglm import ElasticNetRegressorCV, SGDClassifier, SGDRegressor, load

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


def test_a_model_file_says_that_there_were_offsets(tmp_path):
    X, y, offset = data()
    SGDRegressor().fit(X, y, offset=offset).save(tmp_path / "m")
    assert load(tmp_path / "m")._trained["offsets"]
    text = "".join(f"{value} 1 0.5 | a:1\n" for value in (1, 2, 3))
    (tmp_path / "a.vw").write_text(text)
    with pytest.raises(ValueError, match="offset"):
        SGDRegressor().fit(tmp_path / "a.vw")
