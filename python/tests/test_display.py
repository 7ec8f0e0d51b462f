"""Bars and pictures."""

import numpy as np
import pytest

from lazyglm import SGDClassifier, SGDRegressor

X = np.random.default_rng(0).normal(size=(60, 5))
Y = np.arange(60) % 3


def test_a_bar_goes_to_its_end(capsys):
    pytest.importorskip("tqdm")
    SGDClassifier(max_iter=4, tol=None, random_state=0, progress=True).fit(X, Y)
    err = capsys.readouterr().err
    assert "12/12" in err and "objective" in err  # three models of four epochs


def test_repr_says_what_is_not_usual():
    assert repr(SGDClassifier(alpha=0.5, method="sgd")) == "SGDClassifier(alpha=0.5, method='sgd')"


def test_pictures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    model = SGDClassifier(max_iter=4, tol=None, random_state=0).fit(X, Y)
    ax = model.plot_loss()
    assert len(ax.lines) == 3 and all(len(line.get_xdata()) == 4 for line in ax.lines)
    assert np.array_equal(ax.lines[1].get_ydata(), model.loss_history_[1])
    ax = model.plot_coefficients(model=2, top=3)
    widths = [bar.get_width() for bar in ax.patches]
    assert np.array_equal(widths, model.coef_[2][np.argsort(-np.abs(model.coef_[2]))[:3]])
    from matplotlib import pyplot

    ax = SGDRegressor(random_state=0).fit(X, X[:, 0]).plot_coefficients(ax=pyplot.subplots()[1])
    assert ax.get_yticklabels()[0].get_text() == "0"
    pyplot.close("all")
