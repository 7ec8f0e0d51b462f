"""What a user of scikit-learn meets: small supports, small pickles, messages, and runs that end."""

import pickle
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.linear_model import SGDClassifier as TheirClassifier
from sklearn.utils._param_validation import InvalidParameterError

from lazyglm import (
    AutoClassifier,
    AutoRegressor,
    ElasticNetClassifier,
    ElasticNetClassifierCV,
    ElasticNetRegressor,
    ElasticNetRegressorCV,
    SGDClassifier,
    SGDRegressor,
)


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
@pytest.mark.parametrize("alpha", [1e-2, 1e-3, 1e-4, 1e-5])
def test_l1_leaves_no_more_weights_than_scikit_learn(loss, alpha):
    X, y = words()
    options = dict(loss=loss, penalty="l1", alpha=alpha, random_state=0)
    ours, theirs = SGDClassifier(**options).fit(X, y), TheirClassifier(**options).fit(X, y)
    last = SGDClassifier(**options).fit(X, y)
    last._polished = None  # the weights of the last step
    most = np.count_nonzero(theirs.coef_) + (loss == "hinge")  # steps of single weights end at a kink, where one weight more or less is luck
    assert np.count_nonzero(ours.coef_) <= most and np.count_nonzero(ours.coef_) < np.count_nonzero(last.coef_)
    assert objective(ours, X, y, alpha) <= min(objective(last, X, y, alpha), objective(theirs, X, y, alpha))


def test_the_state_does_not_know_of_the_last_steps():
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


def test_several_classes_end_with_steps_of_their_own():
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
    wrong = [{"l1_ratio": 2}, {"alphas": [-1]}, {"alphas": 0.5}, {"lower": 1}, {"upper": [1.0]}, {"penalty_factor": np.ones(999)}, {"n_jobs": 0}]
    for parameter in wrong:
        with pytest.raises(InvalidParameterError, match="parameter of ElasticNetClassifierCV must be .*Got") as refused:
            ElasticNetClassifierCV(**parameter).fit(X, y)
        assert len(str(refused.value)) < 400
    for model in (SGDClassifier(n_jobs=0), AutoRegressor(n_jobs=0), ElasticNetRegressor(n_jobs=0)):
        with pytest.raises(InvalidParameterError, match="'n_jobs' parameter of .* must be an integer other than 0, or None"):
            model.fit(X, y)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_errors_name_the_users_class():
    X, y = words(rows=60, columns=30)
    frame = pd.DataFrame(X.toarray()).add_prefix("x")
    for model in (AutoClassifier(), ElasticNetClassifier(), ElasticNetRegressor(), ElasticNetClassifierCV(alphas=3, cv=2)):
        name = type(model).__name__
        with pytest.raises(ValueError, match=f"but {name} is expecting 50 features"):
            model.fit(X, y).predict(X[:, :3])
        with pytest.raises(ValueError, match=f"NaN.\\n{name} does not accept"):
            model.fit(frame, y).predict(np.full((1, 50), np.nan))
        with pytest.raises(ValueError, match=f"but {name} is expecting 51 features"):
            model.fit(frame.assign(c=["a", "b"] * 30).drop(columns="x0"), y).predict(np.ones((1, 3)))


def test_label_sets_are_refused_with_the_estimators_that_take_them():
    X, _ = words(rows=60, columns=30)
    sets = [{"a"}, {"b", "c"}] * 30
    for model in (SGDRegressor(), ElasticNetRegressor(), AutoRegressor()):
        with pytest.raises(ValueError, match=f"{type(model).__name__} does not learn: use SGDClassifier, ElasticNetClassifier or AutoClassifier"):
            model.fit(X, sets)


def test_a_sparse_value_that_is_not_finite_has_a_place():
    X = sp.random(30, 8, density=0.5, format="csr", random_state=0)
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")):
        wrong = X.tolil()
        wrong[17, 5] = value
        for ids in (np.int32, np.int64):
            for dtype in (np.float32, np.float64):
                rows = wrong.tocsr().astype(dtype)
                rows.indices, rows.indptr = rows.indices.astype(ids), rows.indptr.astype(ids)
                with pytest.raises(ValueError, match=f"X: the value in row 17, column 5 is {name}"):
                    SGDClassifier().fit(rows, np.arange(30) % 2)


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


