"""Scores, probabilities and classes of rows, by the weights that are not zero: memory does not depend on the width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from scipy.special import expit

from lazyglm._classifier import PROBABLE
from lazyglm._losses import LOG_LINK
from lazyglm.spark._solve import Head
from lazyglm.spark._vectors import csr


class Scorer:
    """All heads of a model, over the union of their columns. It travels to where the rows are."""

    def __init__(self, heads: list[Head], columns: int, loss: str, thresholds: list[float] | None = None) -> None:
        self.columns, self.loss, self.thresholds = columns, loss, thresholds
        self.ids = np.unique(np.concatenate([head.ids for head in heads]))
        self.weights = np.zeros((len(self.ids), len(heads)))
        for k, head in enumerate(heads):
            self.weights[np.searchsorted(self.ids, head.ids), k] = head.values
        self.biases = np.array([head.bias for head in heads])

    def scores(self, X: Any) -> Any:
        """A column a head."""
        if len(self.ids) == 0:
            return np.zeros((X.shape[0], len(self.biases))) + self.biases
        places = np.minimum(np.searchsorted(self.ids, X.indices), len(self.ids) - 1)
        values = np.where(self.ids[places] == X.indices, X.data, 0.0)
        known = sp.csr_array((values, places, X.indptr), shape=(X.shape[0], len(self.ids)))
        return known @ self.weights + self.biases

    def raw(self, scores: Any) -> Any:
        """A column a class: of two, the score of the second, and before it the same with the other sign."""
        return np.column_stack([-scores[:, 0], scores[:, 0]]) if scores.shape[1] == 1 else scores

    def probabilities(self, raw: Any) -> Any:
        """A column a class: logistic, or linear between -1 and 1; of many, in proportion; all alike if all are zero."""
        each = expit(raw) if self.loss == "log_loss" else (np.clip(raw, -1, 1) + 1) / 2
        if raw.shape[1] == 2:
            return each
        total = each.sum(axis=1, keepdims=True)
        return np.divide(each, total, out=np.full_like(each, 1 / raw.shape[1]), where=total > 0)

    def classes(self, raw: Any, probabilities: Any) -> Any:
        """The class of the largest p/t with thresholds t (a threshold of zero is chosen if p is not), or of the largest score."""
        if self.thresholds is None:
            return np.argmax(raw, axis=1).astype(np.float64)
        t = np.array(self.thresholds)
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.where((t == 0) & (probabilities == 0), 0.0, probabilities / t)
        return np.argmax(scaled, axis=1).astype(np.float64)

    def classified(self, column: Any) -> Any:
        """An Arrow column of unwrapped vectors as a struct of scores, probabilities and class."""
        raw = self.raw(self.scores(csr(column, self.columns)))
        probable = self.probabilities(raw) if self.loss in PROBABLE else None
        lists = [_lists(raw), _lists(probable if probable is not None else raw[:, :0])]
        return pa.StructArray.from_arrays([*lists, pa.array(self.classes(raw, probable))], ["raw", "probability", "prediction"])

    def predicted(self, column: Any) -> Any:
        """An Arrow column of unwrapped vectors as numbers."""
        return pa.array(self.numbers(csr(column, self.columns)))

    def numbers(self, X: Any) -> Any:
        scores = self.scores(X)[:, 0]
        return np.exp(scores) if self.loss in LOG_LINK else scores


def _lists(matrix: Any) -> Any:
    offsets = np.arange(0, matrix.size + 1, matrix.shape[1]) if matrix.shape[1] else np.zeros(matrix.shape[0] + 1)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(np.ascontiguousarray(matrix).ravel()))
