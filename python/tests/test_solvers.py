"""Solvers by name, scales, factors of the penalty, and what is proved of a model."""

import os
import subprocess

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from lazyglm import ElasticNetClassifierCV, SGDClassifier, SGDRegressor, _params
from lazyglm._core import solvers

PROGRAM = os.environ.get("LAZYGLM")
needs_program = pytest.mark.skipif(PROGRAM is None, reason="LAZYGLM is not set: `make test` sets it")
EXACT = {"solver": "newton", "tol": 1e-10}


def data(rows=200, columns=20, classes=2):
    rng = np.random.default_rng(0)
    X = sp.random(rows, columns, density=0.3, random_state=0, format="csr")
    y = (X @ rng.normal(size=(columns, classes)) + 0.3 * rng.normal(size=(rows, classes))).argmax(axis=1)
    return X, y


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array, lambda X: X.toarray(), lambda X: X.tocsr().astype(np.float32)])
def test_newton_finds_the_minimum(make):
    X, y = data()
    model = SGDClassifier("log_loss", alpha=1e-2, **EXACT).fit(make(X), y)
    theirs = LogisticRegression(C=1 / (1e-2 * X.shape[0]), tol=1e-12, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    assert 0 <= model.dual_gap_ < 1e-10 and model.coef_.dtype == np.float64


def test_weights_count_as_in_stochastic_steps():
    X, y = data()
    weights = np.random.default_rng(1).uniform(0, 4, size=len(y)) * (np.arange(len(y)) % 5 > 0)
    kept = weights > 0
    model = SGDRegressor(alpha=1e-2, **EXACT).fit(X, y, sample_weight=weights)
    theirs = Ridge(alpha=1e-2 * kept.sum(), solver="cholesky").fit(X.toarray(), y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-4, atol=1e-6)
    assert model.duality_gap(X, y, sample_weight=weights) == pytest.approx(model.dual_gap_, abs=1e-12)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_many_classes_are_models_of_their_own(class_weight):
    X, y = data(classes=3)
    model = SGDClassifier("log_loss", penalty="elasticnet", alpha=1e-2, class_weight=class_weight, **EXACT).fit(X, y)
    assert model.dual_gap_.shape == (3,) and np.all(model.dual_gap_ < 1e-10)
    counts = np.bincount(y)
    for k in range(3):
        of_class = {1: len(y) / (3 * counts[k]), 0: 1.0} if class_weight else None
        alone = SGDClassifier("log_loss", penalty="elasticnet", alpha=1e-2, class_weight=of_class, **EXACT).fit(X, (y == k).astype(int))
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.duality_gap(X, y), model.dual_gap_, atol=1e-12)


def test_the_gap_says_how_far_stochastic_steps_got():
    X, y = data()
    rough = SGDClassifier("log_loss", alpha=1e-2, max_iter=1, tol=None, random_state=0).fit(X, y)
    fine = SGDClassifier("log_loss", alpha=1e-2, max_iter=200, tol=None, random_state=0).fit(X, y)
    assert rough.dual_gap_ is None and rough.duality_gap(X, y) > 10 * fine.duality_gap(X, y) > 0
    assert SGDClassifier("log_loss", penalty=None, learning_rate="constant").fit(X, y).duality_gap(X, y) is None


@pytest.mark.parametrize("solver", ["sgd", "newton"])
@pytest.mark.parametrize("make", [sp.csr_matrix, lambda X: X.toarray()])
@pytest.mark.parametrize("scale", ["maxabs", "std"])
def test_scales_are_those_of_the_columns(solver, make, scale):
    X, y = data()
    X = sp.csr_matrix(X.multiply(10.0 ** np.arange(-5, 15)))
    dense = X.toarray()
    size = abs(dense).max(axis=0) if scale == "maxabs" else dense.std(axis=0)
    options = dict(loss="log_loss", alpha=1e-2, random_state=0, solver=solver)
    options |= {"max_iter": 20, "tol": None} if solver == "sgd" else {"tol": 1e-10}
    model = SGDClassifier(**options, scale=scale).fit(make(X), y)
    other = SGDClassifier(**options).fit(make(X) / size if isinstance(make(X), np.ndarray) else sp.csr_matrix(X.multiply(1 / size)), y)
    np.testing.assert_allclose(model.coef_ * size, other.coef_, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X.multiply(1 / size).tocsr()), rtol=1e-6, atol=1e-8)
    assert model.duality_gap(X, y) == pytest.approx(other.duality_gap(X.multiply(1 / size).tocsr(), y), rel=1e-3, abs=1e-11)
    with pytest.raises(ValueError if solver == "sgd" else AttributeError, match="partial_fit"):
        model.partial_fit(X, y)


