"""
Features against held-out loss
==============================

How many features does a good model need? The picture shows the held-out loss of every model of a path over its number of features.
"""

import matplotlib.pyplot as plt
import numpy as np
from lazyglm import ElasticNetClassifierCV
from sklearn.datasets import make_classification

X, y = make_classification(600, 300, n_informative=12, n_redundant=0, class_sep=1.2, random_state=0)
model = ElasticNetClassifierCV(l1_ratio=1.0, alphas=60, eps=0.01, cv=5, random_state=0).fit(X, y)
results = model.cv_results_
order = np.argsort(results["mean_nonzeros"])
features, loss = results["mean_nonzeros"][order], -results["mean_test_score"][order]

figure, axes = plt.subplots(figsize=(8, 4.5))
axes.plot(features, loss, marker=".")
axes.axvline(12, color="grey", linestyle=":", label="features that carry the signal")
axes.set(xlabel="features with a weight (mean over folds)", ylabel="held-out log-loss")
axes.legend()
figure.tight_layout()
