"""``mercer explore``: a page to look at a table or a model."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from ..._core.postpone import postpone
from .apply import unscaled_recipe
from .errors import BadInput
from .names import names_option
from .options import FORMATS, PIPE, Delimiter, Source, json_option, print_json

if TYPE_CHECKING:
    from ...tables import Table
    from ..explore.session import Session


@click.command(
    epilog="""\b
Examples:
  mercer explore data.csv
  mercer explore digits.npy --image 28x28
  mercer explore iris.csv --target species
  mercer explore model.mercer data.csv
  mercer explore                              built-in digits
"""
)
@click.argument("data", required=False)
@click.argument("rows", required=False)
@click.option("--target", help="A column of classes: rows are coloured by it, and it is not a variable.")
@names_option("--columns", "Columns to use, separated by commas; all numbers by default.")
@names_option("--include", "Columns to use although they look like an id.")
@names_option("--exclude", "Columns to leave out.")
@click.option("--missing", type=click.Choice(["drop", "mean"]), default="mean", show_default=True, help="Empty cells.")
@click.option(
    "--categorical",
    type=click.Choice(["auto", "one-hot", "error"]),
    default="auto",
    help="Texts are variables if they have up to 20 categories, always, or never; rows can be coloured by them.",
)
@click.option("--image", help="Height and width of the image in each row, such as 28x28.")
@click.option(
    "--from", "format_", type=click.Choice(FORMATS), help="Format of the table. Default: from the file extension."
)
@click.option("--delimiter", type=Delimiter(), help="Field separator, such as ';' or tab; a comma by default.")
@click.option("--decimal", type=click.Choice([".", ","]), default=".", help="The decimal mark of the numbers.")
@click.option("--no-header", is_flag=True, help="The first line has no names; columns are then x0, x1, …")
@click.option("--time-limit", type=float, default=60.0, show_default=True, help="Seconds that one fit may take.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@json_option
def explore(
    data: str | None,
    rows: str | None,
    image: str | None,
    time_limit: float,
    no_browser: bool,
    json: bool,
    **options: Any,
) -> None:
    """Open a page on a table or a model, on this machine only.

    DATA is a table, or a model file followed by the table to show it on; without DATA, built-in digits are shown. The
    page shows the map of the rows, each row's values and what makes it unusual, and the way back from any point of
    the map to the data; the model is refitted when a control moves. The first line printed is the address. The
    command ends a minute after the page was closed, or at Ctrl-C.
    """
    from ..explore import serve

    _check(data, rows)
    postpone("scipy.stats")  # scikit-learn imports it for one function, in half of its time
    size = None if image is None else _size(image)
    report = (lambda url: print_json({"url": url})) if json else click.echo
    serve(lambda: _session(data, rows, size, options), browser=not no_browser, report=report, seconds=time_limit)


def _check(data: str | None, rows: str | None) -> None:
    """Refuse what can be seen without reading a table, before the page opens."""
    if data is not None and rows is not None and not data.endswith(".mercer"):
        raise BadInput(f"Two tables were given. To explore a model on a table, give its .mercer file, not {data}.")
    for path in {data, rows} - {None, PIPE}:
        os.stat(str(path))  # the error of one that is missing names it


def _size(image: str) -> tuple[int, int]:
    """Return the height and width that ``"28x28"`` stands for."""
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", image)
    if found is None or not int(found[1]) * int(found[2]):
        raise BadInput(f"{image!r} is not the size of a picture. Give its height and width, such as 28x28.")
    return int(found[1]), int(found[2])


def _session(data: str | None, rows: str | None, image: Any, options: dict[str, Any]) -> Session:
    """Return what the page begins with."""
    from ..explore.data import digits, of_table
    from ..explore.session import Session

    if data is None:
        return Session(digits())
    if data.endswith(".mercer"):
        return _of_model(data, rows, image, options)
    chosen = {name: options[name] for name in ("columns", "include", "exclude", "target", "missing", "categorical")}
    table = _read(data, options)
    return Session(of_table(table, data, image=image, **chosen))


def _of_model(path: str, rows: str | None, image: Any, options: dict[str, Any]) -> Session:
    """Return a session on the model of a file and a table, or the rows that the model keeps."""
    from ...io import read
    from ...tables.table import Table
    from ..explore.data import of_model, rows_of
    from ..explore.session import Session

    file = read(path)
    recipe = file.recipe or unscaled_recipe(file.model, path)
    table = Table(recipe.table(rows_of(file.model)), path) if rows is None else _read(rows, options)
    data = of_model(table, recipe, rows or path, image)
    return Session(data, file.model, recipe)


def _read(path: str, options: dict[str, Any]) -> Table:
    from ..explore.data import all_columns

    source = Source(path, options["format_"], options["delimiter"], options["decimal"], not options["no_header"])
    return source.read(all_columns)
