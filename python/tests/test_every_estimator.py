"""What scikit-learn's tools do with every estimator: pipelines, searches, weights by routing, copies and frames."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
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
)

ALL = [
    SGDClassifier("log_loss", random_state=0),
    SGDRegressor(random_state=0),
    ElasticNetClassifier(),
    ElasticNetRegressor(alpha=0.01),
    ElasticNetClassifierCV(alphas=[0.1, 0.01], cv=2),
    ElasticNetRegressorCV(alphas=[0.1, 0.01], cv=2),
    AutoClassifier(random_state=0),
    AutoRegressor(random_state=0),
]
every = pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)


def data(model, rows=120, columns=10):
    rng = np.random.default_rng(0)
    X = sp.random(rows, columns, density=0.5, random_state=0, format="csr")
    y = X @ rng.normal(size=columns) + 0.1 * rng.normal(size=rows)
    return X, np.where(y > 0, "up", "down") if is_classifier(model) else y, rng.uniform(0.2, 3, size=rows)


@every
def test_a_pipeline_is_its_steps(model):
    X, y, weights = data(model)
    pipe = make_pipeline(MaxAbsScaler(), clone(model)).fit(X, y)
    scaled = MaxAbsScaler().fit_transform(X)
    alone = clone(model).fit(scaled, y)
    np.testing.assert_array_equal(pipe.predict(X), alone.predict(scaled))
    assert pipe.score(X, y) == alone.score(scaled, y) > 0.7
    assert pipe[:-1].get_feature_names_out([f"f{j}" for j in range(10)]).shape == (10,)


@every
def test_searches_and_predictions_across_folds(model):
    X, y, _ = data(model)
    grid = GridSearchCV(model, {"fit_intercept": [True, False]}, cv=2, n_jobs=2).fit(X, y)
    assert grid.best_score_ > 0.5 and grid.best_estimator_.fit_intercept in (True, False)
    method = "predict_proba" if is_classifier(model) else "predict"
    found = cross_val_predict(model, X, y, cv=KFold(3), method=method)
    train, test = next(KFold(3).split(X))
    np.testing.assert_allclose(found[test], getattr(clone(model).fit(X[train], y[train]), method)(X[test]))


@every
def test_weights_are_routed_to_fit_and_score(model):
    X, y, weights = data(model)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(model).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_validate(make_pipeline(MaxAbsScaler(), asked), X, y, cv=KFold(2), params={"sample_weight": weights})["test_score"]
    for (train, test), score in zip(KFold(2).split(X), found, strict=True):
        scaler = MaxAbsScaler().fit(X[train])
        alone = clone(model).fit(scaler.transform(X[train]), y[train], sample_weight=weights[train])
        assert score == pytest.approx(alone.score(scaler.transform(X[test]), y[test], sample_weight=weights[test]))


@every
def test_a_row_of_weight_zero_is_as_if_absent(model):
    X, y, weights = data(model)
    weights[80:] = 0
    if isinstance(model, (ElasticNetClassifierCV, ElasticNetRegressorCV)):
        model = clone(model).set_params(cv=[(np.arange(40), np.arange(40, 80))])
    options = {"shuffle": False} if isinstance(model, (SGDClassifier, SGDRegressor)) else {}
    with_zeros = clone(model).set_params(**options).fit(X, y, sample_weight=weights)
    without = clone(model).set_params(**options).fit(X[:80], y[:80], sample_weight=weights[:80])
    near = 1e-9 if isinstance(model, (SGDClassifier, SGDRegressor)) else 2e-2
    if not isinstance(model, (AutoClassifier, AutoRegressor)):  # they hold out other rows
        np.testing.assert_allclose(with_zeros.coef_, without.coef_, rtol=near, atol=near)


@every
def test_copies_pickles_and_frames(model):
    X, y, _ = data(model)
    frame = pd.DataFrame(X.toarray(), columns=[f"f{j}" for j in range(10)])
    fitted = clone(model).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == list(frame) and fitted.n_features_in_ == 10
    back = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(back.predict(frame), fitted.predict(frame))
    assert back.get_params().keys() == model.get_params().keys() and not hasattr(clone(fitted), "coef_")
    with pytest.raises(ValueError, match="(?i)feature names|columns"):
        fitted.predict(frame[frame.columns[::-1]].rename(columns={"f0": "other"}))
    chosen = SelectFromModel(clone(model), max_features=3, threshold=-np.inf).fit(frame, y)
    assert chosen.get_feature_names_out().shape == (3,)
