"""
Calibration
===========

A logistic model at its optimum predicts probabilities that agree with frequencies. The picture shows ten groups
of test rows, ordered by predicted probability.
"""

import matplotlib.pyplot as plt
from lazyglm import AutoClassifier
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

X, y = make_classification(6000, 60, n_informative=10, flip_y=0.1, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = AutoClassifier(random_state=0).fit(X_train, y_train)
observed, predicted = calibration_curve(y_test, model.predict_proba(X_test)[:, 1], n_bins=10, strategy="quantile")

figure, axes = plt.subplots(figsize=(5, 5))
axes.axline((0, 0), slope=1, color="lightgrey")
axes.plot(predicted, observed, marker="o")
axes.set(xlabel="mean predicted probability", ylabel="share of positive rows", aspect="equal")
figure.tight_layout()