EVERY = [
    AutoClassifier(random_state=0),
    AutoRegressor(random_state=0),
    ElasticNetClassifier(alpha=0.01),
    ElasticNetRegressor(alpha=0.01),
    ElasticNetClassifierCV(alphas=3, cv=2),
    ElasticNetClassifierCV(alphas=3, cv=2, solver="sgd", max_iter=3, random_state=0),
    ElasticNetRegressorCV(alphas=3, cv=2),
]


@pytest.mark.parametrize("estimator", EVERY, ids=lambda one: type(one).__name__ + getattr(one, "solver", ""))
@pytest.mark.parametrize("with_tqdm", [False, True])
def test_every_long_call_shows_its_progress(monkeypatch, capsys, estimator, with_tqdm):
    if not with_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    X, y = words(rows=200, columns=50)
    model = clone(estimator).set_params(progress=True, verbose=1).fit(X, y)
    shown = capsys.readouterr()
    lines = shown.out.count("\n-- ") + shown.out.startswith("-- ")
    assert lines >= 2 and "seconds" in shown.out
    assert ("models" in shown.err) if "Auto" in repr(model) else ("100" in shown.err)
    plain = clone(estimator).fit(X, y)
    assert np.array_equal(plain.coef_, model.coef_) and capsys.readouterr() == ("", "")


def test_newton_has_a_history():
    X, y = words(rows=200, columns=50)
    models = [SGDClassifier("log_loss", alpha=1e-3, solver="newton"), ElasticNetClassifier(alpha=1e-3), AutoClassifier(random_state=0)]
    for model in models:
        history = model.fit(X, y).loss_history_
        assert len(history) >= model.n_iter_ - 1 >= 1 and np.all(np.diff(history) <= 1e-12), type(model)
    assert ElasticNetClassifier(alpha=1e-3).fit(X, y).loss_history_[-1] < np.log(2)


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


@pytest.mark.parametrize("loss", ["squared_error", "squared_epsilon_insensitive"])
def test_a_regression_that_cannot_be_trained_slower_says_that_it_diverges(loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)) * 1e4, rng.normal(size=200)
    with pytest.warns(ConvergenceWarning, match="diverged with learning_rate='optimal'.*Use learning_rate='invscaling', scale the features"):
        SGDRegressor(loss, learning_rate="optimal", random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="SGD has diverged.*Scale the features or lower eta0"):
        SGDRegressor(loss, random_state=0).partial_fit(X, y)


def test_a_regression_that_converges_has_no_such_warning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = 1e4 + X @ np.array([3.0, -2, 0, 0, 1]) + rng.normal(size=300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for targets in (y, y - 1e4, np.zeros(300), np.where(np.arange(300) < 50, 0, y - 1e4)):
            by_row, at_once = SGDRegressor(), SGDRegressor()
            for k in range(300):
                by_row.partial_fit(X[[k]], targets[[k]])
            for _ in range(3):
                at_once.partial_fit(X, targets)
            at_once.set_params(warm_start=True, tol=None, max_iter=2).fit(X, targets).partial_fit(X[:1], targets[:1] * 0 + targets.mean())
        SGDRegressor(learning_rate="optimal", alpha=0.1).fit(X, y - 1e4)


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: AutoClassifier(tol=1e-300, random_state=0).fit(X, X[:, 0] > 0),
        lambda X, y: AutoRegressor(tol=1e-300, random_state=0).fit(X, X[:, 0]),
        lambda X, y: ElasticNetClassifier(alpha=0).fit(X, X[:, 0] > 0),
        lambda X, y: ElasticNetClassifierCV(alphas=[0.0], cv=2).fit(X, X[:, 0] > 0),
        lambda X, y: SGDClassifier("log_loss", solver="newton", alpha=0).fit(X, X[:, 0] > 0),
        lambda X, y: SGDClassifier("log_loss", max_iter=2).fit(X, y),
        lambda X, y: SGDRegressor(random_state=0).fit(1e3 * X, y),
        lambda X, y: SGDRegressor(random_state=0).partial_fit(1e5 * X, y),
        lambda X, y: SGDClassifier("log_loss", solver="newton", eta0=0.5).fit(X, y),
    ],
)
def test_warnings_name_the_users_line(fit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    with pytest.warns(UserWarning) as caught:
        fit(X, (X[:, 0] + rng.normal(size=100) > 0).astype(int))
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("before", [2, 3])
@pytest.mark.parametrize("average", [False, True])
def test_a_class_that_appears_late_is_declared(before, average):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8))
    y = (X @ rng.normal(size=(8, before + 1)) + 0.1 * rng.normal(size=(600, before + 1))).argmax(axis=1)
    names = np.array(["b", "d", "c", "a"])[y]  # the new one is neither the first nor the last
    early = y < before
    model = SGDClassifier("log_loss", random_state=0, average=average, alpha=1e-3)
    known = np.unique(names[early])
    model.partial_fit(X[early], names[early], classes=known)
    scores, steps = model.decision_function(X), model.t_
    with pytest.raises(ValueError, match="is not among the classes"):
        model.partial_fit(X, names)
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, names, classes=known[1:])
    assert np.array_equal(model.decision_function(X), scores)
    for _ in range(10):
        model.partial_fit(X, names, classes=np.unique(names))
    assert list(model.classes_) == sorted(set(names)) and model.coef_.shape == (before + 1, 8)
    assert model.t_ == steps + 6000 and model.score(X, names) > 0.85


