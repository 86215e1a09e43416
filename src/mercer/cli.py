"""The command line: ``mercer``. Commands import what they need when they run, so that help is instant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import __version__

if TYPE_CHECKING:
    from .demo import Table

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


class BadInput(click.ClickException):
    """An input that cannot be used; its message is one line that says what to do."""

    exit_code = 2


class Commands(click.Group):
    """A group whose errors are one line each and whose interruption has the shell's exit code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with _one_line():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        with _one_line():
            return super().invoke(ctx)


@contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        error.ctx = None  # with a context click puts three lines of usage in front
        raise
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


EPILOG = """\b
Try it:
  mercer demo                 the story, into mercer-demo/index.html
  mercer demo -o somewhere    the same, into another folder
  mercer demo --help          what it shows

\b
In Python:
  from mercer import KernelPCA
  Y = KernelPCA(n_components=2).fit_transform(X)
"""


@click.group(
    cls=Commands,
    epilog=EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="mercer %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Kernel principal components for scikit-learn.

    Kernel PCA finds curved directions where PCA finds straight ones. mercer is a Python library;
    this command shows what it does.

    Exit codes: 0 done, 2 bad input, 130 interrupted.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("mercer-demo"),
    show_default=True,
    help="Folder for the page. An earlier demo in it is replaced; a folder with anything else is refused.",
)
def demo(output: Path) -> None:
    """Show kernel PCA beside linear PCA on built-in data.

    Prints a short table and writes one HTML page that needs nothing beside itself: rings, clusters,
    novelty and handwritten digits, with the lines of Python that drew each picture under it.
    Needs matplotlib and some ten seconds.
    """
    try:
        from .demo import make

        page, tables = make(output, lambda line: click.echo(line, err=True))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise BadInput("The demo draws with matplotlib, which is not here: pip install 'mercer[plots]'") from None
    except OSError as error:
        raise BadInput(str(error)) from None
    for table in tables:
        click.echo(_aligned(table))
    click.echo(f"\nThe page: {page}")


def _aligned(table: Table) -> str:
    """Return the table as text with its columns aligned."""
    rows = [table.head, *table.rows]
    wide = max(len(row[0]) for row in rows)
    return "\n" + "\n".join(f"{what:<{wide}}  {left:>12}  {right:>12}".rstrip() for what, left, right in rows)
