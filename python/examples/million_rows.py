"""A million rows: one pass in chunks that are made, learnt and forgotten. `python million_rows.py [--rows N]`"""

import argparse
import time

import numpy as np
import scipy.sparse as sp

from lazyglm import SGDRegressor

COLUMNS, ROW = 100_000, 20


def chunk(rows, seed):
    """Twenty of a hundred thousand features a row; five hundred of them say something."""
    rng = np.random.default_rng(seed)
    ids = np.sort(rng.integers(0, COLUMNS // ROW, size=(rows, ROW)) + np.arange(ROW) * (COLUMNS // ROW), axis=1)
    X = sp.csr_matrix(
        (rng.normal(size=rows * ROW).astype(np.float32), ids.ravel().astype(np.int32), np.arange(0, rows * ROW + 1, ROW)),
        shape=(rows, COLUMNS),
    )
    truth = np.zeros(COLUMNS)
    truth[:: COLUMNS // 500] = 1.0
    return X, X @ truth + 0.1 * rng.normal(size=rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows, step = parser.parse_args().rows, 50_000
    model = SGDRegressor(penalty="l1", alpha=1e-4, learning_rate="invscaling", eta0=0.1, power_t=0.25)
    seconds, learnt = 0.0, 0
    for seed, start in enumerate(range(0, rows, step)):
        X, y = chunk(min(step, rows - start), seed)
        started = time.perf_counter()
        model.partial_fit(X, y)
        seconds, learnt = seconds + time.perf_counter() - started, learnt + X.nnz
    X, y = chunk(10_000, seed=10**6)
    print(f"{rows:,} rows, {learnt:,} non-zeros, learnt in {seconds:.2f} s: {learnt / seconds / 1e6:.0f} million a second")
    print(f"R² on new rows {model.score(X, y):.4f}, {np.count_nonzero(model.coef_):,} of {COLUMNS:,} weights")


if __name__ == "__main__":
    main()
