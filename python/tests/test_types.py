"""Types as a user's type checker sees them."""

import subprocess
import sys

import pytest

RIGHT = """
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import lazyglm
from lazyglm import AutoRegressor, ElasticNetClassifierCV, SGDClassifier, SGDRegressor

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
"""

#: Wrong lines of code, each with the error that mypy must report.
WRONG = {
    "SGDClassifier().alhpa": "attr-defined",
    "AutoRegressor().alpha": "attr-defined",
    "SGDClassifier(alhpa=1.0)": "call-arg",
    'SGDClassifier(alpha="strong")': "arg-type",
    "ElasticNetClassifierCV().fit([[1.0]], [1]).alphs_": "attr-defined",
    "lazyglm.laod": "attr-defined",
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
