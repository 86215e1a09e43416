"""The functions of the Array API standard that kernels, subspaces and densities use, on tensors of a graph."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import bool, float32, float64, int64, isdtype  # noqa: F401

from .graph import Batch, Tensor, cast, elementwise, emit, tensors

abs = elementwise("Abs", np.abs)
add = elementwise("Add", np.add)
divide = elementwise("Div", np.divide)
equal = elementwise("Equal", np.equal)
exp = elementwise("Exp", np.exp)
greater = elementwise("Greater", np.greater)
greater_equal = elementwise("GreaterOrEqual", np.greater_equal)
less = elementwise("Less", np.less)
less_equal = elementwise("LessOrEqual", np.less_equal)
log = elementwise("Log", np.log)
logical_and = elementwise("And", np.logical_and)
logical_not = elementwise("Not", np.logical_not)
logical_or = elementwise("Or", np.logical_or)
matmul = elementwise("MatMul", np.matmul)
maximum = elementwise("Max", np.maximum)
minimum = elementwise("Min", np.minimum)
multiply = elementwise("Mul", np.multiply)
negative = elementwise("Neg", np.negative)
pow = elementwise("Pow", np.power)
reciprocal = elementwise("Reciprocal", np.reciprocal)
sign = elementwise("Sign", np.sign)
sin, cos, tanh = elementwise("Sin", np.sin), elementwise("Cos", np.cos), elementwise("Tanh", np.tanh)
sqrt = elementwise("Sqrt", np.sqrt)
subtract = elementwise("Sub", np.subtract)
absolute, power = abs, pow  # NumPy's names for them


def square(x: Tensor) -> Tensor:
    """Return x²."""
    return multiply(x, x)


def _axes(x: Tensor, axis: int) -> Tensor:
    return Tensor(x.graph, np.array([axis], np.int64))


def _reduction(op: str, f: Callable) -> Callable:
    def apply(x: Tensor, *, axis: int | None = None, dtype: Any = None, keepdims: Any = False) -> Tensor:
        x = x if dtype is None else cast(x, dtype)
        with np.errstate(all="ignore"):
            value = f(x.value, axis=axis, keepdims=keepdims)
        if x.constant:
            return Tensor(x.graph, np.asarray(value))
        if axis is None:
            raise TypeError("A sum over rows cannot be converted to ONNX: the graph treats each row alone.")
        return emit(op, [x, _axes(x, axis)], value, {"keepdims": int(keepdims)})

    return apply


max = _reduction("ReduceMax", np.max)
mean = _reduction("ReduceMean", np.mean)
min = _reduction("ReduceMin", np.min)
prod = _reduction("ReduceProd", np.prod)
sum = _reduction("ReduceSum", np.sum)


def argmax(x: Tensor, *, axis: int) -> Tensor:
    """Return the place of the largest entry; the first of equal ones."""
    return emit("ArgMax", [x], x.value.argmax(axis=axis), {"axis": axis, "keepdims": 0})


def clip(x: Tensor, low: Any = None, high: Any = None) -> Tensor:
    """Return x between two bounds, either of which may be None."""
    x = x if low is None else maximum(x, low)
    return x if high is None else minimum(x, high)


def where(condition: Any, x: Any, y: Any) -> Tensor:
    """Return x where the condition holds, else y."""
    graph = condition.graph
    x, y = tensors(x, y) if isinstance(x, Tensor) or isinstance(y, Tensor) else _numbers(graph, x, y)
    value = np.where(condition.value, x.value, y.value)
    inputs = [condition, x, y]
    return Tensor(graph, value) if all_constant(inputs) else emit("Where", inputs, value)


def _numbers(graph: Any, *values: Any) -> list[Tensor]:
    dtype = np.result_type(*values)
    return [Tensor(graph, np.asarray(value, dtype)) for value in values]


def all_constant(inputs: Sequence[Tensor]) -> Any:
    """Return True if none of them depends on the rows."""
    return not [x for x in inputs if not x.constant]


def concat(parts: Sequence[Tensor], *, axis: int = 0) -> Tensor:
    """Return the parts one after the other along an axis."""
    parts = tensors(*parts)
    value = np.concatenate([part.value for part in parts], axis=axis)
    return Tensor(parts[0].graph, value) if all_constant(parts) else emit("Concat", parts, value, {"axis": axis})


def take(x: Tensor, indices: Any, *, axis: int) -> Tensor:
    """Return the entries of these numbers along an axis."""
    indices = indices if isinstance(indices, Tensor) else Tensor(x.graph, np.asarray(indices, np.int64))
    value = np.take(x.value, indices.value, axis=axis)
    return Tensor(x.graph, value) if all_constant([x, indices]) else emit("Gather", [x, indices], value, {"axis": axis})


def getitem(x: Tensor, key: Any) -> Tensor:
    """x[key] of a constant; x[:, j], x[:, i:j] and x[:, None] of rows."""
    if x.constant:
        return Tensor(x.graph, x.value[key])
    rows, column = key
    if rows != slice(None):
        raise TypeError("Only x[:, j], x[:, i:j] and x[:, None] can be converted to ONNX.")
    if column is None:
        return emit("Unsqueeze", [x, _axes(x, 1)], x.value[:, None])
    if isinstance(column, slice):
        column = np.arange(x.shape[1])[column]
    return take(x, column, axis=1)


def asarray(x: Any, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    """Return a tensor as it is (nodes are never overwritten), or an array as a constant of the graph of ``device``."""
    x = Tensor(x.graph, x.value, x._name) if isinstance(x, Tensor) else Tensor(device.graph, np.asarray(x))
    return x if dtype is None else cast(x, dtype)


def astype(x: Tensor, dtype: Any, *, copy: Any = True) -> Tensor:
    """Return x in a dtype."""
    return cast(x, dtype)


def full(shape: Sequence[int], value: float, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Return an array of one number, with as many rows as ``device`` if the shape requires it."""
    constant = Tensor(device.graph, np.full([1] * len(shape), value, dtype))
    values = np.full(shape, value, dtype)
    if not isinstance(shape[0], Batch):
        return Tensor(device.graph, values)
    n = emit("Shape", [device], np.array(device.shape[:1]), {"start": 0, "end": 1})
    sides = [n, *(Tensor(n.graph, np.array([side], np.int64)) for side in shape[1:])]
    return emit("Expand", [constant, concat(sides) if len(sides) > 1 else n], values)


def ones_like(x: Tensor) -> Tensor:
    """Return ones."""
    return full(x.shape, 1.0, dtype=x.dtype, device=x)


def result_type(*arrays: Any) -> Any:
    """Return the dtype of an operation between them."""
    return np.result_type(*(x.value if isinstance(x, Tensor) else x for x in arrays))


def finfo(dtype: Any) -> Any:
    """Return the limits of a dtype."""
    return np.finfo(dtype)
