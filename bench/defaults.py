"""How good a model is that nobody tuned: `lazyglm train DATA` with no flags, by held-out loss.

    python -m bench.defaults --binary target/release/lazyglm [--data DIR] [--made FOLDER] [--sets a9a,w8a] [--wide] [--before OLD/lazyglm]

For every set of two classes or of numbers in DIR (X_train with X_test, X with X.t or X_test; otherwise every fifth row is held out), and for the made sets
(bench/made_sets.py, with rows of their own to judge on): the loss of no flags, the best of a wide grid over solvers, penalties, rates, epochs and, for counts, tf-idf, picked on the very rows it is
judged on, and what Vowpal Wabbit and scikit-learn do at their defaults (svmlight only). `above` is how far no flags are from the best, and the last line says
whether they meet the bar. With --before, an older program runs without flags, too, and `before` is its loss. No flags see nothing of the rows they are judged on. No clock decides anything here, so a busy machine changes nothing but the seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import made_sets
from bench.rates import sets

MEDIAN, WORST = 0.5, 4.0  # the bar, in per cent above the best

L1 = ["0", "1e-7", "1e-6", "1e-5", "3e-5", "1e-4", "1e-3"]
L2 = ["0", "1e-6", "3e-6", "1e-5", "1e-4", "3e-4", "1e-3", "1e-2"]
LANES = ("0,1e-7,1e-6,1e-5,3e-5,1e-4", "0,1e-6,1e-5,1e-4,1e-3")
STEPS = (-2, -1, 0, 1, 2, 3)  # octaves from the rate found
EPOCHS = (1, 3, 10)


def call(binary: Path, verb: str, *flags) -> dict | None:
    cache = [] if verb == "evaluate" else ["--cache", "off"]
    run = subprocess.run([binary, verb, *map(str, flags), "--json", "--quiet", *cache], capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 else None


def split(path: Path, held_out: str, folder: Path) -> tuple[Path, Path]:
    """Files of rows to learn and rows to judge on: the set's own, or every fifth row held out."""
    if held_out != "0.2":
        return path, Path(held_out)
    parts = [folder / f"{path.stem}.{part}{path.suffix}" for part in ("learn", "judge")]
    with path.open() as lines, parts[0].open("w") as learn, parts[1].open("w") as judge:
        if path.suffix == ".csv":  # without line breaks inside of cells
            header = next(lines)
            learn.write(header)
            judge.write(header)
        for number, line in enumerate(lines):
            (judge if number % 5 == 4 else learn).write(line)
    return parts[0], parts[1]


def untuned(binary: Path, learn: Path, judge: Path, model: Path) -> tuple[dict, float, float] | None:
    """The report of a run without flags, its seconds, and its loss on the rows to judge on; `None` for more than two classes."""
    started = time.monotonic()
    report = call(binary, "train", learn, "-o", model)
    seconds = time.monotonic() - started
    judged = report and not report.get("heads") and call(binary, "evaluate", model, judge)
    return (report, seconds, judged["loss"]) if judged else None


def grid(binary: Path, learn: Path, judge: Path, eta0: float, solvers: list[str], wide: bool) -> dict[str, tuple[float, str]]:
    """The best held-out loss of each solver, and where."""
    best: dict[str, tuple[float, str]] = {}

    def see(solver: str, loss: float | None, where: str) -> None:
        if loss is not None and math.isfinite(loss) and loss < best.get(solver, (math.inf, ""))[0]:
            best[solver] = (loss, where)

    def minimise(l1: str, l2: str, scale: str) -> float | None:
        held = ("--validation", judge, "--solver", "newton", "--tolerance", "1e-3", "--l1", l1, "--l2", l2, "--scale", scale)
        found = call(binary, "train", learn, *held)
        return found and found["validation"]["loss"]

    rates = ",".join(repr(eta0 * 2.0**k) for k in STEPS)
    for epochs in EPOCHS:
        found = call(binary, "tune", learn, "--validation", judge, "--no-halving", "--epochs", epochs, "--l1", LANES[0], "--l2", LANES[1], "--eta0", rates)
        for point in (found or {}).get("points", []):
            see("online", point["mean"], f"l1 {point['l1']:g} l2 {point['l2']:g} eta0 {point['eta0']:g} epochs {epochs}")
    pairs = [(l1, l2) for l1 in L1 for l2 in L2 if (l1, l2) != ("0", "0") and (wide or l1 != "0")]
    for l1, l2 in pairs:
        see("newton", minimise(l1, l2, "none"), f"l1 {l1} l2 {l2}")
    tf_idf = minimise("1e-5", "1e-5", "tfidf")
    if tf_idf is not None and "newton" in best and tf_idf < 1.05 * best["newton"][0]:
        for l1, l2 in pairs:
            see("newton, tf-idf", minimise(l1, l2, "tfidf"), f"l1 {l1} l2 {l2}")
    for solver in solvers:
        for l1 in ("1e-7", "1e-6", "1e-5", "1e-4"):
            for epochs in EPOCHS:
                found = call(binary, "train", learn, "--validation", judge, "--solver", solver, "--l1", l1, "--l2", l1, "--epochs", epochs)
                see(solver, found and found["validation"]["loss"], f"l1 = l2 = {l1} epochs {epochs}")
    return best


