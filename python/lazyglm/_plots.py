"""Pictures of what was learnt, with matplotlib."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'lazyglm[plot]'") from None
    return pyplot.subplots()[1]


class Plots:
    """Pictures of a fitted model."""

    def plot_loss(self: Any, ax: Any = None) -> Any:
        """The mean loss of each epoch's rows, each before it was learnt; one line a model. Returns the axes."""
        check_is_fitted(self)
        ax = _axes(ax)
        names = [None] if len(self._losses) == 1 else [str(name) for name in self.classes_]
        for name, losses in zip(names, self._losses, strict=True):
            ax.plot(np.arange(1, len(losses) + 1), losses, label=name)
        ax.set(xlabel="epoch", ylabel=f"mean {self.loss}")
        if len(names) > 1:
            ax.legend()
        return ax

    def plot_coefficients(self: Any, ax: Any = None, *, top: int = 20, model: int = 0) -> Any:
        """The weights that are largest, with the names of their features; of one model if there are several. Returns the axes."""
        check_is_fitted(self)
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
        weights = coef[model]
        names = getattr(self, "feature_names_in_", None)
        largest = np.argsort(-np.abs(weights), kind="stable")[:top]
        largest = largest[weights[largest] != 0]
        ax = _axes(ax)
        labels = [str(j) if names is None else str(names[j]) for j in largest]
        ax.barh(np.arange(len(largest)), weights[largest])
        ax.set_yticks(np.arange(len(largest)), labels)
        ax.invert_yaxis()
        ax.set(xlabel="weight")
        return ax
