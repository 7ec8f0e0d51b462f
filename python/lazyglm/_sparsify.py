"""Sparse weights, and what pickles contain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from lazyglm import _params
from lazyglm._attributes import Seen

if TYPE_CHECKING:
    from typing_extensions import Self


class Sparsifying(_params.Estimator):
    """Sparse weights, for both SGD estimators."""

    coef_: Any
    intercept_: Any
    _looked: Seen
    if TYPE_CHECKING:
        _shaped: Any
        _read_coef: Any

    def sparsify(self) -> Self:
        """Turns ``coef_`` into a sparse matrix, for models whose weights are mostly zero.

        A pickle then contains only the sparse weights. After loading it, ``partial_fit`` continues from these weights and ``t_``.

        Returns
        -------
        self
            This estimator.
        """
        check_is_fitted(self)
        self._looked.coef = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Turns ``coef_`` back into an array.

        Returns
        -------
        self
            This estimator.
        """
        check_is_fitted(self)
        coef: Any = self.coef_
        if sp.issparse(coef):
            self.coef_ = self._shaped(coef.toarray())
        return self

    def __getstate__(self) -> Any:
        """For pickle: of learners and weights, the learners; of a sparsified model, the weights."""
        state = dict(super().__getstate__())
        looked = state.get("_looked")
        if looked is None or looked.coef is None or "_learners" not in state:
            return state
        kept = Seen()
        if sp.issparse(looked.coef):
            del state["_learners"]
            kept.coef, kept.intercept = looked.coef, self.intercept_
            state["_looked"] = kept
        elif np.array_equal(looked.coef, self._read_coef()):
            kept.intercept = looked.intercept
            state["_looked"] = kept
        return state
