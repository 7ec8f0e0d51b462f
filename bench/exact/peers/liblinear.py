"""LIBLINEAR: -s 6 with its own one-vs-rest (l1, logistic loss), and -s 3 (l2, hinge loss).

With -R the bias of -s 6 is free. For -s 3 the bias is the weight of a feature with the value B, and is penalised: the penalty of a bias b is
½·l2·(b/B)², which vanishes as B grows, but a large B slows the solver down. Three values enter, and the judge finds the best bias.
"""

import numpy as np
from liblinear.liblinearutil import parameter, problem, train

from bench.exact.peers import Peer


def weights(found, width: int, value: float):
    """Weights, one row per class in the order of the class numbers (a single row for two classes), and biases."""
    count = 1 if found.nr_class == 2 else found.nr_class
    flat = np.ctypeslib.as_array(found.w, shape=((found.nr_feature + 1) * count,)).reshape(-1, count).T.copy()
    labels = found.get_labels()
    flat = flat * (1.0 if labels[0] > 0 else -1.0) if count == 1 else flat[np.argsort(labels)]
    W = np.zeros((count, width))
    W[:, : found.nr_feature] = flat[:, :-1]
    return W, flat[:, -1] * value


class OneVsRest(Peer):
    name, parts = "LIBLINEAR -s 6 -R", ("ovr",)
    ladder = [1.0, 3e-1, 1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6]

    def refuses(self, asked):
        return "it has no l2 beside l1" if asked["l2"] > 0 else None

    def prepare(self, X, y, asked):
        return problem(y, X), X.shape

    def fit(self, data, asked, rung):
        rows, (n, _) = data
        return train(rows, parameter(f"-s 6 -c {1 / (n * asked['l1'])!r} -e {rung!r} -B 1 -R -q"))

    def learnt(self, data, asked, found):
        return weights(found, data[1][1], 1.0)


class Hinge(Peer):
    parts = ("hinge",)
    ladder = [1.0, 3e-1, 1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6]

    def __init__(self, value: int):
        self.value, self.name = value, f"LIBLINEAR -s 3 -B {value}"

    def refuses(self, asked):
        return "it has no l1 with hinge loss" if asked["l1"] > 0 else None

    def prepare(self, X, y, asked):
        rows = problem(y, X)
        rows.set_bias(self.value)
        return rows, X.shape

    def fit(self, data, asked, rung):
        rows, (n, _) = data
        return train(rows, parameter(f"-s 3 -c {1 / (n * asked['l2'])!r} -e {rung!r} -B {self.value} -q"))

    def learnt(self, data, asked, found):
        return weights(found, data[1][1], self.value)


PEERS = [OneVsRest(), Hinge(1), Hinge(10), Hinge(100)]
