"""Parameters of estimators: what each may be, one line per parameter, checked before anything is learnt."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError

from lazyglm._core import solvers

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

    return fits, f"a number in {'(' if open_low else '['}{low}, {high}{')' if open_high else ']'}"


def integer(low: int) -> Rule:
    return (lambda value: _is_int(value) and value >= low), f"an integer of at least {low}"


def or_none(rule: Rule) -> Rule:
    return (lambda value: value is None or rule[0](value)), f"{rule[1]}, or None"


def factors(value: Any) -> bool:
    return value is None or (np.ndim(value) == 1 and not isinstance(value, (str, dict)))


#: The solvers of the library by name.
SOLVERS = tuple(name for name, _ in solvers())
#: The solvers that know a factor of the penalty for each feature. Here "sgd" learns from arrays that are lent, without factors.
WITH_FACTORS = tuple(name for name, factors in solvers() if factors and name != "sgd")
#: What solvers were called in earlier versions.
FORMER_NAMES = {"online": "sgd", "saga": "svrg"}


def solver_of(estimator: Any) -> str:
    """The solver of an estimator by its present name."""
    return FORMER_NAMES.get(estimator.solver, estimator.solver)


def _bound(value: Any) -> bool:
    return value is None or _is_real(value) or factors(value)


def is_multinomial(estimator: Any) -> bool:
    """Whether more than two classes are one model."""
    return getattr(estimator, "multi_class", "ovr") == "multinomial"


def goes_on(estimator: Any) -> bool:
    """Whether ``partial_fit`` is there: with solver='sgd' alone, and one model per class."""
    if is_multinomial(estimator):
        raise AttributeError("partial_fit is for multi_class='ovr'")
    if solver_of(estimator) != "sgd":
        raise AttributeError(f"partial_fit goes on row by row, for solver='sgd'; solver={estimator.solver!r} learns all rows at once")
    return True


BOOLEAN: Rule = (_is_bool, "True or False")
N_JOBS = or_none((_is_int, "an integer"))
#: What limits single weights, for solvers that find the optimum.
LIMITS: dict[str, Rule] = {
    "penalty_factor": (factors, "one number per feature, or None"),
    "positive": BOOLEAN,
    "lower": (_bound, "a number, one number per feature, or None"),
    "upper": (_bound, "a number, one number per feature, or None"),
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
    "penalty_factor": (factors, "one number a feature, or None"),
    "intercept_rate": real(0, 1, open_low=True),
}


def relative_gap(tol: float | None) -> float:
    """The relative distance from the optimum at which a solver that finds the optimum may stop: ``tol``, and 1e-4 at most."""
    return 1e-4 if tol is None else min(float(tol), 1e-4)


def check_alone(estimator: Any, rules: dict[str, Rule]) -> None:
    """Refuses the first parameter that is not what it may be."""
    for name, (fits, words) in rules.items():
        value = getattr(estimator, name)
        if not fits(value):
            raise InvalidParameterError(f"The {name!r} parameter of {type(estimator).__name__} must be {words}. Got {value!r} instead.")


def check(estimator: Any, rules: dict[str, Rule]) -> None:
    """The same for the SGD estimators, and what does not go together."""
    check_alone(estimator, rules)
    if estimator.penalty == "elasticnet" and estimator.l1_ratio is None:
        raise InvalidParameterError("l1_ratio must be set when penalty is 'elasticnet'")
    solver = solver_of(estimator)
    if estimator.penalty_factor is not None and solver not in WITH_FACTORS:
        names = " or ".join(f"solver={name!r}" for name in WITH_FACTORS)
        raise InvalidParameterError(f"penalty_factor is not for solver={estimator.solver!r}: use {names}")
    if solver != "sgd" and (estimator.early_stopping or estimator.average):
        raise InvalidParameterError(f"early_stopping and average are for solver='sgd', not for {estimator.solver!r}")
    if is_multinomial(estimator):
        if estimator.loss != "log_loss" or solver not in ("sgd", "newton", "auto"):
            raise InvalidParameterError("multi_class='multinomial' is for loss='log_loss' and solver='sgd' or 'newton'")
        if estimator.early_stopping or estimator.average:
            raise InvalidParameterError("early_stopping and average are for multi_class='ovr'")
    if solver != "sgd":
        return
    if estimator.learning_rate == "optimal" and estimator.alpha == 0:
        raise InvalidParameterError("alpha must be > 0 since learning_rate is 'optimal': its rate is 1/(alpha (t0 + t))")
    if estimator.learning_rate in ("pa1", "pa2") and estimator.loss not in ("hinge", "epsilon_insensitive"):
        raise InvalidParameterError(f"Learning rate {estimator.learning_rate!r} only works with loss 'hinge' or 'epsilon_insensitive'.")


class Estimator(BaseEstimator):
    """Base of all estimators. Each lists its parameters in its constructor, which calls ``self._keep(locals())``."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # of parameters

    def _keep(self, given: dict[str, Any]) -> None:
        """Sets the arguments of a constructor as attributes of the same names: scikit-learn's convention."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
