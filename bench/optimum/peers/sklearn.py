"""scikit-learn: saga for logistic loss, its own coordinate descent for squared."""

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, LogisticRegression

NAME = "scikit-learn"
LADDER = [10, 40, 160, 640, 2560]  # passes over the data

warnings.filterwarnings("ignore", category=ConvergenceWarning)
warnings.filterwarnings("ignore", category=FutureWarning)


def supports(regression: bool, l2: float) -> str | None:
    return None


def warm_up() -> None:
    pass


def prepare(X, y):
    return X, X.tocsr(), y


def fit(data, regression, l1, l2, rung):
    X, by_row, y = data
    if regression:
        model = ElasticNet(alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), tol=1e-10, max_iter=rung)
        model.fit(X, y)
        return model.coef_, float(model.intercept_)
    C = 1 / (X.shape[0] * (l1 + l2))
    model = LogisticRegression(
        solver="saga", penalty="elasticnet", l1_ratio=l1 / (l1 + l2), C=C, tol=1e-10, max_iter=rung
    )
    model.fit(by_row, y)
    return model.coef_.ravel(), float(model.intercept_[0])
