"""Another thread writes to X while a call reads it: an error or a model, never a crash of the process."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading, time, warnings
import numpy as np
import scipy.sparse as sp
from lazyglm import ElasticNetClassifierCV, SGDClassifier, SGDRegressor
from lazyglm import _core

warnings.simplefilter("ignore")
wide = sys.argv[1] == "wide"
rows, columns = 4000, 500
X = sp.random(rows, columns, 0.03, format="csr", random_state=1)
X.sort_indices()
if wide:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
y = np.arange(rows) % 2
fitted = SGDClassifier(max_iter=2, tol=None).fit(X.copy(), y)
several = SGDClassifier(max_iter=2, tol=None).fit(X.copy(), np.arange(rows) % 4)
shard = (X.indptr.view(np.uint64) if wide else X.indptr.astype(np.uint64), X.indices.view(np.uint32), X.data, columns)
ways = {
    "fit": lambda: SGDClassifier(max_iter=40, tol=None, penalty="elasticnet").fit(X, y),
    "average": lambda: SGDClassifier(max_iter=3, tol=None, average=True).fit(X, y),
    "early_stopping": lambda: SGDClassifier(max_iter=20, early_stopping=True).fit(X, y),
    "pa1": lambda: SGDClassifier(max_iter=20, tol=None, learning_rate="pa1", eta0=1.0, penalty=None).fit(X, y),
    "classes": lambda: SGDClassifier(max_iter=10, tol=None, n_jobs=2).fit(X, np.arange(rows) % 4),
    "partial_fit": lambda: SGDClassifier().partial_fit(X, y, classes=[0, 1]),
    "regressor": lambda: SGDRegressor(max_iter=40, tol=None).fit(X, y),
    "newton": lambda: SGDClassifier(solver="newton").fit(X, y),
    "cv": lambda: ElasticNetClassifierCV(cv=2).fit(X, y),
    "predict": lambda: fitted.decision_function(X),
    "predict_classes": lambda: several.decision_function(X),
    "shard": lambda: _core.loss_gradient((shard, y * 2.0 - 1.0, None), "logistic", (np.zeros(columns), 0.0)),
}
ends, over = {"model": 0}, threading.Event()
first = X.indices.copy(), X.indptr.copy(), X.data.copy()


def write():
    turn = 0
    while not over.is_set():
        turn += 1
        X.indices[::7] = 2**31 - 1 - 12345 * (turn % 3)
        X.indptr[1:-1:11] = 2**31 - 1 if turn % 2 else 0
        X.data[::5] = np.nan
        time.sleep(0.0003)
        X.indices[:], X.indptr[:], X.data[:] = first
        time.sleep(0.001)


writer = threading.Thread(target=write)
writer.start()
try:
    for way, call in ways.items():
        print(way, end=": ", flush=True)  # the last one printed is the one that crashed
        end = time.monotonic() + 0.25
        while time.monotonic() < end:
            try:
                call()
                ends["model"] += 1
            except ValueError as error:
                ends[str(error)] = ends.get(str(error), 0) + 1
finally:
    over.set()
    writer.join()
print(ends)
"""


@pytest.mark.parametrize("width", ["narrow", pytest.param("wide", marks=pytest.mark.slow)])
def test_writing_to_x_meanwhile_ends_in_an_error_or_a_model(width: str) -> None:
    # In a process of its own: what must not happen would end this one.
    run = subprocess.run([sys.executable, "-c", PROGRAM, width], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, (run.returncode, run.stdout, run.stderr[-2000:])
    assert "indices changed while it was read" in run.stdout, "the writer was never noticed, so this tested nothing"
