"""``mercer compress``: from a model file to a smaller one."""

from __future__ import annotations

import os

import click

from .errors import say
from .options import check_free, progress, tell


@click.command(epilog="\b\nExample:\n  mercer compress model.mercer -m 200 -o small.mercer")
@click.argument("model")
@click.option("-m", "--anchors", type=click.IntRange(1), help="How many anchors to keep.")
@click.option("--tol", type=float, help="Or: as few as leave no axis an error above this (between 0 and 1).")
@click.option("-o", "--output", required=True, help="The model file to write.")
@click.option("--force", is_flag=True, help="Replace a file that is already there.")
@click.option("--json", is_flag=True, help="Print what was done as JSON on standard output.")
def compress(model: str, anchors: int | None, tol: float | None, output: str, force: bool, json: bool) -> None:
    """Make a model small: fewer anchors.

    The same components on few anchors, without the training data: smaller and faster by that factor."""
    check_free(output, force)
    if (anchors is None) == (tol is None):
        raise click.UsageError("Give -m (how many anchors) or --tol (how large an error).")
    from ... import compress as reduce
    from ...io import read, save

    file = read(model)
    with progress():
        small = reduce(file.model, anchors, tol=tol)
    save(small, output, recipe=file.recipe)
    done = small.compression_
    if not json:
        say(
            f"{output}: {done.n_anchors} of {done.n_anchors_before} anchors, error at most {done.error:.2g}, "
            f"{os.path.getsize(output)} of {os.path.getsize(model)} bytes"
        )
    tell(
        {
            "output": output,
            "anchors": int(done.n_anchors),
            "anchors_before": int(done.n_anchors_before),
            "error": float(done.error),
            "bytes": os.path.getsize(output),
            "bytes_before": os.path.getsize(model),
        },
        json,
    )
