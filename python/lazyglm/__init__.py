"""Sparse linear models with exact elastic-net regularisation, in time proportional to the non-zeros.

``SGDClassifier`` and ``SGDRegressor`` take scikit-learn's parameters with scikit-learn's meaning; the few deliberate
differences are listed in the README. ``AutoClassifier`` and ``AutoRegressor`` need no tuning: they choose solver and penalty on held-out rows.
``ElasticNetClassifier`` and ``ElasticNetRegressor`` find the optimum for one penalty, with a certificate;
``ElasticNetClassifierCV`` and ``ElasticNetRegressorCV`` choose the penalty by cross-validation of exact regularisation paths.
"""

from importlib.metadata import version as _version

from lazyglm._auto import AutoClassifier, AutoRegressor
from lazyglm._classifier import SGDClassifier
from lazyglm._cv import ElasticNetClassifierCV, ElasticNetRegressorCV
from lazyglm._exact import ElasticNetClassifier, ElasticNetRegressor
from lazyglm._files import load, read
from lazyglm._regressor import SGDRegressor

__all__ = [
    "AutoClassifier",
    "AutoRegressor",
    "ElasticNetClassifier",
    "ElasticNetClassifierCV",
    "ElasticNetRegressor",
    "ElasticNetRegressorCV",
    "SGDClassifier",
    "SGDRegressor",
    "load",
    "read",
]
__version__ = _version("lazyglm")
