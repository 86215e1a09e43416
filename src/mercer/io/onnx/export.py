"""``to_onnx``: from a fitted estimator to an ONNX model."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ... import __version__
from .graph import OPSET, Graph, Tensor, cast
from .models import methods_of
from .pipelines import PASSED, recipe_step, steps_of

IR_VERSION = 8  # of the file: the one that came with the opset, so that runtimes of that time read it
LARGEST = 2**31 - 1  # bytes of a protobuf message
DTYPES = ("float32", "float64")
INPUT = "X"


def to_onnx(model: Any, methods: str | Sequence[str] | None = None, *, dtype: Any = None, recipe: Any = None) -> Any:
    """Convert a fitted estimator to an ONNX model, which any ONNX runtime applies to rows without Python.

    The graph holds the formula k(x, Z)B − offset, and those of distances and densities. The number of rows is free.
    ``transform`` alone is computed in ``dtype``; distances and densities, which are differences of near-equal numbers,
    are computed in float64 inside the graph.

    Parameters
    ----------
    model : estimator
        A fitted estimator of mercer, or a pipeline of scalers that ends with one.
    methods : str or sequence of str, default=None
        The methods to convert, by which the outputs are named: ``"transform"``, ``"reconstruction_error"``,
        ``"predict"``, ``"predict_proba"``, ``"score_samples"``, and for monitors ``"t2"`` and ``"spe"``. By default
        all of these that the model has.
    dtype : {"float32", "float64"}, default=None
        The type of the input ``"X"`` and of the outputs. By default that of the rows that the model was fitted on.
    recipe : Recipe, default=None
        How a table becomes rows, from :func:`mercer.io.read`. The graph then takes the columns as they are in the
        table, words as 0 and 1; the metadata entry ``columns`` has their names.

    Returns
    -------
    onnx_model : onnx.ModelProto
        The model. ``onnx_model.SerializeToString()`` are the bytes of a file.

    Raises
    ------
    ValueError
        If the kernel is a function or a precomputed matrix, or a method cannot be converted.

    Examples
    --------
    >>> import mercer
    >>> X, _ = mercer.datasets.rings(n=60)
    >>> model = mercer.to_onnx(mercer.KernelPCA(2).fit(X))
    >>> [output.name for output in model.graph.output]
    ['transform', 'reconstruction_error']
    """
    _check_installed()
    steps, last = steps_of(model)
    check_is_fitted(last)
    if recipe is not None:
        steps = [recipe_step(recipe), *steps]
    sink = Nodes()
    outputs = write(sink, INPUT, steps, last, _chosen(last, methods), _n_columns(model, recipe), _dtype(last, dtype))
    return sink.model(outputs, _n_columns(model, recipe), _dtype(last, dtype), _metadata(last, recipe))


def _check_installed() -> None:
    for package in ("onnx", "array_api_compat"):
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"ONNX needs {package}: pip install 'mercer[onnx]'", name="onnx")


def write(
    sink: Any, name: str, steps: Sequence, model: Any, methods: Sequence[str], columns: int, dtype: Any
) -> dict[str, Tensor]:
    """Write the methods of a model into a graph, and return their outputs by name."""
    x = Graph(sink).input(name, columns, dtype)
    if set(methods) != {"transform"}:
        x = cast(x, np.float64)
    for step in steps:
        x = step(x)
    known = methods_of(model)
    outputs = {method: known[method](model, x) for method in methods}
    return {method: cast(y, dtype) if y.dtype.kind == "f" else y for method, y in outputs.items()}


def _chosen(model: Any, methods: str | Sequence[str] | None) -> list[str]:
    known = methods_of(model)
    chosen = list(known) if methods is None else [methods] if isinstance(methods, str) else list(methods)
    unknown = [method for method in chosen if method not in known]
    if unknown or not chosen:
        raise ValueError(
            f"methods={methods!r} cannot be converted for {type(model).__name__}: choose from {', '.join(known)}."
        )
    return chosen


def _n_columns(model: Any, recipe: Any) -> int:
    if recipe is not None:
        return len(recipe.features)
    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    return next(step.n_features_in_ for _, step in steps if step not in PASSED)


def _dtype(model: Any, dtype: Any) -> np.dtype:
    found = np.dtype(_rows_dtype(model) if dtype is None else dtype)
    if found.kind == "O":
        raise ValueError("A model of objects cannot be converted to ONNX, whose rows are numbers.")
    if found.name not in DTYPES:
        raise ValueError(f"dtype={dtype!r} cannot be converted to ONNX. Give one of {', '.join(DTYPES)}.")
    return found


def _rows_dtype(model: Any) -> Any:
    """Return the dtype of the anchors; float64 if these are row numbers."""
    model = getattr(model, "best_estimator_", model)
    subspaces = model._subspaces() if hasattr(model, "_subspaces") else [model._subspace]
    return np.result_type(subspaces[0].Z.dtype, np.float32)


def _metadata(model: Any, recipe: Any) -> dict[str, str]:
    columns = getattr(model, "feature_names_in_", ()) if recipe is None else recipe.features
    return {"model": type(model).__name__, "columns": json.dumps([str(name) for name in columns])}


class Nodes:
    """The nodes and constants of a graph of its own."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, array: np.ndarray) -> str:
        """Store a constant and return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(as_tensor(array, name))
        return name

    def node(self, op: str, inputs: Sequence[str], attributes: dict[str, Any]) -> str:
        """Append a node and return the name of its output."""
        from onnx.helper import make_node

        name = f"n{len(self.nodes)}"
        self.nodes.append(make_node(op, inputs, [name], name=f"{op}_{name}", **attributes))
        return name

    def model(self, outputs: dict[str, Tensor], columns: int, dtype: np.dtype, metadata: dict[str, str]) -> Any:
        """Return the graph with its inputs and outputs as a model that has been checked."""
        from onnx import checker, helper

        for name, y in outputs.items():
            self.nodes.append(helper.make_node("Identity", [y.name], [name], name=name))
        graph = helper.make_graph(
            self.nodes,
            "mercer",
            [helper.make_tensor_value_info(INPUT, tensor_type(dtype), ["rows", columns])],
            [helper.make_tensor_value_info(name, tensor_type(y.dtype), ["rows", *y.shape[1:]])
             for name, y in outputs.items()],
            self.constants,
        )  # fmt: skip
        if graph.ByteSize() > LARGEST:
            raise ValueError(
                f"The graph has {graph.ByteSize() / 1e9:.1f} GB, and a file of ONNX may have 2 GB. Use "
                "mercer.compress(model, n_anchors) first."
            )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="mercer",
            producer_version=__version__,
        )
        helper.set_model_props(model, metadata)
        checker.check_model(model)
        return model


def as_tensor(array: np.ndarray, name: str) -> Any:
    """Return an array as a constant of ONNX."""
    from onnx import numpy_helper

    return numpy_helper.from_array(array.astype(object) if array.dtype.kind == "U" else array, name)


def tensor_type(dtype: np.dtype) -> int:
    """Return ONNX's number of a dtype."""
    from onnx import TensorProto
    from onnx.helper import np_dtype_to_tensor_dtype

    return TensorProto.STRING if dtype.kind in "UO" else int(np_dtype_to_tensor_dtype(dtype))
