"""ONNX graphs as an array library: mercer's own formulas, applied to a ``Tensor``, write the graph.

The formulas use the names of the Array API standard. A ``Tensor`` follows the standard as far as kernels, subspaces and
densities need it, and every operation on it becomes a node. Operations on constants are computed at once.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

OPSET = 18  # the first in which all reductions take their axes as an input
SAMPLE_ROWS = 2  # of the small input that is computed along with the graph, for shapes and dtypes


class Sink(Protocol):
    """The target to which nodes and constants are written."""

    def constant(self, array: np.ndarray) -> str:
        """Store a constant and return its name."""

    def node(self, op: str, inputs: Sequence[str], attributes: dict[str, Any]) -> str:
        """Append a node and return the name of its output."""


class Graph:
    """A graph that is being written: equal constants and equal nodes are written once."""

    def __init__(self, sink: Sink):
        self.sink = sink
        self._constants: dict[tuple, str] = {}
        self._nodes: dict[tuple, str] = {}

    def input(self, name: str, columns: int, dtype: Any) -> "Tensor":
        """Return the rows that the graph is applied to."""
        return Tensor(self, np.zeros((SAMPLE_ROWS, columns), dtype), name)

    def constant(self, array: np.ndarray) -> str:
        """Return the name of a constant."""
        array = np.asarray(array, order="C")
        content = repr(array.tolist()) if array.dtype.kind in "UO" else hashlib.sha256(array.data).digest()
        key = array.dtype.str, array.shape, content
        if key not in self._constants:
            self._constants[key] = self.sink.constant(array)
        return self._constants[key]

    def node(self, op: str, inputs: Sequence[str], attributes: dict[str, Any] | None = None) -> str:
        """Return the name of a node's output."""
        key = op, *inputs, repr(attributes)
        if key not in self._nodes:
            self._nodes[key] = self.sink.node(op, inputs, attributes or {})
        return self._nodes[key]


class Batch(int):
    """The number of rows of a tensor: known only when the graph is applied, a small number while it is written."""


class Tensor:
    """An array of a graph: the output of a node, whose ``value`` is that of a small sample, or a constant.

    The first axis of a node's output counts rows, and their number is free.
    """

    def __init__(self, graph: Graph, value: np.ndarray, name: str | None = None):
        self.graph, self.value, self._name = graph, value, name

    @property
    def name(self) -> str:
        """The name in the graph; a constant that is used is written there."""
        return self.graph.constant(self.value) if self._name is None else self._name

    @property
    def constant(self) -> bool:
        """Whether it does not depend on the rows."""
        return self._name is None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape; the number of rows is a ``Batch``."""
        shape = self.value.shape
        return shape if self.constant or not shape else (Batch(shape[0]), *shape[1:])

    @property
    def dtype(self) -> np.dtype:
        """The dtype, one of NumPy's."""
        return self.value.dtype

    @property
    def device(self) -> "Tensor":
        """The tensor itself: new arrays on its device belong to its graph and have as many rows."""
        return self

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.value.ndim

    @property
    def T(self) -> "Tensor":
        """The transpose, of constants alone: rows stay along the first axis."""
        if not self.constant:
            raise TypeError("The rows of a graph cannot be transposed.")
        return Tensor(self.graph, self.value.T)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        from . import namespace

        return namespace

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("The rows of a graph have no values: they are known when it is applied.")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Let NumPy's functions, such as ``np.exp``, write the same nodes as the standard's."""
        function = getattr(self.__array_namespace__(), ufunc.__name__, None)
        if function is None or method != "__call__" or options:
            return NotImplemented
        return function(*inputs)

    def __bool__(self) -> bool:
        raise TypeError("A condition on values cannot be converted to ONNX: the graph has no branches.")

    def __getitem__(self, key: Any) -> "Tensor":
        from .namespace import getitem

        return getitem(self, key)

    def __setitem__(self, mask: Any, value: Any) -> None:
        """x[mask] = number, for a mask of the same shape."""
        chosen = self.__array_namespace__().where(mask, value, self)
        self.value, self._name = chosen.value, chosen._name

    def __add__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().add(self, other)

    def __radd__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().add(other, self)

    def __sub__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().subtract(self, other)

    def __rsub__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().subtract(other, self)

    def __mul__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().multiply(self, other)

    def __rmul__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().multiply(other, self)

    def __truediv__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().divide(self, other)

    def __rtruediv__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().divide(other, self)

    def __pow__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().pow(self, other)

    def __rpow__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().pow(other, self)

    def __matmul__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().matmul(self, other)

    def __rmatmul__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().matmul(other, self)

    def __lt__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().less(self, other)

    def __le__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().less_equal(self, other)

    def __gt__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().greater(self, other)

    def __ge__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().greater_equal(self, other)

    def __and__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().logical_and(self, other)

    def __or__(self, other: Any) -> "Tensor":
        return self.__array_namespace__().logical_or(self, other)

    def __eq__(self, other: Any) -> "Tensor":  # type: ignore[override]
        return self.__array_namespace__().equal(self, other)

    def __neg__(self) -> "Tensor":
        return self.__array_namespace__().negative(self)

    def __abs__(self) -> "Tensor":
        return self.__array_namespace__().abs(self)

    __hash__ = None  # type: ignore[assignment]


def emit(op: str, inputs: Sequence[Tensor], value: np.ndarray, attributes: dict[str, Any] | None = None) -> Tensor:
    """Return the output of a new node; ``value`` is that of the sample."""
    graph = inputs[0].graph
    return Tensor(graph, np.asarray(value), graph.node(op, [tensor.name for tensor in inputs], attributes))


def tensors(*operands: Any) -> list[Tensor]:
    """Return the operands as tensors of one graph and one dtype; numbers take that of the arrays beside them.

    A number is written once for each column: onnxruntime would fuse a scalar into a matrix product, in float32.
    """
    given = [operand for operand in operands if isinstance(operand, Tensor)]
    dtype = np.result_type(*(operand.value if isinstance(operand, Tensor) else operand for operand in operands))
    largest = max(given, key=lambda tensor: tensor.ndim)
    columns = largest.shape[1:] if not largest.constant else ()

    def tensor(operand: Any) -> Tensor:
        if isinstance(operand, Tensor):
            return cast(operand, dtype)
        array = np.asarray(operand, dtype)
        return Tensor(given[0].graph, np.full(columns, array) if array.ndim == 0 else array)

    return [tensor(operand) for operand in operands]


def cast(x: Tensor, dtype: Any) -> Tensor:
    """Return ``x`` in a dtype."""
    from onnx.helper import np_dtype_to_tensor_dtype

    dtype = np.dtype(dtype)
    if x.dtype == dtype:
        return x
    if x.constant:
        return Tensor(x.graph, x.value.astype(dtype))
    return emit("Cast", [x], x.value.astype(dtype), {"to": int(np_dtype_to_tensor_dtype(dtype))})


def elementwise(op: str, f: Callable) -> Callable:
    """Return a function of tensors: computed at once for constants, a node otherwise."""

    def apply(*operands: Any) -> Tensor:
        inputs = tensors(*operands)
        with np.errstate(all="ignore"):  # the sample is not data
            value = f(*(x.value for x in inputs))
        return (
            Tensor(inputs[0].graph, np.asarray(value)) if all(x.constant for x in inputs) else emit(op, inputs, value)
        )

    return apply
