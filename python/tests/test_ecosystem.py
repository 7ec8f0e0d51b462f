"""Other parts of scikit-learn take our estimators as their own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lazyglm import AutoClassifier, ElasticNetClassifier, ElasticNetClassifierCV, SGDClassifier, SGDRegressor

CLASSIFIERS = [
    AutoClassifier(random_state=0),
    ElasticNetClassifier(alpha=0.02),
    ElasticNetClassifierCV(alphas=4, cv=2),
    SGDClassifier("log_loss", penalty="l1", alpha=0.02, random_state=0),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 12)), columns=[f"f{j}" for j in range(12)])
    return X, (X["f0"] - X["f1"] + 0.3 * rng.normal(size=200) > 0).to_numpy()


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_features_are_selected_by_their_weights(data, estimator):
    X, y = data
    selector = SelectFromModel(estimator, threshold=1e-5 if estimator.__class__ is not AutoClassifier else "mean").fit(X, y)
    kept = list(selector.get_feature_names_out())
    assert {"f0", "f1"} <= set(kept) and len(kept) < 12
    assert list(selector.set_output(transform="pandas").transform(X).columns) == kept


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_are_calibrated(data, estimator, method):
    X, y = data
    model = CalibratedClassifierCV(estimator, method=method, cv=2).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_columns_are_transformed_before(data, output):
    X, y = data
    frame = X.assign(city=np.where(np.arange(200) % 2, "Rome", "Oslo"))
    encode = OneHotEncoder(sparse_output=False)
    columns = ColumnTransformer([("number", StandardScaler(), make_column_selector(dtype_include=float)), ("city", encode, ["city"])])
    model = make_pipeline(columns, ElasticNetClassifier(alpha=0.02)).set_output(transform=output).fit(frame, y)
    assert model.score(frame, y) > 0.85
    names = model[-1].get_feature_names_out()
    assert (names[0] == "number__f0") == (output == "pandas") and len(names) == 14


def test_words_of_a_vectorizer():
    texts, y = ["good nice", "bad awful", "nice", "awful"] * 20, [1, 0, 1, 0] * 20
    model = make_pipeline(TfidfVectorizer(), SGDClassifier("log_loss", random_state=0)).fit(texts, y)
    assert model.score(texts, y) == 1.0
    names = model[-1].get_feature_names_out(model[0].get_feature_names_out())
    assert set(names) == {"good", "nice", "bad", "awful"}


@pytest.mark.filterwarnings("ignore")  # of the tool itself
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_shap_explains_scores(data, estimator):
    """Σ φⱼ + E[s] = s, with φⱼ = wⱼ·(xⱼ − E[xⱼ])."""
    import shap

    X, y = data[0].to_numpy(), data[1]
    model = estimator.fit(X, y)
    explained = shap.LinearExplainer(model, shap.maskers.Independent(X, max_samples=len(X)))(X[:20])
    np.testing.assert_allclose(explained.values, np.ravel(model.coef_) * (X[:20] - X.mean(axis=0)), atol=1e-9)
    np.testing.assert_allclose(explained.values.sum(axis=1) + explained.base_values, model.decision_function(X[:20]), atol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_shap_explains_sparse_rows_and_numbers(data):
    import scipy.sparse as sp
    import shap

    X = sp.random(100, 30, density=0.2, random_state=0, format="csr")
    y = np.asarray(X[:, :3].sum(axis=1)).ravel()
    model = SGDRegressor(random_state=0, eta0=0.1).fit(X, y)
    explained = shap.LinearExplainer(model, X).shap_values(X[:10])
    expected = X[:10].toarray() * model.coef_ - np.asarray(X.mean(axis=0)).ravel() * model.coef_
    np.testing.assert_allclose(np.asarray(explained), expected, atol=1e-6)
