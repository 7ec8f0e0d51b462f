"""The reference of the Python estimators: complete parameter lists, and Spark's estimators without Spark.

The docstrings of `SGDClassifier` and its relatives describe what they add to scikit-learn's parameters. The reference lists all parameters:
`complete` adds those that only scikit-learn describes, with the words of `PARAMETERS`. A parameter without words is a warning, and so an error.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import sys
import types

from sphinx.util import logging

log = logging.getLogger(__name__)

PARAMETERS = {
    "loss": "Loss of one row. Classes: hinge, log_loss, modified_huber, squared_hinge, perceptron. Numbers: squared_error, huber, epsilon_insensitive, "
    "squared_epsilon_insensitive, absolute_error, quantile, poisson, gamma, tweedie.",
    "penalty": "Kind of the penalty: l2, l1, elasticnet or None.",
    "alpha": "Weight of the penalty: alpha·(l1_ratio·‖w‖₁ + (1 − l1_ratio)/2·‖w‖²).",
    "l1_ratio": "Share of ℓ₁ in the penalty.",
    "fit_intercept": "Whether there is an intercept. It has no penalty.",
    "max_iter": "Largest number of epochs.",
    "tol": "Stopping rule. With 'sgd': the improvement of the objective that counts; None never stops early. Solvers that find the optimum stop at this relative "
    "distance from it, and never at more than 1e-4.",
    "shuffle": "Whether to shuffle the rows before each epoch.",
    "verbose": "Prints one line per epoch if above 0.",
    "epsilon": "Width of huber and of both epsilon-insensitive losses.",
    "n_jobs": "Number of threads: None is one, −1 is all cores.",
    "random_state": "Seed of the row orders and of the held-out rows. An integer is the program's ``--seed``.",
    "learning_rate": "Schedule: optimal, constant, invscaling, adaptive, pa1 or pa2, with scikit-learn's formulas (solver='sgd').",
    "eta0": "Starting learning rate.",
    "power_t": "Exponent of invscaling.",
    "early_stopping": "Whether to stop by the score on held-out rows.",
    "validation_fraction": "Fraction of the rows that early stopping holds out.",
    "n_iter_no_change": "Number of epochs without improvement before training stops.",
    "class_weight": "Weight of each class: a dict, 'balanced' or None.",
    "warm_start": "Whether to start from the weights of the last fit.",
    "average": "Whether to average the weights over all steps, or the first step that counts.",
    "quantile": "Quantile that loss='quantile' learns.",
    "power": "Power of the variance of loss='tweedie', between 1 and 2.",
    "method": "How a step applies the penalty: 'fobos' (proximal step) or 'sgd' (its gradient, clipped at zero).",
    "precision": "Precision of the weights: 'f32', 'f64', or None for that of the data.",
    "progress": "Whether to show a progress bar.",
    "scale": "Divides features during training: 'maxabs', 'std' or None. ``coef_`` stays in the units of the data.",
    "penalty_factor": "Factor of the penalty of each feature; 0 removes it. Not for solver='sgd'.",
    "intercept_rate": "With solver='sgd': final learning rate of the intercept, as a multiple of that of the weights. None goes by the zeros in the rows.",
    "halving": "Whether to drop hopeless penalties on the way (solver='sgd').",
    "schedule": "Learning-rate schedule of the program (solver='sgd').",
    "alphas": "Penalties to try, or their number.",
    "eps": "Smallest alpha of an automatic grid, relative to the largest.",
    "cv": "Number of folds, a splitter, or pairs of training and held-out rows.",
    "scoring": "Scorer of scikit-learn by name, or a callable; None is the negative held-out loss.",
    "choose": "'best', or 'one_se': the strongest penalty within one standard error of the best.",
    "max_features": "Largest number of features of the model, or None.",
    "positive": "Whether weights must not be negative.",
    "lower": "Lowest value of each weight, at most 0.",
    "upper": "Highest value of each weight, at least 0.",
    "exclude": "Features whose weight is zero: names, numbers, or a mask.",
    "limit_predictions": "Whether predictions stay within the range of the training targets; 'auto' if the held-out loss is lower then.",
    "multi_class": "More than two classes as one model per class ('ovr') or as one 'multinomial' model.",
    # Spark
    "featuresCol": "Column of the feature vectors.",
    "labelCol": "Column of the labels.",
    "predictionCol": "Column to write the predictions to.",
    "probabilityCol": "Column to write the probabilities to.",
    "rawPredictionCol": "Column to write the scores to.",
    "weightCol": "Column of row weights, or None.",
    "regParam": "Weight of the penalty.",
    "elasticNetParam": "Share of ℓ₁ in the penalty.",
    "maxIter": "Largest number of rounds.",
    "fitIntercept": "Whether there is an intercept. It has no penalty.",
    "standardization": "Whether the penalty is on the weights of standardised features.",
    "thresholds": "Thresholds of the classes, as in MLlib.",
    "solver": "'rounds' or 'owlqn'.",
    "seed": "Seed of the row orders.",
    "timeout": "Longest time of one pass over the rows, in seconds.",
    "checkpoint": "File that an interrupted fit continues from, or None.",
    "client": "Dask client, or None for the current one.",
}


def missing(thing, lines: list[str]) -> list[inspect.Parameter]:
    """The parameters of a class that its docstring does not describe."""
    described = {name.strip() for line in lines if " : " in line and not line.startswith(" ") for name in line.split(" : ")[0].split(",")}
    return [p for p in inspect.signature(thing).parameters.values() if p.name not in described]


def complete(app, what, name, thing, options, lines):
    """Adds the missing parameters to the section Parameters of a class, or makes that section."""
    if what != "class" or not lines or name.endswith("Model") or ".distributed." in name:  # these are not estimators
        return
    added = []
    for parameter in missing(thing, lines):
        if parameter.name not in PARAMETERS:
            log.warning("%s: no words for the parameter %s in _ext/estimators.py", name, parameter.name)
            continue
        added += [f"{parameter.name} : default={parameter.default!r}", f"    {PARAMETERS[parameter.name]}"]
    if not added:
        return
    try:
        at = lines.index("Parameters") + 2
    except ValueError:
        heads = [k for k, line in enumerate(lines) if line and k + 1 < len(lines) and set(lines[k + 1]) == {"-"}]
        at = heads[0] if heads else len(lines)
        added = ["", "Parameters", "----------", *added, ""]
    lines[at:at] = added


class _Meta(type):
    """Classes with any attribute."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **named: None


class _Module(types.ModuleType):
    """A module in which every name is a class."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = _Meta(name, (), {"__module__": self.__name__, "__init__": lambda self, *a, **k: None, "__class_getitem__": classmethod(lambda cls, _: cls)})
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module of Spark."""

    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("pyspark", "py4j"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        pass


def stand_in_for_spark():
    """Lets `lazyglm.spark` be imported where pyspark is not installed: its base classes are empty, and its docstrings are its own."""
    if importlib.util.find_spec("pyspark") is None:
        sys.meta_path.append(_Finder())
        importlib.import_module("pyspark").keyword_only = lambda function: function


def setup(app):
    stand_in_for_spark()
    app.connect("autodoc-process-docstring", complete, priority=100)  # before numpydoc reads the docstring
    return {"parallel_read_safe": True}
