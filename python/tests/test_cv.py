"""The estimators that search penalties: a lane is the model it would be alone, and the rest is scikit-learn's."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import lazyglm
from lazyglm import ElasticNetClassifierCV, ElasticNetRegressorCV, SGDClassifier, SGDRegressor

# What SGDClassifier does not pass either: stochastic steps on a row of weight two are not two steps.
NOT_EQUIVALENT = "a row of weight two is one step, not two"
EXPECTED = {f"check_sample_weight_equivalence_on_{kind}_data": NOT_EQUIVALENT for kind in ("dense", "sparse")}


def data(rows=150, columns=12, classes=2):
    rng = np.random.default_rng(0)
    X = sp.random(rows, columns, density=0.4, random_state=0, format="csr")
    scores = X @ rng.normal(size=(columns, classes)) + 0.1 * rng.normal(size=(rows, classes))
    return X, scores.argmax(axis=1), scores[:, 0]


@pytest.mark.filterwarnings("ignore")  # the checks look at warnings themselves
@pytest.mark.parametrize("estimator", [ElasticNetClassifierCV, ElasticNetRegressorCV])
def test_every_check_of_scikit_learn_passes(estimator):
    results = estimator_checks.check_estimator(estimator(), expected_failed_checks=EXPECTED, on_skip=None, on_fail=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed == {} and len(results) > 40


@pytest.mark.parametrize("classes", [2, 3])
def test_a_lane_is_the_model_it_would_be_alone(classes):
    X, y, _ = data(classes=classes)
    alphas, cv = [0.1, 0.01, 0.001], StratifiedKFold(3)
    options = dict(loss="log_loss", max_iter=4, shuffle=False, fit_intercept=True)
    search = ElasticNetClassifierCV(**options, l1_ratio=[0.2, 0.9], alphas=alphas, cv=cv, schedule="constant", eta0=0.1).fit(X, y)
    assert len(search.cv_results_["params"]) == 6
    for k, params in enumerate(search.cv_results_["params"]):
        alone = SGDClassifier(**options, penalty="elasticnet", learning_rate="constant", eta0=0.1, tol=None, **params)
        for fold, (train, test) in enumerate(cv.split(X, y)):
            alone.fit(X[train], y[train])
            scores = alone.decision_function(X[test]).reshape(len(test), -1)
            signs = np.where(y[test] == 1, 1, -1)[:, None] if classes == 2 else np.where(y[test][:, None] == np.arange(3), 1, -1)
            loss = np.logaddexp(0, -signs * scores).sum(axis=1).mean()
            np.testing.assert_allclose(search.cv_results_[f"split{fold}_test_score"][k], -loss, rtol=1e-12)
    chosen = {"alpha": search.alpha_, "l1_ratio": search.l1_ratio_}
    alone = SGDClassifier(**options, penalty="elasticnet", learning_rate="constant", eta0=0.1, tol=None, **chosen).fit(X, y)
    assert np.array_equal(search.coef_, alone.coef_) and np.array_equal(search.intercept_, alone.intercept_)
    assert np.array_equal(search.predict(X), alone.predict(X))
    assert np.array_equal(search.predict_proba(X), alone.predict_proba(X))
    of_path = search.path_coef_ if classes == 2 else search.path_coef_[0]
    k = list(search.path_alphas_).index(search.alpha_)
    assert np.array_equal(of_path[k].toarray()[0], alone.coef_[0])


def test_both_rules_choose_what_they_say():
    X, _, y = data()
    search = ElasticNetRegressorCV(l1_ratio=1.0, alphas=30, cv=KFold(5), random_state=0).fit(X, y)
    found = search.cv_results_
    loss, se = -found["mean_test_score"], found["se_test_score"]
    splits = np.array([found[f"split{k}_test_score"] for k in range(5)])
    np.testing.assert_allclose(splits.mean(axis=0), found["mean_test_score"], rtol=1e-12)
    np.testing.assert_allclose(splits.std(axis=0, ddof=1) / np.sqrt(5), se, rtol=1e-9)
    best = loss.argmin()
    assert search.best_index_ == best and found["rank_test_score"][best] == 1 and search.alpha_ == found["param_alpha"][best]
    within = np.flatnonzero(loss <= loss[best] + se[best])
    assert search.one_se_index_ == within[np.argmax(found["param_alpha"][within])]
    strong = clone(search).set_params(choose="one_se").fit(X, y)
    assert strong.alpha_ == found["param_alpha"][search.one_se_index_] > search.alpha_
    size = abs(search.path_coef_).sum(axis=1).A1
    assert size[0] < 0.1 * size[-1], "the largest alpha leaves next to nothing"
    assert search.alphas_.shape == (30,) and np.all(np.diff(search.alphas_) < 0)


def test_the_minimum_is_found_with_a_solver_that_finds_it():
    X, y, _ = data()
    search = ElasticNetClassifierCV(l1_ratio=0.0, alphas=[0.1, 0.01], solver="newton", tol=1e-9, random_state=0).fit(X, y)
    assert search.dual_gap_ < 1e-9
    theirs = LogisticRegression(C=1 / (search.alpha_ * X.shape[0]), tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(search.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)


def test_weights_folds_and_copies():
    X, y, _ = data()
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    kept = weights > 0
    folds = np.arange(len(y)) % 4
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(4)]
    fewer = [(np.flatnonzero(folds[kept] != k), np.flatnonzero(folds[kept] == k)) for k in range(4)]
    options = dict(alphas=4, random_state=0, max_iter=3)
    one = ElasticNetClassifierCV(cv=splits, **options).fit(X, y, sample_weight=weights)
    other = ElasticNetClassifierCV(cv=fewer, **options).fit(X[kept], y[kept])
    assert np.array_equal(one.coef_, other.coef_) and one.alpha_ == other.alpha_
    back = pickle.loads(pickle.dumps(one))
    assert np.array_equal(back.coef_, one.coef_) and np.array_equal(back.predict(X), one.predict(X))
    pipe = make_pipeline(StandardScaler(with_mean=False), ElasticNetClassifierCV(**options)).fit(X, y)
    assert pipe.score(X, y) > 0.8
    halved = ElasticNetClassifierCV(halving=True, cv=splits, **options).fit(X, y)
    assert halved.score(X, y) > 0.8
    balanced = ElasticNetClassifierCV(class_weight="balanced", **options).fit(X, y)
    assert not np.array_equal(balanced.coef_, ElasticNetClassifierCV(**options).fit(X, y).coef_)


def test_what_is_refused():
    X, y, _ = data()
    with pytest.raises(ValueError, match="hold out each row once"):
        ElasticNetClassifierCV(cv=ShuffleSplit(3)).fit(X, y)
    wrong = [("l1_ratio", 2), ("l1_ratio", []), ("alphas", 0), ("alphas", [-1.0]), ("choose", "worst"), ("eps", 0), ("loss", "ridge")]
    wrong += [("solver", "best"), ("schedule", "never"), ("max_iter", 0), ("eta0", -1.0), ("halving", 1)]
    for name, value in wrong:
        for estimator in (ElasticNetClassifierCV, ElasticNetRegressorCV):
            with pytest.raises(ValueError, match=name):
                estimator(**{name: value}).fit(X, y)


def test_files_and_pictures(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    (tmp_path / "people.csv").write_text("age,city,target\n" + "20,Oslo,yes\n30,Rome,no\n40,Oslo,yes\n25,Rome,no\n" * 10)
    search = ElasticNetClassifierCV(alphas=3, random_state=0).fit(tmp_path / "people.csv")
    search.save(tmp_path / "model")
    back = lazyglm.load(tmp_path / "model")
    scores = search.decision_function(tmp_path / "people.csv")
    assert np.array_equal(back.decision_function(tmp_path / "people.csv"), scores) and len(scores) == 41 - 1
    X, y, numbers = data(classes=3)
    search = ElasticNetRegressorCV(alphas=5, l1_ratio=[0.5, 1.0], random_state=0).fit(X, numbers)
    assert len(search.plot_path(top=4).lines) == 4 + 2
    assert len(search.plot_cv().get_legend().get_texts()) == 2
    many = ElasticNetClassifierCV(alphas=5, random_state=0).fit(X, y)
    assert many.plot_path(model=2).get_xscale() == "log"
    assert SGDRegressor().fit(X, numbers).dual_gap_ is None
