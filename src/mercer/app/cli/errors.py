"""Exit codes and error messages of commands: one line for bad input, none for a closed pipe, 130 if interrupted."""

import errno
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from ..._core.text import visible

STDOUT = "standard output"
INTERRUPTED, BROKEN_PIPE = 130, 141  # 128 + SIGINT and 128 + SIGPIPE, as shells report them
EXTRAS = {"matplotlib": "plots", "PIL": "plots", "jinja2": "plots"}  # library → extra that installs it
EXTRAS |= {"pyarrow": "tables", "dask": "dask", "onnx": "onnx", "starlette": "explore", "uvicorn": "explore"}


class BadInput(click.ClickException):
    """Input that cannot be used; the message is one line that says what to do."""

    exit_code = 2


class Commands(click.Group):
    """A group of commands that reports every error in one line and lists commands in the order of definition."""

    def main(self, *args: Any, **options: Any) -> Any:
        if sys.stderr is None:  # closed
            sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (until the process ends)
        return super().main(*args, **options)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with _one_line_errors():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        with _one_line_errors(), _one_line_warnings():
            return super().invoke(ctx)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        error.ctx = None  # with a context click prints three lines of usage first
        raise
    except KeyboardInterrupt:
        log("Interrupted.")
        _exit_beside_threads()
        raise click.exceptions.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # the reading process has ended, for example head
        _redirect_stdout_to_null()
        log("standard output was closed by its reader: the rest of the results was not written.")
        raise click.exceptions.Exit(BROKEN_PIPE) from None
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in EXTRAS:
            raise
        raise BadInput(
            f"This command needs {name}, which is not installed: pip install 'mercer[{EXTRAS[name]}]'"
        ) from None
    except MemoryError as error:
        raise BadInput(f"Not enough memory. {_line(error)}".rstrip()) from None
    except OSError as error:
        if error.filename in {None, STDOUT}:  # a full disk: Python would try again when it exits
            _redirect_stdout_to_null()
        where = error.filename or (STDOUT if error.errno == errno.ENOSPC else "")
        raise BadInput(f"{where}: {error.strerror}" if where else _line(error)) from None
    except (ValueError, TypeError) as error:
        if type(error) is TypeError:  # a bug in the program, not bad input; subclasses such as Unstorable are input
            raise
        raise BadInput(_line(error)) from None


def _exit_beside_threads() -> None:
    """End the process at once if a thread reads a pipe, or is inside LAPACK and uses memory that an exit frees."""
    from ..._core.dense import LAPACK
    from ..explore.desk import LOADING

    if {LAPACK, LOADING} & {thread.name for thread in threading.enumerate()}:
        sys.stderr.flush()
        os._exit(INTERRUPTED)


def _line(error: object) -> str:
    return visible(" ".join(str(error).split()))


def _redirect_stdout_to_null() -> None:
    """Discard what Python still flushes when it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Print each distinct warning once, in one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("once", UserWarning)
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # columns were matched by name before
        warnings.showwarning = lambda message, *_, **__: log(f"Warning: {_line(message)}")  # type: ignore[assignment]
        yield


def log(line: str) -> None:
    """Print a message on standard error, which keeps standard output for results."""
    click.echo("\n".join(map(visible, line.split("\n"))), err=True)
