"""scikit-learn's Ridge on sparse rows: squared loss with l2 alone, and a free bias.

Ridge minimises ‖y − Xw − b‖² + alpha·‖w‖², which is 2n times lazyglm's F with alpha = n·l2.
"""

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from bench.exact.peers import Peer, finer

warnings.filterwarnings("ignore", category=ConvergenceWarning)


class SparseRidge(Peer):
    """One solver that takes sparse rows with a bias; its ladder is the number of iterations, or a tolerance."""

    parts = ("ridge",)

    def __init__(self, solver: str, ladder: list):
        self.solver, self.ladder, self.name = solver, ladder, f"sklearn Ridge {solver}"

    def fit(self, data, asked, rung):
        X, y = data
        model = Ridge(alpha=X.shape[0] * asked["l2"], solver=self.solver, tol=1e-14, max_iter=rung, random_state=1)
        return model.fit(X, y)

    def learnt(self, data, asked, found):
        return found.coef_[None, :], [found.intercept_]


PEERS = [SparseRidge("sparse_cg", finer(5, 5000)), SparseRidge("lsqr", finer(5, 5000)), SparseRidge("sag", finer(5, 5000))]
