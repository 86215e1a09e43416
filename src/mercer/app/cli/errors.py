"""How commands end: one line for bad input, quietly at a closed pipe, with the shell's code when interrupted."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
EXTRAS = {"matplotlib": "plots", "jinja2": "plots", "pyarrow": "tables", "dask": "dask"}  # library → extra that has it


class BadInput(click.ClickException):
    """An input that cannot be used; its message is one line that says what to do."""

    exit_code = 2


class Commands(click.Group):
    """A group whose errors are one line each and whose interruption has the shell's exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which they are needed."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with _one_line():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        with _one_line(), _warnings_said():
            return super().invoke(ctx)


@contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        error.ctx = None  # with a context click puts three lines of usage in front
        raise
    except KeyboardInterrupt:
        say("Interrupted.")
        raise click.exceptions.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # whoever reads has seen enough
        _let_go_of_stdout()
        raise click.exceptions.Exit(0) from None
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in EXTRAS:
            raise
        raise BadInput(f"This needs {name}, which is not here: pip install 'mercer[{EXTRAS[name]}]'") from None
    except MemoryError as error:
        raise BadInput(f"There is not enough memory. {_line(error)}".rstrip()) from None
    except OSError as error:
        raise BadInput(f"{error.filename}: {error.strerror}" if error.filename else _line(error)) from None
    except (ValueError, TypeError) as error:
        if isinstance(error, TypeError) and type(error) is TypeError:  # a fault of the program, not of its input
            raise
        raise BadInput(_line(error)) from None


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _let_go_of_stdout() -> None:
    """Make what Python still flushes at its end go nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _warnings_said() -> Iterator[None]:
    """Say each warning in one line, once."""
    with warnings.catch_warnings():
        warnings.simplefilter("once", UserWarning)
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # columns were found by name before
        warnings.showwarning = lambda message, *_, **__: say(f"Warning: {_line(message)}")  # type: ignore[assignment]
        yield


def say(line: str) -> None:
    """Tell the user what is going on, apart from the results."""
    click.echo(line, err=True)
