"""The estimators that search penalties: every model is the one it would be alone, and the rest is scikit-learn's."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNetCV, LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss, make_scorer, max_error, mean_poisson_deviance, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import lazyglm
from lazyglm import ElasticNetClassifier, ElasticNetClassifierCV, ElasticNetRegressorCV, SGDClassifier, SGDRegressor

EXPECTED = {f"check_sample_weight_equivalence_on_{kind}_data": "asks for more digits than tol" for kind in ("dense", "sparse")}


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
    exact = estimator(alphas=[0.1, 0.01], tol=1e-14)
    estimator_checks.check_sample_weight_equivalence_on_dense_data(estimator.__name__, exact)
    estimator_checks.check_sample_weight_equivalence_on_sparse_data(estimator.__name__, exact)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_lane_is_the_model_it_would_be_alone(classes):
    X, y, _ = data(classes=classes)
    alphas, cv = [0.1, 0.01, 0.001], StratifiedKFold(3)
    options = dict(loss="log_loss", max_iter=4, shuffle=False, fit_intercept=True)
    single = dict(penalty="elasticnet", learning_rate="constant", eta0=0.1, tol=None, intercept_rate=1)
    lanes = dict(solver="sgd", schedule="constant", eta0=0.1)
    search = ElasticNetClassifierCV(**options, **lanes, l1_ratio=[0.2, 0.9], alphas=alphas, cv=cv).fit(X, y)
    assert len(search.cv_results_["params"]) == 6
    for k, params in enumerate(search.cv_results_["params"]):
        alone = SGDClassifier(**options, **single, **params)
        for fold, (train, test) in enumerate(cv.split(X, y)):
            alone.fit(X[train], y[train])
            scores = alone.decision_function(X[test]).reshape(len(test), -1)
            signs = np.where(y[test] == 1, 1, -1)[:, None] if classes == 2 else np.where(y[test][:, None] == np.arange(3), 1, -1)
            loss = np.logaddexp(0, -signs * scores).sum(axis=1).mean()
            np.testing.assert_allclose(search.cv_results_[f"split{fold}_test_score"][k], -loss, rtol=1e-12)
    chosen = {"alpha": search.alpha_, "l1_ratio": search.l1_ratio_}
    alone = SGDClassifier(**options, **single, **chosen).fit(X, y)
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
    assert np.array_equal(np.isnan(loss), found["dropped"] == "ended") and not np.isnan(loss[:10]).any()
    splits = np.array([found[f"split{k}_test_score"] for k in range(5)])
    np.testing.assert_allclose(splits.mean(axis=0), found["mean_test_score"], rtol=1e-12)
    np.testing.assert_allclose(splits.std(axis=0, ddof=1) / np.sqrt(5), se, rtol=1e-9)
    best = np.nanargmin(loss)
    assert search.best_index_ == best and found["rank_test_score"][best] == 1 and search.alpha_ == found["param_alpha"][best]
    within = np.flatnonzero(loss <= loss[best] + se[best])
    assert search.one_se_index_ == within[np.argmax(found["param_alpha"][within])]
    strong = clone(search).set_params(choose="one_se").fit(X, y)
    assert strong.alpha_ == found["param_alpha"][search.one_se_index_] > search.alpha_
    size = abs(search.path_coef_).sum(axis=1).A1
    assert size[0] < 0.1 * size[-1], "the largest alpha leaves next to nothing"
    assert search.path_alphas_[-1] == search.alphas_[search.path_coef_.shape[0] - 1]
    assert search.alphas_.shape == (30,) and np.all(np.diff(search.alphas_) < 0)


def test_the_minimum_is_found_with_a_solver_that_finds_it():
    X, y, _ = data()
    search = ElasticNetClassifierCV(l1_ratio=0.0, alphas=[0.1, 0.01], tol=1e-9).fit(X, y)
    assert search.dual_gap_ < 1e-9 and search.n_iter_ > 0
    theirs = LogisticRegression(C=1 / (search.alpha_ * X.shape[0]), tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(search.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)


def test_weights_folds_and_copies():
    X, y, _ = data()
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    kept = weights > 0
    folds = np.arange(len(y)) % 4
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(4)]
    fewer = [(np.flatnonzero(folds[kept] != k), np.flatnonzero(folds[kept] == k)) for k in range(4)]
    options = dict(alphas=4, random_state=0)
    one = ElasticNetClassifierCV(cv=splits, **options).fit(X, y, sample_weight=weights)
    other = ElasticNetClassifierCV(cv=fewer, **options).fit(X[kept], y[kept])
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
    assert one.alpha_ == pytest.approx(other.alpha_)
    back = pickle.loads(pickle.dumps(one))
    assert np.array_equal(back.coef_, one.coef_) and np.array_equal(back.predict(X), one.predict(X))
    pipe = make_pipeline(StandardScaler(with_mean=False), ElasticNetClassifierCV(**options)).fit(X, y)
    assert pipe.score(X, y) > 0.8
    halved = ElasticNetClassifierCV(solver="sgd", halving=True, cv=splits, max_iter=3, **options).fit(X, y)
    assert halved.score(X, y) > 0.8 and halved.eta0_ > 0
    both = [ElasticNetClassifierCV(solver="sgd", halving=halving, cv=splits, **options).fit(X, y) for halving in (True, False)]
    assert both[0].best_score_ >= both[1].best_score_ - 1e-9, "dropping hopeless penalties loses nothing"
    assert "hopeless" in both[0].cv_results_["dropped"]
    balanced = ElasticNetClassifierCV(class_weight="balanced", **options).fit(X, y)
    assert not np.array_equal(balanced.coef_, ElasticNetClassifierCV(**options).fit(X, y).coef_)


def test_what_is_refused():
    X, y, _ = data()
    with pytest.raises(ValueError, match="for solver='newton'"):
        ElasticNetClassifierCV(solver="sgd", scoring="roc_auc").fit(X, y)
    with pytest.raises(ValueError, match="a split in which no row"):
        ElasticNetClassifierCV(cv=[(np.arange(100), np.arange(0))]).fit(X, y)
    with pytest.raises(ValueError, match="more than 1 features; begin with a larger alpha"):
        ElasticNetClassifierCV(alphas=[1e-4], max_features=1).fit(X, y)
    with pytest.raises(ValueError, match="multi_class"):
        ElasticNetClassifierCV(multi_class="softmax").fit(X, y)
    wrong = [("l1_ratio", 2), ("l1_ratio", []), ("alphas", 0), ("alphas", [-1.0]), ("choose", "worst"), ("eps", 0), ("loss", "ridge")]
    for estimator in (ElasticNetClassifierCV, ElasticNetRegressorCV):
        with pytest.raises(ValueError, match="schedule"):
            estimator(solver="sgd", schedule="never").fit(X, y)
    wrong += [("solver", "ftrl"), ("max_iter", 0), ("eta0", -1.0), ("halving", 1)]
    wrong += [("scoring", 3), ("scoring", "best"), ("max_features", 0), ("tol", -1)]
    for name, value in wrong:
        for estimator in (ElasticNetClassifierCV, ElasticNetRegressorCV):
            with pytest.raises(ValueError, match=name):
                estimator(**{name: value}).fit(X, y)


def test_files_and_pictures(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    (tmp_path / "people.csv").write_text("age,city,target\n" + "20,Oslo,yes\n30,Rome,no\n40,Oslo,yes\n25,Rome,no\n" * 10)
    search = ElasticNetClassifierCV(alphas=3).fit(tmp_path / "people.csv")
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


def test_the_path_is_that_of_scikit_learns_elastic_net():
    X, _, y = data()
    y = y + 0.3 * np.random.default_rng(1).normal(size=len(y))
    options = dict(l1_ratio=[0.3, 1.0], alphas=np.geomspace(0.05, 1e-3, 6), cv=KFold(4))
    ours = ElasticNetRegressorCV(**options, tol=1e-9).fit(X.toarray(), y)
    theirs = ElasticNetCV(**options, tol=1e-9, max_iter=100_000).fit(X.toarray(), y)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
    assert ours.alpha_ == theirs.alpha_ and ours.l1_ratio_ == theirs.l1_ratio_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    weights = np.random.default_rng(2).uniform(0.5, 2, size=len(y))
    ours.fit(X.toarray(), y, sample_weight=weights)
    theirs.fit(X.toarray(), y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_path_is_that_of_scikit_learns_logistic_regression(classes):
    X, y, _ = data(classes=classes)
    alphas, folds = np.geomspace(0.1, 1e-3, 4), StratifiedKFold(5)
    for scoring in (None, "neg_log_loss", "accuracy"):
        ours = ElasticNetClassifierCV(l1_ratio=0.0, alphas=alphas, cv=folds, scoring=scoring, tol=1e-9).fit(X, y)
        scores = []
        for train, test in folds.split(X, y):
            each = [LogisticRegression(C=1 / (alpha * len(train)), tol=1e-9, max_iter=9999).fit(X[train], y[train]) for alpha in alphas]
            if scoring == "accuracy":
                scores.append([model.score(X[test], y[test]) for model in each])
            else:
                scores.append([-log_loss(y[test], model.predict_proba(X[test])) for model in each])
        np.testing.assert_allclose(ours.scores_[:, 0], scores, rtol=1e-4)
        assert ours.alpha_ == alphas[np.mean(scores, axis=0).argmax()]
    final = LogisticRegression(C=1 / (ours.alpha_ * len(y)), tol=1e-9, max_iter=9999).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), final.predict_proba(X), atol=1e-4)
    assert ours.dual_gap_ < 1e-8 and ours.coef_.shape == final.coef_.shape


def test_classes_apart_are_scored_by_their_probabilities():
    X, y, _ = data(classes=3)
    options = dict(alphas=[1e-2, 1e-3], cv=KFold(3))
    search = ElasticNetClassifierCV(multi_class="ovr", **options).fit(X, y)
    train, test = next(KFold(3).split(X))
    alone = ElasticNetClassifierCV(multi_class="ovr", alphas=[1e-2], cv=2).fit(X[train], y[train])
    assert search.scores_[0, 0, 0] == pytest.approx(-log_loss(y[test], alone.predict_proba(X[test])), rel=1e-3)
    together = ElasticNetClassifierCV(**options).fit(X, y)
    assert not np.allclose(together.coef_, search.coef_)
    with pytest.raises(ValueError, match="one model per class"):
        together.best_estimator_.duality_gap(X, y)


def test_any_splitter_groups_and_scorers():
    X, y, numbers = data()
    weights, groups = np.random.default_rng(0).uniform(0.5, 2, size=len(y)), np.arange(len(y)) % 7
    shuffled = ShuffleSplit(4, random_state=0)
    search = ElasticNetClassifierCV(cv=shuffled, scoring="roc_auc", alphas=4).fit(X, y, sample_weight=weights)
    train, test = next(shuffled.split(X))
    one = ElasticNetClassifierCV(alphas=[search.alpha_], cv=2, tol=1e-8).fit(X[train], y[train], sample_weight=weights[train])
    auc = roc_auc_score(y[test], one.decision_function(X[test]), sample_weight=weights[test])
    assert search.scores_.shape == (4, 1, 4) and search.n_splits_ == 4
    assert search.cv_results_["split0_test_score"][search.best_index_] == pytest.approx(auc, abs=0.01)
    by_group = ElasticNetRegressorCV(cv=GroupKFold(3), alphas=4).fit(X, numbers, groups=groups)
    given = ElasticNetRegressorCV(cv=list(GroupKFold(3).split(X, numbers, groups)), alphas=4).fit(X, numbers)
    assert np.array_equal(by_group.scores_, given.scores_)
    worst = ElasticNetRegressorCV(scoring=make_scorer(max_error, greater_is_better=False), alphas=4)
    worst.fit(X, numbers, sample_weight=weights)  # max_error takes no weights
    assert worst.best_score_ < 0
    own = ElasticNetRegressorCV(scoring=lambda model, X, y: -abs(model.predict(X) - y).max(), alphas=4).fit(X, numbers, weights)
    np.testing.assert_allclose(own.scores_, worst.scores_)


def test_counts_are_scored_by_their_deviance():
    X, _, numbers = data()
    y = np.random.default_rng(0).poisson(np.exp(numbers))
    weights = np.random.default_rng(1).uniform(0.5, 2, size=len(y))
    options = dict(alphas=[1e-2], tol=1e-9)
    search = ElasticNetRegressorCV("poisson", cv=KFold(3), **options).fit(X, y, sample_weight=weights)
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        alone = ElasticNetRegressorCV("poisson", cv=2, **options).fit(X[train], y[train], sample_weight=weights[train])
        deviance = mean_poisson_deviance(y[test], alone.predict(X[test]), sample_weight=weights[test])
        assert -search.scores_[fold, 0, 0] == pytest.approx(deviance, rel=1e-5)


def test_no_more_features_than_asked_for():
    X, y, numbers = data(classes=3)
    for most in (1, 4):
        search = ElasticNetClassifierCV(max_features=most, l1_ratio=[0.5, 1.0], alphas=200).fit(X, y)
        assert 0 < np.count_nonzero(abs(search.coef_).max(axis=0)) <= most
    assert np.count_nonzero(ElasticNetRegressorCV(max_features=3, alphas=200).fit(X, numbers).coef_) == 3


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_losses_with_kinks_have_a_certificate(loss):
    X, y, numbers = data()
    search = ElasticNetClassifierCV(loss, alphas=6) if loss == "hinge" else ElasticNetRegressorCV(loss, alphas=6)
    search.fit(X, y if loss == "hinge" else numbers)
    assert search.dual_gap_ < 1e-3 and search.best_score_ < 0


def test_sgd_searches_with_a_rate_for_the_middle_of_the_grid():
    X, y, _ = data(rows=400)
    lanes = ElasticNetClassifierCV(solver="sgd", random_state=0).fit(X, y)
    exact = ElasticNetClassifierCV().fit(X, y)
    assert lanes.best_score_ > 1.5 * exact.best_score_, "scores are negative"
    assert lanes.dual_gap_ is not None or lanes.eta0_ > 0


def test_frames_are_predicted_without_a_warning():
    frame = pytest.importorskip("pandas").DataFrame(data()[0].toarray(), columns=[f"x{j}" for j in range(12)])
    search = ElasticNetClassifierCV(alphas=3, cv=3, scoring="accuracy").fit(frame, data()[1])
    assert search.predict(frame).shape == (150,) and list(search.feature_names_in_) == list(frame.columns)


@pytest.mark.filterwarnings("ignore:The solver stopped because")  # a loose bound, of l1 alone
def test_as_good_as_logistic_regression_cv_on_rare_features():
    rng = np.random.default_rng(3)
    X = sp.random(1500, 500, density=0.03, random_state=3, format="csr")
    y = X @ (rng.normal(size=500) * (rng.uniform(size=500) < 0.2)) + 0.1 * rng.normal(size=1500) > 0
    train, test = slice(0, 1000), slice(1000, 1500)
    ours = ElasticNetClassifierCV(l1_ratio=[0.0, 1.0]).fit(X[train], y[train])
    theirs = LogisticRegressionCV(l1_ratios=(0.0,), use_legacy_attributes=False, scoring="neg_log_loss", cv=5).fit(X[train], y[train])
    losses = [log_loss(y[test], model.predict_proba(X[test])) for model in (ours, theirs)]
    assert losses[0] < losses[1] + 0.005 < 0.6, losses


def test_the_model_that_is_kept_is_certified_where_the_solves_of_its_path_end_by_an_estimate():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        search = ElasticNetClassifierCV(l1_ratio=1.0, random_state=0).fit(X, y)
    assert search.dual_gap_ <= 1e-4
    alone = ElasticNetClassifier(alpha=search.alpha_, l1_ratio=1.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(search.coef_, alone.coef_, atol=5e-3 * np.abs(alone.coef_).max())