def test_solvers_that_find_the_optimum_are_never_farther_from_it_than_1e_4():
    X, y = data()
    options = dict(loss="log_loss", alpha=1e-2, solver="newton", random_state=0)
    default, nearer = SGDClassifier(**options).fit(X, y), SGDClassifier(**options, tol=1e-9).fit(X, y)
    assert default.dual_gap_ <= 1e-4 and nearer.dual_gap_ <= 1e-9
    for tol in (None, 1e-4, 0.5):
        assert SGDClassifier(**options, tol=tol).fit(X, y).coef_.tobytes() == default.coef_.tobytes()


def test_factors_of_the_penalty():
    X, y = data()
    factors = np.where(np.arange(20) < 3, 0.0, 5.0)
    model = SGDClassifier("log_loss", penalty="l1", alpha=1e-2, penalty_factor=factors, **EXACT)
    with pytest.warns(ConvergenceWarning, match="loose where weights have no l2"):
        model.fit(X, y)
    assert model.stop_reason_ == "predicted_decrease"
    assert np.all(model.coef_[0, :3] != 0) and np.count_nonzero(model.coef_) < 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        alike = clone(model).set_params(penalty_factor=None).fit(X, y)
    assert np.count_nonzero(alike.coef_[0, 3:]) > np.count_nonzero(model.coef_[0, 3:])
    for wrong in ([1.0], -factors, factors * np.nan):
        with pytest.raises(ValueError, match="penalty_factor"):
            clone(model).set_params(penalty_factor=wrong).fit(X, y)
    with pytest.raises(ValueError, match="penalty_factor.*newton"):
        SGDClassifier(penalty_factor=factors).fit(X, y)


def test_every_solver_of_the_library_has_its_name_here():
    X, y = data()
    names = [row["name"] for row in solvers()]
    assert {"sgd", "newton"} <= set(names)
    for name in names:
        for estimator in (SGDClassifier("log_loss"), SGDRegressor()):
            epochs = {} if _params.IDLE[_params.abilities(name)["steps"]].count("max_iter") else {"max_iter": 20}
            model = clone(estimator).set_params(solver=name, alpha=1e-3, tol=None, random_state=0, **epochs).fit(X, y)
            assert model.score(X, y) > 0.15, name
    with pytest.raises(ValueError, match="solver.*newton"):
        SGDClassifier(solver="newtom").fit(X, y)


@pytest.mark.parametrize("solver", ["adagrad", "ftrl", "svrg"])
def test_a_solver_of_one_model_learns_classes_one_by_one(solver):
    X, three = data(classes=3)
    with pytest.raises(ValueError, match="use multi_class='ovr', or solver='sgd', which is nearest, or solver='auto' or solver='newton'"):
        SGDClassifier("log_loss", solver=solver, multi_class="multinomial").fit(X, three)
    model = SGDClassifier("log_loss", solver=solver, alpha=1e-3, max_iter=20, random_state=0).fit(X, three)
    assert model.coef_.shape == (3, 20) and model.score(X, three) > 0.6


def test_what_does_not_go_together_is_refused():
    X, y = data()
    with pytest.raises(ValueError, match="is for loss='log_loss', and not for 'hinge'"):
        SGDClassifier("hinge", multi_class="multinomial").fit(X, y)
    for options in ({"early_stopping": True}, {"average": True}):
        with pytest.raises(ValueError, match="sgd"):
            SGDClassifier("log_loss", solver="newton", **options).fit(X, y)
    assert hasattr(SGDRegressor(), "partial_fit") and not hasattr(SGDRegressor(solver="newton"), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        SGDClassifier("log_loss", solver="newton").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="penalty"):
        SGDClassifier("hinge", penalty=None, solver="newton").fit(X, y)
    assert SGDClassifier("hinge", alpha=1e-3, solver="newton").fit(X, y).score(X, y) > 0.15
    with pytest.warns(ConvergenceWarning, match="may exceed 1e-300"):
        SGDClassifier("log_loss", alpha=1e-8, solver="newton", tol=1e-300).fit(X, y)


def test_solvers_of_clusters_are_not_in_the_table():
    assert _params.abilities("rounds")["steps"] == "none" and not _params.takes_rows("rounds")
    with pytest.raises(AttributeError, match="learns all rows at once"):
        _params.goes_on(type("Cluster", (), {"solver": "rounds"})())


def test_a_start_and_going_on():
    X, y = data()
    model = SGDClassifier("log_loss", alpha=1e-2, warm_start=True, **EXACT).fit(X, y)
    again = model.fit(X, y)
    assert again.n_iter_ <= 1
    before = model.coef_.copy()
    model.set_params(solver="sgd", shuffle=False).partial_fit(X[:5], y[:5])
    assert not np.array_equal(model.coef_, before)


