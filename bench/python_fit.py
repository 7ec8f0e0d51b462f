"""The Python estimators against scikit-learn's: one epoch, what a call costs, and memory. Both sides in one run, by turns.

    python -m bench.python_fit --data FILE.svm [--rows N] [--repeats N]

One epoch, elastic net, in single and double precision, at one rate for both: the least of all turns, with the
objective of both as one judge has it. A call: 100 rows of 20 features, one epoch. Memory: how far the peak of a process of its own goes
beyond what it held before the fit.
"""

import argparse
import gc
import json
import multiprocessing
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

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


def status(field):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def _peak(path, dtype, estimator, answer):
    X, y = sp.load_npz(path / "X.npz").tocsr(), np.load(path / "y.npy")
    X.data = X.data.astype(dtype)
    model = estimators()[estimator](**OPTIONS)
    model.fit(X[:10], y[:10])  # what is loaded at the first call is not the data's
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    before = status("VmRSS")
    model.fit(X, y)
    answer.put(status("VmHWM") - before)


def peak(path, dtype, estimator):
    """Bytes a fit takes beyond what was held before it."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    child = context.Process(target=_peak, args=(path, dtype, estimator, answer))
    child.start()
    found = answer.get(timeout=600)
    child.join()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="svmlight, two classes")
    parser.add_argument("--rows", type=int, help="the first so many")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--scratch", type=Path, default=Path("target/bench-data"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    import lazyglm

    read = lazyglm.read(asked.data)
    X, y = read.X[: asked.rows], read.y[: asked.rows]
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    record = {"rows": X.shape[0], "features": X.shape[1], "nonzeros": int(X.nnz)}
    print(f"{asked.data.name}: {X.shape[0]:,} rows, {X.shape[1]:,} features, {X.nnz:,} non-zeros")
    for dtype in (np.float32, np.float64):
        least, models = turns(X.astype(dtype), y, asked.repeats, OPTIONS)
        ratio = least["scikit-learn"] / least["lazyglm"]
        print(f"\none epoch, {dtype.__name__}: {ratio:.2f} x")
        for name, seconds in least.items():
            f, nonzeros = objective(models[name], X, y)
            print(f"  {name:13} {seconds:8.4f} s   F {f:.6f}   {nonzeros:,} non-zeros")
            record[f"{name} {dtype.__name__}"] = {"seconds": seconds, "F": f, "nonzeros": nonzeros}

    rng = np.random.default_rng(0)
    small, targets = rng.normal(size=(100, 20)), np.arange(100) % 2
    least, _ = turns(small, targets, 200, OPTIONS)
    print("\na call on 100 x 20")
    for name, seconds in least.items():
        print(f"  {name:13} {seconds * 1e3:8.3f} ms")
        record[f"{name} call"] = seconds

    asked.scratch.mkdir(parents=True, exist_ok=True)
    sp.save_npz(asked.scratch / "X.npz", X, compressed=False)
    np.save(asked.scratch / "y.npy", y)
    allowed = 3 * X.shape[1] * 8 + 16 * X.shape[0] + (32 << 20)
    print(f"\nmemory beyond the data, of {allowed / 2**20:.1f} MiB allowed")
    for dtype in ("float32", "float64"):
        for name in estimators():
            found = peak(asked.scratch, dtype, name)
            print(f"  {name:13} {dtype} {found / 2**20:8.1f} MiB")
            record[f"{name} {dtype} bytes"] = found
    print("\n" + json.dumps(record))


if __name__ == "__main__":
    main()
