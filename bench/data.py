"""Data to train on: made here, or a folder of svmlight files. Nothing is downloaded.

Made rows have the shape of Medline abstracts as bags of words: 260,941 features, about 87 of them in a row, Zipf's law,
and values of six decimals, which is what a reader of text has to work on. 200,000 rows are about 270 MB.
"""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np

from bench import svmlight

FEATURES = 260_941
HELD_OUT = 10  # of made rows, one more in ten to hold out; of a file without a test file, every tenth row
BLOCK = 10_000  # rows made at a time
VERSION = 1  # raise it when the made rows change, so that old files are not taken for new ones


@dataclasses.dataclass
class Data:
    """One data set in a folder of its own, where contenders may put their own forms of it."""

    name: str
    folder: Path
    made: bool
    width: int = 0  # one more than the highest index
    greater: float = 1.0  # the target of the class that is +1

    @property
    def train(self) -> Path:
        return self.folder / "train.svm"

    @property
    def held_out(self) -> Path:
        return self.folder / "test.svm"


def made(rows: int, under: Path) -> Data:
    """Made data, from an earlier run if they are there."""
    data = Data(f"made-{rows}", under / f"made-{rows}", True)
    stamp = data.folder / "stamp"
    wanted = f"version {VERSION}, {rows} rows\n"
    if not (stamp.exists() and stamp.read_text() == wanted):
        fresh(data.folder)
        maker = Maker(seed=1)
        maker.write(data.train, rows)
        maker.write(data.held_out, max(rows // HELD_OUT, 100))
        stamp.write_text(wanted)  # last: a run cut short leaves no stamp
    return data


class Maker:
    """A stream of rows with a planted truth; the same rows on every machine with the same numpy."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        share = 1.0 / (np.arange(FEATURES) + 12.0)  # Zipf–Mandelbrot: common words, but none in every row
        self.cumulative = np.cumsum(share) / share.sum()
        self.names = self.random.permutation(FEATURES) + 1  # frequent features lie anywhere, as in an alphabet
        self.truth = np.zeros(FEATURES)
        planted = np.unique((10 ** self.random.uniform(1, 4.5, 3000)).astype(int))  # frequent and rare alike
        self.truth[planted] = self.random.normal(0, 9, len(planted))

    def block(self, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Signs, non-zeros of each row, features and values in millionths."""
        lengths = np.maximum(self.random.gamma(6.0, 91 / 6.0, rows), 3).astype(int)  # long and short abstracts
        owner = np.repeat(np.arange(rows), lengths)
        ranks = np.searchsorted(self.cumulative, self.random.random(len(owner)))
        keys, times = np.unique(owner * (FEATURES + 1) + self.names[np.minimum(ranks, FEATURES - 1)], return_counts=True)
        owner, names = keys // (FEATURES + 1), keys % (FEATURES + 1)
        values = np.log1p(times) * self.random.lognormal(0.0, 0.5, len(keys))
        values /= np.sqrt(np.bincount(owner, values**2, rows))[owner]  # rows of length one, as tf-idf leaves them
        millionths = np.clip(np.rint(values * 1e6), 1, 999_999).astype(int)
        rank_of = np.empty(FEATURES + 1, dtype=int)
        rank_of[self.names] = np.arange(FEATURES)
        scores = np.bincount(owner, values * self.truth[rank_of[names]], rows)
        signs = np.where(self.random.random(rows) < 1 / (1 + np.exp(-2.0 * scores)), 1, -1)
        return signs, np.bincount(owner, minlength=rows), names, millionths

    def write(self, path: Path, rows: int) -> None:
        pair = "%d:0.%06d".__mod__
        with open(path, "w") as file:
            for first in range(0, rows, BLOCK):
                signs, counts, names, values = self.block(min(BLOCK, rows - first))
                pairs = list(map(pair, zip(names.tolist(), values.tolist())))
                end = 0
                for sign, count in zip(signs.tolist(), counts.tolist()):
                    start, end = end, end + count
                    file.write(f"{sign:+d} {' '.join(pairs[start:end])}\n")


def folder(path: Path, under: Path) -> list[Data]:
    """The data sets of a folder: X.svm, X_train.svm with X_test.svm, or X.svm with X_test.svm or X.t.svm.

    They are copied, for contenders write beside the data and the folder is somebody's own.
    """
    files = sorted(path.glob("*.svm"))
    tests = {file for file in files if file.stem.endswith(("_test", ".t"))}
    found = []
    for file in files:
        if file in tests:
            continue
        name = file.stem.removesuffix("_train")
        test = next((t for t in (path / f"{name}_test.svm", path / f"{name}.t.svm") if t in tests), None)
        data = Data(name, under / f"real-{name}", False)
        stamp = data.folder / "stamp"
        wanted = "".join(f"{f.stat().st_size} {f.stat().st_mtime_ns}\n" for f in (file, test) if f)
        if not (stamp.exists() and stamp.read_text() == wanted):
            fresh(data.folder)
            if test:
                shutil.copyfile(file, data.train)
                shutil.copyfile(test, data.held_out)
            else:
                split(file, data.train, data.held_out)
            stamp.write_text(wanted)
        found.append(data)
    return found


def split(file: Path, train: Path, held_out: Path) -> None:
    """Every tenth row is held out."""
    with open(train, "wb") as most, open(held_out, "wb") as few:
        for i, line in enumerate(svmlight.lines(file)):
            (few if i % HELD_OUT == HELD_OUT - 1 else most).write(line + b"\n")


def fresh(path: Path) -> None:
    """An empty folder: what a contender made of older data must not be taken for newer."""
    if path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True)
