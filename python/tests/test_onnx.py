"""ONNX: what was converted predicts as the estimator does."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skl2onnx import to_onnx

import lazyglm.onnx
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

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of the tools themselves
lazyglm.onnx.register()

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 6))
TWO = np.where(X[:, 0] - X[:, 1] + 0.3 * RNG.normal(size=120) > 0, "up", "down")
THREE = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=120), [-0.5, 0.5])
COUNTS = RNG.poisson(np.exp(X[:, 0] / 2))

CLASSIFIERS = [
    AutoClassifier(random_state=0),
    ElasticNetClassifier(alpha=0.01),
    ElasticNetClassifier(alpha=0.01, multi_class="ovr"),
    ElasticNetClassifier("hinge", alpha=0.01),
    ElasticNetClassifierCV(alphas=4, cv=2),
    SGDClassifier("log_loss", random_state=0),
    SGDClassifier("modified_huber", random_state=0),
    SGDClassifier(random_state=0),
]
REGRESSORS = [
    AutoRegressor("poisson", random_state=0),
    ElasticNetRegressor("poisson", alpha=0.01),
    ElasticNetRegressor("tweedie", alpha=0.01),
    ElasticNetRegressorCV(alphas=4, cv=2),
    SGDRegressor(random_state=0),
]


def run(model, rows, **options):
    """The outputs of the converted model."""
    session = onnxruntime.InferenceSession(to_onnx(model, rows[:1], **options).SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: rows})


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("y", [TWO, THREE, TWO == "up", 1.0 + (TWO == "up")], ids=["words", "three", "bool", "whole"])
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
def test_classes_and_probabilities_are_the_same(estimator, y, dtype, tolerance):
    rows = X.astype(dtype)
    model = estimator.fit(rows, y)
    labels, values = run(model, rows, options={"zipmap": False})
    assert labels.shape == (120,) and np.array_equal(labels, model.predict(rows))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(values, model.predict_proba(rows), atol=tolerance)
    else:
        scores = model.decision_function(rows)
        np.testing.assert_allclose(values, np.column_stack([-scores, scores]) if scores.ndim == 1 else scores, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("estimator", REGRESSORS, ids=repr)
def test_numbers_are_the_same(estimator):
    model = estimator.fit(X, COUNTS + 0.5)
    (found,) = run(model, X)
    np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=1e-12)
    (single,) = run(model, X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single.ravel(), model.predict(X), rtol=1e-5, atol=1e-5)


def test_raw_scores_can_be_asked_for():
    model = SGDClassifier("log_loss", random_state=0).fit(X, TWO)
    _, values = run(model, X, options={id(model): {"raw_scores": True, "zipmap": False}})
    np.testing.assert_allclose(values[:, 1], model.decision_function(X), rtol=1e-12)


def test_pipelines_are_converted():
    pipe = make_pipeline(StandardScaler(), ElasticNetClassifier(alpha=0.01)).fit(X, TWO)
    labels, values = run(pipe, X, options={"zipmap": False})
    assert np.array_equal(labels, pipe.predict(X))
    np.testing.assert_allclose(values, pipe.predict_proba(X), atol=1e-9)
    counts = RNG.poisson(1.0, size=(120, 6)).astype(np.float32)
    pipe = make_pipeline(TfidfTransformer(), SGDClassifier("log_loss", random_state=0)).fit(counts, counts[:, 0] > 0)
    labels, values = run(pipe, counts, options={"zipmap": False})
    assert np.array_equal(labels, pipe.predict(counts))
    np.testing.assert_allclose(values, pipe.predict_proba(counts), atol=1e-5)


def test_what_onnx_does_not_know_is_refused_with_a_way_out():
    frame = pd.DataFrame({"city": ["Rome", "Oslo"] * 30, "area": X[:60, 0]})
    of_frame = ElasticNetClassifier(alpha=0.01).fit(frame, TWO[:60])
    with pytest.raises(ValueError, match="put transformers of scikit-learn before it"):
        to_onnx(of_frame, X[:1, :2])
    labels = ElasticNetClassifier(alpha=0.01).fit(X, np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int))
    with pytest.raises(ValueError, match="MultiOutputClassifier"):
        to_onnx(labels, X[:1])
