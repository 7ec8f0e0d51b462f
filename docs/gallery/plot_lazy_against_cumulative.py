"""
Exact against cumulative ℓ₁
===========================

scikit-learn's ``SGDClassifier`` applies ℓ₁ cumulatively: a weight pays the penalty of the steps since then when its feature occurs next, and never at the end.
lazyglm's weights are those of a step on all weights at every row. The picture compares both with a dense loop over all
weights, written out below, after one pass over rows with rare features.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from lazyglm import SGDClassifier
from sklearn.linear_model import SGDClassifier as Cumulative

rng = np.random.default_rng(0)
frequency = np.geomspace(0.5, 0.01, 60)
X = sp.csr_matrix((rng.random((3000, 60)) < frequency).astype(float))
truth = rng.normal(size=60) * (np.arange(60) % 3 == 0)
y = np.where(X @ truth + rng.normal(size=3000) > 0, 1, -1)
alpha, eta = 0.004, 0.05

# The definition: gradient of the row's loss, then one proximal ℓ₁ step on every weight.
dense, bias = np.zeros(60), 0.0
for row, target in zip(X.toarray(), y):
    slope = -target / (1 + np.exp(target * (row @ dense + bias)))
    dense -= eta * slope * row
    bias -= eta * slope
    dense = np.sign(dense) * np.maximum(np.abs(dense) - eta * alpha, 0)

options = dict(loss="log_loss", penalty="l1", alpha=alpha, learning_rate="constant", eta0=eta, shuffle=False)
ours = SGDClassifier(**options).partial_fit(X, y, classes=[-1, 1]).coef_[0]
theirs = Cumulative(**options).partial_fit(X, y, classes=[-1, 1]).coef_[0]

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharex=True, sharey=True)
for axis, weights, name in ((axes[0], ours, "lazyglm"), (axes[1], theirs, "scikit-learn, cumulative")):
    axis.axline((0, 0), slope=1, color="lightgrey", zorder=0)
    axis.plot(dense, weights, ".", markersize=7)
    axis.set(title=f"{name}: largest difference {np.abs(weights - dense).max():.1g}", xlabel="weight of the dense loop")
axes[0].set_ylabel("weight of the estimator")
figure.tight_layout()
