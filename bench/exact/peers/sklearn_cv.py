"""scikit-learn's LogisticRegressionCV with l1: a grid of C, five folds, log-loss, and a refit of the best.

The ladder is the number of values of C, from few to as many as lazyglm searches, spread over the same range. Its solver liblinear
penalises the bias; saga does not. Both have their default tolerance of 1e-4.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV

from bench.exact.peers import Peer

warnings.filterwarnings("ignore", category=ConvergenceWarning)
warnings.filterwarnings("ignore", category=FutureWarning)


class Search(Peer):
    parts = ("cv",)
    ladder = [2, 4, 8, 16, 32, 50]

    def __init__(self, solver: str):
        self.solver, self.name = solver, f"LogisticRegressionCV {solver}"

    def fit(self, data, asked, rung):
        X, y = data
        at = np.linspace(0, len(asked["l1s"]) - 1, min(rung, len(asked["l1s"]))).round().astype(int)
        Cs = 1 / (X.shape[0] * np.array(asked["l1s"])[at])
        model = LogisticRegressionCV(
            Cs=Cs, l1_ratios=(1.0,), solver=self.solver, cv=asked["folds"], scoring="neg_log_loss", max_iter=1000, random_state=1,
            use_legacy_attributes=False, n_jobs=1,
        )  # fmt: skip
        return model.fit(X, y)

    def learnt(self, data, asked, found):
        l1 = 1 / (data[0].shape[0] * float(np.ravel(found.C_)[0]))
        return found.coef_, found.intercept_, {"l1": l1}


PEERS = [Search("liblinear"), Search("saga")]
