"""Attributes that are read from the learners on first access."""

from __future__ import annotations

from typing import Any


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
