"""Options that take column names."""

import csv
import io
from collections.abc import Callable
from typing import Any

import click


class Names(click.ParamType):
    """Comma-separated column names; a name that contains a comma is quoted."""

    name = "names"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[str]:
        return value if isinstance(value, list) else [name.strip() for name in next(csv.reader([value]))]


def names_option(flag: str, text: str) -> Callable[[Callable], Callable]:
    """Return an option for column names, which may be repeated; the command receives one list, or None."""

    def joined(ctx: Any, param: Any, values: tuple[list[str], ...]) -> list[str] | None:
        return [name for names in values for name in names] or None

    return click.option(flag, type=Names(), multiple=True, callback=joined, help=text)


def joined_names(names: list[str]) -> str:
    """Return column names in the form that ``Names`` reads."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()
