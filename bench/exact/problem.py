"""A data set as the contenders get it: a file for lazyglm, arrays for the peers, and rows for the judge."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from bench import data, svmlight

MANY = 50  # more distinct targets than this are numbers to predict, not classes


class Problem:
    """A set in memory and in files: training rows and held-out rows.

    X_test.svm or X.t.svm is held out if it exists; otherwise every tenth row is. With `numbers`, classes are numbers to predict.
    """

    def __init__(self, folder: Path, name: str, under: Path, numbers: bool = False):
        source, stem = folder / f"{name}.svm", name.removesuffix("_train")
        test = next((t for t in (folder / f"{stem}_test.svm", folder / f"{stem}.t.svm") if t.exists()), None)
        self.name, self.file, held_out = name, under / f"{name}.svm", under / f"{name}.held-out.svm"
        if test:
            shutil.copyfile(source, self.file)
            shutil.copyfile(test, held_out)
        else:
            data.split(source, self.file, held_out)
        self.rows, self.held_rows = svmlight.read(self.file), svmlight.read(held_out)
        self.width = max(self.rows.width(), self.held_rows.width())
        self.labels = np.unique(self.rows.targets)
        self.numbers = numbers or len(self.labels) > MANY
        self.y, self.held_y = self.encode(self.rows.targets), self.encode(self.held_rows.targets)
        self.arrays = under / f"{name}.npz"
        np.savez(
            self.arrays, values=self.rows.values, columns=self.rows.columns, starts=self.rows.starts.astype(np.int32),
            shape=(len(self.rows), self.width), targets=self.y,
        )  # fmt: skip

    @property
    def kind(self) -> str:
        """'numbers', 'two' or 'many' (classes)."""
        return "numbers" if self.numbers else "two" if len(self.labels) == 2 else "many"

    def encode(self, targets: np.ndarray) -> np.ndarray:
        """Numbers as they are; two classes as ±1; many classes as their position among the sorted labels."""
        if self.kind == "numbers":
            return targets
        if not np.isin(targets, self.labels).all():
            raise ValueError(f"{self.name}: a held-out row has a class that no training row has")
        place = np.searchsorted(self.labels, targets)
        return place * 2.0 - 1.0 if self.kind == "two" else place

    def l1_max(self) -> float:
        """λ₁_max, the smallest l1 at which all weights are zero, for squared, logistic, one-vs-rest and softmax loss alike.

        At the best biases of the null model the derivatives of the loss are mean − y, with y the number or a class as 0 or 1.
        """
        if self.kind == "numbers":
            targets = [self.y]
        else:
            targets = [(self.rows.targets == label).astype(float) for label in self.labels]
        owner = np.repeat(np.arange(len(self.rows)), np.diff(self.rows.starts))
        most = 0.0
        for y in targets:
            products = self.rows.values * (y.mean() - y)[owner]
            most = max(most, float(np.abs(np.bincount(self.rows.columns, products)).max()) / len(y))
        return most

    def describe(self) -> str:
        what = {"numbers": "numbers", "two": "2 classes", "many": f"{len(self.labels)} classes"}[self.kind]
        return f"{self.name}: {len(self.rows)} rows, {self.width} features, {len(self.rows.values)} non-zeros, {what}"
