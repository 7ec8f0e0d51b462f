"""skglm: proximal Newton with working sets for logistic loss, Anderson's descent for squared."""

import skglm

from bench.optimum.peers import tiny

NAME = "skglm"
LADDER = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]


def supports(regression: bool, l2: float) -> str | None:
    return None


def warm_up() -> None:
    X, y = tiny()
    for regression in (False, True):
        for l2 in (0.0, 0.01):
            fit((X, y), regression, 0.01, l2, 1e-3)


def prepare(X, y):
    return X, y


def fit(data, regression, l1, l2, rung):
    X, y = data
    alpha, ratio = l1 + l2, l1 / (l1 + l2)
    make = skglm.ElasticNet if regression else skglm.SparseLogisticRegression
    model = make(alpha=alpha, l1_ratio=ratio, tol=rung, max_iter=200, fit_intercept=True)
    model.fit(X, y)
    bias = model.intercept_
    return model.coef_.ravel(), float(bias if regression else bias[0] if hasattr(bias, "__len__") else bias)
