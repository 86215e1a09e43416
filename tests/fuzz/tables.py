"""Damaged and odd tables through the command line, in this process.

The rule: exit code 0 or 2 and no traceback; messages of whole lines without control characters; a command that fails
leaves no file, and one that succeeds has written it.
"""

import gzip
import io
import json
import os
import tempfile
import zipfile
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner

import mercer
from mercer.app.cli import main

CODES = {0, 2}
CELLS = [
    "",
    "1",
    "2.5",
    "-3e300",
    "1e400",
    "nan",
    "inf",
    "a",
    "1,5",
    '"',
    '"x"',
    "\0",
    "\r",
    "\u202e",
    "\x1b[31m",
    "1_0",
    "é",
]
# click 8.1 mixes standard error into standard output unless told not to; later versions have no such option
APART = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
NAMES = ["a", "b", "c", "", "a", "kernelpca0", "\x1b[31m", "x0", '"a,b"', " a"]
BYTES = [b"\x1f\x8b", b"PK\3\4", b"PAR1", b"ARROW1", b"\x93NUMPY", b"\xff\xfe", b"\xef\xbb\xbf", b"\n\n", b"\r", b"\0"]


OUTPUTS = ["out.csv", "out.tsv", "out.npy", "out.npz", "out.csv.gz", "out.xlsx", "out", "no/out.csv", "/dev/full"]
INPUT_OPTIONS = [["--no-header"], ["--decimal", ","], ["--delimiter", ";"], ["--from", "csv"], ["--from", "npz"]]
CHECK_OPTIONS = [["--target", "c"], ["--exclude", "b"], ["--categorical", "kernel"], ["--categorical", "one-hot"]]
CHECK_OPTIONS += [["--include", "a"], ["--strict"]]
FIT_OPTIONS = [["--missing", "mean"], ["--missing", "drop"], ["--missing", "impute"], ["--no-scale"]]
FIT_OPTIONS += [["--model", "probabilistic"], ["--model", "monitor"], ["--gamma", "1e300"], *CHECK_OPTIONS]
COMMANDS = {"transform": 8, "fit": 8, "check": 6, "score": 2, "denoise": 2, "predict": 2, "inverse": 1, "impute": 1}
SUITABLE = {"predict": [3], "score": [0, 1, 2, 3]}  # the numbers of models; for the other commands 0, 1 and 2


@cache
def models() -> list[str]:
    """Return the paths of small models of three columns: unnamed ones, named ones, a density, a monitor."""
    folder, X = _folder().name, np.random.default_rng(0).normal(size=(20, 3))
    monitor = mercer.KernelPCAMonitor(in_time=False)  # so few rows do not show whether they are in time
    made = [mercer.KernelPCA(2), mercer.KernelPCA(2), mercer.ProbabilisticKernelPCA(2), monitor]
    for i, model in enumerate(made):
        model.fit(pd.DataFrame(X, columns=list("abc")) if i else X)
        mercer.save(model, os.path.join(folder, f"{i}.mercer"))
    return [os.path.join(folder, f"{i}.mercer") for i in range(len(made))]


@cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory()


def through_commands(rng: np.random.Generator) -> str | None:
    """Write a table, damage it, and give it to a command."""
    suffix, data = [_text, _npy, _npz, _gzip][min(3, int(rng.integers(6)))](rng)
    data = _damaged(data, rng) if rng.random() < 0.3 else data
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"t{suffix}")
        path.write_bytes(data)
        command = _command(str(path), folder, rng)
        result = CliRunner(**APART).invoke(main, command)
        left = {name for name in os.listdir(folder) if name != path.name}
    shown = f"{' '.join(map(ascii, command[1:]))} of a {suffix} file"
    return _judged(result, left, command, f"{command[0]} {shown}")


def _command(path: str, folder: str, rng: np.random.Generator) -> list[str]:
    """Return a command that reads the table, with random options."""
    name = str(rng.choice(np.repeat(list(COMMANDS), list(COMMANDS.values()))))
    command = [name, path]
    if name == "fit":
        command += ["-o", os.path.join(folder, "m"), "-q", ["1", "0.9", "all"][rng.integers(3)]]
    elif name not in {"check", "impute"}:
        suitable = SUITABLE.get(name, [0, 1, 2]) if rng.random() < 0.9 else [0, 1, 2, 3]
        command.insert(1, models()[suitable[rng.integers(len(suitable))]])
        if rng.random() < 0.3:
            command += ["--keep", NAMES[rng.integers(len(NAMES))] or "a"]
    if name in {"fit", "check"}:
        options = FIT_OPTIONS if name == "fit" else CHECK_OPTIONS
        command += [option for i in rng.integers(3 * len(options), size=2) for option in [*options, *[[]] * 99][i]]
    elif rng.random() < 0.4:
        command += ["-o", os.path.join(folder, OUTPUTS[rng.integers(len(OUTPUTS))])]
    if rng.random() < 0.1:
        command += INPUT_OPTIONS[rng.integers(len(INPUT_OPTIONS))]
    return command + ["--json"] * bool(("-o" in command or name == "check") and rng.random() < 0.3)


