"""lazyglm on Spark: estimators of ``pyspark.ml``, in pipelines and searches, on the executors there are.

>>> from lazyglm.spark import LazyGLMClassifier
>>> LazyGLMClassifier.__module__
'lazyglm.spark'
"""

from lazyglm.spark._estimators import LazyGLMClassifier, LazyGLMRegressor
from lazyglm.spark._models import LazyGLMClassificationModel, LazyGLMRegressionModel

__all__ = ["LazyGLMClassificationModel", "LazyGLMClassifier", "LazyGLMRegressionModel", "LazyGLMRegressor"]
