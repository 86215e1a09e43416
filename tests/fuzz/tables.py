"""Damaged and odd tables through the command line, in this process.

The rule: exit code 0 or 2 and no traceback; messages of whole lines without control characters.
"""

import gzip
import io
import os
import tempfile
import zipfile
from functools import cache
from inspect import signature
from pathlib import Path

import numpy as np
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


@cache
def model() -> str:
    """Return the path of a small model of three columns."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "model.mercer")
    mercer.save(mercer.KernelPCA(2).fit(np.random.default_rng(0).normal(size=(20, 3))), path)
    return path


def through_commands(rng: np.random.Generator) -> str | None:
    """Write a table, damage it, and give it to a command."""
    suffix, data = [_text, _npy, _npz, _gzip][min(3, int(rng.integers(6)))](rng)
    data = _damaged(data, rng) if rng.random() < 0.5 else data
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"t{suffix}")
        path.write_bytes(data)
        command = ["transform", model(), str(path)]
        if rng.random() < 0.3:
            command = ["fit", str(path), "-o", str(Path(folder, "m")), "-q", "1"]
        elif rng.random() < 0.3:
            command += ["--keep", NAMES[rng.integers(len(NAMES))] or "a"]
        result = CliRunner(**APART).invoke(main, command)
    shown = f"{command[0]} of a {suffix} file"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"{shown} raises {type(result.exception).__name__}: {result.exception}"
    if result.exit_code not in CODES:
        return f"{shown} ends with {result.exit_code}: {result.output[-300:]}"
    lines = result.stderr.splitlines() if result.exit_code else []
    return None if all(line.isprintable() for line in lines) else f"{shown} prints control characters: {lines!r}"


def _text(rng: np.random.Generator) -> tuple[str, bytes]:
    n, d = int(rng.integers(0, 8)), int(rng.integers(1, 5))
    cells = [
        [CELLS[rng.integers(len(CELLS))] if rng.random() < 0.1 else f"{rng.normal():.3g}" for _ in range(d)]
        for _ in range(n)
    ]
    names = [NAMES[rng.integers(len(NAMES))] if rng.random() < 0.3 else "abcd"[i] for i in range(d)]
    end, mark = ["\n", "\r\n", "\r"][rng.integers(3)], [",", ";", "\t"][rng.integers(3)]
    text = end.join(mark.join(row) for row in [names, *cells])
    return [".csv", ".tsv", ".txt", ".xlsx", ".json", ".feather"][min(5, int(rng.geometric(0.6)) - 1)], text.encode()


def _gzip(rng: np.random.Generator) -> tuple[str, bytes]:
    return ".csv.gz", gzip.compress(_text(rng)[1])


def _array(rng: np.random.Generator) -> np.ndarray:
    array = rng.normal(size=rng.integers(0, 6, size=rng.integers(0, 4)))
    return array.astype(["f8", "f4", "f2", "i1", "U5", "?", ">f8", "c8"][rng.integers(8)])


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
