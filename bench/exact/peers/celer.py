"""celer_path for squared loss. Its logistic regression has no bias, so it does not solve our problem there."""

import celer
import numpy as np

from bench.exact.peers import Peer, tiny


class Path(Peer):
    name, parts = "celer_path", ("path",)
    ladder = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]

    def refuses(self, asked):
        return "its logistic regression has no bias" if asked["loss"] != "squared" else None

    def warm_up(self, asked):
        X, y = tiny()
        self.fit((X.tocsc(), y), asked | {"l1s": [0.05, 0.01]}, 1e-3)

    def prepare(self, X, y, asked):
        return X.tocsc(), y

    def fit(self, data, asked, rung):
        X, y = data
        means, middle = np.asarray(X.mean(axis=0)).ravel(), y.mean()
        found = celer.celer_path(
            X, y - middle, "lasso", alphas=np.array(asked["l1s"]), tol=rung, max_iter=200, X_offset=means, X_scale=np.ones(X.shape[1])
        )
        W = found[1].T
        return W, middle - W @ means


PEERS = [Path()]
