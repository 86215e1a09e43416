"""``mercer fit`` on a Dask cluster: the workers read, scale and sum Parquet files."""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
import numpy as np

from ...tables import Recipe, choose
from .errors import BadInput, log

NUMERIC_KINDS = "biuf"  # NumPy's codes of booleans, integers and floats
POLL_SECONDS = 0.5


def fit_on_cluster(
    estimator: Any,
    path: str,
    columns: Sequence[str],
    exclude: Sequence[str],
    scale: bool,
    address: str | None,
    workers: int | None,
) -> tuple[Recipe, int]:
    """Fit the estimator to Parquet files; return the recipe of the columns and the number of rows."""
    from ..._core import dask

    with dask.cluster(address, workers) as client:
        log(f"Cluster: {client.scheduler.address}, {len(client.scheduler_info()['workers'])} workers")
        frame = dask.read_parquet(path)
        kinds = {name: getattr(dtype, "kind", "O") for name, dtype in zip(frame.columns, frame.dtypes, strict=True)}
        chosen = choose(list(kinds), path, columns, exclude)
        for name in chosen:
            if kinds[name] not in NUMERIC_KINDS:
                raise BadInput(f"{path}: column {name!r} is not numeric. Leave it out with --exclude {name!r}.")
        X = dask.as_rows(frame[chosen])
        mean, sd = dask.means_and_scales(X) if scale else (np.zeros(len(chosen)), np.ones(len(chosen)))
        if not np.isfinite(mean).all():
            name = chosen[int(np.argmin(np.isfinite(mean)))]
            raise BadInput(f"{path}: column {name!r} has missing or infinite values. Leave it out with --exclude.")
        recipe = Recipe(chosen, {}, "error", fill=mean, mean=mean, scale=sd, width=len(kinds))
        with _task_counter(client):
            estimator.fit((X - recipe.mean) / recipe.scale)
    return recipe, X.shape[0]


@contextmanager
def _task_counter(client: Any) -> Iterator[None]:
    """Show the number of remaining tasks if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def show() -> None:
        while not done.wait(POLL_SECONDS):
            click.echo(f"\r{client.run_on_scheduler(_tasks_left)} tasks left   ", err=True, nl=False)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        click.echo("\r", err=True, nl=False)


def _tasks_left(dask_scheduler: Any) -> int:
    return sum(task.state in {"waiting", "queued", "processing", "no-worker"} for task in dask_scheduler.tasks.values())
