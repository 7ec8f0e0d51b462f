"""Pictures of what was learnt, with matplotlib."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lazyglm import _params
from lazyglm._data import by_model


#: The largest number of features that a legend names.
IN_LEGEND = 10


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
        """Plots the running loss of each epoch, with one line per model; the objective after each step of a solver that finds the optimum.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes new axes.

        Returns
        -------
        matplotlib axes
            The axes.
        """
        check_is_fitted(self)
        ax = _axes(ax)
        names = [None] if len(self._losses) == 1 else [str(name) for name in self.classes_]
        for name, losses in zip(names, self._losses, strict=True):
            ax.plot(np.arange(1, len(losses) + 1), losses, label=name)
        exact = _params.finds_optimum(self.solver)
        ax.set(xlabel="step" if exact else "epoch", ylabel="objective" if exact else f"mean {self.loss}")
        if len(names) > 1:
            ax.legend()
        return ax

    def plot_coefficients(self: Any, ax: Any = None, *, top: int = 20, model: int = 0, names: Any = None) -> Any:
        """The weights that are largest, with the names of their features; of one model if there are several.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes new axes.
        top : int, default=20
            The largest number of weights.
        model : int, default=0
            The model, if there are several.
        names : array-like of str or None, default=None
            The names of the features, such as ``vectorizer.get_feature_names_out()``; None is those of the training data.

        Returns
        -------
        matplotlib axes
        """
        check_is_fitted(self)
        weights = by_model(self.coef_)[model]
        names = self._names() if names is None else names
        largest = np.argsort(-np.abs(weights), kind="stable")[:top]
        largest = largest[weights[largest] != 0]
        ax = _axes(ax)
        labels = [str(j) if names is None else str(names[j]) for j in largest]
        ax.barh(np.arange(len(largest)), weights[largest])
        ax.set_yticks(np.arange(len(largest)), labels)
        ax.invert_yaxis()
        several = len(by_model(self.coef_)) > 1
        ax.set(xlabel=f"weight of {self.classes_[model]}" if several else "weight")
        return ax


class PathPlots:
    """Pictures of a search."""

    def plot_path(self: Any, ax: Any = None, *, top: int = 20, model: int = 0, names: Any = None) -> Any:
        """The weights over alpha, the ``top`` that become largest, at the chosen l1_ratio; of one class if there are several.

        Lines stand where the held-out loss is lowest, and at the strongest penalty within a standard error. The legend names the ten largest.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes new axes.
        top : int, default=20
            The largest number of features.
        model : int, default=0
            The model, if there are several.
        names : array-like of str or None, default=None
            The names of the features, such as ``vectorizer.get_feature_names_out()``; None is those of the training data.

        Returns
        -------
        matplotlib axes
        """
        check_is_fitted(self)
        ax = _axes(ax)
        coef = self.path_coef_[model] if isinstance(self.path_coef_, list) else self.path_coef_
        largest = np.asarray(abs(coef).max(axis=0).todense()).ravel()
        columns = np.argsort(-largest, kind="stable")[:top]
        columns = columns[largest[columns] > 0]
        names = self._names() if names is None else names
        for j, weights in zip(columns, coef[:, columns].toarray().T, strict=True):
            ax.plot(self.path_alphas_, weights, label=str(j) if names is None else str(names[j]))
        self._mark_choices(ax)
        ax.set(xlabel="alpha", ylabel="weight")
        lines, labels = ax.get_legend_handles_labels()
        if lines:
            ax.legend(lines[:IN_LEGEND], labels[:IN_LEGEND], fontsize="small")
        return ax

    def plot_cv(self: Any, ax: Any = None) -> Any:
        """The held-out loss, or the score of ``scoring``, over alpha with its standard error; one line per l1_ratio.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes new axes.

        Returns
        -------
        matplotlib axes
            The axes.
        """
        check_is_fitted(self)
        ax = _axes(ax)
        found, scoring = self.cv_results_, self.scoring
        sign, name = (-1, self.loss) if scoring is None else (1, scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score"))
        for ratio in np.unique(found["param_l1_ratio"]):
            those = found["param_l1_ratio"] == ratio
            mean, se = sign * found["mean_test_score"][those], found["se_test_score"][those]
            ax.errorbar(found["param_alpha"][those], mean, yerr=se, capsize=2, label=f"l1_ratio {ratio:g}")
        self._mark_choices(ax)
        ax.set(xlabel="alpha", ylabel=f"mean {name}, held out")
        ax.legend()
        return ax

    def _mark_choices(self: Any, ax: Any) -> None:
        if np.all(self.cv_results_["param_alpha"] > 0):
            ax.set_xscale("log")
        for index, style in ((self.best_index_, "--"), (self.one_se_index_, ":")):
            ax.axvline(self.cv_results_["param_alpha"][index], color="grey", linestyle=style)
