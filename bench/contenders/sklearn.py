"""scikit-learn: load_svmlight_file, then one SGDClassifier.partial_fit an epoch.

Clock. It runs in a child; the clock starts after the imports and ends when the model is saved, with joblib as its
documentation advises. What a user must do in between is counted: reading may give 64-bit indices, which
SGDClassifier refuses, so they are made 32-bit.

Cache. It has none of its own. The nearest thing, and what its users do, is the matrix saved as an uncompressed .npz.

Penalty. alpha·(l1_ratio·‖w‖₁ + ½(1 − l1_ratio)‖w‖²) is ours with alpha = l1 + l2 and l1_ratio = l1/(l1 + l2). Every
partial_fit starts its count of owed ℓ₁ penalty at zero; that is its way with more than one call, not ours to mend.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from pathlib import Path

from bench import measure
from bench.contenders import CACHE_EPOCH, TEXT_TO_MODEL, Contender, Missing, Outcome, Settings, Tools


def contenders(tools: Tools) -> list[Contender]:
    try:
        importlib.metadata.version("scikit-learn")
    except importlib.metadata.PackageNotFoundError:
        raise Missing("not installed") from None
    return [Sklearn(tools)]


class Sklearn(Contender):
    name = "sklearn SGD"
    flags = "loss='log_loss', penalty='elasticnet'"

    def __init__(self, tools: Tools):
        self.python = tools.python

    def version(self) -> str:
        return importlib.metadata.version("scikit-learn")

    def jobs(self) -> dict[str, str | None]:
        return {TEXT_TO_MODEL: None, CACHE_EPOCH: None}

    def child(self, **task) -> measure.Cost:
        return measure.run([self.python, "-m", "bench.contenders.sklearn", json.dumps(task)])

    def prepare(self, job: str, data, settings: Settings) -> Path | None:
        if job != CACHE_EPOCH:
            return None
        cache = data.folder / "train.npz"
        if not cache.exists():
            self.child(do="cache", source=str(data.train), to=str(cache))
        return cache

    def run(self, job: str, data, settings: Settings, epochs: int) -> Outcome:
        if settings.l1 + settings.l2 <= 0:
            raise measure.Failed("SGDClassifier's schedule needs a penalty")
        source = data.folder / "train.npz" if job == CACHE_EPOCH else data.train
        model = data.folder / "sklearn.joblib"
        cost = self.child(
            do="train", source=str(source), to=str(model), epochs=epochs, l1=settings.l1, l2=settings.l2
        )
        said = json.loads(cost.stdout.splitlines()[-1])
        return Outcome(said.pop("seconds"), cost.wall, cost.cpu, cost.peak, model, notes=said)

    def learnt(self, outcome: Outcome) -> tuple[dict[int, float], float]:
        import joblib

        model = joblib.load(outcome.model)
        # zero_based=True in reading: column j is index j as written.
        return {int(j): float(model.coef_[0, j]) for j in model.coef_[0].nonzero()[0]}, float(model.intercept_[0])


def main(task: dict) -> None:
    """The child."""
    import joblib
    import numpy as np
    import scipy.sparse
    from sklearn.datasets import load_svmlight_file
    from sklearn.linear_model import SGDClassifier

    start = time.perf_counter()
    if task["source"].endswith(".npz"):
        saved = np.load(task["source"])
        rows, targets = scipy.sparse.csr_matrix((saved["data"], saved["indices"], saved["indptr"])), saved["targets"]
    else:
        rows, targets = load_svmlight_file(task["source"], zero_based=True)
    read = time.perf_counter() - start

    begin = time.perf_counter()
    was = str(rows.indices.dtype)
    if rows.indices.dtype != np.int32:
        rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    convert = time.perf_counter() - begin

    if task["do"] == "cache":
        np.savez(task["to"], data=rows.data, indices=rows.indices, indptr=rows.indptr, targets=targets)
        return
    l1, l2 = task["l1"], task["l2"]
    model = SGDClassifier(loss="log_loss", penalty="elasticnet", alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), random_state=1)
    classes = np.unique(targets)
    for _ in range(task["epochs"]):
        model.partial_fit(rows, targets, classes=classes)
    joblib.dump(model, task["to"])
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "seconds_read": read, "seconds_int32": convert, "indices_were": was}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
