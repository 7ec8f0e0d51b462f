"""Names of losses, the targets of a fit, and attributes that are read from the learners on first access."""

from __future__ import annotations

from typing import Any, NamedTuple

from lazyglm._data import offsets_of


#: scikit-learn's names of losses and the library's specifications. A name in braces is a parameter of the estimator.
LOSSES = {
    "hinge": "hinge",
    "log_loss": "logistic",
    "modified_huber": "modified-huber",
    "squared_hinge": "squared-hinge",
    "perceptron": "perceptron",
    "squared_error": "squared",
    "huber": "huber:delta={epsilon}",
    "epsilon_insensitive": "epsilon-insensitive:epsilon={epsilon}",
    "squared_epsilon_insensitive": "squared-epsilon-insensitive:epsilon={epsilon}",
    "quantile": "quantile:tau={quantile}",
    "poisson": "poisson",
    "gamma": "gamma",
    "tweedie": "tweedie:p={power}",
    "absolute_error": "absolute",
}

#: The losses whose prediction is the exponential of the score.
LOG_LINK = ("poisson", "gamma", "tweedie")


class Seen:
    """Cache of attributes that were read from the learners or set by the user. It is a separate object, so that ``predict`` sets no attribute."""

    coef: Any = None
    intercept: Any = None


def looked_at(name: str) -> property:
    """A property that is computed by the method ``_read_<name>`` on first access and then cached."""

    def get(self: Any) -> Any:
        if "_looked" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name}_ before it is fitted")
        if getattr(self._looked, name) is None:
            setattr(self._looked, name, getattr(self, f"_read_{name}")())
        return getattr(self._looked, name)

    def put(self: Any, value: Any) -> None:
        setattr(self.__dict__.setdefault("_looked", Seen()), name, value)

    return property(get, put)


class Aim(NamedTuple):
    """Targets and row weights of a fit: the targets of one model, or class numbers for several models."""

    models: int
    targets: Any
    weights: Any
    class_weights: list[float] | None = None
    classes: Any = None
    offsets: Any = None
    labels: Any = None

    @property
    def weighted(self) -> bool:
        return self.weights is not None or self.class_weights is not None


def shifted(aim: Aim, offset: Any) -> Aim:
    """Adds row offsets to the targets, if there are any."""
    offsets = offsets_of(offset, len(aim.targets))
    if offsets is not None and aim.models > 1:
        raise ValueError("offset is for numbers and for two classes: more classes have no common offset")
    return aim._replace(offsets=offsets)
