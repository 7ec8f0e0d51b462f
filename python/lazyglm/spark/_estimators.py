"""LazyGLMClassifier and LazyGLMRegressor: estimators of pyspark.ml, in Python alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark import keyword_only
from pyspark.ml.classification import ProbabilisticClassifier
from pyspark.ml.regression import Regressor
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable

from lazyglm._classifier import CLASSIFIER_LOSSES, PROBABLE
from lazyglm._regressor import REGRESSOR_LOSSES
from lazyglm.distributed import Problem
from lazyglm.spark._models import LazyGLMClassificationModel, LazyGLMRegressionModel, check_thresholds
from lazyglm.spark._shared import LinearParams, with_setters
from lazyglm.spark._solve import solved

if TYPE_CHECKING:
    from typing_extensions import Self

#: A model a class: more are likelier to be something else than classes.
MOST_CLASSES = 1000


class LinearEstimator(LinearParams, DefaultParamsWritable, DefaultParamsReadable[Any]):
    """What both estimators share: not for use."""

    @keyword_only
    def setParams(self, **parameters: Any) -> Self:
        """Sets parameters by their names."""
        return self._set(**{name: value for name, value in self._input_kwargs.items() if value is not None})


@with_setters
class LazyGLMClassifier(LinearEstimator, ProbabilisticClassifier):
    """Linear classification with exact elastic-net regularisation, over the partitions of a frame.

    Minimises, as :class:`pyspark.ml.classification.LogisticRegression` does,

        Σ weight·loss / Σ weight + regParam (elasticNetParam ‖σw‖₁ + (1 − elasticNetParam)/2 ‖σw‖²)

    with σ the standard deviation of each feature, or 1 with ``standardization=False``; the intercept is free. Labels are
    0, 1, ...; more than two classes are learnt one against the rest.

    Parameters are MLlib's, but for: ``tol`` ends the rounds when the duality gap over all partitions is at most
    ``tol`` of the objective (default 1e-4), and a warning says so if that is not reached; ``solver`` is ``rounds`` or ``owlqn``; ``loss`` is ``log_loss``, ``squared_hinge``, ``modified_huber`` or another smooth one,
    ``epsilon`` a width of some; ``timeout`` bounds one pass over the rows, in seconds; ``checkpoint`` is a file of the driver, written after each
    round: if it is there, a fit of the same rows goes on from it, to the same bits. Probabilities need ``log_loss`` or ``modified_huber``.
    """

    __module__ = "lazyglm.spark"  # saved estimators name it
    _losses, _loss = CLASSIFIER_LOSSES, "log_loss"

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        rawPredictionCol: str = "rawPrediction",
        weightCol: str | None = None,
        regParam: float = 0.0,
        elasticNetParam: float = 0.0,
        maxIter: int = 100,
        tol: float = 1e-4,
        fitIntercept: bool = True,
        standardization: bool = True,
        thresholds: list[float] | None = None,
        solver: str = "rounds",
        seed: int = 0,
        loss: str = "log_loss",
        epsilon: float = 0.1,
        timeout: float = 3600.0,
        checkpoint: str | None = None,
    ) -> None:
        super().__init__()
        self.setParams(**self._input_kwargs)

    def _fit(self, dataset: Any) -> LazyGLMClassificationModel:
        self._check()
        l1, l2 = self._net()
        Problem(self._spec(), l1, l2)  # a loss that will not do is refused before data are touched
        if self.isDefined("thresholds") and self.getOrDefault("loss") not in PROBABLE:
            raise ValueError(f"thresholds need probabilities: loss must be one of {', '.join(PROBABLE)}")

        def problems_of(labels: list[Any]) -> list[Problem | None]:
            present = np.unique(np.concatenate([found for found, _ in labels])).astype(int)
            if len(present) < 2:
                raise ValueError(f"all labels are {present[0]}, and classes are two or more")
            classes = int(present[-1]) + 1
            if classes > MOST_CLASSES:
                raise ValueError(f"label {present[-1]} would make {classes} classes: number them 0, 1, ... with StringIndexer")
            if self.isDefined("thresholds"):
                check_thresholds(self.getThresholds(), classes)
            aims = [1] if classes == 2 else range(classes)
            return [Problem(self._spec(), l1, l2, self.getFitIntercept(), aim) if aim in present else None for aim in aims]

        heads, columns = solved(self, dataset, problems_of, classes=True)
        return self._copyValues(LazyGLMClassificationModel(heads, columns)._resetUid(self.uid))


@with_setters
class LazyGLMRegressor(LinearEstimator, Regressor[Any]):
    """Linear regression with exact elastic-net regularisation, over the partitions of a frame.

    The objective and the parameters are those of :class:`LazyGLMClassifier`; ``loss`` is ``squared_error`` (half the square),
    ``huber``, ``squared_epsilon_insensitive`` or ``poisson`` (predicts the exponential of the score).
    """

    __module__ = "lazyglm.spark"
    _losses, _loss = REGRESSOR_LOSSES, "squared_error"

    @keyword_only
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        weightCol: str | None = None,
        regParam: float = 0.0,
        elasticNetParam: float = 0.0,
        maxIter: int = 100,
        tol: float = 1e-4,
        fitIntercept: bool = True,
        standardization: bool = True,
        solver: str = "rounds",
        seed: int = 0,
        loss: str = "squared_error",
        epsilon: float = 0.1,
        timeout: float = 3600.0,
        checkpoint: str | None = None,
    ) -> None:
        super().__init__()
        self.setParams(**self._input_kwargs)

    def _fit(self, dataset: Any) -> LazyGLMRegressionModel:
        self._check()
        problem = Problem(self._spec(), *self._net(), self.getFitIntercept())
        heads, columns = solved(self, dataset, lambda labels: [problem], classes=False)
        return self._copyValues(LazyGLMRegressionModel(heads, columns)._resetUid(self.uid))
