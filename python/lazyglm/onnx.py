"""ONNX: converters for skl2onnx, so that pipelines with lazyglm's estimators run where there is no Python.

::

    scores         S = X·Wᵀ + b                      in double precision, whatever the input
    classes        two: S > 0; more: argmax S
    probabilities  sigmoid(S), softmax(S), or (clip(S, −1, 1) + 1)/2; one model per class: divided by their sum
    numbers        S, or exp(S) for poisson, gamma and tweedie

Install ``lazyglm[onnx]``, and call :func:`register` once before ``skl2onnx.to_onnx``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyglm._losses import LOG_LINK
from lazyglm._auto import AutoClassifier, AutoRegressor
from lazyglm._classifier import PROBABLE, SGDClassifier
from lazyglm._cv import ElasticNetClassifierCV, ElasticNetRegressorCV
from lazyglm._data import by_model
from lazyglm._exact import ElasticNetClassifier, ElasticNetRegressor
from lazyglm._regressor import SGDRegressor

__all__ = ["register"]

CLASSIFIERS: tuple[type, ...] = (AutoClassifier, ElasticNetClassifier, ElasticNetClassifierCV, SGDClassifier)
REGRESSORS: tuple[type, ...] = (AutoRegressor, ElasticNetRegressor, ElasticNetRegressorCV, SGDRegressor)


def register() -> None:
    """Registers converters of all estimators with skl2onnx.

    Examples
    --------
    >>> import numpy as np
    >>> from lazyglm import ElasticNetClassifier, onnx
    >>> from skl2onnx import to_onnx
    >>> onnx.register()
    >>> X = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    >>> model = ElasticNetClassifier(alpha=0.01).fit(X, X[:, 0] > 0)
    >>> [output.name for output in to_onnx(model, X, options={"zipmap": False}).graph.output]
    ['label', 'probabilities']
    """
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

    options = {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True], "raw_scores": [True, False]}
    for one in CLASSIFIERS:
        update_registered_converter(one, f"Lazyglm{one.__name__}", calculate_linear_classifier_output_shapes, _classifier, options=options)
    for kind in REGRESSORS:
        update_registered_converter(kind, f"Lazyglm{kind.__name__}", _shape_of_numbers, _regressor)


def _shape_of_numbers(operator: Any) -> None:
    """One number per row, in the precision of the rows."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    kind = DoubleTensorType if isinstance(operator.inputs[0].type, DoubleTensorType) else FloatTensorType
    operator.outputs[0].set_type(kind([operator.inputs[0].get_first_dimension(), 1]))


class _Graph:
    """The nodes of one model: each method adds a node and returns the name of its result."""

    def __init__(self, scope: Any, container: Any) -> None:
        self.scope, self.container = scope, container

    def number(self, values: Any) -> str:
        """A constant in double precision."""
        from onnx import TensorProto

        values, name = np.asarray(values, dtype=np.float64), self.scope.get_unique_variable_name("constant")
        self.container.add_initializer(name, TensorProto.DOUBLE, values.shape, values.ravel())
        return str(name)

    def labels(self, classes: Any) -> str:
        """The classes: whole numbers, or strings."""
        from onnx import TensorProto

        name = self.scope.get_unique_variable_name("classes")
        if classes.dtype.kind in "iubf":  # scikit-learn takes only whole numbers for classes
            self.container.add_initializer(name, TensorProto.INT64, classes.shape, classes.astype(np.int64))
        else:
            self.container.add_initializer(name, TensorProto.STRING, classes.shape, [str(each).encode() for each in classes])
        return str(name)

    def node(self, operation: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        name = output or self.scope.get_unique_variable_name(operation.lower())
        self.container.add_node(operation, list(inputs), [name], name=self.scope.get_unique_operator_name(operation), **attributes)
        return str(name)

    def cast(self, name: str, kind: Any, output: str | None = None) -> str:
        from onnx import TensorProto

        return self.node("Cast", name, output=output, to=getattr(TensorProto, kind))


def _scores(operator: Any, graph: _Graph) -> str:
    model = operator.raw_operator
    inner = getattr(model, "_found_model", model)
    if inner._tf_idf is not None or inner._file_bytes is not None:
        raise ValueError("this model computes tf-idf from counts itself, which ONNX does not know: put TfidfVectorizer or TfidfTransformer before it")
    if inner._reading is not None:
        raise ValueError("this model reads text, categories or missing cells of frames itself: put transformers of scikit-learn before it")
    if getattr(model, "_kind", "ovr") == "labels":
        raise ValueError("a model of several labels per row has no converter: train one model per label with MultiOutputClassifier")
    rows = graph.cast(operator.inputs[0].full_name, "DOUBLE")
    product = graph.node("MatMul", rows, graph.number(by_model(model.coef_).T))
    return graph.node("Add", product, graph.number(np.ravel(model.intercept_)))


def _both(graph: _Graph, positive: str, of_negative: str) -> str:
    return graph.node("Concat", of_negative, positive, axis=1)


def _probabilities(model: Any, graph: _Graph, scores: str) -> str:
    """One column per class."""
    if model._kind == "softmax":
        return graph.node("Softmax", scores, axis=1)
    one = graph.number(1.0)
    if model.loss == "log_loss":  # 1/(1 + e^−S): the Sigmoid of some run times is an approximation
        positive = graph.node("Reciprocal", graph.node("Add", one, graph.node("Exp", graph.node("Neg", scores))))
    else:
        clipped = graph.node("Max", graph.node("Min", scores, one), graph.number(-1.0))
        positive = graph.node("Mul", graph.node("Add", clipped, one), graph.number(0.5))
    if len(model.classes_) == 2:
        return _both(graph, positive, graph.node("Sub", one, positive))
    total = graph.node("MatMul", positive, graph.number(np.ones((len(model.classes_), 1))))
    none = graph.cast(graph.node("Equal", total, graph.number(0.0)), "DOUBLE")  # then all classes are as likely
    count = graph.number(float(len(model.classes_)))
    return graph.node("Div", graph.node("Add", positive, none), graph.node("Add", total, graph.node("Mul", none, count)))


def _classifier(scope: Any, operator: Any, container: Any) -> None:
    model, graph = operator.raw_operator, _Graph(scope, container)
    scores = _scores(operator, graph)
    two = len(model.classes_) == 2
    each = _both(graph, scores, graph.node("Neg", scores)) if two else scores
    raw = container.get_options(model, {"raw_scores": False})["raw_scores"] or model.loss not in PROBABLE
    values = each if raw else _probabilities(model, graph, scores)
    graph.cast(values, "DOUBLE" if _is_double(operator.outputs[1]) else "FLOAT", output=operator.outputs[1].full_name)
    best = graph.node("ArgMax", each, axis=1, keepdims=0)  # of equal scores the first, as numpy does
    graph.node("Gather", graph.labels(model.classes_), best, output=operator.outputs[0].full_name, axis=0)


def _regressor(scope: Any, operator: Any, container: Any) -> None:
    model, graph = operator.raw_operator, _Graph(scope, container)
    numbers = _scores(operator, graph)
    if model.loss in LOG_LINK:
        numbers = graph.node("Exp", numbers)
    if model._limits is not None:
        low, high = (graph.number(limit) for limit in model._limits)
        numbers = graph.node("Min", graph.node("Max", numbers, low), high)
    graph.cast(numbers, "DOUBLE" if _is_double(operator.outputs[0]) else "FLOAT", output=operator.outputs[0].full_name)


def _is_double(variable: Any) -> bool:
    from skl2onnx.common.data_types import DoubleTensorType

    return isinstance(variable.type, DoubleTensorType)