def test_softmax_is_trained_by_steps_and_to_the_optimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    y = (X @ rng.normal(size=(10, 3)) + 0.3 * rng.normal(size=(400, 3))).argmax(axis=1)
    exact = ElasticNetClassifier(alpha=1e-2, l1_ratio=0.15).fit(X, y)
    for solver in ("sgd", "newton"):
        model = SGDClassifier("log_loss", penalty="elasticnet", alpha=1e-2, multi_class="multinomial", solver=solver, random_state=0)
        model.set_params(**({"max_iter": 50} if solver == "sgd" else {}))
        model.fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=0.15 if solver == "sgd" else 1e-3)
        assert not hasattr(model, "partial_fit")
    with pytest.raises(ValueError, match="multinomial.*log_loss"):
        SGDClassifier("hinge", multi_class="multinomial").fit(X, y)


@pytest.mark.parametrize("intercept", [True, False])
def test_squared_hinge_stops_as_soon_as_scikit_learns(intercept):
    X, y = words()
    X = sp.csr_matrix(X.multiply(1 / np.maximum(np.sqrt(X.multiply(X).sum(axis=1)), 1e-9)))
    options = dict(loss="squared_hinge", fit_intercept=intercept, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = TheirClassifier(**options).fit(X, y)
    ours = SGDClassifier(**options).fit(X, y)
    assert ours.n_iter_ <= 2 * theirs.n_iter_ and ours.n_iter_ < 100
    squares = [np.maximum(0, 1 - np.where(y > 0, 1, -1) * model.decision_function(X)) ** 2 for model in (ours, theirs)]
    penalties = [0.5e-4 * np.sum(model.coef_**2) for model in (ours, theirs)]
    assert squares[0].mean() + penalties[0] <= squares[1].mean() + penalties[1]


def test_targets_as_a_column_of_words_are_classes():
    X = np.arange(8.0).reshape(-1, 1)
    y = np.array(["no", "yes"]).repeat(4)
    with pytest.warns(DataConversionWarning):
        model = SGDClassifier(random_state=0).fit(X, y[:, None])
    assert list(model.classes_) == ["no", "yes"]
    with pytest.raises(ValueError, match="several columns of words"):
        SGDClassifier().fit(X, np.column_stack([y, y]))


def test_classes_of_weight_zero_and_classes_that_come_late_say_what_to_do():
    X, y = np.arange(8.0).reshape(-1, 1), np.array(["no", "yes"]).repeat(4)
    with pytest.raises(ValueError, match="all classes but one have weight zero"):
        ElasticNetClassifier().fit(X, y, sample_weight=(y == "yes").astype(float))
    model = SGDClassifier(random_state=0).partial_fit(X, y, classes=["no", "yes"])
    with pytest.raises(ValueError, match=r"'maybe', which is not among the classes \['no', 'yes'\]; partial_fit takes new ones with classes="):
        model.partial_fit(X[:1], ["maybe"])
