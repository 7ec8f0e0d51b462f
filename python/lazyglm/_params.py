"""Parameters of estimators: what each may be, one line per parameter, checked before anything is learnt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils._param_validation import InvalidParameterError

from lazyglm._bases import BaseEstimator
from lazyglm._core import solvers
from lazyglm._warn import warn

if TYPE_CHECKING:
    from typing_extensions import Self

Rule = tuple[Callable[[Any], bool], str]


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not _is_bool(value) and not np.isnan(float(value))


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not _is_bool(value)


def one_of(*values: Any) -> Rule:
    def fits(value: Any) -> bool:
        return value is None if None in values and value is None else isinstance(value, str) and value in values

    return fits, "one of " + ", ".join(map(repr, values))


def real(low: float = -np.inf, high: float = np.inf, *, open_low: bool = False, open_high: bool = False) -> Rule:
    def fits(value: Any) -> bool:
        return bool(
            _is_real(value)
            and np.isfinite(value)
            and (value > low if open_low else value >= low)
            and (value < high if open_high else value <= high)
        )

    return fits, f"a number in {'(' if open_low else '['}{low}, {high}{')' if open_high or high == np.inf else ']'}"


def integer(low: int) -> Rule:
    return (lambda value: _is_int(value) and value >= low), f"an integer of at least {low}"


def or_none(rule: Rule) -> Rule:
    return (lambda value: value is None or rule[0](value)), f"{rule[1]}, or None"


def or_text(text: str, rule: Rule) -> Rule:
    return (lambda value: (isinstance(value, str) and value == text) or rule[0](value)), f"{rule[1]}, or {text!r}"


def factors(value: Any) -> bool:
    return value is None or (np.ndim(value) == 1 and not isinstance(value, (str, dict)))


#: The library's table of solvers by name.
SOLVERS = {row["name"]: row for row in solvers()}
#: What solvers were called in earlier versions.
FORMER_NAMES = {"online": "sgd", "saga": "svrg"}


def abilities(solver: str) -> dict[str, Any]:
    """What a solver can do: its row in the library's table. Solvers of clusters are not in it."""
    return SOLVERS.get(FORMER_NAMES.get(solver, solver), {"steps": "none", "tolerance": False, "factors": False, "targets": ()})


def takes_rows(solver: str) -> bool:
    """Whether a solver takes one stochastic step per row, with all settings of such steps. Here it learns from lent arrays."""
    return bool(abilities(solver)["steps"] == "as_told")


def finds_optimum(solver: str) -> bool:
    """Whether a solver stops at a distance from the optimum."""
    return bool(abilities(solver)["tolerance"])


def names_of(able: Callable[[str], bool]) -> str:
    """The solvers for which this holds, for a message."""
    return " or ".join(f"solver={name!r}" for name in SOLVERS if able(name))


def _bound(value: Any) -> bool:
    return value is None or _is_real(value) or factors(value)


def is_multinomial(estimator: Any) -> bool:
    """Whether more than two classes are one model."""
    return getattr(estimator, "multi_class", "ovr") == "multinomial"


def goes_on(estimator: Any) -> bool:
    """Whether ``partial_fit`` is there: with solver='sgd' alone, and one model per class."""
    if is_multinomial(estimator):
        raise AttributeError("partial_fit is for multi_class='ovr'")
    if getattr(estimator, "_tf_idf", None) is not None:
        raise AttributeError("partial_fit goes on with rows as they are, and this model has the weights of tf-idf values")
    if getattr(estimator, "_file_bytes", None) is not None:
        raise AttributeError("partial_fit goes on with rows as they are, and the model that was loaded has the weights of tf-idf values: train a new one")
    if not takes_rows(estimator.solver):
        raise AttributeError(
            f"partial_fit goes on row by row, for {names_of(takes_rows)}; solver={estimator.solver!r} learns all rows at once"
        )
    return True


