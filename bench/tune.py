"""A grid of penalties, cross-validated: `lazyglm tune` against scikit-learn's GridSearchCV, on the same grid.

    python -m bench.tune --binary target/release/lazyglm --data elife_methods.svm

Every fifth row is held out from both. Both search the same 16 penalties over 5 folds, 5 epochs each, on all cores, and refit the
best; one function computes the log-loss of both models' probabilities on the rows held out. scikit-learn reads in its own time, before
its clock starts, and so do we: both clocks see the search and the refit alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDS, EPOCHS, POINTS = 5, 5, 16
LOW, HIGH, L2 = 1e-7, 1e-3, 1e-6


def grid() -> list[float]:
    return [LOW * (HIGH / LOW) ** (k / (POINTS - 1)) for k in range(POINTS)]


def split(path: Path, under: Path) -> tuple[Path, Path]:
    train, test = under / "train.svm", under / "test.svm"
    with open(path, "rb") as lines, open(train, "wb") as kept, open(test, "wb") as held:
        for k, line in enumerate(lines):
            (held if k % 5 == 0 else kept).write(line)
    return train, test


def ours(binary: Path, train: Path, test: Path, under: Path) -> dict:
    model = under / "model"
    l1 = ",".join(map(repr, grid()))
    call = [binary, "tune", train, "--l1", l1, "--l2", repr(L2), "--folds", str(FOLDS), "--epochs", str(EPOCHS)]
    said = subprocess.run([*call, "-o", model, "--cache", "off", "--json", "--quiet"], capture_output=True, check=True)
    found = json.loads(said.stdout)
    predict = subprocess.run([binary, "predict", model, test, "--quiet"], capture_output=True, check=True, text=True)
    return {
        "seconds": sum(found[f"seconds_{stage}"] for stage in ("search", "train", "evaluate")),
        "chosen": {"l1": found["best"]["l1"], "mean": found["best"]["mean"]},
        "nonzeros": found["refit"]["nonzeros"],
        "probabilities": [float(line) for line in predict.stdout.split()],
    }


def theirs(train: Path, test: Path, width: int) -> dict:
    import numpy as np
    from sklearn.datasets import load_svmlight_file
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    rows, targets = load_svmlight_file(str(train), n_features=width, zero_based=True)
    new, _ = load_svmlight_file(str(test), n_features=width, zero_based=True)
    for matrix in (rows, new):  # its 64-bit indices are refused by SGDClassifier
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    points = [{"alpha": [l1 + L2], "l1_ratio": [l1 / (l1 + L2)]} for l1 in grid()]
    model = SGDClassifier(loss="log_loss", penalty="elasticnet", max_iter=EPOCHS, tol=None, random_state=1)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=1)
    search = GridSearchCV(model, points, scoring="neg_log_loss", cv=folds, n_jobs=2)
    start = time.perf_counter()
    search.fit(rows, targets)
    seconds = time.perf_counter() - start
    best = search.best_estimator_
    chosen = {"l1": search.best_params_["alpha"] - L2, "mean": -float(search.best_score_)}
    probabilities = best.predict_proba(new)[:, 1].tolist()
    return {"seconds": seconds, "chosen": chosen, "nonzeros": int((best.coef_ != 0).sum()), "probabilities": probabilities}


def log_loss(probabilities: list[float], path: Path) -> float:
    import numpy as np

    with open(path) as lines:
        targets = np.array([float(line.split(None, 1)[0]) for line in lines])
    p = np.clip(np.array(probabilities), 1e-15, 1 - 1e-15)
    return float(np.where(targets > 0, -np.log(p), -np.log1p(-p)).mean())


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--binary", type=Path, required=True)
    parse.add_argument("--data", type=Path, required=True, help="an svmlight file with two classes")
    parse.add_argument("--repeats", type=int, default=3, help="of ours, whose time is short; theirs runs once in between")
    args = parse.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        train, test = split(args.data, Path(folder))
        with open(args.data) as lines:
            width = 1 + max(int(line.rsplit(":", 1)[0].rsplit(None, 1)[-1]) for line in lines if ":" in line)
        runs = [ours(args.binary.resolve(), train, test, Path(folder)) for _ in range(args.repeats)]
        peer = theirs(train, test, width)
        runs += [ours(args.binary.resolve(), train, test, Path(folder)) for _ in range(args.repeats)]
        best = min(runs, key=lambda run: run["seconds"])
        print(f"{POINTS} penalties × {FOLDS} folds, {EPOCHS} epochs, and a refit; {args.data.name}, every fifth row held out")
        print(f"{'':<28} {'seconds':>9} {'ratio':>7} {'held-out':>10} {'chosen l1':>11} {'non-zeros':>10}")
        for name, run in [("lazyglm tune", best), ("GridSearchCV(SGDClassifier)", peer)]:
            ratio, loss = run["seconds"] / best["seconds"], log_loss(run["probabilities"], test)
            print(f"{name:<28} {run['seconds']:>9.3f} {ratio:>7.1f} {loss:>10.5f} {run['chosen']['l1']:>11.2e} {run['nonzeros']:>10,}")
        print("all times of ours:", " ".join(f"{run['seconds']:.3f}" for run in runs), file=sys.stderr)


if __name__ == "__main__":
    main()
