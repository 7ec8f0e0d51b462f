"""Scores of rows by the weights of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from lazyglm._core import score_rows, scores
from lazyglm._data import is_path, lent, offsets_of, tf_idf, validated


class Predicting:
    """Scores, for both SGD estimators."""

    def _scores(self: Any, X: Any, offset: Any = None, whose: Any = None) -> Any:
        """One row per row of X and one column per model, with the offsets added. Errors name the estimator ``whose`` model this is, if given."""
        found = self._bare_scores(X, whose)
        offsets = offsets_of(offset, len(found))
        if offsets is not None and found.shape[1] > 1:
            raise ValueError("offset is for numbers and for two classes: more classes have no common offset")
        return found if offsets is None else found + offsets[:, None]

    def _bare_scores(self: Any, X: Any, whose: Any = None) -> Any:
        check_is_fitted(self)
        if is_path(X) or self._reads(X):
            return self._score_file(X)
        X = validated(whose or self, X, with_y=False, reset=False, columns=self._table_columns())
        coef: Any = self.coef_
        rows = lent(X)
        if self._tf_idf is not None:
            rows = lent(tf_idf(X, *self._tf_idf))
        if self._file_bytes is not None:
            return score_rows(rows, self._file_bytes).reshape(X.shape[0], -1)
        intercept = np.ascontiguousarray(np.ravel(self.intercept_), dtype=np.float64)
        if sp.issparse(coef):  # one model at a time is laid out, and the sums are those of a dense one
            each = (np.ascontiguousarray(coef[[k]].toarray(), dtype=np.float64) for k in range(coef.shape[0]))
            return np.hstack([scores(rows, weights, intercept[[k]], self._threads()) for k, weights in enumerate(each)])
        return scores(rows, np.ascontiguousarray(np.atleast_2d(coef), dtype=np.float64), intercept, self._threads())
