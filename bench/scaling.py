"""How cost grows: seconds against rows, non-zeros per row, features, classes, penalties, folds and threads, with log-log slopes.

    python -m bench.scaling --binary target/release/lazyglm

A slope of 1 means time in proportion, 0 means no growth. Data are made: columns with frequencies like those of words, values 1, two classes.
Sizes take turns within a repeat, the least of all repeats counts, and the objective stands beside each time.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import machine

SGD = ["--solver", "sgd", "--epochs", "2", "--eta0", "0.1", "--l1", "1e-6", "--l2", "1e-6"]


@dataclass
class Shape:
    """The shape of made data."""

    rows: int = 100_000
    per_row: int = 50
    features: int = 100_000
    classes: int = 2


@dataclass
class Case:
    """One curve: what grows, the flags of a size, and the stages whose seconds count."""

    name: str
    sizes: list[int]
    shape: Callable[[int], Shape]
    call: Callable[[int], list[str]]
    stages: tuple[str, ...] = ("train",)


def make(shape: Shape, path: Path) -> None:
    """Writes svmlight rows whose columns have frequencies like those of words, and targets that depend on them."""
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(shape.features, 1 if shape.classes == 2 else shape.classes))
    with open(path, "w") as out:
        for start in range(0, shape.rows, 10_000):
            count = min(10_000, shape.rows - start)
            places = rng.random((count, shape.per_row))
            ids = np.sort((shape.features ** places).astype(np.int64) % shape.features, axis=1)
            scores = truth[ids].sum(axis=1) + rng.normal(size=(count, truth.shape[1]))
            classes = (scores[:, 0] > 0).astype(int) if shape.classes == 2 else scores.argmax(axis=1)
            for target, row in zip(classes.tolist(), ids.tolist()):
                columns = sorted(set(row))  # a column once per row
                out.write(f"{target} " + " ".join(f"{column + 1}:1" for column in columns) + "\n")


def cases(quick: bool) -> list[Case]:
    """All curves; small ones if quick."""
    small = 20 if quick else 1

    def sizes(*of: int) -> list[int]:
        return list(of)

    def shape(**fields: int) -> Shape:
        base = Shape(**fields)
        base.rows //= small
        return base

    train = ["train", "{data}", *SGD]
    tune = ["tune", "{data}", "--l2", "1e-6", "--solver", "sgd", "--epochs", "2", "--eta0", "0.1", "--no-halving"]
    exact = ["tune", "{data}", "--l1", "1e-5..1e-3:8", "--l2", "1e-6", "--no-halving"]
    few = {"rows": 20_000, "features": 10_000}
    return [
        Case("rows", sizes(50_000, 100_000, 200_000, 400_000), lambda n: shape(rows=n), lambda n: train),
        Case("non-zeros per row", sizes(12, 25, 50, 100, 200), lambda n: shape(per_row=n), lambda n: train),
        Case("features", sizes(10_000, 100_000, 1_000_000, 10_000_000), lambda n: shape(features=n), lambda n: train),
        Case("classes, softmax", sizes(4, 8, 16, 32), lambda n: shape(**few, classes=n), lambda n: [*train, "--multiclass", "softmax"]),
        Case("classes, one-vs-rest", sizes(4, 8, 16, 32), lambda n: shape(**few, classes=n), lambda n: [*train, "--multiclass", "ovr"]),
        Case("penalties, SGD in lanes", sizes(8, 16, 32, 64), lambda n: shape(**few),
             lambda n: [*tune, "--l1", f"1e-6..1e-3:{n}", "--folds", "3"], ("search",)),
        Case("folds, SGD in lanes", sizes(3, 6, 12), lambda n: shape(**few),
             lambda n: [*tune, "--l1", "1e-6..1e-3:8", "--folds", str(n)], ("search",)),
        Case("folds, exact", sizes(3, 6, 12), lambda n: shape(**few), lambda n: [*exact, "--folds", str(n)], ("search",)),
        Case("threads, exact folds", sizes(1, 2), lambda n: shape(**few), lambda n: [*exact, "--folds", "6", "--threads", str(n)], ("search",)),
        Case("threads, one-vs-rest", sizes(1, 2), lambda n: shape(**few, classes=16),
             lambda n: [*train, "--multiclass", "ovr", "--threads", str(n)]),
    ]


def seconds(binary: Path, call: list[str], data: Path, stages: tuple[str, ...]) -> tuple[float, float]:
    """The seconds of the stages of one run, and its objective or best held-out loss."""
    words = [word.format(data=data) for word in call]
    done = subprocess.run([binary, *words, "--cache", "off", "--json", "--quiet"], capture_output=True, check=True)
    found = json.loads(done.stdout)
    answer = found["objective"] if "objective" in found else found["best"]["mean"]
    return sum(found[f"seconds_{stage}"] for stage in stages), answer


def slope(sizes: list[int], times: list[float]) -> float:
    """The slope of the least-squares line through (log size, log time)."""
    x, y = np.log(sizes), np.log(times)
    return float(np.polyfit(x, y, 1)[0])


def measure(binary: Path, case: Case, repeats: int, under: Path) -> None:
    """Measures a curve and prints it."""
    files = {}
    for size in case.sizes:
        shape = case.shape(size)
        path = under / f"{shape.rows}-{shape.per_row}-{shape.features}-{shape.classes}.svm"
        if not path.exists():
            make(shape, path)
        files[size] = path
    least = {size: (math.inf, math.nan) for size in case.sizes}
    for _ in range(repeats):
        for size in case.sizes:
            taken, answer = seconds(binary, case.call(size), files[size], case.stages)
            least[size] = min(least[size], (taken, answer))
    times = [least[size][0] for size in case.sizes]
    print(f"\n{case.name}: slope {slope(case.sizes, times):.2f}")
    print(f"{'size':>12} {'seconds':>10} {'answer':>12}")
    for size in case.sizes:
        print(f"{size:>12,} {least[size][0]:>10.4f} {least[size][1]:>12.6f}", flush=True)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--binary", type=Path, required=True)
    words.add_argument("--repeats", type=int, default=5)
    words.add_argument("--quick", action="store_true", help="a twentieth of the rows, once: does it run?")
    words.add_argument("--only", help="curves whose name contains this")
    args = words.parse_args()
    version = subprocess.run([args.binary.resolve(), "--version"], capture_output=True, check=True, text=True).stdout.strip()
    print(version + "; " + "; ".join(f"{key} {value}" for key, value in machine.facts().items()))
    print(f"seconds of the stages train or search, least of {args.repeats} turns; answer: objective, or best held-out loss")
    with tempfile.TemporaryDirectory() as under:
        for case in cases(args.quick):
            if not args.only or args.only in case.name:
                measure(args.binary.resolve(), case, 1 if args.quick else args.repeats, Path(under))


if __name__ == "__main__":
    sys.exit(main())
