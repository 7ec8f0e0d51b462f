"""`make bench-classes DATA=DIR`: many classes and labels, against scikit-learn.

    python -m bench.classes --data DIR [--binary FILE] [--repeats N] [--labels N] [--no-record]

Two jobs, each left out if its file is not there:

classes   20news_train.svm, 20news_test.svm: lazyglm's softmax and its one-vs-rest, against SGDClassifier, which is one-vs-rest.
labels    medline_mesh.mlsvm, every tenth row held out, its most frequent labels alone: lazyglm against
          OneVsRestClassifier(SGDClassifier), on as many labels as it can finish.

Clocks see the learning alone, without reading: lazyglm's `seconds_train` (its rate is found beforehand, by a run that is not
timed), scikit-learn's `fit`. Everybody may use both of two cores: lazyglm by itself, scikit-learn by n_jobs=2; a softmax
uses one. An epoch is what four more take, over four. Contenders take turns and the least time counts; accuracy or micro F1
on held-out rows, by one judge for all, stands beside each.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bench import machine, measure

L1 = L2 = 1e-6
THREADS = 2
ROOM = measure.ROOT / "target" / "bench-data"
RECORDS = measure.ROOT / "bench" / "records"


class Ours:
    """lazyglm, from the text; its own clock leaves the reading out."""

    def __init__(self, name: str, binary: Path, train: Path, test: Path, flags: list[str]):
        self.name, self.binary, self.train, self.test, self.flags = name, binary, train, test, flags
        self.model = ROOM / "classes.model"
        self.eta0: dict[int, str] = {}

    def run(self, *words) -> str:
        done = subprocess.run([self.binary, *map(str, words)], capture_output=True, text=True, timeout=measure.TIMEOUT)
        if done.returncode != 0:
            raise measure.Failed(measure.last_lines(done.stderr))
        return done.stdout

    def learn(self, epochs: int) -> float:
        common = ["train", self.train, "--l1", L1, "--l2", L2, "--epochs", epochs, "--threads", THREADS]
        common += ["--cache", "off", "--json", "--quiet", "-o", self.model, *self.flags]
        if epochs not in self.eta0:
            self.eta0[epochs] = repr(json.loads(self.run(*common))["eta0"])
        return json.loads(self.run(*common, "--eta0", self.eta0[epochs]))["seconds_train"]

    def predict(self) -> list[str]:
        return self.run("predict", self.model, self.test, "--as", "target", "--quiet").splitlines()


class Sklearn:
    """SGDClassifier, alone or in a OneVsRestClassifier; rows are read and made 32-bit beforehand."""

    def __init__(self, name: str, train: Path, test: Path, labels: bool):
        from sklearn.datasets import load_svmlight_files
        from sklearn.preprocessing import MultiLabelBinarizer

        self.name, self.labels = name, labels
        x, y, self.x_test, _ = load_svmlight_files([str(train), str(test)], multilabel=labels)
        for rows in (x, self.x_test):
            rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
        if labels:
            self.names = MultiLabelBinarizer(sparse_output=True)
            y = self.names.fit_transform(y)
        self.x, self.y = x, y

    def learn(self, epochs: int) -> float:
        from sklearn.linear_model import SGDClassifier
        from sklearn.multiclass import OneVsRestClassifier

        sgd = SGDClassifier(
            loss="log_loss", penalty="elasticnet", alpha=L1 + L2, l1_ratio=L1 / (L1 + L2), max_iter=epochs, tol=None,
            random_state=1, n_jobs=1 if self.labels else THREADS,
        )  # fmt: skip
        self.fitted = OneVsRestClassifier(sgd, n_jobs=THREADS) if self.labels else sgd
        started = time.perf_counter()
        self.fitted.fit(self.x, self.y)
        return time.perf_counter() - started

    def predict(self) -> list[str]:
        given = self.fitted.predict(self.x_test)
        if not self.labels:
            return [f"{y:g}" for y in given]
        return [",".join(f"{y:g}" for y in row) for row in self.names.inverse_transform(given)]


def truth(path: Path) -> list[str]:
    with open(path) as file:
        return [line.split(" ")[0].rstrip("\n") for line in file]


def accuracy(predicted: list[str], true: list[str]) -> float:
    return sum(a == b for a, b in zip(predicted, true, strict=True)) / len(true)


def micro_f1(predicted: list[str], true: list[str]) -> float:
    sets = [({*a.split(",")} - {""}, {*b.split(",")} - {""}) for a, b in zip(predicted, true, strict=True)]
    hits = sum(len(a & b) for a, b in sets)
    return 2 * hits / max(1, sum(len(a) + len(b) for a, b in sets))


def with_frequent_labels(path: Path, count: int) -> tuple[Path, Path]:
    """The rows with their most frequent labels alone: nine tenths to learn from, one held out."""
    with open(path) as file:
        rows = [line.rstrip("\n").partition(" ")[::2] for line in file]
    often: dict[str, int] = {}
    for labels, _ in rows:
        for label in filter(None, labels.split(",")):
            often[label] = often.get(label, 0) + 1
    kept = set(sorted(often, key=lambda label: (-often[label], label))[:count])
    ROOM.mkdir(parents=True, exist_ok=True)
    train, test = ROOM / f"labels-{count}.mlsvm", ROOM / f"labels-{count}_test.mlsvm"
    with open(train, "w") as learnt, open(test, "w") as held_out:
        for k, (labels, pairs) in enumerate(rows):
            own = ",".join(label for label in labels.split(",") if label in kept)
            (held_out if k % 10 == 9 else learnt).write(f"{own} {pairs}\n")
    return train, test


def compete(what: str, contenders: list, true: list[str], score, repeats: int) -> dict:
    """Turns of one epoch and of five; the answers are those of the last turn of each."""
    lines = [{"name": c.name, "one": [], "five": []} for c in contenders]
    for _ in range(repeats):
        for line, contender in zip(lines, contenders, strict=True):
            line["one"].append(contender.learn(1))
            line["score_one"] = score(contender.predict(), true)
            line["five"].append(contender.learn(5))
            line["score_five"] = score(contender.predict(), true)
    for line in lines:
        line["epoch"] = (min(line["five"]) - min(line["one"])) / 4
    first = lines[0]
    name = "accuracy" if score is accuracy else "micro F1"
    print(f"{what}\n{'':<26}{'1 epoch s':>10}{'an epoch s':>12}{'ratio':>8}{'ratio 1':>8}  {name} after 1, 5 epochs")
    for line in lines:
        ratio, ratio_one = line["epoch"] / first["epoch"], min(line["one"]) / min(first["one"])
        scores = f"{line['score_one']:.4f}  {line['score_five']:.4f}"
        print(f"{line['name']:<26}{min(line['one']):>10.4f}{line['epoch']:>12.4f}{ratio:>8.1f}{ratio_one:>8.1f}  {scores}")
    print(flush=True)
    return {"what": what, "score": name, "contenders": lines}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.classes", description="Many classes and labels.")
    parser.add_argument("--data", type=Path, required=True, help="a folder with 20news_*.svm and medline_mesh.mlsvm")
    parser.add_argument("--binary", type=Path, default=Path("target/release/lazyglm"), help="the program under test")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each contender [default: 3]")
    parser.add_argument("--labels", type=int, default=50, help="how many of the most frequent labels [default: 50]")
    parser.add_argument("--no-record", action="store_true", help="write nothing into bench/records")
    args = parser.parse_args()
    binary, jobs = args.binary.resolve(), []
    ROOM.mkdir(parents=True, exist_ok=True)
    train, test = args.data / "20news_train.svm", args.data / "20news_test.svm"
    if train.exists() and test.exists():
        ours = [
            Ours("lazyglm softmax", binary, train, test, ["--multiclass", "softmax"]),
            Ours("lazyglm ovr", binary, train, test, ["--multiclass", "ovr"]),
        ]
        peers = [Sklearn("sklearn SGD (ovr)", train, test, labels=False)]
        jobs.append(compete("classes: 20news", ours + peers, truth(test), accuracy, args.repeats))
    mesh = args.data / "medline_mesh.mlsvm"
    if mesh.exists():
        train, test = with_frequent_labels(mesh, args.labels)
        ours = [Ours("lazyglm labels", binary, train, test, ["--multilabel"])]
        peers = [Sklearn("sklearn OneVsRest(SGD)", train, test, labels=True)]
        what = f"labels: medline_mesh, {args.labels} labels"
        jobs.append(compete(what, ours + peers, truth(test), micro_f1, args.repeats))
    if not jobs:
        print("neither 20news_train.svm nor medline_mesh.mlsvm is there")
        return 1
    if not args.no_record:
        folder = RECORDS / datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        folder.mkdir(parents=True, exist_ok=True)
        record = {"l1": L1, "l2": L2, "threads": THREADS, "machine": machine.facts(), "jobs": jobs}
        (folder / "classes.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
