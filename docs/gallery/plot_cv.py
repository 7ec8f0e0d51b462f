"""
The cross-validation curve
==========================

The picture shows the held-out loss over the penalty, with one standard error. The one-standard-error rule takes the strongest penalty whose
loss is within that error of the lowest one. Its model is usually smaller.
"""

from lazyglm import ElasticNetClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data)
best = ElasticNetClassifierCV(l1_ratio=1.0, alphas=50, eps=1e-3, cv=5, random_state=0).fit(X, data.target)
axes = best.plot_cv()
axes.figure.set_size_inches(8, 4.5)
axes.figure.tight_layout()

# %%
# The table behind the curve has the number of features of each model.
sizes = best.cv_results_["mean_nonzeros"]
print(f"best: {sizes[best.best_index_]:.0f} features, one-standard-error rule: {sizes[best.one_se_index_]:.0f} features")
