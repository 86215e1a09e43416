"""``mercer explore``: a page to look at a table or a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .errors import BadInput
from .options import FORMATS, Delimiter, Source, json_option, names_option, print_json

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
@click.option("--image", help="Height and width of the picture that each row is, such as 28x28.")
@click.option("--from", "format_", type=click.Choice(FORMATS), help="Format of the table, if not given by its name.")
@click.option("--delimiter", type=Delimiter(), help="Field separator, such as ';' or tab; a comma by default.")
@click.option("--decimal", type=click.Choice([".", ","]), default=".", help="The decimal mark of the numbers.")
@click.option("--no-header", is_flag=True, help="The first line has no names; columns are then x0, x1, …")
@click.option("--time-limit", type=float, default=60.0, show_default=True, help="Seconds that one fit may take.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@json_option
def explore(
    data: str | None, rows: str | None, time_limit: float, no_browser: bool, json: bool, **options: Any
) -> None:
    """Open a page on a table or a model, on this machine only.

    DATA is a table, or a model file followed by the table to show it on; without DATA, built-in digits are shown. The
    page shows the map of the rows, each row's values and what makes it unusual, and the way back from any point of
    the map to the data; the model is refitted when a control moves. The first line printed is the address. The
    command ends a minute after the page was closed, or at Ctrl-C.
    """
    from ..explore import serve

    serve(
        _session(data, rows, options),
        browser=not no_browser,
        report=_print_url if json else click.echo,
        seconds=time_limit,
    )


def _print_url(line: str) -> None:
    if line.startswith("http"):
        print_json({"url": line})


def _session(data: str | None, rows: str | None, options: dict[str, Any]) -> Session:
    """Return what the page begins with."""
    from ..explore.data import digits, of_table, parse_image
    from ..explore.session import Session

    if data is None:
        return Session(digits())
    image = None if options["image"] is None else parse_image(options["image"])
    if data.endswith(".mercer"):
        return _of_model(data, rows, image, options)
    if rows is not None:
        raise BadInput(f"Two tables were given. To explore a model on a table, give its .mercer file, not {data}.")
    chosen = {name: options[name] for name in ("columns", "include", "exclude", "target", "missing", "categorical")}
    table = _read(data, options)
    return Session(of_table(table, data, file=data, image=image, reading=_reading(options), **chosen))


def _of_model(path: str, rows: str | None, image: Any, options: dict[str, Any]) -> Session:
    """Return a session on the model of a file and a table, or the rows that the model keeps."""
    from ...io import read
    from ...tables.table import Table
    from ..explore import rows_of
    from ..explore.data import identity, of_model
    from ..explore.session import Session

    file = read(path)
    recipe = file.recipe or identity(file.model)
    table = Table(recipe.table(rows_of(file.model)), path) if rows is None else _read(rows, options)
    data = of_model(table, recipe, rows or path, image, _reading(options))
    return Session(data, file.model, recipe)


def _read(path: str, options: dict[str, Any]) -> Table:
    from ..explore.data import all_columns

    source = Source(path, options["format_"], options["delimiter"], options["decimal"], not options["no_header"])
    return source.read(all_columns(path))


def _reading(options: dict[str, Any]) -> list[str]:
    """Return the options by which ``mercer fit`` reads the same table."""
    given = {"--from": options["format_"], "--delimiter": options["delimiter"], "--decimal": options["decimal"]}
    words = [word for pair in given.items() if pair[1] not in {None, "."} for word in pair]
    return words + (["--no-header"] if options["no_header"] else [])
