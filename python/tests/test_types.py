"""Types as a user's type checker sees them."""

import subprocess
import sys

import pytest

RIGHT = """
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import lazyglm
from lazyglm import AutoClassifier, AutoRegressor, ElasticNetClassifier, ElasticNetClassifierCV, ElasticNetRegressorCV, SGDClassifier, SGDRegressor

X: NDArray[np.float64] = np.eye(4)
model = SGDClassifier("log_loss", alpha=0.1).fit(X, [0, 1, 0, 1])
assert_type(model, SGDClassifier)
assert_type(model.alpha, float)
assert_type(model.decision_function(X), NDArray[np.float64])
assert_type(model.predict_proba(X), NDArray[np.float64])
assert_type(model.score(X, [0, 1, 0, 1]), float)
assert_type(model.partial_fit(X, [0, 1, 0, 1]), SGDClassifier)
assert_type(model.set_params(alpha=1.0), SGDClassifier)
assert_type(AutoRegressor().fit(X, [0.0, 1.0, 2.0, 3.0]).predict(X), NDArray[np.float64])
assert_type(ElasticNetClassifierCV().fit(X, [0, 1, 0, 1]).n_splits_, int)
assert_type(lazyglm.load("m"), SGDClassifier | SGDRegressor)
assert_type(model.coef_, NDArray[np.floating[Any]])
assert_type(model.intercept_, NDArray[np.float64])
assert_type(model.classes_, NDArray[Any])
assert_type(model.dual_gap_, float | NDArray[np.float64] | None)
assert_type(model.loss_history_, NDArray[np.float64] | list[NDArray[np.float64]])
assert_type((model.n_iter_, model.t_, model.n_features_in_), tuple[int, float, int])
search = ElasticNetRegressorCV(l1_ratio=[0.5, 1.0], alphas=[1.0, 0.1], lower=0.0, upper=np.ones(4), scoring="r2").fit(X, [1.0, 2.0, 3.0, 4.0])
assert_type((search.coef_, search.alphas_, search.scores_), tuple[NDArray[np.floating[Any]], NDArray[np.float64], NDArray[np.float64]])
assert_type((search.alpha_, search.mse_path_, search.best_index_), tuple[float, NDArray[np.float64], int])
auto = AutoClassifier(exclude=["word"]).fit(["a word", "another word"], [0, 1], sample_weight=[1.0, 2.0])
assert_type((auto.classes_, auto.coef_, auto.search_), tuple[NDArray[Any], NDArray[np.floating[Any]], list[dict[str, Any]]])
assert_type(auto.dual_gap_, float | NDArray[np.float64] | None)
assert_type(AutoRegressor().limits_, tuple[float, float] | None)
assert_type(ElasticNetClassifier().fit(X, [{"a"}, {"b"}, {"a", "b"}, set()]), ElasticNetClassifier)
assert_type(SGDRegressor().fit(Path("data.csv"), target="y", offset=np.ones(4)), SGDRegressor)
assert_type(model.set_score_request(offset=True), SGDClassifier)
assert_type(model.get_feature_names_out(), NDArray[np.object_])
"""

#: Wrong lines of code, each with the error that mypy must report.
WRONG = {
    "SGDClassifier().alhpa": "attr-defined",
    "AutoRegressor().alpha": "attr-defined",
    "SGDClassifier(alhpa=1.0)": "call-arg",
    'SGDClassifier(alpha="strong")': "arg-type",
    "ElasticNetClassifierCV().fit([[1.0]], [1]).alphs_": "attr-defined",
    "lazyglm.laod": "attr-defined",
    "SGDClassifier().fit(object(), [0, 1])": "arg-type",
    "SGDRegressor().fit([[1.0]], [1.0], sample_weight=object())": "arg-type",
    "AutoRegressor(lower=object())": "arg-type",
    'SGDRegressor().score([[1.0]], [1.0], offset="x", weight=1)': "call-arg",
    "search.alphas_.keys()": "attr-defined",
    "model.coef_ = 1": "assignment",
}


@pytest.mark.slow
def test_a_script_of_a_user_is_checked_strictly(tmp_path):
    (tmp_path / "script.py").write_text(RIGHT + "".join(f"{line}\n" for line in WRONG))
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "script.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    first = RIGHT.count("\n") + 1
    found = [line.split(": error: ") for line in done.stdout.splitlines() if ": error: " in line]
    assert [int(place.split(":")[1]) for place, _ in found] == list(range(first, first + len(WRONG))), done.stdout
    for (_, text), code in zip(found, WRONG.values(), strict=True):
        assert f"[{code}]" in text, text
