"""Options and helpers that several commands share: input and output tables, JSON summaries, progress."""

from __future__ import annotations

import json as json_
import os
import stat
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ..._core.text import is_hidden, plural
from .errors import BadInput, log
from .names import joined_names, names_option

if TYPE_CHECKING:
    from ...tables import Table

FORMATS = ("csv", "tsv", "parquet", "feather", "npy", "npz")
PIPE = "-"
TAB_NAMES = {"tab": "\t", "\\t": "\t"}
SHOWN_NAMES = 5  # column names that fit in one line

model_argument = click.argument("model")
force_option = click.option("--force", is_flag=True, help="Overwrite an existing file.")
json_option = click.option("--json", is_flag=True, help="Print a summary as JSON on standard output.")


class Delimiter(click.ParamType):
    """One character that separates fields."""

    name = "character"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        character = TAB_NAMES.get(value, value)
        if len(character) != 1:
            self.fail(f"{value!r} is not a single character or the word tab.", param, ctx)
        return character


class Number(click.ParamType):
    """A number, read by ``parse``, or one of some words."""

    def __init__(self, *words: str, parse: Callable[[str], float] = float, expected: str = "a number"):
        self.words, self.parse = words, parse
        self.name = "|".join(["number", *words])
        self.expected = " or ".join([expected, *words])

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value in self.words or not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not valid. Give {self.expected}.", param, ctx)


class Registered(click.ParamType):
    """The name of a registered class: built in, registered by an installed package, or by the user."""

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
            self.fail(f"{value!r} is not a {self.registry.kind} of this command; choose from {names}.", param, ctx)
        return value

    def _names(self) -> list[str]:
        return [name for name in self.registry.announced() if name not in self.without]


@dataclass(frozen=True)
class Source:
    """The path of an input table and the options for reading it."""

    path: str
    format: str | None
    delimiter: str | None
    decimal: str
    header: bool

    def read(self, select: Callable) -> Table:
        """Read the columns that ``select`` returns."""
        from ...tables import read

        return read(
            self.path, select, format=self.format, delimiter=self.delimiter, decimal=self.decimal, header=self.header
        )


def reading(command: Callable) -> Callable:
    """Add the argument DATA and the input options to a command, which receives a ``Source`` as ``data``."""

    @click.argument("data")
    @click.option(
        "--from", "format_", type=click.Choice(FORMATS), help="Format of DATA. Default: from the file extension."
    )
    @click.option("--delimiter", type=Delimiter(), help="Field separator, such as ';' or tab. Default: a comma.")
    @click.option("--decimal", type=click.Choice([".", ","]), default=".", help="Decimal mark of the numbers.")
    @click.option("--no-header", is_flag=True, help="The first line is data; columns are named x0, x1, …")
    @wraps(command)
    def with_source(
        data: str, format_: str | None, delimiter: str | None, decimal: str, no_header: bool, **rest: Any
    ) -> Any:
        return command(data=Source(data, format_, delimiter, decimal, not no_header), **rest)

    return with_source


