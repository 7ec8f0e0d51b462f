"""What a user of scikit-learn meets: small supports, small pickles, messages, and runs that end."""

import pickle
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier as TheirClassifier
from sklearn.utils._param_validation import InvalidParameterError

from lazyglm import AutoClassifier, ElasticNetClassifier, ElasticNetRegressorCV, SGDClassifier, SGDRegressor


def words(rows=2000, columns=5000, seed=0):
    """Rows of rare features, of which a few count."""
    rng = np.random.default_rng(seed)
    X = sp.random(rows, columns, density=20 / columns, random_state=seed, format="csr")
    common = sp.csr_matrix((rng.random((rows, 20)) < 0.3).astype(float))
    X = sp.hstack([common, X]).tocsr()
    return X, (common @ rng.normal(size=20) + 0.5 * rng.normal(size=rows) > 0).astype(int)


def objective(model, X, y, alpha):
    margins = np.where(y > 0, 1, -1) * model.decision_function(X)
    losses = np.logaddexp(0, -margins) if model.loss == "log_loss" else np.maximum(0, 1 - margins)
    return losses.mean() + alpha * np.abs(model.coef_).sum()


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_l1_leaves_no_more_weights_than_scikit_learn(loss):
    X, y = words()
    options = dict(loss=loss, penalty="l1", alpha=1e-3, random_state=0)
    ours, theirs = SGDClassifier(**options).fit(X, y), TheirClassifier(**options).fit(X, y)
    last = SGDClassifier(**options).fit(X, y)
    last._zeroed = None  # the weights of the last step
    assert np.count_nonzero(ours.coef_) <= 1.2 * np.count_nonzero(theirs.coef_) < np.count_nonzero(last.coef_)
    assert objective(ours, X, y, 1e-3) <= min(objective(last, X, y, 1e-3), 1.1 * objective(theirs, X, y, 1e-3))


def test_the_state_does_not_know_of_the_zero_test():
    X, y = words(rows=400)
    options = dict(loss="log_loss", penalty="l1", alpha=1e-3, shuffle=False, max_iter=1, tol=None)
    whole = SGDClassifier(**options).fit(X, y)
    chunks = SGDClassifier(**options)
    for start in range(0, 400, 100):
        chunks.partial_fit(X[start : start + 100], y[start : start + 100], classes=[0, 1])
    assert np.count_nonzero(whole.coef_) < np.count_nonzero(chunks.coef_)
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    for model in (whole, again):
        model.partial_fit(X, y)
    chunks.partial_fit(X, y)
    np.testing.assert_array_equal(whole.coef_, chunks.coef_)
    np.testing.assert_array_equal(again.coef_, chunks.coef_)


def test_several_classes_have_a_zero_test_each():
    X, y = words(rows=600)
    y = y + (X[:, 0].toarray().ravel() > 0)
    options = dict(loss="log_loss", penalty="l1", alpha=1e-3, random_state=0, class_weight={0: 2.0, 1: 1.0, 2: 1.0})
    model = SGDClassifier(**options, n_jobs=2).fit(X, y)
    alone = SGDClassifier(**{**options, "class_weight": {False: 1.0, True: 2.0}}).fit(X, y == 0)
    np.testing.assert_allclose(model.coef_[0], alone.coef_[0], rtol=1e-9)


def test_pickles_have_weights_once_and_sparse_ones_are_small():
    X, y = words(rows=300, columns=20_000)
    model = SGDClassifier("log_loss", penalty="l1", alpha=1e-2, random_state=0).fit(X, y)
    before = len(pickle.dumps(model))
    coef = model.coef_.copy()
    assert len(pickle.dumps(model)) < 1.05 * before
    sparse = pickle.dumps(model.sparsify())
    assert len(sparse) < before / 5
    np.testing.assert_array_equal(pickle.loads(sparse).densify().coef_, coef)
    assert pickle.loads(sparse).partial_fit(X, y).t_ == model.t_ + 300


def test_wrong_parameters_have_scikit_learns_type():
    X, y = words(rows=50, columns=50)
    for model in (SGDClassifier(alpha=-1), SGDRegressor(loss="hinge"), ElasticNetClassifier(tol="x"), AutoClassifier(n_jobs=1.5)):
        with pytest.raises(InvalidParameterError, match="parameter of .* must be .*Got"):
            model.fit(X, y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("make", [sp.csr_matrix, np.asarray])
def test_values_that_are_not_finite_are_refused_by_their_name(value, make):
    X, y = np.eye(4), [0, 0, 1, 1]
    X[2, 1] = value
    for model in (SGDClassifier(), ElasticNetClassifier(), AutoClassifier()):
        with pytest.raises(ValueError, match="NaN" if np.isnan(value) else "infinity"):
            model.fit(make(X), y)
        with pytest.raises(ValueError, match="NaN" if np.isnan(value) else "infinity"):
            model.fit(np.eye(4), y).predict(make(X))


@pytest.mark.parametrize("solver", ["adagrad", "ftrl"])
def test_stochastic_solvers_stop_at_a_tolerance(solver):
    X, y = words(rows=300, columns=50)
    model = SGDClassifier("log_loss", solver=solver, random_state=0).fit(X, y)
    assert model.n_iter_ < 500 and model.stop_reason_ == "tolerance"
    assert SGDClassifier("log_loss", solver=solver, tol=None, max_iter=30, random_state=0).fit(X, y).n_iter_ == 30


def test_progress_needs_no_tqdm_and_ends_at_100_percent(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    X, y = words(rows=200, columns=50)
    for solver in ("sgd", "newton", "ftrl"):
        SGDClassifier("log_loss", alpha=1e-2, solver=solver, progress=True, random_state=0).fit(X, y)
        shown = capsys.readouterr().err
        assert "100 %" in shown and "s left" in shown, solver


def test_n_jobs_is_for_regressors_too():
    X, y = words(rows=300, columns=50)
    one, two = (SGDRegressor(solver="newton", n_jobs=jobs, alpha=0.1).fit(X, y) for jobs in (1, 2))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-6)
    assert ElasticNetRegressorCV(alphas=3, cv=2, n_jobs=2).fit(X, y).best_estimator_.n_jobs == 2


def test_a_regression_that_diverges_says_so_and_is_trained_slower():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10)) * 30
    y = X @ rng.normal(size=10)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SGDRegressor(random_state=0).fit(X, y)
    words = [str(warning.message) for warning in caught if warning.category is ConvergenceWarning]
    assert any("diverged at eta0=0.01" in text and "trained with eta0=" in text for text in words)
    assert model.score(X, y) > 0.9 and model.eta0 == 0.01


def test_softmax_is_trained_by_steps_and_to_the_optimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    y = (X @ rng.normal(size=(10, 3)) + 0.3 * rng.normal(size=(400, 3))).argmax(axis=1)
    exact = ElasticNetClassifier(alpha=1e-2, l1_ratio=0.15).fit(X, y)
    for solver in ("sgd", "newton"):
        model = SGDClassifier("log_loss", penalty="elasticnet", alpha=1e-2, multi_class="multinomial", solver=solver, max_iter=50, random_state=0)
        model.fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=0.15 if solver == "sgd" else 1e-3)
        assert not hasattr(model, "partial_fit")
    with pytest.raises(ValueError, match="multinomial.*log_loss"):
        SGDClassifier("hinge", multi_class="multinomial").fit(X, y)
