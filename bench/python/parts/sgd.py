"""SGD in scikit-learn's settings: averages as fast, n_iter_ at most double, supports no larger, an objective no higher, accuracy no lower.

Held-out accuracy is the mean over three seeds, seconds are the least of them, and F is the objective on the training rows, by numpy alone.
"""

import time

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from bench.python import matrices
from bench.python.parts.epoch import estimators

SETS = {
    "imdb": ("imdb_train.svm", "imdb_test.svm"),
    "20news": ("20news_train.svm", "20news_test.svm"),
    "sms": ("sms_spam.tsv", None),
    "medline": ("medline_sections.svm", None),
    "rcv1": ("rcv1_small.svm", "rcv1_small_test.svm"),
    "a9a": ("a9a.svm", "a9a.t.svm"),
    "w8a": ("w8a.svm", None),
}
DEFAULT = "imdb,20news"
SEEDS = (1, 2, 3)
CHUNKS = 20


def cases():
    """The name of each case, whether it is on tf-idf values, and the parameters. 'chunks' is one pass by partial_fit."""
    logistic = {"loss": "log_loss"}
    yield "average", False, {**logistic, "average": True, "max_iter": 5, "tol": None, "learning_rate": "constant", "eta0": 0.01}
    yield "without an average", False, {**logistic, "max_iter": 5, "tol": None, "learning_rate": "constant", "eta0": 0.01}
    yield "squared_hinge", True, {"loss": "squared_hinge"}
    yield "early stopping", True, {**logistic, "early_stopping": True}
    for penalty, alpha in (("l1", 1e-4), ("l1", 1e-5), ("elasticnet", 1e-4)):
        for loss in ("log_loss", "hinge"):
            yield f"{penalty}, alpha={alpha:g}, {loss}", True, {"loss": loss, "penalty": penalty, "alpha": alpha}
    for tf_idf in (False, True):
        of = "tf-idf" if tf_idf else "counts"
        yield f"{of}, defaults", tf_idf, {}
        yield f"{of}, one epoch", tf_idf, {"max_iter": 1, "tol": None}
        yield f"{of}, one epoch, no intercept", tf_idf, {"max_iter": 1, "tol": None, "fit_intercept": False}
        yield f"{of}, chunks", tf_idf, {"chunks": True}


def objective(model, X, y):
    """F, the mean over classes if there are several."""
    coef, scores, total = np.atleast_2d(model.coef_), model.decision_function(X).reshape(len(y), -1), 0.0
    ratio = {"l1": 1.0, "l2": 0.0}.get(model.penalty, model.l1_ratio)
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    for w, score, own in zip(coef, scores.T, classes, strict=True):
        margins = np.where(y == own, 1, -1) * score
        loss = np.logaddexp(0, -margins) if model.loss == "log_loss" else np.maximum(0, 1 - margins) ** (2 if "squared" in model.loss else 1)
        total += loss.mean() + model.alpha * (ratio * np.abs(w).sum() + (1 - ratio) / 2 * (w @ w))
    return total / len(coef)


def with_best_intercept(model, X, y, held):
    """Predictions for held-out rows after each intercept has been set to its optimum for the weights, by bisection; for the hinge loss."""
    scores, shown = (model.decision_function(rows).reshape(rows.shape[0], -1) - model.intercept_ for rows in (X, held))
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    for k, own in enumerate(classes):
        signs = np.where(y == own, 1, -1)
        low, high = -scores[:, k].max() - 2, -scores[:, k].min() + 2
        for _ in range(50):
            middle = (low + high) / 2
            rises = (signs * (signs * (scores[:, k] + middle) < 1)).mean() < 0
            low, high = (low, middle) if rises else (middle, high)
        shown[:, k] += (low + high) / 2
    return model.classes_[shown.argmax(axis=1) if len(classes) > 1 else (shown[:, 0] > 0).astype(int)]


def fitted(estimator, options, seed, X, y):
    """A model, and the seconds that it took."""
    options = {**options, "random_state": seed}
    chunks = options.pop("chunks", False)
    model = estimator(**options)
    started = time.perf_counter()
    if not chunks:
        model.fit(X, y)
    for rows in np.array_split(np.random.default_rng(seed).permutation(len(y)), CHUNKS) if chunks else ():
        model.partial_fit(X[rows], y[rows], classes=np.unique(y))
    return model, time.perf_counter() - started


def run(data, asked, say):
    for name in (asked.sets or DEFAULT).split(","):
        X, y, test, target = matrices.split(data, *SETS[name])
        X, test = X.astype(np.float64), test.astype(np.float64)
        say(f"  {name}: {X.shape[0]:,} rows, {X.shape[1]:,} features, {len(np.unique(y))} classes")
        scale = TfidfTransformer(sublinear_tf=True).fit(X)
        scaled = scale.transform(X), scale.transform(test)
        for case, tf_idf, options in cases():
            rows, held = scaled if tf_idf else (X, test)
            say(f"    {case}")
            for who, estimator in estimators().items():
                models = [fitted(estimator, options, seed, rows, y) for seed in SEEDS]
                accuracy = np.mean([(model.predict(held) == target).mean() for model, _ in models])
                seconds, model = min(seconds for _, seconds in models), models[0][0]
                figures = {
                    "seconds": seconds,
                    "accuracy": accuracy,
                    "epochs": int(model.n_iter_),
                    "F": objective(model, rows, y),
                    "nonzeros": int(np.count_nonzero(model.coef_)),
                }
                text = f"{seconds:8.3f} s   accuracy {accuracy:.4f}   {figures['epochs']:4} epochs   F {figures['F']:.5f}   {figures['nonzeros']:,} non-zeros"
                say(f"      {who:13} {text}", set=name, case=case, who=who, **figures)
                if who == "lazyglm" and case.endswith(("one epoch", "defaults")):
                    best = np.mean([(with_best_intercept(model, rows, y, held) == target).mean() for model, _ in models])
                    say(f"      with the best intercept   accuracy {best:.4f}", set=name, case=case, who="best intercept", accuracy=best)
