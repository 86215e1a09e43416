"""``mercer fit`` on a cluster: Parquet files that are read, scaled and summed where the workers are."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import numpy as np

from .errors import BadInput, say

NUMBERS = "biuf"  # kinds of columns that are numbers
POLL_SECONDS = 0.5


def fit_on_cluster(
    estimator: Any, path: str, columns: Any, exclude: Any, scale: bool, address: Any, workers: Any
) -> Any:
    """Fit the estimator to Parquet files and return the recipe of its columns, and the number of rows."""
    from ..._core import dask
    from ...tables import choose

    with dask.cluster(address, workers) as client:
        say(f"Cluster: {client.scheduler.address}, {len(client.scheduler_info()['workers'])} workers")
        frame = dask.read_parquet(path)
        kinds = dict(zip(frame.columns, frame.dtypes, strict=True))
        chosen = choose(list(kinds), path, columns or (), exclude or ())
        words = [name for name in chosen if getattr(kinds[name], "kind", "O") not in NUMBERS]
        if words:
            raise BadInput(f"{path}: column {words[0]!r} holds no numbers. Leave it out with --exclude {words[0]!r}.")
        X = dask.as_rows(frame[chosen])
        recipe = _recipe(chosen, len(kinds), *(dask.means_and_scales(X) if scale else _as_they_are(len(chosen))))
        with _watched(client):
            estimator.fit((X - recipe.mean) / recipe.scale)
    return recipe, X.shape[0]


def _recipe(columns: list[str], width: int, mean: Any, scale: Any) -> Any:
    from ...tables.recipe import Recipe

    if not np.isfinite(mean).all():
        name = columns[int(np.argmin(np.isfinite(mean)))]
        raise BadInput(f"Column {name!r} has missing or infinite values. Fill them, or leave it out with --exclude.")
    return Recipe(columns, {}, "error", fill=mean, mean=mean, scale=scale, width=width)


def _as_they_are(d: int) -> tuple[Any, Any]:
    return np.zeros(d), np.ones(d)


@contextmanager
def _watched(client: Any) -> Iterator[None]:
    """Tell on a terminal's standard error how many tasks are left."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def tell() -> None:
        while not done.wait(POLL_SECONDS):
            click.echo(f"\r{client.run_on_scheduler(_tasks_left)} tasks left   ", err=True, nl=False)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        click.echo("\r", err=True, nl=False)


def _tasks_left(dask_scheduler: Any) -> int:
    return sum(task.state in {"waiting", "queued", "processing", "no-worker"} for task in dask_scheduler.tasks.values())
