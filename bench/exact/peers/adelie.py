"""adelie's grpnet along a path, with sparse rows, groups of one feature each and a free bias.

adelie needs numpy below 2 and so has an environment of its own (bench/exact/adelie.txt); the variable ADELIE_PYTHON names its interpreter.
"""

import os

from bench.exact.peers import Peer

if not os.environ.get("ADELIE_PYTHON"):
    raise ImportError("ADELIE_PYTHON names no interpreter that has adelie; see bench/exact/adelie.txt")


class Path(Peer):
    name, parts = "adelie grpnet", ("path",)
    ladder = [1e-5, 1e-7, 1e-9, 1e-11, 1e-13]  # tol of its coordinate descent; its default is 1e-7
    python = os.environ["ADELIE_PYTHON"]

    def prepare(self, X, y, asked):
        import adelie

        matrix = adelie.matrix.sparse(X.tocsc(), method="naive", n_threads=1)
        if asked["loss"] == "squared":
            return matrix, adelie.glm.gaussian(y)
        return matrix, adelie.glm.binomial((y > 0).astype(float))

    def fit(self, data, asked, rung):
        import adelie

        return adelie.grpnet(
            data[0], data[1], lmda_path=asked["l1s"], early_exit=False, intercept=True, tol=rung, irls_tol=rung,
            max_iters=10**7, progress_bar=False, n_threads=1,
        )  # fmt: skip

    def learnt(self, data, asked, found):
        if len(found.lmdas) != len(asked["l1s"]):
            raise RuntimeError(f"it stopped after {len(found.lmdas)} of {len(asked['l1s'])} values of l1")
        return found.betas.tocsr(), found.intercepts


PEERS = [Path()]
