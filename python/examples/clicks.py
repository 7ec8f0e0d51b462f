"""Clicks: categories as ones, rare positives, probabilities, and a model for the program. `python clicks.py [--rows N]`"""

import argparse
import os
import tempfile

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import log_loss, roc_auc_score

import lazyglm
from lazyglm import SGDClassifier

SIZES = (1_000, 20_000, 200, 50_000)  # users, sites, hours and ads, say


def clicks(rows, seed=0):
    """One category of each kind a row, popular ones often; some three in a hundred are clicked on."""
    rng = np.random.default_rng(seed)
    drawn = np.column_stack([(size * rng.random(rows) ** 3).astype(np.int32) for size in SIZES])
    ids = drawn + np.cumsum([0, *SIZES[:-1]], dtype=np.int32)
    effect = 0.7 * np.random.default_rng(7).normal(size=sum(SIZES))
    chance = 1 / (1 + np.exp(4.0 - effect[ids].sum(axis=1)))
    ends = np.arange(0, 4 * rows + 1, 4)
    X = sp.csr_matrix((np.ones(4 * rows, dtype=np.float32), ids.ravel(), ends), shape=(rows, sum(SIZES)))
    return X, (rng.random(rows) < chance).astype(int)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    rows = parser.parse_args().rows
    X, y = clicks(rows)
    new, clicked = clicks(rows // 5, seed=1)
    model = SGDClassifier("log_loss", penalty="elasticnet", alpha=1e-6, l1_ratio=0.5, learning_rate="invscaling", eta0=0.3, power_t=0.3)
    model.set_params(max_iter=3, tol=None, random_state=0).fit(X, y)
    chance = model.predict_proba(new)[:, 1]
    share = clicked.mean()
    nothing = log_loss(clicked, np.full(len(clicked), share))
    print(f"{rows:,} rows, {y.mean():.2%} clicks, {np.count_nonzero(model.coef_):,} of {X.shape[1]:,} weights")
    print(f"log loss {log_loss(clicked, chance):.4f} (without features {nothing:.4f}), AUC {roc_auc_score(clicked, chance):.4f}")
    print(f"predicted {chance.mean():.2%}, clicked {share:.2%}")
    assert roc_auc_score(clicked, chance) > 0.55

    path = os.path.join(tempfile.mkdtemp(), "clicks.model")
    model.save(path, index_base=0)
    assert np.array_equal(lazyglm.load(path).decision_function(new[:100]), model.decision_function(new[:100]))
    print(f"lazyglm predict {path} FILE reads it")


if __name__ == "__main__":
    main()