def _judged(result: Any, left: set[str], command: list[str], shown: str) -> str | None:
    """Return what is wrong with the end of a command that left these files, or None."""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"{shown} raises {type(result.exception).__name__}: {result.exception}"
    if result.exit_code not in CODES:
        return f"{shown} ends with {result.exit_code}: {result.output[-300:]}"
    if result.exit_code and left or any(name.endswith("mercer-tmp") for name in left):
        return f"{shown} ends with {result.exit_code} and leaves {left}"
    if not result.exit_code and "-o" in command and not left:
        return f"{shown} ends with 0 and writes nothing"
    if not result.exit_code and "--json" in command and not isinstance(json.loads(result.stdout), dict):
        return f"{shown} prints no object of JSON"
    lines = result.stderr.splitlines()
    return None if all(line.isprintable() for line in lines) else f"{shown} prints control characters: {lines!r}"


def _text(rng: np.random.Generator) -> tuple[str, bytes]:
    n, d = int(rng.integers(0, 30)), 3 if rng.random() < 0.6 else int(rng.integers(1, 5))
    odd, renamed = ([0.0, 0.0, 0.02, 0.2][rng.integers(4)] for _ in range(2))
    cells = [
        [CELLS[rng.integers(len(CELLS))] if rng.random() < odd else f"{rng.normal():.3g}" for _ in range(d)]
        for _ in range(n)
    ]
    names = [NAMES[rng.integers(len(NAMES))] if rng.random() < renamed else "abcd"[i] for i in range(d)]
    suffix = [".csv", ".tsv", ".txt", ".xlsx", ".json", ".feather"][min(5, int(rng.geometric(0.6)) - 1)]
    end, mark = ["\n", "\r\n", "\r"][rng.integers(3)], "\t" if suffix == ".tsv" else ","
    mark = mark if rng.random() < 0.9 else ";"
    return suffix, end.join(mark.join(row) for row in [names, *cells]).encode()


def _gzip(rng: np.random.Generator) -> tuple[str, bytes]:
    suffix, data = _text(rng)
    return f"{suffix}.gz", gzip.compress(data)


def _array(rng: np.random.Generator) -> np.ndarray:
    array = rng.normal(
        size=(rng.integers(30), 3) if rng.random() < 0.6 else rng.integers(0, 6, size=rng.integers(0, 4))
    )
    return array.astype(["f8", "f8", "f8", "f4", "f2", "i1", "U5", "?", ">f8", "c8"][rng.integers(10)])


def _npy(rng: np.random.Generator) -> tuple[str, bytes]:
    file = io.BytesIO()
    np.save(file, _array(rng))
    data = file.getvalue()
    if rng.random() < 0.3:
        swaps = [(b"(", b"(True, "), (b"False", b"True "), (b"<f8", b"|O8"), (b"<U5", b"<U9"), (b"), }", b".5,), }")]
        data = data.replace(*swaps[rng.integers(len(swaps))], 1)
    return ".npy", data


def _npz(rng: np.random.Generator) -> tuple[str, bytes]:
    file = io.BytesIO()
    with zipfile.ZipFile(
        file, "w", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2][rng.integers(3)]
    ) as kept:
        kept.writestr("X.npy", _npy(rng)[1])
        if rng.random() < 0.3:
            kept.writestr("y.npy", _npy(rng)[1])
    return ".npz", file.getvalue()


def _damaged(data: bytes, rng: np.random.Generator) -> bytes:
    found = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(len(found) + 1))
        action = rng.integers(4)
        if action == 0 and at < len(found):
            found[at] = rng.integers(256)
        elif action == 1:
            del found[at : at + int(rng.integers(1, 40))]
        elif action == 2:
            found[at:at] = BYTES[rng.integers(len(BYTES))]
        else:
            found = found[:at]
    return bytes(found)
