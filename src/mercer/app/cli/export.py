"""The command ``mercer export``: from a model file to an ONNX model."""

from __future__ import annotations

import os

import click

from .errors import log
from .options import check_free, force_option, json_option, model_argument, print_json

METHODS = ("transform", "reconstruction_error", "predict", "predict_proba", "score_samples", "t2", "spe")


@click.command(
    epilog="\b\nExamples:\n  mercer export model.mercer -o model.onnx\n"
    "  mercer export model.mercer -o model.onnx --dtype float32 --force"
)
@model_argument
@click.option("-o", "--output", required=True, help="Path of the ONNX file to write.")
@click.option(
    "--method",
    "methods",
    type=click.Choice(METHODS),
    multiple=True,
    help="Output of the graph; may be repeated. Default: all methods that the model has.",
)
@click.option("--dtype", type=click.Choice(["float32", "float64"]), help="Type of input and outputs.")
@force_option
@json_option
def export(model: str, output: str, methods: tuple[str, ...], dtype: str | None, force: bool, json: bool) -> None:
    """Convert a model to ONNX.

    The graph takes the unscaled columns of the table and scales them itself; texts are one-hot encoded, as 0 and 1.
    Its outputs are named after the methods. The names of the columns are stored in its metadata.
    """
    check_free(output, force)
    from ..._core.atomic import replacing
    from ...io import read
    from ...io.onnx import to_onnx

    file = read(model)
    graph = to_onnx(file.model, methods or None, dtype=dtype, recipe=file.recipe)
    with replacing(output) as sink:
        sink.write(graph.SerializeToString())
    outputs = [value.name for value in graph.graph.output]
    if json:
        print_json({"output": output, "outputs": outputs, "bytes": os.path.getsize(output)})
    else:
        log(f"{output}: {', '.join(outputs)}; {os.path.getsize(output)} bytes")
