"""Real rows: partitions against the minimum that the program finds on one machine, and held-out loss beside it."""

import os
import subprocess
import tempfile

import numpy as np

import lazyglm
from lazyglm.distributed import Problem, Threads, fit, pack


def measure(path, binary, l1, l2, count=8):
    """Every fifth row is held out. Whether rounds are within 0.1 % of the program's objective and held-out loss."""
    data = lazyglm.read(path)
    labels = np.unique(data.y)
    if len(labels) != 2:
        raise SystemExit(f"{path} has {len(labels)} labels, and this measures two classes")
    y = np.where(data.y == labels[1], 1.0, -1.0)
    held = np.arange(len(y)) % 5 == 4
    X, test_X, test_y, y = data.X[~held], data.X[held], y[held], y[~held]
    problem = Problem("logistic", l1=l1, l2=l2)
    rows = np.array_split(np.arange(len(y)), count)  # as they lie in the file
    shards = [pack(X[r], y[r], partition=k) for k, r in enumerate(rows)]
    found = fit(Threads(shards, threads=2), problem)  # as it comes
    weights, bias = alone(path, X.shape[1], binary, l1, l2)

    def figures(weights, bias):
        loss = np.mean(np.logaddexp(0, -y * (X @ weights + bias))) + problem.penalty(weights)
        return float(loss), float(np.mean(np.logaddexp(0, -test_y * (test_X @ weights + bias))))

    (F, held_out), (best, best_held) = figures(found.weights, found.bias), figures(weights, bias)
    print(
        f"{os.path.basename(path)}, {count} partitions: objective {F:.6f} against {best:.6f} ({100 * (F / best - 1):+.4f} %), held-out "
        f"{held_out:.5f} against {best_held:.5f} ({100 * (held_out / best_held - 1):+.4f} %), non-zeros "
        f"{np.count_nonzero(found.weights)} against {np.count_nonzero(weights)}; {found.rounds} rounds, {found.reductions} reductions, {found.solver}, "
        f"stayed {found.rejected}; proved gap {100 * found.certificate.relative_gap:.3f} %"
    )
    return F <= best * 1.001 and held_out <= best_held * 1.001


def alone(path, columns, binary, l1, l2):
    """Weights and bias of the program's Newton solver, on the same rows."""
    with tempfile.TemporaryDirectory() as folder:
        train, model = os.path.join(folder, "train.svm"), os.path.join(folder, "model")
        with open(path, "rb") as lines, open(train, "wb") as file:
            file.writelines(line for i, line in enumerate(lines) if i % 5 != 4)
        options = ["--solver", "newton", "--tolerance", "1e-7", "--l1", str(l1), "--l2", str(l2), "--output", model, "--cache", "off"]
        subprocess.run([binary, "train", train, *options], check=True, capture_output=True)
        found = lazyglm.load(model)
        weights = np.zeros(columns)
        weights[: found.coef_.size] = found.coef_.ravel()
        return weights, float(found.intercept_[0])
