"""Figures of several panels, as papers print them; drawn without windows."""

from __future__ import annotations

from io import BytesIO
from typing import Any, BinaryIO

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from .style import INK, LEGEND, STYLE, axes, colour

DOTS = 100  # per inch: sharp enough for a page, small enough to be kept
COLOURS = 128
TITLE = 9  # points
MARKERS = "osd^vPX"


def board(rows: int, columns: int, width: float = 2.0, height: float = 2.0) -> tuple[Figure, Any]:
    """Return a figure with a table of panels, each of the given size in inches, and the panels: (rows, columns)."""
    with plt.rc_context(STYLE):
        figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False)
    for ax in panels.flat:
        axes(ax)
    return figure, panels


def save(figure: Figure, file: BinaryIO) -> None:
    """Write the figure as PNG, on white, in few colours: a third of the size, and no eye sees it."""
    for ax in figure.axes:
        ax.title.set_fontsize(TITLE)
    whole = BytesIO()
    figure.savefig(whole, format="png", dpi=DOTS, facecolor="white")
    with Image.open(whole) as image:
        image.convert("RGB").quantize(COLOURS).save(file, format="png", optimize=True)


def curves(ax: Axes, x: Any, lines: dict[str, Any]) -> Axes:
    """Draw several lines over the same values, with their names and a marker each."""
    for i, (name, y) in enumerate(lines.items()):
        ax.plot(x, y, color=colour(i), marker=MARKERS[i % len(MARKERS)], markersize=3, linewidth=1.2, label=name)
    ax.legend(**{**LEGEND, "handletextpad": 0.5})
    return ax


def intervals(ax: Axes, names: list[str], columns: dict[str, list[tuple[float, float]]]) -> Axes:
    """Draw mean ± standard deviation for each name and column: dots with error bars, one line for each name."""
    for i, (column, values) in enumerate(columns.items()):
        at = np.arange(len(names)) + 0.7 * ((i + 0.5) / len(columns) - 0.5)  # 0.7: space between the names
        means, deviations = np.transpose(values)
        style: Any = {"color": colour(i), "fmt": MARKERS[i % len(MARKERS)], "markersize": 3, "elinewidth": 0.8}
        ax.errorbar(means, at, xerr=deviations, label=column, **style)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.legend(**{**LEGEND, "handletextpad": 0.5})
    return ax


def cloud(ax: Axes, groups: dict[str, Any], colours: Any = None, size: float = 9) -> Axes:
    """Draw sets of points in the plane, with their names."""
    for i, (name, X) in enumerate(groups.items()):
        drawn = (colours or {}).get(name, colour(i))
        ax.scatter(X[:, 0], X[:, 1], s=size, color=drawn, linewidth=0, alpha=0.8, label=name)
    ax.set(xticks=[], yticks=[], aspect="equal", frame_on=False)
    return ax


def coloured(ax: Axes, X: Any, values: Any, intervals: int = 10) -> Axes:
    """Draw points in the plane, in a colour for each of the intervals of equal length that their values lie in."""
    values = np.asarray(values)
    span = np.ptp(values) or 1.0
    step = np.minimum((values - values.min()) / span * intervals, intervals - 1).astype(int)
    ax.scatter(X[:, 0], X[:, 1], s=9, c=step, cmap=plt.get_cmap("turbo", intervals), linewidth=0)
    ax.set(xticks=[], yticks=[], aspect="equal", frame_on=False)
    return ax


def labelled(ax: Axes, names: Any) -> Axes:
    """Write names to the left of rows of small pictures."""
    low, high = sorted(ax.get_ylim())
    step = (high - low) / len(names)
    ax.set_yticks([low + step * (i + 0.5) for i in range(len(names))], names)
    ax.tick_params(axis="y", length=0, labelcolor=INK, labelsize=8)
    return ax
