"""The targets of a fit, with weights and offsets of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazyglm._data import is_path, offsets_of
from lazyglm._labels import LabelSets
from lazyglm._warn import warn


class Targets(NamedTuple):
    """Targets, weights and offsets of the rows of a fit. The values are those of one model, or class numbers for several models."""

    models: int
    values: Any
    weights: Any
    class_weights: list[float] | None = None
    classes: Any = None
    offsets: Any = None
    labels: Any = None

    @property
    def kind(self) -> str:
        """How the models belong together: 'labels', or one for each class ('ovr')."""
        return "ovr" if self.labels is None else "labels"

    @property
    def as_sets(self) -> bool:
        """Whether rows have sets of labels, which are predicted as sets."""
        return self.labels is not None and bool(self.labels.as_sets)

    @property
    def weighted(self) -> bool:
        """Whether rows or classes have weights."""
        return self.weights is not None or self.class_weights is not None

    def row_weights(self) -> Any:
        """The weight of each row, times that of its class; None if all are one."""
        if self.class_weights is None:
            return self.weights
        return np.array(self.class_weights)[self.values.astype(int)] * (1.0 if self.weights is None else self.weights)

    def against_rest(self, k: int) -> tuple[Any, Any]:
        """The targets ±1 of one class against the rest, and the row weights of its model: rows of the class have its weight, others one."""
        own = self.values == k
        weight = 1.0 if self.class_weights is None else self.class_weights[k]
        return np.where(own, 1.0, -1.0), np.where(own, weight, 1.0) * (1.0 if self.weights is None else self.weights)

    def with_offsets(self, offset: Any) -> Targets:
        """The same with the offsets of rows, if there are any."""
        offsets = offsets_of(offset, len(self.values))
        if offsets is not None and self.models > 1:
            raise ValueError("offset is for numbers and for two classes: more classes have no common offset")
        return self._replace(offsets=offsets)


def label_targets(estimator: Any, labels: LabelSets, weights: Any) -> Targets:
    """What is to be learnt of labels: a model for each."""
    if estimator.class_weight is not None or estimator.multi_class == "multinomial":
        raise ValueError("class_weight and multi_class='multinomial' are for rows with one class each, not for labels")
    rows, several = labels.indicator.shape
    values = np.zeros(rows) if several > 1 else np.where(labels.indicator.toarray().ravel() > 0, 1.0, -1.0)
    return Targets(several, values, weights, None, labels.classes, None, labels)


def offset_keyword(offset: Any) -> dict[str, Any]:
    """The offset as a keyword, if there is one: a subclass whose ``predict`` takes X alone works as before."""
    return {} if offset is None else {"offset": offset}


def targets_to_score(estimator: Any, X: Any, y: Any, offset: Any) -> Any:
    """The targets of rows that are scored, read from their file if they are in one. Warns of a model that was trained with offsets, without them."""
    trained = getattr(getattr(estimator, "_found_model", estimator), "_trained", {})
    if offset is None and trained.get("offsets"):
        warn(
            f"{type(estimator).__name__} was trained with offsets, and is scored without: give score the offsets of its rows. A cross-validation "
            "passes them on with sklearn.set_config(enable_metadata_routing=True), set_fit_request(offset=True) and set_score_request(offset=True)",
            UserWarning,
        )
    return estimator._targets_of(X) if is_path(X) and y is None else y
