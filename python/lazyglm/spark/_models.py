"""What the estimators find: pyspark.ml models, written and read by Spark."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from pyspark.ml.classification import ProbabilisticClassificationModel
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import DenseVector, SparseMatrix, SparseVector, Vectors
from pyspark.ml.regression import RegressionModel
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import functions as F
from pyspark.sql.functions import arrow_udf

import lazyglm
from lazyglm._classifier import CLASSIFIER_LOSSES, PROBABLE
from lazyglm._regressor import REGRESSOR_LOSSES
from lazyglm.spark._score import Scorer
from lazyglm.spark._shared import LinearParams, with_setters
from lazyglm.spark._solve import Head

CLASSIFIED = "raw array<double>, probability array<double>, prediction double"


class LinearModel(LinearParams, MLWritable, MLReadable[Any]):
    """What both models share: not for use."""

    def __init__(self, heads: list[Head] | None = None, columns: int = 0) -> None:
        super().__init__()
        self._heads, self._columns = list(heads or []), columns

    @property
    def numFeatures(self) -> int:
        """How many features a vector must have."""
        return self._columns

    @property
    def coefficients(self) -> SparseVector:
        """The weights, in the units of the features: those that are not zero."""
        head = self._only("coefficientMatrix")
        return SparseVector(self._columns, head.ids, head.values)

    @property
    def intercept(self) -> float:
        """The bias."""
        return self._only("interceptVector").bias

    @property
    def totalIterations(self) -> int:
        """Rounds; of many classes, the most."""
        return max(head.report["rounds"] for head in self._heads)

    @property
    def reports(self) -> list[dict[str, Any]]:
        """How each problem was solved: objective, the bound below it, their relative gap, the history, ..."""
        return [dict(head.report) for head in self._heads]

    @property
    def objectiveHistory(self) -> list[float]:
        """The objective at the start and after each round."""
        return list(self._only("reports").report["history"])

    def write(self) -> MLWriter:
        return ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        return ModelReader(cls)

    def _only(self, instead: str) -> Head:
        if len(self._heads) != 1:
            raise AttributeError(f"there are {len(self._heads)} classes, and a vector of weights each: use {instead}")
        return self._heads[0]

    def _scorer(self) -> Scorer:
        thresholds = self.getOrDefault("thresholds") if self.hasParam("thresholds") and self.isDefined("thresholds") else None
        return Scorer(self._heads, self._columns, self.getOrDefault("loss"), thresholds)

    def _row(self, value: Any) -> Any:
        """A vector as one row."""
        value = Vectors.dense(value) if not isinstance(value, (SparseVector, DenseVector)) else value
        if len(value) != self._columns:
            raise ValueError(f"the vector has {len(value)} features, and the model {self._columns}")
        if isinstance(value, DenseVector):
            return sp.csr_array(value.values.reshape(1, -1))
        return sp.csr_array((value.values, value.indices, [0, len(value.indices)]), shape=(1, self._columns))


@with_setters
class LazyGLMClassificationModel(LinearModel, ProbabilisticClassificationModel):
    """What :class:`LazyGLMClassifier` finds. ``transform`` adds a class, scores and probabilities to each row."""

    __module__ = "lazyglm.spark"  # saved models name it
    _losses, _loss = CLASSIFIER_LOSSES, "log_loss"

    @property
    def numClasses(self) -> int:
        """Classes are 0, 1, ..., and so many."""
        return max(len(self._heads), 2)

    @property
    def coefficientMatrix(self) -> SparseMatrix:
        """A row a class, or one row if there are two."""
        parts = [sp.csr_array((h.values, h.ids, [0, len(h.ids)]), shape=(1, self._columns)) for h in self._heads]
        matrix = sp.vstack(parts, format="csr")
        # Stored by rows: columns would need an offset for each feature there is.
        return SparseMatrix(len(parts), self._columns, matrix.indptr, matrix.indices, matrix.data, isTransposed=True)

    @property
    def interceptVector(self) -> DenseVector:
        """The bias of each class, or one if there are two."""
        return Vectors.dense([head.bias for head in self._heads])

    def predictRaw(self, value: Any) -> DenseVector:
        """The score of each class."""
        return Vectors.dense(self._scored(value)[0][0])

    def predictProbability(self, value: Any) -> DenseVector:
        """The probability of each class."""
        self._check_probable("predictProbability")
        return Vectors.dense(self._scored(value)[1][0])

    def predict(self, value: Any) -> float:
        """The class."""
        self._check_thresholds()
        return float(self._scorer().classes(*self._scored(value))[0])

    def _scored(self, value: Any) -> tuple[Any, Any]:
        """Scores and probabilities of one vector."""
        scorer = self._scorer()
        raw = scorer.raw(scorer.scores(self._row(value)))
        return raw, scorer.probabilities(raw)

    def _transform(self, dataset: Any) -> Any:
        self._check_thresholds()
        scorer, probable = self._scorer(), self.getOrDefault("loss") in PROBABLE
        found = arrow_udf(lambda column: scorer.classified(column), returnType=CLASSIFIED)  # type: ignore[call-overload]
        rows = dataset.withColumn("lazyglm_found", found(F.unwrap_udt(F.col(f"`{self.getFeaturesCol()}`"))))
        wanted = {self.getRawPredictionCol(): array_to_vector(F.col("lazyglm_found.raw"))}
        if probable:
            wanted[self.getProbabilityCol()] = array_to_vector(F.col("lazyglm_found.probability"))
        wanted[self.getPredictionCol()] = F.col("lazyglm_found.prediction")
        # As everywhere in pyspark.ml, an empty name leaves a column out.
        return rows.withColumns({name: column for name, column in wanted.items() if name}).drop("lazyglm_found")

    def _check_probable(self, what: str) -> None:
        loss = self.getOrDefault("loss")
        if loss not in PROBABLE:
            raise ValueError(f"{what} needs probabilities, and loss {loss!r} has none: fit with one of {', '.join(PROBABLE)}")

    def _check_thresholds(self) -> None:
        if not self.isDefined("thresholds"):
            return
        self._check_probable("thresholds")
        check_thresholds(self.getThresholds(), self.numClasses)


@with_setters
class LazyGLMRegressionModel(LinearModel, RegressionModel[Any]):
    """What :class:`LazyGLMRegressor` finds. ``transform`` adds a prediction to each row."""

    __module__ = "lazyglm.spark"
    _losses, _loss = REGRESSOR_LOSSES, "squared_error"

    def predict(self, value: Any) -> float:
        """The prediction for one vector."""
        return float(self._scorer().numbers(self._row(value))[0])

    def _transform(self, dataset: Any) -> Any:
        scorer = self._scorer()
        found = arrow_udf(lambda column: scorer.predicted(column), returnType="double")  # type: ignore[call-overload]
        return dataset.withColumn(self.getPredictionCol(), found(F.unwrap_udt(F.col(f"`{self.getFeaturesCol()}`"))))


def check_thresholds(thresholds: list[float], classes: int) -> None:
    if len(thresholds) != classes:
        raise ValueError(f"there are {len(thresholds)} thresholds and {classes} classes: give one for each")
    t = np.array(thresholds)
    if not np.isfinite(t).all() or (t < 0).any() or (t == 0).sum() > 1:
        raise ValueError(f"thresholds must not be below zero, and at most one of them zero, not {thresholds}")


class ModelWriter(MLWriter):
    """Parameters as pyspark.ml writes them, and beside them a Parquet table with a row a head."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
        model = self.model
        more = {"lazyglm": lazyglm.__version__, "numFeatures": model.numFeatures, "reports": model.reports}
        DefaultParamsWriter.saveMetadata(model, path, self.sparkSession, extraMetadata=more)
        rows = [(k, float(h.bias), h.ids.tolist(), h.values.tolist()) for k, h in enumerate(model._heads)]
        frame = self.sparkSession.createDataFrame(rows, "head int, bias double, ids array<int>, weights array<double>")
        frame.coalesce(1).write.parquet(os.path.join(path, "data"))


