"""Bars and pictures."""

import numpy as np
import pytest

from sklearn.feature_extraction.text import CountVectorizer

from lazyglm import ElasticNetClassifierCV, SGDClassifier, SGDRegressor

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

    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(["red green", "green blue", "red red", "blue green"] * 10)
    names = vectorizer.get_feature_names_out()
    ax = SGDClassifier(random_state=0).fit(counts, [0, 1, 0, 1] * 10).plot_coefficients(names=names)
    assert {label.get_text() for label in ax.get_yticklabels()} <= set(names)
    search = ElasticNetClassifierCV(alphas=4, cv=2).fit(counts, [0, 1, 0, 1] * 10)
    legend = search.plot_path(names=names).get_legend()
    assert {text.get_text() for text in legend.get_texts()} <= set(names) and len(legend.get_texts()) > 0
    ax = search.plot_cv()
    assert ax.get_legend() is not None and ax.get_ylabel() == "mean log_loss, held out"
    scored = ElasticNetClassifierCV(alphas=4, cv=2, scoring="roc_auc").fit(counts, [0, 1, 0, 1] * 10)
    ax = scored.plot_cv()
    assert ax.get_ylabel() == "mean roc_auc, held out"
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), scored.cv_results_["mean_test_score"])
    exact = SGDClassifier("log_loss", solver="newton").fit(counts, [0, 1, 0, 1] * 10).plot_loss()
    assert (exact.get_xlabel(), exact.get_ylabel()) == ("step", "objective")
    ax = SGDRegressor(random_state=0).fit(X, X[:, 0]).plot_coefficients(ax=pyplot.subplots()[1])
    assert ax.get_yticklabels()[0].get_text() == "0"
    pyplot.close("all")