def peers(learn: Path, judge: Path) -> dict[str, float]:
    """Held-out loss of scikit-learn's and Vowpal Wabbit's defaults, in our loss: logistic, or half the square."""
    import numpy as np
    from sklearn.datasets import load_svmlight_files
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    X, y, Z, z = load_svmlight_files([str(learn), str(judge)])
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    classes = len(set(y)) == 2
    found = {}
    if classes:
        scores = SGDClassifier(loss="log_loss", random_state=1).fit(X, y).decision_function(Z)
        found["scikit-learn"] = float(np.mean(np.logaddexp(0, -np.where(z == max(y), 1, -1) * scores)))
    else:
        found["scikit-learn"] = float(0.5 * np.mean((SGDRegressor(random_state=1).fit(X, y).predict(Z) - z) ** 2))
    found["vw"] = vw(learn, judge, classes, max(y))
    return found


def vw(learn: Path, judge: Path, classes: bool, greater: float) -> float:
    import vowpalwabbit

    model = vowpalwabbit.Workspace(f"-b 22 --quiet --loss_function {'logistic' if classes else 'squared'}")
    lines = lambda path: (line.partition(" ")[::2] for line in path.open())  # noqa: E731
    sign = lambda text: 1 if float(text) == greater else -1  # noqa: E731
    for target, rest in lines(learn):
        model.learn(f"{sign(target) if classes else target} | {rest}")
    total, rows = 0.0, 0
    for target, rest in lines(judge):
        score = model.predict(f"| {rest}")
        total += math.log1p(math.exp(-sign(target) * score)) if classes else 0.5 * (score - float(target)) ** 2
        rows += 1
    return total / rows


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--binary", type=Path, required=True)
    parse.add_argument("--data", type=Path)
    parse.add_argument("--made", type=Path, help="a folder for the made sets")
    parse.add_argument("--sets", help="names, with commas")
    parse.add_argument("--wide", action="store_true", help="newton without l1 as well: slow on many features")
    parse.add_argument("--before", type=Path, help="an older program, to compare with")
    args = parse.parse_args()
    binary, above, changes = args.binary.resolve(), [], []
    asked = args.sets.split(",") if args.sets else None
    named = subprocess.run([binary, "train", "--help"], capture_output=True, text=True).stdout
    solvers = [name for name in ("adagrad", "ftrl") if f"{name} " in named]
    earlier = f" {'before':>11}" if args.before else ""
    print(f"{'':<18} {'no flags':>11}{earlier} {'non-zeros':>9} {'seconds':>8} {'best':>11} {'above':>8}   best of each solver; peers")
    with tempfile.TemporaryDirectory() as folder:
        all_sets = list(sets(args.data)) if args.data else []
        all_sets += [(path, str(judge)) for path, judge in made_sets.write_all(args.made)] if args.made else []
        for path, held_out in all_sets:
            if asked and path.stem not in asked:
                continue
            learn, judge = split(path, held_out, Path(folder))
            model = Path(folder) / "model"
            found = untuned(binary, learn, judge, model)
            online = found and call(binary, "train", learn, "--validation", judge, "--solver", "sgd")
            if not online:
                print(f"{path.stem:<18} not of two classes or of numbers, or it cannot be read")
                continue
            ours, seconds, loss = found
            before = args.before and untuned(args.before.resolve(), learn, judge, model)
            if before:
                changes.append(100 * (loss / before[2] - 1))
            best = grid(binary, learn, judge, online["eta0"], solvers, args.wide)
            lowest = min(value for value, _ in best.values())
            above.append(100 * (loss / lowest - 1))
            other = peers(learn, judge) if path.suffix == ".svm" else {}
            words = "; ".join(f"{name} {value:.5f} ({where})" for name, (value, where) in best.items())
            words += "".join(f"; {name} {value:.5g}" for name, value in other.items())
            earlier = f" {before[2]:>11.5f}" if before else ""
            print(
                f"{path.stem:<18} {loss:>11.5f}{earlier} {ours['nonzeros']:>9} {seconds:>8.1f} {lowest:>11.5f} {above[-1]:>7.2f}%   {words}",
                flush=True,
            )
    if above:
        middle, worst = statistics.median(above), max(above)
        verdict = "met" if middle <= MEDIAN and worst <= WORST else "missed"
        bar = f"the bar of {MEDIAN:g} % and {WORST:g} % is {verdict}"
        print(f"above the best, {len(above)} sets: median {middle:.2f} %, worst {worst:.2f} %; {bar}", file=sys.stdout)
    if changes:
        print(f"against before, {len(changes)} sets: median {statistics.median(changes):+.2f} %, worst {max(changes):+.2f} %")


if __name__ == "__main__":
    main()
