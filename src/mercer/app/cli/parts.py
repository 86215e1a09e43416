"""Commands that apply a model to the files of a folder or pattern, and write one file for each, also on workers."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from glob import glob, has_magic
from typing import Any

import click

from .errors import BadInput, log
from .options import PIPE

COMMANDS: dict[str, Callable] = {}  # the name of a command → its function, which workers call


def in_parts(name: str, command: Callable) -> Callable:
    """Let a command take a folder or a pattern of Parquet files, and write a folder of such files."""
    COMMANDS[name] = command

    @click.option("--workers", type=int, help="DATA is a folder or pattern of Parquet files: processes to use.")
    @click.option("--cluster", help="Use the Dask scheduler at this address: tcp://… or tls://…")
    @wraps(command)
    def of_files(data: str, output: str, workers: int | None, cluster: str | None, force: bool, **rest: Any) -> None:
        files = files_of(data)
        if files is None:
            if workers is not None or cluster is not None:
                raise click.UsageError("--workers and --cluster need a folder or a pattern, such as 'parts/*.parquet'.")
            command(data=data, output=output, force=force, **rest)
            return
        if output == PIPE:
            raise click.UsageError("DATA are several files, so the results need a folder: pass -o FOLDER.")
        os.makedirs(output, exist_ok=True)
        tasks = [rest | {"data": file, "output": os.path.join(output, _name(file)), "force": True} for file in files]
        left = [task for task in tasks if force or not os.path.exists(task["output"])]
        if len(left) < len(tasks):
            log(f"{output}: {len(tasks) - len(left)} of {len(tasks)} files exist. Pass --force to write them again.")
        _run(name, left, workers, cluster)

    return of_files


def files_of(path: str) -> list[str] | None:
    """Return the Parquet files of a folder, or the files that match a pattern; None for the path of a file."""
    if os.path.isdir(path):
        path = os.path.join(path, "*.parquet")
    elif os.path.exists(path) or not has_magic(path):
        return None
    files = sorted(glob(path))
    if not files:
        raise BadInput(f"{path}: no file matches.")
    return files


def _name(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0] + ".parquet"


def _run(name: str, tasks: list[dict], workers: int | None, address: str | None) -> None:
    if workers is None and address is None:
        for task in tasks:
            COMMANDS[name](**task)
        return
    from ..._core import dask

    with dask.cluster(address, workers) as client:
        for path in client.gather(client.map(_run_one, [name] * len(tasks), tasks, pure=False)):
            log(f"{path}: written")


def _run_one(name: str, task: dict) -> str:
    """Apply the command to one file, in a worker."""
    from . import apply  # noqa: F401 (enters the commands)

    try:
        COMMANDS[name](**task)
    except click.ClickException as error:  # which cannot be sent between processes
        raise ValueError(f"{task['data']}: {error.format_message()}") from None
    return task["output"]