@needs_program
def test_solving_is_the_programs(tmp_path):
    X, y = data()
    X.data = np.round(X.data, 4)
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    flags = ["--loss", "logistic", "--l1", "2e-3", "--l2", "8e-3", "--solver", "newton", "--tolerance", "1e-6", "--features", "20"]
    words = [PROGRAM, "train", tmp_path / "data.svm", "-o", tmp_path / "model", "--precision", "f64", "--scale", "std", "--quiet", *flags]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    import lazyglm

    theirs = lazyglm.load(tmp_path / "model")
    options = dict(penalty="elasticnet", alpha=1e-2, l1_ratio=0.2, scale="std", solver="newton", tol=1e-6)
    ours = SGDClassifier("log_loss", **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)
    ours.save(tmp_path / "ours")
    shown = subprocess.run([PROGRAM, "inspect", str(tmp_path / "ours"), "--json"], capture_output=True, text=True).stdout
    assert '"newton"' in shown


def test_former_names_of_solvers_still_work():
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    for former, present in [("online", "sgd"), ("saga", "svrg")]:
        old, new = (SGDClassifier("log_loss", solver=name, random_state=0).fit(X, y) for name in (former, present))
        assert np.array_equal(old.coef_, new.coef_)
        assert old.get_params()["solver"] == former


#: A value of each parameter of stochastic steps that is not its default.
OTHER = {"learning_rate": "constant", "power_t": 0.4, "intercept_rate": 0.5, "method": "sgd", "eta0": 0.3, "max_iter": 2}
OTHER |= {"shuffle": False, "n_iter_no_change": 9}


@pytest.mark.parametrize("name", sorted(OTHER))
@pytest.mark.parametrize("solver", [row["name"] for row in solvers()])
def test_a_parameter_changes_the_model_or_has_a_warning(solver, name):
    """Every solver, every parameter of stochastic steps: what has no effect is not ignored in silence."""
    X, y = data()
    options = {"loss": "log_loss", "alpha": 1e-3, "solver": solver, "random_state": 0}
    if name not in ("max_iter", "n_iter_no_change") and "max_iter" not in _params.IDLE[_params.abilities(solver)["steps"]]:
        options |= {"max_iter": 3, "tol": None}
    if _params.takes_rows(solver) and name in ("eta0", "power_t"):
        options["learning_rate"] = "invscaling"  # as in scikit-learn, 'optimal' needs neither
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = SGDClassifier(**options).fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = SGDClassifier(**options, **{name: OTHER[name]}).fit(X, y)
        except ValueError as error:
            assert f"{name} is not for solver={solver!r}" in str(error)
            return
    warned = [str(each.message) for each in caught if f"{name} has no effect with solver={solver!r}" in str(each.message)]
    assert bool(warned) == (model.coef_.tobytes() == plain.coef_.tobytes()), (warned, plain.n_iter_)


def test_what_has_no_effect_on_several_classes_or_on_a_search_has_a_warning():
    X, y = data(classes=3)
    with pytest.warns(UserWarning, match="learning_rate and power_t have no effect with solver='sgd', multi_class='multinomial'"):
        SGDClassifier("log_loss", multi_class="multinomial", learning_rate="constant", power_t=0.3, max_iter=2, tol=None).fit(X, y)
    with pytest.warns(UserWarning, match="max_iter and halving have no effect with solver='newton'"):
        ElasticNetClassifierCV(max_iter=3, halving=True, cv=2, alphas=3).fit(X, y)
    with pytest.warns(UserWarning, match="tol has no effect with solver='sgd'"):
        ElasticNetClassifierCV(solver="sgd", tol=1e-5, cv=2, alphas=3).fit(X, y)
    with pytest.raises(ValueError, match="multinomial"):
        ElasticNetClassifierCV(solver="sgd", multi_class="multinomial").fit(X, y)


@needs_program
def test_the_schedule_of_a_model_file_is_the_one_of_its_training(tmp_path):
    X, y = data(classes=3)
    model = SGDClassifier("log_loss", multi_class="multinomial", max_iter=2, tol=None, random_state=0).fit(X, y)
    model.save(tmp_path / "m")
    shown = subprocess.run([PROGRAM, "inspect", str(tmp_path / "m"), "--json"], capture_output=True, text=True).stdout
    assert "inverse-sqrt" in shown and "cosine" not in shown


def test_messages_of_the_library_have_the_names_of_python():
    X, y = data()
    with pytest.raises(ValueError, match=r"give the start \(coef_init, or warm_start\) smaller weights"):
        SGDRegressor(solver="newton").fit(X, y, coef_init=np.full(20, 1e300))
    with pytest.raises(ValueError, match="target names a column of a file"):
        SGDRegressor().fit(X, y, target="y")


def test_a_search_warns_of_a_loose_bound():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="loose where weights have no l2"):
        ElasticNetClassifierCV(l1_ratio=1.0, alphas=[1e-2], cv=2, penalty_factor=np.where(np.arange(20) < 3, 0.0, 5.0), tol=1e-10).fit(X, y)