BOOLEAN: Rule = (_is_bool, "True or False")
N_JOBS = or_none(((lambda value: _is_int(value) and value != 0), "an integer other than 0"))
#: What limits single weights, for solvers that find the optimum.
LIMITS: dict[str, Rule] = {
    "penalty_factor": (factors, "one number per feature, or None"),
    "positive": BOOLEAN,
    "lower": (_bound, "a number, one number per feature, or None"),
    "upper": (_bound, "a number, one number per feature, or None"),
    "exclude": (factors, "a list of features, or None"),
}

COMMON: dict[str, Rule] = {
    "penalty": one_of("l2", "l1", "elasticnet", None),
    "alpha": real(0),
    "l1_ratio": or_none(real(0, 1)),
    "fit_intercept": BOOLEAN,
    "max_iter": integer(1),
    "tol": or_none(real(0)),
    "shuffle": BOOLEAN,
    "verbose": ((lambda value: _is_bool(value) or (_is_int(value) and value >= 0)), "an integer of at least 0"),
    "epsilon": real(0),
    "learning_rate": one_of("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"),
    "eta0": real(0, open_low=True),
    "power_t": real(),
    "early_stopping": BOOLEAN,
    "validation_fraction": real(0, 1, open_low=True, open_high=True),
    "n_iter_no_change": integer(1),
    "warm_start": BOOLEAN,
    "average": ((lambda value: _is_bool(value) or (_is_int(value) and value >= 1)), "True, False or an integer above 0"),
    "method": one_of("fobos", "sgd"),
    "precision": one_of("f32", "f64", None),
    "progress": BOOLEAN,
    "solver": one_of(*SOLVERS, *FORMER_NAMES),
    "scale": one_of("maxabs", "std", None),
    "penalty_factor": (factors, "one number per feature, or None"),
    "intercept_rate": or_none(real(0, 1, open_low=True)),
}


def relative_gap(tol: float | None) -> float:
    """The relative distance from the optimum at which a solver that finds the optimum may stop: ``tol``, and 1e-4 at most."""
    return 1e-4 if tol is None else min(float(tol), 1e-4)


def refused(estimator: Any, name: str, words: str) -> InvalidParameterError:
    """The error for a parameter that is not what it must be, in scikit-learn's words."""
    value = repr(getattr(estimator, name))
    value = value if len(value) <= 200 else value[:200] + "..."
    return InvalidParameterError(f"The {name!r} parameter of {type(estimator).__name__} must be {words}. Got {value} instead.")


def check_alone(estimator: Any, rules: dict[str, Rule]) -> None:
    """Refuses the first parameter that is not what it may be."""
    for name, (fits, words) in rules.items():
        if not fits(getattr(estimator, name)):
            raise refused(estimator, name, words)


def _takes_factors(solver: str) -> bool:
    return bool(abilities(solver)["factors"]) and not takes_rows(solver)


def _takes_classes(solver: str) -> bool:
    return "classes" in abilities(solver)["targets"]


#: The parameters of the SGD estimators that have no effect, by the settings of stochastic steps that a solver supports.
IDLE = {
    "as_told": (),
    "own_rates": ("learning_rate", "power_t", "intercept_rate"),  # the library refuses `method`
    "none": ("learning_rate", "power_t", "intercept_rate", "method", "eta0", "max_iter", "shuffle"),
}


def _idle_of(estimator: Any) -> tuple[str, ...]:
    """The parameters of an SGD estimator that its solver does not use."""
    names: tuple[str, ...] = IDLE[abilities(estimator.solver)["steps"]]
    if finds_optimum(estimator.solver):
        names += ("n_iter_no_change",)
    if takes_rows(estimator.solver) and is_multinomial(estimator):  # the library's SGD, which has schedules of its own
        names += ("learning_rate", "power_t", "intercept_rate")
    return names


def default_of(estimator: Any, name: str) -> Any:
    """The default of a parameter."""
    return signature(type(estimator).__init__).parameters[name].default


