"""
The regularisation path
=======================

As the penalty weakens, features enter the model one after the other. Every point of the path is an optimum with a certificate.
"""

from lazyglm import ElasticNetClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

data = load_breast_cancer(as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(data.data)
model = ElasticNetClassifierCV(l1_ratio=1.0, alphas=50, eps=1e-3, cv=5, random_state=0).fit(X, data.target)
axes = model.plot_path(top=8)
axes.set_title(f"Breast cancer: alpha = {model.alpha_:.2g} is the best of {len(model.alphas_)}")
axes.figure.set_size_inches(8, 5)
axes.figure.tight_layout()
