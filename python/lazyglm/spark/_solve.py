"""From a frame to weights: packed, put into the units that are penalised, learnt, and put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, NumericType
from sklearn.exceptions import ConvergenceWarning

from lazyglm._warn import warn
from lazyglm.distributed import Problem, tasks
from lazyglm.distributed.run import Found, fit_each, not_converged
from lazyglm.distributed.shard import width
from lazyglm.spark import _scale
from lazyglm.spark._worker import Kept
from lazyglm.spark.engine import SparkEngine


class Head(NamedTuple):
    """The weights of one model that are not zero, where they are, and the bias."""

    ids: Any
    values: Any
    bias: float
    report: dict[str, Any]


def solved(
    estimator: Any, dataset: Any, problems_of: Callable[[list[Any]], list[Problem | None]], classes: bool
) -> tuple[list[Head], int]:
    """Heads, one a problem, and how many features there are. ``problems_of`` is told the labels of each partition."""
    weight = estimator.getOrDefault("weightCol") if estimator.isDefined("weightCol") else None
    frame = _columns(dataset, estimator.getFeaturesCol(), estimator.getLabelCol(), weight)
    first = _first(estimator, classes)
    engine = SparkEngine(dataset.sparkSession, frame, estimator.getFeaturesCol(), classes, estimator.getTimeout(), first)
    try:
        parts = engine.pack()
        columns = _width(parts)
        engine.recipe = engine.recipe._replace(columns=columns)
        problems = problems_of([kept.labels for kept in parts])
        names, factors = _narrowed(engine, columns), None
        if estimator.getStandardization():
            factors = _standardised(engine)
        found = _all(estimator, engine, problems)
        heads = [_head(one, names, factors) for one in found]
    finally:
        engine.close()
    words = not_converged([one for one in found if one is not None], estimator.getTol(), "maxIter")
    if words is not None:
        warn(words, ConvergenceWarning)
    return heads, columns


def _first(estimator: Any, classes: bool) -> tuple[Any, dict[str, Any]]:
    """What will be asked for first, as far as can be known before the labels are: of two classes, say."""
    if estimator.getStandardization():
        return _scale.sums, {}
    l1, l2 = estimator._net()
    problem = Problem(estimator._spec(), l1, l2, estimator.getFitIntercept(), 1 if classes else None)
    return (tasks.statistics if problem.intercept else tasks.start), problem.told(wire="f8")


def _columns(dataset: Any, features: str, label: str, weight: str | None) -> Any:
    """Unwrapped vectors, labels and maybe weights."""
    fields = {field.name: field.dataType for field in dataset.schema.fields}
    for role, name in (("featuresCol", features), ("labelCol", label), ("weightCol", weight)):
        if name is not None and name not in fields:
            raise ValueError(f"{role}: there is no column {name!r}; there are {', '.join(fields)}")
    if not isinstance(fields[features], VectorUDT):
        raise TypeError(
            f"column {features!r} is {fields[features].simpleString()}, and features are vectors: use VectorAssembler, or "
            "pyspark.ml.functions.array_to_vector for an array"
        )
    chosen = [F.unwrap_udt(F.col(f"`{features}`")).alias("features")]
    for alias, name in (("label", label), ("weight", weight)):
        if name is None:
            continue
        if not isinstance(fields[name], (NumericType, BooleanType)):
            raise TypeError(f"column {name!r} is {fields[name].simpleString()}, and numbers are needed: use StringIndexer")
        chosen.append(F.col(f"`{name}`").cast("double").alias(alias))
    return dataset.select(*chosen)


def _width(parts: list[Kept]) -> int:
    """How many features all partitions have that have rows."""
    columns = [(k, kept.columns) for k, kept in enumerate(parts) if kept.rows]
    if not columns:
        raise ValueError("there are no rows (of a weight above zero)")
    return width(columns)


def _narrowed(engine: SparkEngine, columns: int) -> Any:
    """The columns that occur, if they are few among very many; shards then have no others."""
    if columns < _scale.WIDE:
        return None
    held = np.unique(np.concatenate(engine.map(_scale.held, [], {})))
    if 2 * len(held) > columns:
        return None
    engine.change(_scale.renumbered, {"held": held}, len(held))
    return held


def _standardised(engine: SparkEngine) -> Any:
    sigma = _scale.deviations(engine)
    factors = np.divide(1.0, sigma, out=np.zeros_like(sigma), where=sigma > 0)
    engine.change(_scale.divided, {"factor": factors}, len(factors))
    return factors


def _all(estimator: Any, engine: SparkEngine, problems: list[Problem | None]) -> list[Found | None]:
    """One model after another, from where a checkpoint left off."""
    path = estimator.getOrDefault("checkpoint") if estimator.isDefined("checkpoint") else None
    how = {"solver": estimator.getSolver(), "seed": estimator.getSeed()}
    told = [problem and problem.told() for problem in problems]
    rows = [kept.digest for kept in engine.parts]
    of = {**how, "problems": told, "rows": rows, "standardization": estimator.getStandardization()}
    return fit_each(engine, problems, path, of, max_rounds=estimator.getMaxIter(), tol=estimator.getTol(), **how)


def _head(found: Found | None, names: Any, factors: Any) -> Head:
    """Weights in the columns and units of the frame. Without a problem, of a class that never occurs: never chosen."""
    if found is None:
        return Head(np.zeros(0, np.int32), np.zeros(0), -np.inf, {"converged": True, "rounds": 0, "history": []})
    weights = found.weights if factors is None else found.weights * factors
    places = np.flatnonzero(weights)
    ids = places if names is None else names[places]
    report = {name: getattr(found, name) for name in ("converged", "rounds", "solver", "rejected", "history", "reductions")}
    return Head(ids.astype(np.int32), weights[places], float(found.bias), {**report, **asdict(found.certificate)})
