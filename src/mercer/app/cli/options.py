"""What commands have in common: where tables come from, where results go, and how that is told."""

from __future__ import annotations

import json as json_
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from .errors import BadInput, say

if TYPE_CHECKING:
    from ...tables import Table

FORMATS = ("csv", "tsv", "parquet", "npy", "npz")
PIPE = "-"
TAB_NAMES = {"tab": "\t", "\\t": "\t"}


class Names(click.ParamType):
    """Names of columns with commas between them; quotes around a name that has a comma."""

    name = "names"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[str]:
        import csv

        return value if isinstance(value, list) else [name.strip() for name in next(csv.reader([value]))]


class Mark(click.ParamType):
    """One character that stands between fields."""

    name = "mark"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        mark = TAB_NAMES.get(value, value)
        if len(mark) != 1:
            self.fail(f"{value!r} is not one character (or tab).", param, ctx)
        return mark


class Registered(click.ParamType):
    """The name of a registered class: built in, registered by a package that is installed, or by the user."""

    name = "name"

    def __init__(self, registry: Any, without: tuple[str, ...] = ()):
        self.registry, self.without = registry, without

    def get_metavar(self, param: Any, ctx: Any = None) -> str:
        return f"[{'|'.join(self._names())}]"

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        if value in self.without or value not in self.registry:
            names = ", ".join(name for name in self.registry if name not in self.without)
            self.fail(f"{value!r} is not a {self.registry.kind} that is registered; choose from {names}.", param, ctx)
        return value

    def _names(self) -> list[str]:
        return [name for name in self.registry.announced() if name not in self.without]


@dataclass(frozen=True)
class Source:
    """A table to read: its path and how to read it."""

    path: str
    format: str | None
    delimiter: str | None
    decimal: str
    header: bool

    def read(self, select: Callable) -> Table:
        """The columns that ``select`` asks for."""
        from ...tables import read

        return read(
            self.path, select, format=self.format, delimiter=self.delimiter, decimal=self.decimal, header=self.header
        )


def reading(command: Callable) -> Callable:
    """Give a command the argument DATA and the options of reading; it gets a ``Source`` as ``data``."""

    @click.argument("data")
    @click.option("--from", "format_", type=click.Choice(FORMATS), help="Format of DATA; its ending tells otherwise.")
    @click.option("--delimiter", type=Mark(), help="What separates fields, such as ';' or tab; a comma otherwise.")
    @click.option("--decimal", type=click.Choice([".", ","]), default=".", help="The decimal mark of the numbers.")
    @click.option("--no-header", is_flag=True, help="The first line has no names; columns are then x0, x1, …")
    @wraps(command)
    def with_source(
        data: str,
        format_: str | None,
        delimiter: str | None,
        decimal: str,
        no_header: bool,
        **rest: Any,
    ) -> Any:
        return command(data=Source(data, format_, delimiter, decimal, not no_header), **rest)

    return with_source


def writing(command: Callable) -> Callable:
    """Give a command the options of writing a table; it gets a ``Sink`` as ``output``."""

    @click.option("-o", "--output", default=PIPE, help="Where results go; - for standard output.", show_default=True)
    @click.option("--to", type=click.Choice(FORMATS), help="Format of the results; the ending of -o tells otherwise.")
    @click.option("--force", is_flag=True, help="Replace a file that is already there.")
    @click.option("--json", is_flag=True, help="Print a summary as JSON on standard output; needs -o with a file.")
    @wraps(command)
    def with_sink(output: str, to: str | None, force: bool, json: bool, **rest: Any) -> Any:
        from ...tables import format_of

        if json and output == PIPE:
            raise click.UsageError("--json prints on standard output, so that results need a file: pass -o.")
        format_of(output, to)
        if output != PIPE:
            check_free(output, force)
        return command(output=Sink(output, to, json), **rest)

    return with_sink


@dataclass(frozen=True)
class Sink:
    """Where a table goes."""

    path: str
    format: str | None
    json: bool

    def write(self, columns: dict, **facts: Any) -> None:
        """Write the columns, and say so."""
        from ...tables import write

        write(columns, self.path, format=self.format)
        rows = len(next(iter(columns.values()), ()))
        if self.path != PIPE:
            tell({"output": self.path, "rows": rows, "columns": list(columns), **facts}, self.json)
            if not self.json:
                say(f"{self.path}: {rows} rows, {count(list(columns), 'column')}")


def check_free(path: str, force: bool) -> None:
    """Refuse a place that is taken or cannot be written to, before any work is done."""
    if path == PIPE:
        raise BadInput(
            "What this command writes is no table and does not go through a pipe: give -o the name of a file."
        )
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise BadInput(f"{path}: there is no folder {folder}")
    if os.path.isdir(path):
        raise BadInput(f"{path} is a folder; give the name of a file.")
    if os.path.exists(path) and stat.S_ISREG(os.stat(path).st_mode) and not force:
        raise BadInput(f"{path} is already there. Pass --force to replace it.")
    if not os.access(folder, os.W_OK):
        raise BadInput(f"{path}: the folder {folder} cannot be written to")


def tell(facts: dict, json: bool) -> None:
    """Print facts as one JSON object where that is asked for."""
    if json:
        click.echo(json_.dumps(facts, ensure_ascii=False))


def count(names: list[str], noun: str) -> str:
    """How many there are, and which."""
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")  # as many as a line has room for
    return f"{len(names)} {noun}{'s' * (len(names) != 1)}" + (f" ({shown})" if names else "")


def progress() -> AbstractContextManager:
    """Show how far long passes over the data are, on a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from ..._core.tiles import watched

    return watched(_bar)


def _bar(name: str, total: int) -> Iterator[None]:
    with click.progressbar(length=total, label=name, file=sys.stderr) as bar:
        for _ in range(total):
            yield
            bar.update(1)