def given(estimator: Any, name: str) -> Any:
    """The value of a parameter, or None if it is the default."""
    value = getattr(estimator, name)
    return None if value is None or value == default_of(estimator, name) else value


def warn_of_idle(estimator: Any, names: Iterable[str], why: str) -> None:
    """Warns of parameters that were given and have no effect."""
    idle = [name for name in names if getattr(estimator, name) != default_of(estimator, name)]
    if idle:
        values = ", ".join(f"{name}={default_of(estimator, name)!r}" for name in idle)
        some = "have" if len(idle) > 1 else "has"
        text = f"{' and '.join(idle)} {some} no effect with {why}: leave the default ({values}), or use another solver"
        warn(text, UserWarning)


def check(estimator: Any, rules: dict[str, Rule]) -> None:
    """The same for the SGD estimators, and what does not go together."""
    check_alone(estimator, rules)
    if estimator.penalty == "elasticnet" and estimator.l1_ratio is None:
        raise InvalidParameterError("l1_ratio must be set when penalty is 'elasticnet'")
    by_rows, multinomial = takes_rows(estimator.solver), is_multinomial(estimator)
    if estimator.penalty_factor is not None and not _takes_factors(estimator.solver):
        raise InvalidParameterError(f"penalty_factor is not for solver={estimator.solver!r}: use {names_of(_takes_factors)}")
    if not by_rows and (estimator.early_stopping or estimator.average):
        raise InvalidParameterError(f"early_stopping and average are for {names_of(takes_rows)}, not for {estimator.solver!r}")
    if multinomial:
        if not _takes_classes(estimator.solver):
            raise InvalidParameterError(
                f"solver={estimator.solver!r} trains one model at a time, and multi_class='multinomial' trains all classes together: use "
                f"multi_class='ovr', or {names_of(lambda solver: takes_rows(solver) and _takes_classes(solver))}, which is nearest, or "
                f"{names_of(lambda solver: finds_optimum(solver) and _takes_classes(solver))}"
            )
        if estimator.loss != "log_loss":
            raise InvalidParameterError(f"multi_class='multinomial' is for loss='log_loss', and not for {estimator.loss!r}: use multi_class='ovr'")
        if estimator.early_stopping or estimator.average:
            raise InvalidParameterError("early_stopping and average are for multi_class='ovr'")
    warn_of_idle(estimator, _idle_of(estimator), f"solver={estimator.solver!r}" + (", multi_class='multinomial'" if multinomial and by_rows else ""))
    if not by_rows or multinomial:
        return
    if estimator.learning_rate == "optimal" and estimator.alpha == 0:
        raise InvalidParameterError("alpha must be > 0 since learning_rate is 'optimal': its rate is 1/(alpha (t0 + t))")
    if estimator.learning_rate in ("pa1", "pa2") and estimator.loss not in ("hinge", "epsilon_insensitive"):
        raise InvalidParameterError(f"Learning rate {estimator.learning_rate!r} only works with loss 'hinge' or 'epsilon_insensitive'.")


class Estimator(BaseEstimator):
    """Base of all estimators. Each lists its parameters in its constructor, which calls ``self._keep(locals())``."""

    def _keep(self, given: dict[str, Any]) -> None:
        """Sets the arguments of a constructor as attributes of the same names: scikit-learn's convention."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    if TYPE_CHECKING:  # scikit-learn makes these methods for the parameters of fit, score, ...

        def set_fit_request(self, **requested: bool | str | None) -> Self: ...
        def set_partial_fit_request(self, **requested: bool | str | None) -> Self: ...
        def set_score_request(self, **requested: bool | str | None) -> Self: ...
        def set_predict_request(self, **requested: bool | str | None) -> Self: ...
        def set_predict_proba_request(self, **requested: bool | str | None) -> Self: ...
        def set_decision_function_request(self, **requested: bool | str | None) -> Self: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
