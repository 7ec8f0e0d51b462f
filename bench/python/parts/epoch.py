"""One epoch, elastic net, in single and double precision, at one rate for both: wanted 6 x. The least of all turns, with F by numpy alone."""

import time

import numpy as np

from bench.python import matrices

PENALTY = {"alpha": 1e-6, "l1_ratio": 0.5}
OPTIONS = {"loss": "log_loss", "penalty": "elasticnet", "learning_rate": "constant", "eta0": 0.01, "max_iter": 1, "tol": None, "random_state": 1, **PENALTY}


def estimators():
    import lazyglm
    from sklearn.linear_model import SGDClassifier

    return {"lazyglm": lazyglm.SGDClassifier, "scikit-learn": SGDClassifier}


def objective(model, X, y):
    """F, in double precision, by numpy alone."""
    w = model.coef_.ravel().astype(np.float64)
    scores = X.astype(np.float64) @ w + float(model.intercept_[0])
    l1 = PENALTY["alpha"] * PENALTY["l1_ratio"]
    l2 = PENALTY["alpha"] - l1
    loss = np.logaddexp(0, -np.where(y > 0, 1, -1) * scores).mean()
    return loss + l1 * np.abs(w).sum() + l2 / 2 * (w @ w), int(np.count_nonzero(w))


def turns(X, y, repeats, options):
    """Least seconds of each, and the last model."""
    least, models = {}, {}
    for _ in range(repeats):
        for name, estimator in estimators().items():
            models[name] = estimator(**options)
            started = time.perf_counter()
            models[name].fit(X, y)
            least[name] = min(least.get(name, np.inf), time.perf_counter() - started)
    return least, models


def run(data, asked, say):
    X, y = matrices.one(data, asked.rows)
    say(f"  {X.shape[0]:,} rows, {X.shape[1]:,} features, {X.nnz:,} non-zeros")
    for dtype in (np.float32, np.float64):
        least, models = turns(X.astype(dtype), y, asked.repeats, OPTIONS)
        say(f"  {dtype.__name__}: {least['scikit-learn'] / least['lazyglm']:.2f} x")
        for name, seconds in least.items():
            f, nonzeros = objective(models[name], X, y)
            say(f"    {name:13} {seconds:8.4f} s   F {f:.6f}   {nonzeros:,} non-zeros", who=name, seconds=seconds, F=f, nonzeros=nonzeros)
