"""The estimators of one penalty are at the optimum: scikit-learn's where it has one, and what the conditions of optimality say elsewhere."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, GammaRegressor, LogisticRegression, PoissonRegressor, QuantileRegressor, TweedieRegressor
from sklearn.metrics import mean_gamma_deviance, mean_tweedie_deviance
from sklearn.model_selection import cross_validate
from sklearn.svm import SVC
from sklearn.utils import estimator_checks

import lazyglm
from lazyglm import AutoClassifier, ElasticNetClassifier, ElasticNetClassifierCV, ElasticNetRegressor, ElasticNetRegressorCV


def data(rows=300, columns=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.7)
    return X, X @ (rng.normal(size=columns) * (np.arange(columns) < 6)) / 2, rng


@pytest.mark.filterwarnings("ignore")  # the checks look at warnings themselves
@pytest.mark.parametrize("estimator", [ElasticNetClassifier, ElasticNetRegressor])
def test_every_check_of_scikit_learn_passes(estimator):
    # With a softmax, weights are as near as the root of the tolerance: too far for a check of seven digits.
    near = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    expected = dict.fromkeys(near, "the optimum to a tolerance") if estimator is ElasticNetClassifier else {}
    results = estimator_checks.check_estimator(estimator(tol=1e-13), expected_failed_checks=expected, on_skip=None, on_fail=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed == {} and len(results) > 40


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_numbers_are_those_of_elastic_net(make):
    X, mean, rng = data()
    y, weights = mean + 1 + 0.1 * rng.normal(size=len(mean)), rng.random(len(mean))
    theirs = ElasticNet(alpha=0.05, l1_ratio=0.7, tol=1e-10).fit(X, y, sample_weight=weights)
    ours = ElasticNetRegressor(alpha=0.05, l1_ratio=0.7, tol=1e-10).fit(make(X), y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert ours.intercept_[0] == pytest.approx(theirs.intercept_, abs=1e-5)
    assert ours.dual_gap_ <= 1e-10 and ours.stop_reason_ == "gap" and ours.n_iter_ > 0
    positive = ElasticNetRegressor(alpha=0.05, positive=True, tol=1e-10).fit(make(X), y)
    np.testing.assert_allclose(positive.coef_, ElasticNet(alpha=0.05, positive=True, tol=1e-10).fit(X, y).coef_, atol=1e-5)


@pytest.mark.parametrize(
    ("loss", "theirs"),
    [
        ("poisson", PoissonRegressor),
        ("gamma", GammaRegressor),
        ("tweedie", lambda **options: TweedieRegressor(power=1.3, link="log", **options)),
    ],
)
def test_means_on_a_log_scale_are_those_of_scikit_learns_glms(loss, theirs):
    X, mean, rng = data()
    y = rng.poisson(np.exp(mean)) if loss != "gamma" else rng.gamma(2, np.exp(mean) / 2) + 1e-3
    theirs = theirs(alpha=0.1, tol=1e-10, max_iter=10_000).fit(X, y)
    ours = ElasticNetRegressor(loss, alpha=0.1, l1_ratio=0.0, tol=1e-12, power=1.3).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-3)


def test_a_quantile_and_an_absolute_error():
    X, mean, rng = data(rows=80, columns=4)
    y = mean + rng.normal(size=len(mean))
    theirs = QuantileRegressor(quantile=0.8, alpha=0.02).fit(X, y)
    ours = ElasticNetRegressor("quantile", quantile=0.8, alpha=0.02, l1_ratio=0.999, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-2)
    absolute = ElasticNetRegressor("absolute_error", alpha=0.02, tol=1e-6).fit(X, y)
    median = ElasticNetRegressor("quantile", quantile=0.5, alpha=0.01, tol=1e-6).fit(X, y)  # half the absolute error
    np.testing.assert_allclose(absolute.coef_, median.coef_, atol=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_those_of_logistic_regression(classes):
    X, mean, rng = data()
    y = np.array(["a", "b", "c"])[np.digitize(mean + rng.normal(size=len(mean)), [0.0, 1.0][: classes - 1])]
    theirs = LogisticRegression(C=1 / (0.02 * len(y)), tol=1e-10, max_iter=10_000).fit(X, y)
    ours = ElasticNetClassifier(alpha=0.02, l1_ratio=0.0, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    assert ours.classes_.tolist() == theirs.classes_.tolist() and ours.dual_gap_ <= 1e-12
    apart = ElasticNetClassifier(alpha=0.02, l1_ratio=0.0, multi_class="ovr", tol=1e-12).fit(X, y)
    first = LogisticRegression(C=1 / (0.02 * len(y)), tol=1e-10, max_iter=10_000).fit(X, y == apart.classes_[-1])
    np.testing.assert_allclose(apart.coef_[-1], first.coef_[0], atol=1e-4)


def test_a_hinge_loss_is_that_of_a_support_vector_machine():
    X, mean, rng = data(rows=100, columns=5)
    y = mean + 0.5 * rng.normal(size=len(mean)) > 0
    theirs = SVC(C=1 / (0.1 * len(y)), kernel="linear", tol=1e-8).fit(X, y)
    ours = ElasticNetClassifier("hinge", alpha=0.1, l1_ratio=0.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.dual_gap_ <= 1e-8


@pytest.mark.parametrize("multi_class", ["multinomial", "ovr"])
def test_bounds_and_factors_hold_for_every_class(multi_class):
    X, mean, rng = data()
    y = np.digitize(mean + rng.normal(size=len(mean)), [-0.5, 0.5])
    options = {"alpha": 0.01, "multi_class": multi_class, "tol": 1e-6}
    free = ElasticNetClassifier(**options).fit(X, y)
    lower, upper = np.full(12, -np.inf), np.full(12, 0.05)
    lower[0] = upper[0] = 0.0
    bounded = ElasticNetClassifier(**options, lower=lower, upper=upper).fit(X, y)
    assert bounded.coef_.max() <= 0.05 < free.coef_.max() and np.all(bounded.coef_[:, 0] == 0) and bounded.coef_.min() < 0
    assert np.all(ElasticNetClassifier(**options, positive=True, upper=0.1).fit(X, y).coef_ >= 0)
    factors = np.ones(12)
    factors[3] = 1e6
    assert np.all(ElasticNetClassifier(**options, penalty_factor=factors).fit(X, y).coef_[:, 3] == 0)


def test_a_warm_start_takes_fewer_steps_to_the_same_weights():
    X, mean, rng = data()
    for y, options in ((mean > 0, {}), (np.digitize(mean, [-0.5, 0.5]), {}), (np.digitize(mean, [-0.5, 0.5]), {"multi_class": "ovr"})):
        model = ElasticNetClassifier(alpha=0.01, tol=1e-10, warm_start=True, **options).fit(X, y)
        steps, coef = model.n_iter_, model.coef_.copy()
        model.fit(X, y)
        assert model.n_iter_ < steps
        np.testing.assert_allclose(model.coef_, coef, atol=1e-5)
    model.fit(X[:, :5], mean > 0)  # weights of other features are no start
    assert model.coef_.shape == (1, 5)


def test_offsets_are_routed_and_shift_scores():
    X, mean, rng = data()
    exposure = rng.uniform(0.5, 3, size=len(mean))
    counts = rng.poisson(exposure * np.exp(mean))
    with sklearn.config_context(enable_metadata_routing=True):
        model = ElasticNetRegressor("poisson", alpha=0.01).set_fit_request(offset=True, sample_weight=True)
        model.set_score_request(sample_weight=True, offset=True)
        found = cross_validate(model, X, counts, params={"offset": np.log(exposure)}, cv=3)
    assert len(found["test_score"]) == 3
    ours = ElasticNetRegressor("poisson", alpha=0.01, l1_ratio=0.0, tol=1e-12).fit(X, counts, offset=np.log(exposure))
    rates = PoissonRegressor(alpha=0.01 * len(counts) / exposure.sum(), tol=1e-10, max_iter=1000)
    rates.fit(X, counts / exposure, sample_weight=exposure)  # the same likelihood
    np.testing.assert_allclose(ours.coef_, rates.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.predict(X, offset=np.log(exposure)), exposure * ours.predict(X))
    y = mean > 0
    shifted = ElasticNetClassifier(alpha=0.01, tol=1e-10).fit(X, y, offset=mean)
    assert np.abs(shifted.coef_).sum() > 0 and shifted.predict_proba(X, offset=mean).shape == (300, 2)


def test_what_is_wrong_is_refused_with_its_value():
    X, mean, _ = data()
    for options, words in (
        ({"alpha": -1.0}, "alpha"),
        ({"l1_ratio": 2.0}, "l1_ratio"),
        ({"lower": 0.5}, "'lower' parameter of ElasticNetRegressor must be at most 0"),
        ({"upper": np.ones(3)}, "one number for each of 12 features"),
        ({"penalty_factor": -np.ones(12)}, "penalty_factor"),
        ({"loss": "hinge"}, "loss"),
        ({"loss": "tweedie", "power": 2.5}, "power"),
    ):
        with pytest.raises(ValueError, match=words):
            ElasticNetRegressor(**options).fit(X, mean)
    with pytest.raises(ValueError, match="gamma.*admit"):
        ElasticNetRegressor("gamma").fit(X, mean)


def test_a_gap_that_proves_less_than_the_tolerance_is_a_warning():
    X, mean, rng = data()
    y = rng.gamma(2, np.exp(mean) / 2) + 1e-3
    model = ElasticNetRegressor("gamma", alpha=0.01, penalty_factor=np.r_[0.0, np.ones(11)], tol=1e-6)
    with pytest.warns(ConvergenceWarning, match="dual_gap_ is"):
        model.fit(X, y)
    assert model.stop_reason_ == "predicted_decrease" and model.dual_gap_ > 1e-6
    model.set_params(penalty_factor=None).fit(X, y)
    assert model.stop_reason_ == "gap" and model.dual_gap_ <= 1e-6


def test_a_model_is_kept_in_pickles_and_files(tmp_path):
    X, mean, rng = data()
    y = np.abs(mean) + 0.1
    model = ElasticNetRegressor("tweedie", power=1.7, alpha=0.01).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X)) and again.dual_gap_ == model.dual_gap_
    model.save(tmp_path / "amounts.model")
    back = lazyglm.load(tmp_path / "amounts.model")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.loss == "tweedie" and back.power == 1.7


def test_searches_have_bounds_factors_and_deviances():
    X, mean, rng = data()
    y = rng.gamma(2, np.exp(mean) / 2) + 1e-3
    search = ElasticNetRegressorCV("gamma", alphas=5, cv=3, upper=0.2, penalty_factor=np.r_[0.01, np.ones(11)]).fit(X, y)
    assert search.coef_.max() <= 0.2 and search.coef_[0] != 0
    fold = next(iter(_splits(X, 3)))
    alone = ElasticNetRegressor("gamma", alpha=search.alphas_[2], upper=0.2, penalty_factor=np.r_[0.01, np.ones(11)], tol=1e-6)
    alone.fit(X[fold[0]], y[fold[0]])
    assert -search.scores_[0, 0, 2] == pytest.approx(mean_gamma_deviance(y[fold[1]], alone.predict(X[fold[1]])), rel=1e-3)
    search = ElasticNetRegressorCV("tweedie", power=1.4, alphas=[0.1, 0.01], cv=3).fit(X, y)
    alone = ElasticNetRegressor("tweedie", power=1.4, alpha=0.1, tol=1e-6).fit(X[fold[0]], y[fold[0]])
    deviance = mean_tweedie_deviance(y[fold[1]], alone.predict(X[fold[1]]), power=1.4)
    assert -search.scores_[0, 0, 0] == pytest.approx(deviance, rel=1e-3)
    assert np.all(ElasticNetClassifierCV(alphas=5, cv=3, positive=True).fit(X, mean > 0).coef_ >= 0)


def _splits(X, count):
    from sklearn.model_selection import KFold

    return KFold(count).split(X)


@pytest.mark.parametrize("estimator", [ElasticNetClassifier, lambda: AutoClassifier(random_state=1)])
def test_labels_are_an_indicator_matrix_or_sets(estimator):
    X, mean, rng = data()
    marks = np.column_stack([mean > 0, mean + rng.normal(size=len(mean)) > 0.5, X[:, 1] > 0]).astype(int)
    model = estimator().fit(X, marks)
    alone = ElasticNetClassifier().fit(X, marks[:, 1])
    if estimator is ElasticNetClassifier:
        np.testing.assert_allclose(model.coef_[1], alone.coef_[0], atol=1e-3)
    assert model.predict(X).shape == marks.shape and model.predict_proba(X).max() <= 1 and model.score(X, marks) > 0.5
    assert estimator().fit(X, marks.tolist()).coef_.shape == (3, 12)
    sets = [{name for name, mark in zip("abc", row, strict=True) if mark} for row in marks]
    named = estimator().fit(X, sets)
    assert named.classes_.tolist() == ["a", "b", "c"] and np.array_equal(named.coef_, model.coef_)
    assert named.predict(X)[:3] == [{"abc"[k] for k in np.flatnonzero(row)} for row in model.predict(X)[:3]]
    assert named.score(X, sets) == model.score(X, marks)
    with pytest.raises(ValueError, match="of no row, or of all rows"):
        estimator().fit(X, np.column_stack([marks, np.zeros(len(mean))]))
    with pytest.raises(ValueError, match="Unknown label type"):
        estimator().fit(X, 3 * marks)


def test_a_model_of_labels_goes_to_a_file_and_back(tmp_path):
    X, mean, rng = data()
    sets = [{"up"} | ({"right"} if x > 0 else set()) if m > 0 else set() for m, x in zip(mean, X[:, 1], strict=True)]
    model = ElasticNetClassifier().fit(X, sets)
    model.save(tmp_path / "labels.model")
    back = lazyglm.load(tmp_path / "labels.model")
    assert back.predict(X) == model.predict(X) and sorted(back.classes_) == ["right", "up"]
