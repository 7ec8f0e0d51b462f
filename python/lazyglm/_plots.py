"""Pictures of what was learnt, with matplotlib."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lazyglm._data import by_model


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
        weights = by_model(self.coef_)[model]
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


class PathPlots:
    """Pictures of a search."""

    def plot_path(self: Any, ax: Any = None, *, top: int = 20, model: int = 0) -> Any:
        """The weights over alpha, the ``top`` that become largest, at the chosen l1_ratio; of one class if there are several.

        Lines stand where the loss on rows held out is lowest, and at the strongest penalty within a standard error. Returns the
        axes."""
        check_is_fitted(self)
        ax = _axes(ax)
        coef = self.path_coef_[model] if isinstance(self.path_coef_, list) else self.path_coef_
        largest = np.asarray(abs(coef).max(axis=0).todense()).ravel()
        columns = np.argsort(-largest, kind="stable")[:top]
        columns = columns[largest[columns] > 0]
        names = getattr(self, "feature_names_in_", None)
        for j, weights in zip(columns, coef[:, columns].toarray().T, strict=True):
            ax.plot(self.path_alphas_, weights, label=str(j) if names is None else str(names[j]))
        self._mark_choices(ax)
        ax.set(xlabel="alpha", ylabel="weight")
        return ax

    def plot_cv(self: Any, ax: Any = None) -> Any:
        """The loss on rows held out over alpha, with its standard error; one line an l1_ratio. Returns the axes."""
        check_is_fitted(self)
        ax = _axes(ax)
        found = self.cv_results_
        for ratio in np.unique(found["param_l1_ratio"]):
            those = found["param_l1_ratio"] == ratio
            loss, se = -found["mean_test_score"][those], found["se_test_score"][those]
            ax.errorbar(found["param_alpha"][those], loss, yerr=se, capsize=2, label=f"l1_ratio {ratio:g}")
        self._mark_choices(ax)
        ax.set(xlabel="alpha", ylabel=f"mean {self.loss}, held out")
        ax.legend()
        return ax

    def _mark_choices(self: Any, ax: Any) -> None:
        if np.all(self.cv_results_["param_alpha"] > 0):
            ax.set_xscale("log")
        for index, style in ((self.best_index_, "--"), (self.one_se_index_, ":")):
            ax.axvline(self.cv_results_["param_alpha"][index], color="grey", linestyle=style)
