"""
The mean of the weights
=======================

The picture shows the held-out log-loss after each pass of SGD, with and without averaging of the weights.
"""

import matplotlib.pyplot as plt
from lazyglm import SGDClassifier
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

X, y = make_classification(4000, 200, n_informative=20, flip_y=0.1, random_state=0)
figure, axes = plt.subplots(figsize=(8, 4.5))
for average in (False, True):
    model = SGDClassifier("log_loss", alpha=1e-3, average=average, random_state=0)
    losses = []
    for _ in range(15):
        model.partial_fit(X[:3000], y[:3000], classes=[0, 1])
        losses.append(log_loss(y[3000:], model.predict_proba(X[3000:])))
    axes.plot(range(1, 16), losses, marker=".", label="averaged weights" if average else "last weights")
axes.set(xlabel="epoch", ylabel="held-out log-loss")
axes.legend()
figure.tight_layout()
