"""svmlight text → arrays, for the judge; and → Vowpal Wabbit's text.

A reader of its own, so that the judge leans on no contender. Lines are `target index:value index:value ...`, with
comments after `#`; no `qid`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np

BLOCK = 1 << 24  # bytes of text turned into numbers at a time


@dataclasses.dataclass
class Rows:
    """A CSR matrix whose columns are the indices as written, and the targets as written."""

    starts: np.ndarray  # int64, rows + 1
    columns: np.ndarray  # int32
    values: np.ndarray  # float64
    targets: np.ndarray  # float64

    def __len__(self) -> int:
        return len(self.targets)

    def width(self) -> int:
        """One more than the highest index."""
        return int(self.columns.max()) + 1 if len(self.columns) else 0

    def dot(self, weights: np.ndarray) -> np.ndarray:
        """w·x of each row. `weights` must be at least as long as the rows are wide."""
        scores = np.zeros(len(self))
        filled = np.flatnonzero(np.diff(self.starts))  # reduceat gives an empty row its neighbour's first product
        if len(filled):
            products = self.values * weights[self.columns]
            scores[filled] = np.add.reduceat(products, self.starts[filled])
        return scores


def lines(path: Path) -> Iterator[bytes]:
    """The rows of a file: no comments, no blank lines."""
    with open(path, "rb") as file:
        for line in file:
            line = line.partition(b"#")[0].strip()
            if line:
                yield line


def read(path: Path) -> Rows:
    """A whole file."""
    targets, counts, columns, values, texts, size = [], [], [], [], [], 0

    def flush() -> None:
        nonlocal size
        numbers = np.fromstring(b" ".join(texts).replace(b":", b" ").decode(), sep=" ")
        columns.append(numbers[0::2].astype(np.int32))
        values.append(numbers[1::2].copy())
        texts.clear()
        size = 0

    for line in lines(path):
        target, *rest = line.split(None, 1)
        text = rest[0] if rest else b""
        targets.append(float(target))
        counts.append(text.count(b":"))
        texts.append(text)
        size += len(text)
        if size > BLOCK:
            flush()
    flush()
    rows = Rows(
        np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
        np.concatenate(columns),
        np.concatenate(values),
        np.array(targets),
    )
    if not len(rows.columns) == len(rows.values) == rows.starts[-1]:
        raise ValueError(f"{path.name}: not svmlight text of index:value pairs")
    return rows


def signs(targets: np.ndarray) -> np.ndarray:
    """Two classes as −1 and +1, the greater is +1; `ValueError` for any other number of classes."""
    classes = np.unique(targets)
    if len(classes) != 2:
        raise ValueError(f"{len(classes)} distinct targets, two are needed")
    return np.where(targets == classes[1], 1.0, -1.0)


def to_vw(path: Path, out: Path, namespace: str, greater: float) -> None:
    """Writes Vowpal Wabbit's text. Its `index:value` pairs are ours: only what stands before them differs."""
    head = {True: f"1 |{namespace} ".encode(), False: f"-1 |{namespace} ".encode()}
    with open(out, "wb") as file:
        for line in lines(path):
            target, *rest = line.split(None, 1)
            file.write(head[float(target) == greater] + (rest[0] if rest else b"") + b"\n")
