"""lazyglm on Dask: the estimators of the package, on data that are spread over workers.

>>> from lazyglm.dask import DaskSGDClassifier
>>> DaskSGDClassifier(penalty="elasticnet", alpha=1e-5).loss
'log_loss'
"""

from lazyglm.dask._estimators import DaskSGDClassifier, DaskSGDRegressor
from lazyglm.dask._files import read, read_svmlight

__all__ = ["DaskSGDClassifier", "DaskSGDRegressor", "read", "read_svmlight"]
