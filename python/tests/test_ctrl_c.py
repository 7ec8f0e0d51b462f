"""Ctrl-C ends every call that may take long, within half a second, and keeps what may be kept."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")
#: Seconds from Ctrl-C to the exception, on a machine that has nothing else to do.
WANTED = 0.5

BEGIN = """
import signal; signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored under a shell that runs it in the background
import numpy as np, scipy.sparse as sp, sys, warnings
warnings.simplefilter("ignore")
from lazyglm import *
X = sp.random({rows}, 1_000, density=0.05, random_state=0, format="csr")
scores = X @ np.random.default_rng(0).normal(size=1_000) + 0.3 * np.random.default_rng(1).normal(size={rows})
"""

KEPT = (
    BEGIN
    + """
y = np.digitize(scores, np.quantile(scores, np.arange(1, {classes}) / {classes})) if {classes} else scores
model = {model}
print("ready", flush=True)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print("ended", flush=True)
    assert model.t_ > 1 and model.stop_reason_ == "interrupted" and np.all(np.abs(np.atleast_2d(model.coef_)).max(axis=1) > 0)
    assert model.predict(X).shape == ({rows},)
    before = model.t_
    model.partial_fit(X, y)
    assert model.t_ == before + {rows} and ({classes} == 0 or list(model.classes_) == list(range({classes})))
    model.set_params(max_iter=2, warm_start=True).fit(X, y)
    print("interrupted", flush=True)
"""
)

LEFT = (
    BEGIN
    + """
y = np.digitize(scores, np.quantile(scores, np.arange(1, {classes}) / {classes})) if {classes} else scores
model = {model}
print("ready", flush=True)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print("ended", flush=True)
    assert not hasattr(model, "coef_")
    model.set_params(**{quick}).fit(X[:300], y[:300])
    print("interrupted", flush=True)
"""
)


def seconds_to_end(code):
    """Runs code that says when it is ready, and interrupts it: the seconds until it says that it has ended."""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.25)  # a search without tuning takes half a second
            child.send_signal(signal.SIGINT)
            started = time.monotonic()
            assert child.stdout.readline() == "ended\n"
            seconds = time.monotonic() - started
            assert child.stdout.readline() == "interrupted\n" and child.wait(timeout=60) == 0
            return seconds
        finally:
            child.kill()


def check(code):
    """Ctrl-C ends the code in time; on a machine with more work than cores, in as much more time."""
    found = []
    for _ in range(3):
        found.append(seconds_to_end(code) / max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))
        if found[-1] < WANTED:
            return
    raise AssertionError(f"{found} s, at the speed of a machine that is idle")


ENDLESS = "max_iter=10**6, tol=None, random_state=0"


@pytest.mark.parametrize(
    "classes, model",
    [
        (2, f"SGDClassifier({ENDLESS})"),
        pytest.param(3, f"SGDClassifier({ENDLESS})", marks=pytest.mark.slow),
        pytest.param(3, f"SGDClassifier({ENDLESS}, n_jobs=2)", marks=pytest.mark.slow),
        pytest.param(2, f"SGDClassifier('log_loss', penalty='l1', average=True, {ENDLESS})", marks=pytest.mark.slow),
        (0, f"SGDRegressor({ENDLESS})"),
        pytest.param(0, f"SGDRegressor('huber', penalty='l1', alpha=1e-4, {ENDLESS})", marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_stops_steps_and_keeps_what_was_learnt(classes, model):
    check(KEPT.format(classes=classes, model=model, rows=20_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "classes, model, quick",
    [
        (2, f"SGDClassifier('log_loss', solver='adagrad', {ENDLESS})", "max_iter=2"),
        (2, f"SGDClassifier('log_loss', solver='ftrl', {ENDLESS})", "max_iter=2"),
        (3, f"SGDClassifier('log_loss', multi_class='multinomial', {ENDLESS})", "max_iter=2"),
        (0, f"SGDRegressor(solver='adagrad', {ENDLESS})", "max_iter=2"),
        (0, "SGDRegressor('quantile', solver='newton', alpha=1e-5, tol=1e-12)", "alpha=1.0, tol=1e-2"),
        (2, "ElasticNetClassifier('hinge', alpha=1e-6, tol=1e-12)", "alpha=1.0, tol=1e-2"),
        (20, "ElasticNetClassifier(alpha=1e-6, tol=1e-12)", "alpha=1.0, tol=1e-2"),
        (0, "ElasticNetRegressor('absolute_error', alpha=1e-5, tol=1e-12)", "alpha=1.0, tol=1e-2"),
        (2, "ElasticNetClassifierCV(solver='sgd', max_iter=1_000_000, eta0=0.1)", "max_iter=2, alphas=2"),
        (2, "ElasticNetClassifierCV(alphas=[1e-6] * 1000, l1_ratio=0.0, tol=1e-15)", "alphas=[0.1], tol=1e-2"),
        (0, "ElasticNetRegressorCV(alphas=[1e-6] * 1000, l1_ratio=0.0, tol=1e-15)", "alphas=[0.1], tol=1e-2"),
        (20, "AutoClassifier(random_state=0)", "scale=None"),
        (0, "AutoRegressor('quantile', random_state=0)", "scale=None"),
    ],
)
def test_ctrl_c_stops_solvers_and_searches_and_leaves_the_estimator_as_it_was(classes, model, quick):
    check(LEFT.format(classes=classes, model=model, quick=f"dict({quick})", rows=20_000))
