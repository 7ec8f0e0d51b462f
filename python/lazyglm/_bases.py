"""scikit-learn's base classes, with types: it has none of its own, and a class of unknown bases would accept every attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    _F = TypeVar("_F", bound=Callable[..., Any])

    def available_if(check: Callable[[Any], bool]) -> Callable[[_F], _F]:
        """A method that is there if the check of its estimator holds."""
        ...

    class BaseEstimator:
        """Base of all estimators of scikit-learn."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def __sklearn_tags__(self) -> Any: ...
        def __sklearn_clone__(self) -> Self: ...
        def __getstate__(self) -> Any: ...
        def __repr__(self, N_CHAR_MAX: int = 700) -> str: ...

    class ClassifierMixin:
        """What classifiers of scikit-learn share."""

        def __sklearn_tags__(self) -> Any: ...
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class RegressorMixin:
        """What regressors of scikit-learn share."""

        def __sklearn_tags__(self) -> Any: ...
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.metaestimators import available_if

__all__ = ["BaseEstimator", "ClassifierMixin", "RegressorMixin", "available_if"]
