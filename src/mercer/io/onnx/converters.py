"""Converters for skl2onnx, so that its pipelines may hold estimators of mercer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from .export import as_tensor, tensor_type, write
from .graph import OPSET
from .models import METHODS

# skl2onnx's names of outputs, by what an estimator is
OUTPUTS = {
    "variable": ("transform",),
    "label": ("predict",),
    "probabilities": ("predict_proba",),
    "scores": ("predict_proba", "score_samples"),
}
CLASSIFIER_OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True]}


def register_converters() -> None:
    """Enter the estimators that can be converted into skl2onnx's list."""
    from skl2onnx import update_registered_converter

    for cls in METHODS:
        name = f"Mercer{cls.__module__.rpartition('.')[2].title()}{cls.__name__}"
        options = CLASSIFIER_OPTIONS if issubclass(cls, ClassifierMixin) else None
        update_registered_converter(cls, name, _shapes, _convert, options=options)


def _shapes(operator: Any) -> None:
    """Set types and shapes of the outputs of one estimator."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType

    model, kind = operator.raw_operator, operator.inputs[0].type
    n = kind.shape[0]
    floating = DoubleTensorType if isinstance(kind, DoubleTensorType) else FloatTensorType
    for output in operator.outputs:
        method = _method(output, model)
        if method == "predict":
            words = getattr(model, "classes_", np.zeros(0)).dtype.kind in "UO"
            output.type = (StringTensorType if words else Int64TensorType)([n])
        elif method == "score_samples":
            output.type = floating([n])
        else:
            output.type = floating([n, _width(model, method)])


def _width(model: Any, method: str) -> int:
    if method == "transform":
        return model._n_features_out
    return len(model.classes_) if hasattr(model, "classes_") else len(model.weights_)


def _method(output: Any, model: Any) -> str:
    known = METHODS[type(model)]
    return next(method for method in OUTPUTS[output.raw_name] if method in known)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the nodes of one estimator into skl2onnx's graph."""
    from skl2onnx.common.data_types import DoubleTensorType

    model, rows = operator.raw_operator, operator.inputs[0]
    dtype = np.dtype(np.float64 if isinstance(rows.type, DoubleTensorType) else np.float32)
    methods = [_method(output, model) for output in operator.outputs]
    sink = Container(scope, container)
    outputs = write(sink, rows.full_name, [], model, methods, model.n_features_in_, dtype)
    for output, method in zip(operator.outputs, methods, strict=True):
        container.add_node("Identity", [outputs[method].name], [output.full_name], op_version=OPSET, name=method)


class Container:
    """The nodes and constants of skl2onnx's graph."""

    def __init__(self, scope: Any, container: Any):
        self.scope, self.container = scope, container

    def constant(self, array: np.ndarray) -> str:
        """Store a constant and return its name."""
        name = self.scope.get_unique_variable_name("mercer")
        words = array.dtype.kind in "UO"
        content = [str(word).encode() for word in array] if words else as_tensor(array, name)
        self.container.add_initializer(name, tensor_type(array.dtype), array.shape, content)
        return name

    def node(self, op: str, inputs: Sequence[str], attributes: dict[str, Any]) -> str:
        """Append a node and return the name of its output."""
        output = self.scope.get_unique_variable_name("mercer")
        name = self.scope.get_unique_operator_name(op)
        self.container.add_node(op, list(inputs), [output], op_version=OPSET, name=name, **attributes)
        return output
