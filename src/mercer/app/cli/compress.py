"""The command ``mercer compress``: from a model file to a smaller one."""

import os
from typing import Any

import click

from .errors import log
from .options import check_free, force_option, json_option, model_argument, print_json, progress


@click.command(
    epilog="\b\nExamples:\n  mercer compress model.mercer -m 200 -o small.mercer\n"
    "  mercer compress model.mercer --tol 0.01 -o small.mercer --json"
)
@model_argument
@click.option("-m", "--anchors", type=click.IntRange(1), help="Number of anchors to keep.")
@click.option("--tol", type=float, help="Alternatively: largest error of an axis, between 0 and 1.")
@click.option("-o", "--output", required=True, help="Path of the model file to write.")
@force_option
@json_option
def compress(model: str, anchors: int | None, tol: float | None, output: str, force: bool, json: bool) -> None:
    """Reduce the number of anchors of a model.

    The compressed model approximates the same components with fewer anchors and without the training data. Its size
    and the time of transform shrink by the same factor.
    """
    check_free(output, force)
    if (anchors is None) == (tol is None):
        raise click.UsageError("Pass either -m (number of anchors) or --tol (largest error).")
    from ... import compress as reduce
    from ...io import read, save

    file = read(model)
    with progress():
        small = reduce(file.model, anchors, tol=tol)
    save(small, output, recipe=file.recipe)
    result: dict[str, Any] = {
        "output": output,
        "anchors": int(small.compression_.n_anchors),
        "anchors_before": int(small.compression_.n_anchors_before),
        "error": float(small.compression_.error),
        "bytes": os.path.getsize(output),
        "bytes_before": os.path.getsize(model),
    }
    if json:
        print_json(result)
    else:
        log(
            "{output}: {anchors} of {anchors_before} anchors, error at most {error:.2g}, "
            "{bytes} of {bytes_before} bytes".format(**result)
        )
