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
DEFAULT = "imdb"
SEEDS = (1, 2, 3)


def cases():
    """The name of each case, whether it is on tf-idf values, and the parameters."""
    logistic = {"loss": "log_loss"}
    yield "average", False, {**logistic, "average": True, "max_iter": 5, "tol": None, "learning_rate": "constant", "eta0": 0.01}
    yield "without an average", False, {**logistic, "max_iter": 5, "tol": None, "learning_rate": "constant", "eta0": 0.01}
    yield "squared_hinge", True, {"loss": "squared_hinge"}
    yield "early stopping", True, {**logistic, "early_stopping": True}
    for penalty, alpha in (("l1", 1e-4), ("l1", 1e-5), ("elasticnet", 1e-4)):
        for loss in ("log_loss", "hinge"):
            yield f"{penalty}, alpha={alpha:g}, {loss}", True, {"loss": loss, "penalty": penalty, "alpha": alpha}


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


def fitted(estimator, options, seed, X, y):
    """A model, and the seconds that it took."""
    model = estimator(**options, random_state=seed)
    started = time.perf_counter()
    model.fit(X, y)
    return model, time.perf_counter() - started


def both(data, name):
    """The rows of a set as counts and as tf-idf values, each with those held out; and the targets."""
    X, y, test, target = matrices.split(data, *SETS[name])
    X, test = X.astype(np.float64), test.astype(np.float64)
    scale = TfidfTransformer(sublinear_tf=True).fit(X)
    return {False: (X, test), True: (scale.transform(X), scale.transform(test))}, y, target


def run(data, asked, say):
    for name in (asked.sets or DEFAULT).split(","):
        kinds, y, target = both(data, name)
        say(f"  {name}: {len(y):,} rows, {kinds[True][0].shape[1]:,} features, {len(np.unique(y))} classes")
        for case, tf_idf, options in cases():
            rows, held = kinds[tf_idf]
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
