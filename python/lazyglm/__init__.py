"""Sparse linear models with exact elastic-net regularisation, in time proportional to the non-zeros.

``SGDClassifier`` and ``SGDRegressor`` take scikit-learn's parameters with scikit-learn's meaning; the few deliberate
differences are listed in the README. ``AutoClassifier`` and ``AutoRegressor`` need no tuning: they choose solver and penalty on held-out rows.
``ElasticNetClassifier`` and ``ElasticNetRegressor`` find the optimum for one penalty, with a certificate;
``ElasticNetClassifierCV`` and ``ElasticNetRegressorCV`` choose the penalty by cross-validation of exact regularisation paths.
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from lazyglm._auto import AutoClassifier, AutoRegressor
    from lazyglm._classifier import SGDClassifier
    from lazyglm._cv import ElasticNetClassifierCV, ElasticNetRegressorCV
    from lazyglm._exact import ElasticNetClassifier, ElasticNetRegressor
    from lazyglm._files import load
    from lazyglm._read import read
    from lazyglm._regressor import SGDRegressor

__all__ = [
    "AutoClassifier",
    "AutoRegressor",
    "ElasticNetClassifier",
    "ElasticNetClassifierCV",
    "ElasticNetRegressor",
    "ElasticNetRegressorCV",
    "SGDClassifier",
    "SGDRegressor",
    "load",
    "read",
]
__version__ = _version("lazyglm")

#: The module of each public name. It is loaded when the name is first used: the program ``lazyglm`` needs none of them.
_HOMES = {
    "AutoClassifier": "_auto",
    "AutoRegressor": "_auto",
    "ElasticNetClassifier": "_exact",
    "ElasticNetClassifierCV": "_cv",
    "ElasticNetRegressor": "_exact",
    "ElasticNetRegressorCV": "_cv",
    "SGDClassifier": "_classifier",
    "SGDRegressor": "_regressor",
    "load": "_files",
    "read": "_read",
}


if not TYPE_CHECKING:  # a name that is not there is an error of type checkers

    def __getattr__(name: str) -> _Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'lazyglm' has no attribute {name!r}")
        globals()[name] = found = getattr(_import_module(f"lazyglm.{_HOMES[name]}"), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
