"""How near the minimum rounds come, whatever the partitions. Nothing here depends on the machine."""

import numpy as np

from bench.distributed.made import cut, made
from lazyglm.distributed import Problem, Threads, fit, pack

PROBLEM = Problem("logistic", l1=3e-6, l2=1e-6, intercept=False)
#: Partitions, and the gap in percent that five rounds must reach.
MOST = {1: 0.02, 4: 0.05, 16: 0.15, 64: 0.4}


def parts(X, y, count, order="shuffled"):
    return [pack(X[rows], y[rows], partition=k) for k, rows in enumerate(cut(X, y, count, order))]


def log_loss(X, y, found):
    return float(np.mean(np.logaddexp(0, -y * (X @ found.weights + found.bias))))


def split(seed, rows, columns):
    """Rows to learn and rows to judge, of one truth."""
    X, y = made(rows + rows // 5, columns, seed=seed)
    return X[:rows], y[:rows], X[rows:], y[rows:]


def least(X, y, problem=PROBLEM):
    return fit(Threads(parts(X, y, 2), threads=2), problem, solver="owlqn", tol=1e-9, max_rounds=400)


def measure(rows=200_000, columns=50_000, seeds=(1, 7)):
    """Prints a line a run; whether all are as good as they must be."""
    good = True
    for seed in seeds:
        X, y, test_X, test_y = split(seed, rows, columns)
        best = least(X, y)
        F, nonzeros, held = best.certificate.objective, np.count_nonzero(best.weights), log_loss(test_X, test_y, best)
        print(f"seed {seed}: least {F:.6f} (proved to {best.certificate.relative_gap:.1e}), {nonzeros} non-zeros, held-out {held:.5f}")
        for evaluations, most in ((16, 0.1), (22, 0.02)):
            gap = 100 * (best.history[min(evaluations, len(best.history)) - 1] / F - 1)
            good &= gap <= most
            print(f"  owlqn after {evaluations} gradients: gap {gap:.4f} % (at most {most})", flush=True)
        runs = [(count, "shuffled", most) for count, most in MOST.items()] + [(16, "label", 0.3), (16, "clustered", 0.3)]
        for count, order, most in runs:
            found = fit(Threads(parts(X, y, count, order), threads=2), PROBLEM, max_rounds=5, tol=None, prove=False)
            gap = 100 * (found.certificate.objective / F - 1)
            more = 100 * (np.count_nonzero(found.weights) / nonzeros - 1)
            worse = log_loss(test_X, test_y, found) - held
            rises = max(b / a - 1 for a, b in zip(found.history, found.history[1:], strict=False))
            fine = gap <= most and abs(more) <= 6 and worse <= 0.004 and rises <= 0.001
            good &= fine
            print(
                f"  {count:2d} {order:9s}: gap {gap:.4f} % (at most {most}), non-zeros {more:+.1f} %, held-out {worse:+.5f}, "
                f"{found.reductions - 1} reductions, stayed {found.rejected}{'' if fine else '   <-- NOT AS GOOD AS IT MUST BE'}",
                flush=True,
            )
    return good
