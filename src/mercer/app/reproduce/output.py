"""What a reproduction leaves in its folder: numbers as CSV, pictures, a text beside the original, and work done so far.

Files appear whole or not at all. Numbers depend on the seeds alone; only the last line of a text tells of the day.
"""

import csv
import hashlib
import io
import platform
from datetime import date
from pathlib import Path
from time import perf_counter

import numpy as np
import scipy
import sklearn

from ... import __version__
from ..._core.atomic import replacing

WORK = "kept"  # the folder of what was computed before


class Output:
    """The files of one reproduction: ``NAME.csv``, ``NAME.md``, and pictures ``NAME….png``.

    Parameters
    ----------
    out : str or Path
        The folder, which is made when there is something to write.
    name : str
        What the files are called.
    quick : bool
        Whether this is the small version: the text says so.
    """

    def __init__(self, out, name, quick=False):
        self.folder, self.name, self.quick = Path(out), name, quick
        self.started, self.spent, self.pictures = perf_counter(), 0.0, []

    def kept(self, key, settings, compute):
        """The array of this key and these settings: read where an earlier run left it, else computed and left."""
        digest = hashlib.sha256(repr(settings).encode()).hexdigest()[:12]  # enough to tell settings apart
        path = self.folder / WORK / f"{self.name}-{key}-{digest}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as kept:
                self.spent += float(kept["seconds"])
                return kept["array"]
        begun = perf_counter()
        array = np.asarray(compute())
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            np.savez(file, array=array, seconds=perf_counter() - begun)
        return array

    def csv(self, rows, suffix=""):
        """Write rows, which are dictionaries with the same keys."""
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
        self._write(f"{self.name}{suffix}.csv", text.getvalue().encode())

    def picture(self, figure, caption, suffix=""):
        """Write a figure, which the text will show with its caption."""
        from ... import plots

        whole = io.BytesIO()
        plots.papers.save(figure, whole)
        self._write(f"{self.name}{suffix}.png", whole.getvalue())
        self.pictures += [f"![{caption}]({self.name}{suffix}.png)", f"*{caption}*"]

    def text(self, title, *blocks):
        """Write the text: a title, the pictures, blocks of Markdown, and how it was made."""
        every = [f"# {title}", *self.pictures, *blocks, self._made()]
        self._write(f"{self.name}.md", "\n\n".join(block.strip() for block in every if block).encode() + b"\n")

    def _made(self):
        command = f"mercer reproduce {self.name}" + (" --quick" if self.quick else "")
        seconds = perf_counter() - self.started + self.spent  # those of earlier runs too
        versions = ", ".join(f"{p.__name__} {p.__version__}" for p in (np, scipy, sklearn))
        return (
            f"*{date.today()}: `{command}`, {seconds:.0f} s, mercer {__version__}, Python {platform.python_version()}, "
            f"{versions}; all seeds fixed.*"
        )

    def _write(self, name, data):
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self.folder / name) as file:
            file.write(data)


def _cell(value):
    """A number as a text that reads back to it; what is left out is empty."""
    if value is None:
        return ""
    return repr(float(value)) if isinstance(value, (float, np.floating)) else value


def table(head, rows):
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def listed(*lines):
    """A list in Markdown."""
    return "\n".join(f"* {' '.join(line.split())}" for line in lines)
