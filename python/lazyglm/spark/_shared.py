"""Parameters of both estimators and their models: pyspark.ml's own, with its names and meanings, and a few of ours."""

from __future__ import annotations

import math
from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasElasticNetParam,
    HasFitIntercept,
    HasLoss,
    HasMaxIter,
    HasRegParam,
    HasSeed,
    HasSolver,
    HasStandardization,
    HasTol,
    HasWeightCol,
)

from lazyglm.distributed.run import SOLVERS


class LinearParams(
    HasWeightCol,
    HasRegParam,
    HasElasticNetParam,
    HasMaxIter,
    HasTol,
    HasFitIntercept,
    HasStandardization,
    HasSolver,
    HasSeed,
    HasLoss,
):
    """What both estimators and both models have: not for use."""

    epsilon: Param[float] = Param(
        Params._dummy(), "epsilon", "width of the losses huber and squared_epsilon_insensitive", TypeConverters.toFloat
    )
    timeout: Param[float] = Param(
        Params._dummy(), "timeout", "seconds that one pass over the rows may take", TypeConverters.toFloat
    )
    checkpoint: Param[str] = Param(
        Params._dummy(), "checkpoint", "a file of the driver, written after each round, from which a run goes on", TypeConverters.toString
    )

    _losses: dict[str, str]
    _loss: str  # unless another is given

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._setDefault(
            loss=self._loss,
            maxIter=100,
            regParam=0.0,
            elasticNetParam=0.0,
            tol=1e-4,
            fitIntercept=True,
            standardization=True,
            solver="rounds",
            seed=0,
            epsilon=0.1,
            timeout=3600.0,
        )

    def getEpsilon(self) -> float:
        return self.getOrDefault(self.epsilon)

    def getTimeout(self) -> float:
        return self.getOrDefault(self.timeout)

    def getCheckpoint(self) -> str:
        return self.getOrDefault(self.checkpoint)

    def _check(self) -> None:
        """Before any data are touched."""
        for name, low, high in (
            ("regParam", 0.0, math.inf),
            ("elasticNetParam", 0.0, 1.0),
            ("tol", 0.0, math.inf),
            ("epsilon", 0.0, math.inf),
        ):
            value = self.getOrDefault(name)
            if not (low <= value <= high and math.isfinite(value)):
                raise ValueError(f"{name} must be in [{low}, {high}], not {value}")
        if self.getMaxIter() < 1:
            raise ValueError(f"maxIter must be at least 1, not {self.getMaxIter()}")
        if not self.getTimeout() > 0:
            raise ValueError(f"timeout must be above 0, not {self.getTimeout()}")
        for name, values in (("solver", SOLVERS), ("loss", tuple(self._losses))):
            if self.getOrDefault(name) not in values:
                raise ValueError(f"{name} must be one of {', '.join(values)}, not {self.getOrDefault(name)!r}")

    def _spec(self) -> str:
        """The loss as the library has it."""
        return self._losses[self.getOrDefault("loss")].format(epsilon=self.getEpsilon(), quantile=0.5, power=1.5)

    def _net(self) -> tuple[float, float]:
        share = self.getElasticNetParam()
        return self.getRegParam() * share, self.getRegParam() * (1 - share)


def with_setters(cls: Any) -> Any:
    """Gives a class ``setX`` for each parameter that has none: they all say the same."""
    for name in dir(cls):
        setter = f"set{name[0].upper()}{name[1:]}"
        if isinstance(getattr(cls, name), Param) and not hasattr(cls, setter):

            def assign(self: Any, value: Any, name: str = name) -> Any:
                return self._set(**{name: value})

            assign.__name__, assign.__doc__ = setter, f"Sets :py:attr:`{name}`."
            setattr(cls, setter, assign)
    return cls
