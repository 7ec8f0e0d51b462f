"""Seconds until F is within 1e-3 of the optimum, one thread: wanted 10 x saga, and 2 x LIBLINEAR where there is no l2.

The optimum is that of ElasticNetClassifier with tol=1e-8. A peer is trained anew with more and more iterations until F is there; the seconds are those
of that fit alone: somebody who knows the optimum has told it when to stop. The line `told` is lazyglm under the same rule, with smaller and smaller `tol`; the line
`lazyglm` has tol=1e-3 and ends with a proof of it. scikit-learn's `liblinear` penalises the intercept: a value of 10 for its feature keeps the difference small, and F is
that of its own intercept.
"""

import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

from bench.python import matrices
from bench.python.timed import clock, within

SETS = {"a9a": "a9a.svm", "w8a": "w8a.svm", "rcv1": "rcv1_small.svm", "imdb": "imdb_train.svm"}
PENALTIES = ((1e-4, 1.0), (1e-4, 0.5), (1e-3, 0.5))
GOOD = 1e-3
TOLERANCES = (1.0, 0.3, 0.1, 0.03, 0.01, GOOD)
STEPS = [2**k for k in range(1, 15)]


def objective(model, X, y, alpha, l1_ratio):
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    loss = np.logaddexp(0, -np.where(y == model.classes_[1], 1, -1) * (X @ w + b)).mean()
    return loss + alpha * (l1_ratio * np.abs(w).sum() + (1 - l1_ratio) / 2 * (w @ w))


def ours(X, y, alpha, l1_ratio, tol):
    from lazyglm import ElasticNetClassifier

    warnings.simplefilter("ignore")  # with a large tol, the gap may be larger
    seconds, model = clock(ElasticNetClassifier(alpha=alpha, l1_ratio=l1_ratio, tol=tol).fit, X, y)
    return seconds, objective(model, X, y, alpha, l1_ratio)


def told(X, y, alpha, l1_ratio, best):
    for tol in TOLERANCES:
        seconds, f = min(ours(X, y, alpha, l1_ratio, tol) for _ in range(3))
        if f <= best * (1 + GOOD):
            break
    return seconds, f


def theirs(solver, X, y, alpha, l1_ratio, best):
    extra = {"intercept_scaling": 10} if solver == "liblinear" else {}
    for steps in STEPS:
        model = LogisticRegression(C=1 / (alpha * len(y)), l1_ratio=l1_ratio, solver=solver, tol=1e-14, max_iter=steps, random_state=1, **extra)
        seconds, model = clock(model.fit, X, y)
        f = objective(model, X, y, alpha, l1_ratio)
        if f <= best * (1 + GOOD):
            break
    return seconds, f


def run(data, asked, say):
    for name in asked.sets.split(",") if asked.sets else SETS:
        X, y = matrices.one(data, name=SETS[name])
        X = X.astype(np.float64)
        for alpha, l1_ratio in PENALTIES:
            _, best = ours(X, y, alpha, l1_ratio, 1e-8)
            seconds, f = min(ours(X, y, alpha, l1_ratio, GOOD) for _ in range(3))
            say(f"  {name}, alpha={alpha:g}, l1_ratio={l1_ratio:g}: F* {best:.6f}")
            say(f"    {'lazyglm':13} {seconds:8.3f} s   F/F* - 1 = {f / best - 1:.1e}", set=name, who="lazyglm", alpha=alpha, l1_ratio=l1_ratio, seconds=seconds)
            quick, f = told(X, y, alpha, l1_ratio, best)
            say(f"    {'told':13} {quick:8.3f} s   F/F* - 1 = {f / best - 1:.1e}", set=name, who="told", alpha=alpha, l1_ratio=l1_ratio, seconds=quick)
            for solver in ("saga", "liblinear") if l1_ratio == 1 else ("saga",):
                found = within(asked.limit, theirs, solver, X, y, alpha, l1_ratio, best)
                if found is None:
                    say(f"    {solver:13} not there after {asked.limit:g} s in all", set=name, who=solver, seconds=None)
                    continue
                text = f"{found[0]:8.3f} s   F/F* - 1 = {found[1] / best - 1:.1e}   {found[0] / seconds:.1f} x, {found[0] / quick:.1f} x of told"
                say(f"    {solver:13} {text}", set=name, who=solver, alpha=alpha, l1_ratio=l1_ratio, seconds=found[0], F=found[1])
