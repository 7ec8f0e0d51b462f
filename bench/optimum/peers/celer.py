"""celer: dual extrapolation and working sets. Its logistic regression has no bias, so it enters for squared loss alone."""

import celer

from bench.optimum.peers import tiny

NAME = "celer"
LADDER = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]


def supports(regression: bool, l2: float) -> str | None:
    return None if regression else "no bias in its logistic regression"


def warm_up() -> None:
    X, y = tiny()
    fit((X, y), True, 0.01, 0.0, 1e-3)
    fit((X, y), True, 0.01, 0.01, 1e-3)


def prepare(X, y):
    return X, y


def fit(data, regression, l1, l2, rung):
    X, y = data
    model = celer.ElasticNet(alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), tol=rung, max_iter=200, fit_intercept=True)
    model.fit(X, y)
    return model.coef_, float(model.intercept_)