def _check_head(head: Head, columns: int, path: str) -> None:
    """Refuses weights that are not one per id, and ids that do not rise or are no features of the model."""
    ids = head.ids
    if ids.shape != head.values.shape or (np.diff(ids) <= 0).any() or (len(ids) and not (0 <= ids[0] and ids[-1] < columns)):
        raise ValueError(f"{path} is damaged: its weights do not fit {columns} features; save the model again")


class ModelReader(MLReader[Any]):
    """Reads what :class:`ModelWriter` wrote."""

    def __init__(self, cls: Any) -> None:
        super().__init__()
        self.cls = cls

    def load(self, path: str) -> Any:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        if "numFeatures" not in metadata or metadata["class"] != f"lazyglm.spark.{self.cls.__name__}":
            raise ValueError(f"{path} holds a {metadata['class']}, and not a {self.cls.__name__}")
        rows = sorted(self.sparkSession.read.parquet(os.path.join(path, "data")).collect(), key=lambda row: row["head"])
        columns = metadata["numFeatures"]
        heads = [
            Head(np.array(row["ids"], np.int32), np.array(row["weights"], np.float64), row["bias"], report)
            for row, report in zip(rows, metadata["reports"], strict=True)
        ]
        for head in heads:
            _check_head(head, columns, path)
        model = self.cls(heads, columns)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
