"""Output files of a reproduction: numbers as CSV, figures, a text that compares with the paper, intermediate results.

Files are written completely or not at all. The numbers depend only on the seeds; the last line of a text has the date.
"""

import csv
import hashlib
import io
import platform
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from importlib import resources
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy
import sklearn

from ... import __version__
from ..._core.atomic import replacing

CACHE = "kept"  # subfolder of intermediate results
KEY_DIGITS = 12  # of a digest: enough to distinguish settings

Row = dict[str, Any]  # a line of a CSV file
Figure = Any  # of matplotlib
Report = Callable[[str], None]
SMALL = "**Made with `--quick`. To compare with the original, use a full run; this one differs from it:** "


def silent(line: str) -> None:
    """Ignore a progress message."""


class Output:
    """The files of one reproduction: ``NAME.csv``, ``NAME.md``, figures ``NAME….svg``, and cached results.

    ``quick`` marks the small version, which the text mentions. The folder is created with the first file.
    """

    def __init__(self, out: str | Path, name: str, quick: bool = False):
        self.folder, self.name, self.quick = Path(out), name, quick
        self.started, self.spent = perf_counter(), 0.0
        self.pictures: list[str] = []

    def cached(self, key: str, settings: object, compute: Callable[[], Any]) -> np.ndarray:
        """Return the array that an earlier run stored for this key and these settings, or compute and store it."""
        digest = hashlib.sha256(repr(settings).encode()).hexdigest()[:KEY_DIGITS]
        path = self.folder / CACHE / f"{self.name}-{key}-{digest}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as stored:
                self.spent += float(stored["seconds"])
                return stored["array"]
        started = perf_counter()
        array = np.asarray(compute())
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            np.savez(file, array=array, seconds=perf_counter() - started)
        return array

    def csv(self, rows: Sequence[Row], suffix: str = "") -> None:
        """Write rows that have the same keys."""
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
        self._write(f"{self.name}{suffix}.csv", text.getvalue().encode())

    def picture(self, figure: Figure, caption: str, suffix: str = "") -> None:
        """Write a figure, which the text will show with its caption."""
        from ... import plots

        image = io.BytesIO()
        plots.papers.save(figure, image)
        self._write(f"{self.name}{suffix}.svg", image.getvalue())
        self.pictures += [f"![{caption}]({self.name}{suffix}.svg)", f"*{caption}*"]

    def text(self, title: str, *blocks: str) -> None:
        """Write the text: a title, the figures, a description, blocks of Markdown, and how it was computed."""
        small = SMALL + description(f"{self.name} --quick") if self.quick else ""
        every = [f"# {title}", *self.pictures, small, description(self.name), *blocks, self._provenance()]
        self._write(f"{self.name}.md", "\n\n".join(block.strip() for block in every if block).encode() + b"\n")

    def _provenance(self) -> str:
        command = f"mercer reproduce {self.name}" + (" --quick" if self.quick else "")
        seconds = perf_counter() - self.started + self.spent  # including earlier runs
        versions = ", ".join(f"{p.__name__} {p.__version__}" for p in (np, scipy, sklearn))
        return (
            f"*{date.today()}: `{command}`, {seconds:.0f} s, mercer {__version__}, Python {platform.python_version()}, "
            f"{versions}; all seeds fixed.*"
        )

    def _write(self, name: str, data: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self.folder / name) as file:
            file.write(data)


def reproduction(name: str, title: str) -> Callable[[Callable], Callable[..., list[Row]]]:
    """Turn ``compute(output, report)``, which returns rows and blocks of text, into ``run(out, quick, report)``.

    ``run`` writes the rows as ``NAME.csv`` and the text as ``NAME.md``, and returns the rows; ``compute`` itself saves
    the figures. See :func:`mercer.app.reproduce.run`.
    """

    def decorate(compute: Callable[[Output, Report], tuple[list[Row], Iterable[str]]]) -> Callable[..., list[Row]]:
        def run(out: str | Path, quick: bool = False, report: Report = silent) -> list[Row]:
            output = Output(out, name, quick)
            rows, blocks = compute(output, report)
            output.csv(rows)
            output.text(title, *blocks)
            return rows

        return run

    return decorate


def component_maps(
    model: Any, X: np.ndarray, shape: tuple[int, int], size: tuple[float, float], label: str = ""
) -> Figure:
    """Draw components as functions of the plane, with their eigenvalues as titles and one colour scale."""
    from ... import plots

    figure, panels = plots.papers.board(*shape, *size)
    for j, ax in enumerate(panels.flat):
        plots.contours(model, X, j, ax=ax)
        plots.papers.in_deviations(ax, np.sqrt(model.explained_variance_[j]))
        ax.set_title(f"{label}{model.eigenvalues_[j]:.2f}")
    plots.papers.deviations(figure, panels)
    return figure


def description(name: str) -> str:
    """Return the section of ``about.md`` on a reproduction: what is shown, and what the original does not specify."""
    sections = resources.files(__package__).joinpath("about.md").read_text(encoding="utf-8").split("# ")
    return next((text.partition("\n\n")[2] for text in sections if text.startswith(f"{name}\n")), "")


def _cell(value: Any) -> Any:
    """Return a number as text that reads back exactly; None becomes an empty cell."""
    if value is None:
        return ""
    return repr(float(value)) if isinstance(value, (float, np.floating)) else value


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def listed(*lines: str) -> str:
    """Return a Markdown list."""
    return "\n".join(f"* {' '.join(line.split())}" for line in lines)
