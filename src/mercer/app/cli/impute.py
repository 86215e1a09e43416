"""``mercer impute``: fill the missing values of a table, with a report of the imputed values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .errors import BadInput, log
from .names import names_option
from .options import Sink, Source, check_free, progress, reading, writing

if TYPE_CHECKING:
    import numpy as np

    from ... import KernelPCAImputer
    from ...tables import Table

SHOWN = 200  # filled cells in the report


@click.command(
    epilog="\b\nExamples:\n  mercer impute data.csv -o full.csv --report filled.html\n"
    "  mercer impute data.csv --exclude id -o full.csv --time-limit 60"
)
@reading
@names_option("--columns", "Columns to fill and to learn from. Default: all columns of numbers.")
@names_option("--exclude", "Columns to copy unchanged and not to learn from, such as an id.")
@click.option("--report", "page", help="HTML file with the cells that were filled in and their uncertainty.")
@click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), help="Seconds after which to stop early.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@writing
def impute(
    data: Source,
    columns: list[str] | None,
    exclude: list[str] | None,
    page: str | None,
    time_limit: float | None,
    seed: int,
    output: Sink,
) -> None:
    """Fill the missing values of a table from the other columns.

    Empty cells of columns of numbers are filled in; all other cells and columns are written as they are.
    """
    import numpy as np

    from ... import KernelPCAImputer

    if page is not None:
        check_free(page, force=True)
    table = data.read(lambda names, named, more=(): list(names))
    used = _used(table, columns, exclude)
    X = np.column_stack([table.numbers(name) for name in used])
    missing = np.isnan(X)
    imputer = KernelPCAImputer(time_limit=time_limit, random_state=seed)
    with progress():
        full = imputer.fit_transform(X)
    filled = {name: table.written(name) for name in table.names}
    filled |= {name: full[:, j] for j, name in enumerate(used) if missing[:, j].any()}
    output.write(filled, filled=int(missing.sum()))
    log(f"{int(missing.sum())} missing values filled in, in {int(missing.any(axis=1).sum())} of {len(X)} rows")
    if page is not None:
        _write_report(page, data.path, used, full, imputer, X)
        log(f"Report: {page}")


def _used(table: Table, columns: list[str] | None, exclude: list[str] | None) -> list[str]:
    """Return the columns of numbers that are not excluded."""
    unknown = [name for name in [*(columns or []), *(exclude or [])] if name not in table.names]
    if unknown:
        raise BadInput(f"{table.source}: there is no column {unknown[0]!r}. Columns: {', '.join(table.names)}.")
    numbers = [name for name in table.names if table.columns[name].dtype != object]
    used = [name for name in columns or numbers if name not in (exclude or [])]
    if not used:
        raise BadInput(f"{table.source}: there is no column of numbers to learn from.")
    return used


def _write_report(
    path: str, source: str, used: list[str], full: np.ndarray, imputer: KernelPCAImputer, X: np.ndarray
) -> None:
    """Write the page: the imputed values, by column and by cell, with standard deviations."""
    import numpy as np

    from ..report.page import Section, Table, page, write

    missing, spread = np.isnan(X), imputer.uncertainty(X)
    by_column = [_column(used[j], X[:, j], full[:, j], spread[:, j]) for j in np.flatnonzero(missing.any(axis=0))]
    head = ["column", "filled", "share", "mean of known", "mean of filled", "typical uncertainty"]
    cells = np.argwhere(missing)
    some = cells[np.argsort(-spread[missing] / imputer.scale_[cells[:, 1]], kind="stable")[:SHOWN]]
    rows = [[str(i + 1), used[j], f"{full[i, j]:.5g}", f"{spread[i, j]:.3g}"] for i, j in some]
    note = f"The {len(rows)} cells of largest uncertainty of {len(cells)}, relative to the spread of their columns."
    errors = [f"{name}: {error:.2f} of the variance" for name, error in imputer.errors_.items()]
    sections = [
        Section("By column", tables=[Table(head, by_column)]),
        Section("By cell", tables=[Table(["row", "column", "value", "uncertainty"], rows, note)]),
        Section("How it was done", text=["Squared errors of known values that were hidden:", *errors, _done(imputer)]),
    ]
    lead = [f"{len(cells)} missing values of {source} were filled in from the other columns, by kernel PCA."]
    write(path, page(f"Imputation of {source}", lead, sections, "mercer impute"))


def _column(name: str, known: Any, full: Any, spread: Any) -> list[str]:
    import numpy as np

    gone = np.isnan(known)
    means = [f"{np.nanmean(known):.5g}", f"{full[gone].mean():.5g}", f"{np.sqrt(np.mean(spread[gone] ** 2)):.3g}"]
    return [name, str(int(gone.sum())), f"{gone.mean():.1%}", *means]


def _done(imputer: KernelPCAImputer) -> str:
    ended = " The time limit was reached: some cells have conditional means." if imputer.ended_early_ else ""
    return f"{imputer.model_.kernel_!r}, {imputer.model_.n_components_} components, {imputer.n_starts} starts.{ended}"
