"""``mercer fit`` on a Dask cluster: the workers read, scale and sum Parquet files."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import click
import numpy as np

from ...tables import Recipe, choose, learn
from ...tables.table import as_table, categories_of
from .errors import BadInput, log
from .options import Selection

LOOKED_AT = 10_000  # rows that determine the kinds of the columns, and that an imputer is fitted on
POLL_SECONDS = 0.5


def fit_on_cluster(
    estimator: Any,
    path: str,
    selection: Selection,
    preparation: dict[str, Any],
    address: str | None,
    workers: int | None,
) -> tuple[Recipe, int]:
    """Fit the estimator to Parquet files; return the recipe of the columns and the number of rows."""
    from ..._core import dask

    if selection.target is not None:
        raise BadInput("A classifier needs its rows in memory. Leave out --workers and --cluster, or take fewer rows.")
    with dask.cluster(address, workers) as client:
        log(f"Cluster: {client.scheduler.address}, {len(client.scheduler_info()['workers'])} workers")
        frame = dask.read_parquet(path)
        used = choose(list(frame.columns), path, [*selection.columns, *selection.include] if selection.columns else [],
                      selection.exclude)  # fmt: skip
        frame = frame[used]
        recipe = _learned(frame, path, selection, preparation)
        with _task_counter(client):
            estimator.fit(_rows(frame, recipe))
    return recipe, int(estimator.n_rows_ if hasattr(estimator, "n_rows_") else len(frame))


def _learned(frame: Any, path: str, selection: Selection, preparation: dict[str, Any]) -> Recipe:
    """Return the recipe: kinds of columns by the first rows, categories, means and scales by all."""
    from ..._core import dask

    some = replace(as_table(frame.head(LOOKED_AT, npartitions=-1)), source=path)
    recipe = learn(some, **selection.arguments(), strict=selection.strict, **preparation | {"scale": False})
    texts = {name: categories_of(as_table(dask.distinct(frame, name)).columns[name]) for name in recipe.categories}
    plain = replace(recipe, categories=texts, imputer=None, missing="drop" if recipe.missing == "drop" else "mean")
    widths = [len(texts.get(name, (name,))) for name in recipe.columns]
    fill = np.full(sum(widths), np.nan)
    plain = replace(plain, fill=fill, mean=np.zeros(len(fill)), scale=np.ones(len(fill)))
    mean, sd = dask.means_and_scales(_rows(frame, plain))
    unscaled = np.repeat([name in texts or not preparation["scale"] for name in recipe.columns], widths)
    found = replace(
        plain,
        missing=recipe.missing,
        fill=mean,
        mean=np.where(unscaled, 0.0, mean),
        scale=np.where(unscaled, 1.0, sd),
    )
    if recipe.missing != "impute":
        return found
    filled = found._scaled(replace(found, missing="mean").encode(some))
    return replace(found, imputer=preparation["imputer"].fit(filled))


def _rows(frame: Any, recipe: Recipe) -> Any:
    """Return the rows for the model as a lazy data frame."""
    from ..._core import dask

    return dask.map_frames(frame, _prepared, recipe, recipe.features)


def _prepared(part: Any, recipe: Recipe) -> np.ndarray:
    """Return the rows of one partition; none if all of them are left out."""
    table = as_table(part)
    if len(part) == 0 or (recipe.missing == "drop" and np.isnan(recipe.encode(table)).any(axis=1).all()):
        return np.empty((0, len(recipe.features)))
    return recipe.apply(table)[0]


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
