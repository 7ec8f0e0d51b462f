"""scikit-learn's LogisticRegression with more than two classes, which is softmax regression with a free bias."""

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from bench.exact.peers import Peer, finer

warnings.filterwarnings("ignore", category=ConvergenceWarning)

MOST_BYTES = 2e9  # of the Hessian of newton-cholesky


class Softmax(Peer):
    """One solver; its ladder is the number of iterations, with a tolerance that never stops it earlier."""

    parts = ("softmax",)

    def __init__(self, solver: str, ladder: list[int]):
        self.solver, self.ladder, self.name = solver, ladder, f"sklearn {solver}"

    def refuses(self, asked):
        if asked["l1"] > 0 and self.solver != "saga":
            return "it has no l1"
        if asked["l1"] == 0 and self.solver == "saga":
            return "it is entered only where l1 > 0"
        side = asked["classes"] * (asked["shape"][1] + 1)
        if self.solver == "newton-cholesky" and 8 * side**2 > MOST_BYTES:
            return f"its Hessian of (classes × features)² would take {8 * side**2 / 1e9:,.0f} GB"
        return None

    def fit(self, data, asked, rung):
        X, y = data
        l1, l2 = asked["l1"], asked["l2"]
        model = LogisticRegression(
            solver=self.solver, C=1 / (X.shape[0] * (l1 + l2)), l1_ratio=l1 / (l1 + l2), tol=1e-14, max_iter=rung, random_state=1
        )
        return model.fit(X, y)

    def learnt(self, data, asked, found):
        return found.coef_, found.intercept_


PEERS = [
    Softmax("lbfgs", finer(10, 10000)),
    Softmax("newton-cg", finer(2, 500)),
    Softmax("newton-cholesky", finer(2, 200)),
    Softmax("saga", finer(5, 20000)),
]
