"""A grid of penalties, cross-validated: `lazyglm tune` against scikit-learn's GridSearchCV, on the same grid.

    python -m bench.tune --binary target/release/lazyglm --data elife_methods.svm
    python -m bench.tune --binary target/release/lazyglm --data elife_methods.svm --points 8 --folds 3 --epochs 3

Every fifth row is held out from both. Both search the same penalties over the same number of folds and epochs, on all cores, and refit
the best; one function computes the log-loss of both models' probabilities on the rows held out. scikit-learn reads in its own time,
before its clock starts, and so do we: both clocks see the search and the refit alone. The contenders run by turns, and the table has
the least time of each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LOW, HIGH, L2 = 1e-7, 1e-3, 1e-6


@dataclass(frozen=True)
class Search:
    """What both contenders search: penalties, folds and epochs."""

    points: int
    folds: int
    epochs: int

    def grid(self) -> list[float]:
        return [LOW * (HIGH / LOW) ** (k / max(self.points - 1, 1)) for k in range(self.points)]


def split(path: Path, under: Path) -> tuple[Path, Path]:
    train, test = under / "train.svm", under / "test.svm"
    with open(path, "rb") as lines, open(train, "wb") as kept, open(test, "wb") as held:
        for k, line in enumerate(lines):
            (held if k % 5 == 0 else kept).write(line)
    return train, test


def ours(binary: Path, search: Search, train: Path, test: Path, under: Path) -> dict:
    model = under / "model"
    l1 = ",".join(map(repr, search.grid()))
    call = [binary, "tune", train, "--l1", l1, "--l2", repr(L2), "--folds", str(search.folds), "--epochs", str(search.epochs)]
    said = subprocess.run([*call, "-o", model, "--cache", "off", "--json", "--quiet"], capture_output=True, check=True)
    found = json.loads(said.stdout)
    predict = subprocess.run([binary, "predict", model, test, "--quiet"], capture_output=True, check=True, text=True)
    return {
        "seconds": sum(found[f"seconds_{stage}"] for stage in ("search", "train", "evaluate")),
        "chosen": {"l1": found["best"]["l1"], "mean": found["best"]["mean"]},
        "nonzeros": found["refit"]["nonzeros"],
        "probabilities": [float(line) for line in predict.stdout.split()],
    }


class Theirs:
    """GridSearchCV of SGDClassifier, with its rows in memory."""

    def __init__(self, train: Path, test: Path, width: int) -> None:
        import numpy as np
        from sklearn.datasets import load_svmlight_file

        self.rows, self.targets = load_svmlight_file(str(train), n_features=width, zero_based=True)
        self.new, _ = load_svmlight_file(str(test), n_features=width, zero_based=True)
        for matrix in (self.rows, self.new):  # its 64-bit indices are refused by SGDClassifier
            matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)

    def run(self, search: Search) -> dict:
        from sklearn.linear_model import SGDClassifier
        from sklearn.model_selection import GridSearchCV, StratifiedKFold

        points = [{"alpha": [l1 + L2], "l1_ratio": [l1 / (l1 + L2)]} for l1 in search.grid()]
        model = SGDClassifier(loss="log_loss", penalty="elasticnet", max_iter=search.epochs, tol=None, random_state=1)
        folds = StratifiedKFold(search.folds, shuffle=True, random_state=1)
        fit = GridSearchCV(model, points, scoring="neg_log_loss", cv=folds, n_jobs=2)
        start = time.perf_counter()
        fit.fit(self.rows, self.targets)
        seconds = time.perf_counter() - start
        best = fit.best_estimator_
        chosen = {"l1": fit.best_params_["alpha"] - L2, "mean": -float(fit.best_score_)}
        probabilities = best.predict_proba(self.new)[:, 1].tolist()
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
    parse.add_argument("--points", type=int, default=16, help="penalties in the grid")
    parse.add_argument("--folds", type=int, default=5)
    parse.add_argument("--epochs", type=int, default=5)
    parse.add_argument("--repeats", type=int, default=3, help="of ours, whose time is short, before and after each of theirs")
    parse.add_argument("--turns", type=int, default=1, help="runs of theirs")
    args = parse.parse_args()
    search = Search(args.points, args.folds, args.epochs)
    with tempfile.TemporaryDirectory() as folder:
        train, test = split(args.data, Path(folder))
        with open(args.data) as lines:
            width = 1 + max(int(line.rsplit(":", 1)[0].rsplit(None, 1)[-1]) for line in lines if ":" in line)
        theirs, peers, runs = Theirs(train, test, width), [], []

        def some_of_ours() -> None:
            runs.extend(ours(args.binary.resolve(), search, train, test, Path(folder)) for _ in range(args.repeats))

        some_of_ours()
        for _ in range(args.turns):
            peers.append(theirs.run(search))
            some_of_ours()
        best, peer = (min(all, key=lambda run: run["seconds"]) for all in (runs, peers))
        what = f"{search.points} penalties × {search.folds} folds, {search.epochs} epochs, and a refit"
        print(f"{what}; {args.data.name}, every fifth row held out")
        print(f"{'':<28} {'seconds':>9} {'ratio':>7} {'held-out':>10} {'chosen l1':>11} {'non-zeros':>10}")
        for name, run in [("lazyglm tune", best), ("GridSearchCV(SGDClassifier)", peer)]:
            ratio, loss = run["seconds"] / best["seconds"], log_loss(run["probabilities"], test)
            print(f"{name:<28} {run['seconds']:>9.3f} {ratio:>7.1f} {loss:>10.5f} {run['chosen']['l1']:>11.2e} {run['nonzeros']:>10,}")
        for name, all in [("ours", runs), ("theirs", peers)]:
            print(f"all times of {name}:", " ".join(f"{run['seconds']:.3f}" for run in all), file=sys.stderr)


if __name__ == "__main__":
    main()