@dataclass(frozen=True)
class Selection:
    """Which columns of a table are features, and which one is the target."""

    columns: list[str]
    include: list[str]
    exclude: list[str]
    target: str | None
    categorical: str
    strict: bool

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``mercer.check`` and ``mercer.tables.learn``."""
        return {name: getattr(self, name) for name in ("columns", "include", "exclude", "target", "categorical")}

    def read(self, data: Source) -> Table:
        """Read the columns that may be features, and the target."""
        from ...tables import choose

        labels = [] if self.target is None else [self.target]

        def select(names: list[str], named: bool, more: list[str] | tuple = ()) -> list[str]:
            inside = [name for name in labels if name not in more]
            columns = [*self.columns, *self.include] if self.columns else []
            return [*choose(names, data.path, columns, self.exclude, inside), *labels]

        return data.read(select)


def selecting(command: Callable) -> Callable:
    """Add the options that select columns to a command, which receives a ``Selection`` as ``selection``."""

    @click.option("--target", help="Column with the target, for a classifier or supervised model; not a feature.")
    @names_option("--columns", "Columns to use, separated by commas. Default: all.")
    @names_option("--include", "Columns to use although they look like an id.")
    @names_option("--exclude", "Columns to leave out, separated by commas.")
    @click.option(
        "--categorical",
        type=click.Choice(["auto", "one-hot", "kernel", "error"]),
        default="auto",
        show_default=True,
        help="Text columns: one-hot encode up to 20 categories and refuse more; encode all; compare all by a kernel of "
        "categories; refuse all.",
    )
    @click.option("--strict", is_flag=True, help="Refuse ids, dates and texts instead of leaving them out.")
    @wraps(command)
    def with_selection(
        target: str | None,
        columns: list[str] | None,
        include: list[str] | None,
        exclude: list[str] | None,
        categorical: str,
        strict: bool,
        **rest: Any,
    ) -> Any:
        selection = Selection(columns or [], include or [], exclude or [], target, categorical, strict)
        return command(selection=selection, **rest)

    return with_selection


def writing(command: Callable) -> Callable:
    """Add the output options to a command, which receives a ``Sink`` as ``output``."""

    @click.option("-o", "--output", default=PIPE, help="Output file, or - for standard output.", show_default=True)
    @click.option(
        "--to", type=click.Choice(FORMATS), help="Format of the results. Default: from the extension of -o, or CSV."
    )
    @force_option
    @click.option("--json", is_flag=True, help="Print a summary as JSON on standard output; -o must name a file.")
    @wraps(command)
    def with_sink(output: str, to: str | None, force: bool, json: bool, **rest: Any) -> Any:
        from ...tables import format_of

        if json and output == PIPE:
            raise click.UsageError("--json prints on standard output, so the results need a file: pass -o.")
        format_of(output, to)
        if output != PIPE:
            check_free(output, force)
        return command(output=Sink(output, to, json), **rest)

    return with_sink


@dataclass(frozen=True)
class Sink:
    """The path of an output table, its format, and whether to print a JSON summary."""

    path: str
    format: str | None
    json: bool

    def write(self, columns: dict, **facts: Any) -> None:
        """Write the columns and report what was written."""
        from ...tables import write

        write(columns, self.path, format=self.format)
        rows = len(next(iter(columns.values()), ()))
        if self.json:
            print_json({"output": self.path, "rows": rows, "columns": list(columns), **facts})
        elif self.path != PIPE:
            log(f"{self.path}: {plural(rows, 'row')}, {count(list(columns), 'column')}")


def check_free(path: str, force: bool) -> None:
    """Refuse an output path that exists or cannot be written, before any work is done."""
    if path == PIPE:
        raise BadInput("This command does not write a table, so it cannot write to a pipe. Pass a file name to -o.")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise BadInput(f"{path}: the folder {folder} does not exist")
    if os.path.isdir(path):
        raise BadInput(f"{path} is a folder. Pass the name of a file.")
    if os.path.exists(path) and stat.S_ISREG(os.stat(path).st_mode) and not force:
        raise BadInput(f"{path} already exists. Pass --force to overwrite it.")
    if not os.access(folder, os.W_OK):
        raise BadInput(f"{path}: the folder {folder} is not writable")


def print_json(facts: dict) -> None:
    """Print facts as one JSON object on standard output."""
    text = json_.dumps(facts, ensure_ascii=False)
    click.echo("".join(json_.dumps(c)[1:-1] if is_hidden(c) else c for c in text))


def count(names: list[str], noun: str) -> str:
    """Return the number of names and the first few of them."""
    return plural(len(names), noun) + (f" ({listed(names)})" if names else "")


def listed(names: list[str]) -> str:
    """Return the first few of some names."""
    return ", ".join(names[:SHOWN_NAMES]) + (", …" if len(names) > SHOWN_NAMES else "")


def given_words(ctx: click.Context) -> list[str]:
    """Return the options that were given to a command, as words of a command line."""
    words: list[str] = []
    for param in ctx.command.params:
        source = ctx.get_parameter_source(param.name or "")
        if not isinstance(param, click.Option) or source is not ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[param.name or ""]
        words.append(param.opts[-1])
        words += [] if param.is_flag else [joined_names(value) if isinstance(value, list) else str(value)]
    return words


def progress() -> AbstractContextManager:
    """Show one progress bar if standard error is a terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from ..._core.progress import progress as bar

    return bar()
