"""skglm along a path: one estimator with warm starts, from the largest l1 to the smallest."""

import numpy as np
import skglm

from bench.exact.peers import Peer, tiny


class Path(Peer):
    name, parts = "skglm, warm starts", ("path",)
    ladder = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]

    def warm_up(self, asked):
        X, y = tiny()
        self.fit((X.tocsc(), y), asked | {"l1s": [0.05, 0.01]}, 1e-3)

    def prepare(self, X, y, asked):
        return X.tocsc(), y

    def fit(self, data, asked, rung):
        X, y = data
        make = skglm.Lasso if asked["loss"] == "squared" else skglm.SparseLogisticRegression
        model = make(tol=rung, max_iter=200, fit_intercept=True, warm_start=True)
        W, b = np.zeros((len(asked["l1s"]), X.shape[1])), np.zeros(len(asked["l1s"]))
        for k, l1 in enumerate(asked["l1s"]):
            model.alpha = l1
            model.fit(X, y)
            W[k], b[k] = model.coef_.ravel(), np.ravel(model.intercept_)[0]
        return W, b


PEERS = [Path()]
