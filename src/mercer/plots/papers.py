"""Figures of several panels, as in papers, written as SVG without opening windows."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from io import BytesIO
from typing import Any, BinaryIO

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, Normalize
from matplotlib.figure import Figure
from PIL import Image

from .style import INK, LEGEND, SIGNED, STYLE, axes, colour

DOTS = 120  # pixels per inch, for parts drawn as pixels
COLOURS = 96  # colours, for parts drawn as pixels
TITLE = 9  # points
MARKERS = "osd^vPX"
MANY = 150  # points of one set: more are drawn as pixels, because each would be an element of the SVG
ABOVE = 1.5  # order of drawing: in some axes, everything below is drawn as pixels
RANGE = 3.0  # range of the colours of components, in units of √λ


def board(rows: int, columns: int, width: float = 2.0, height: float = 2.0) -> tuple[Figure, Any]:
    """Return a figure with a table of panels, each of the given size in inches, and the panels: (rows, columns)."""
    with plt.rc_context(STYLE):
        figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False)
    for ax in panels.flat:
        axes(ax)
    return figure, panels


def save(figure: Figure, file: BinaryIO) -> None:
    """Write the figure as SVG on white, with text as text, coordinates in hundredths of a point, and images in few
    colours."""
    for ax in figure.axes:
        ax.title.set_fontsize(TITLE)
    whole = BytesIO()
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "mercer"}):
        figure.savefig(whole, format="svg", dpi=DOTS, facecolor="white", metadata={"Date": None})
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", whole.getvalue().decode(), flags=re.DOTALL)
    svg = re.sub(r'(?<= d=)"[^"]*"|(?<= [xy]=)"[^"]*"', lambda found: _rounded(found[0]), svg)
    svg = re.sub(r"(?<=data:image/png;base64,)[^\"]*", lambda found: _quantized(found[0]), svg)
    file.write(svg.encode())


def _rounded(numbers: str) -> str:
    return re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", numbers)


def _quantized(encoded: str) -> str:
    """Return a base64 PNG with fewer colours: a fraction of the size, without a visible difference."""
    small = BytesIO()
    with Image.open(BytesIO(b64decode(encoded))) as image:
        few = image.convert("RGBA").quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
        few.save(small, format="png", optimize=True)
    return b64encode(small.getvalue()).decode()


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
    for below in np.arange(len(names) - 1) + 0.5:
        ax.axhline(below, color=INK, linewidth=0.3, alpha=0.4)
    return ax


def cloud(ax: Axes, groups: dict[str, Any], colours: Any = None, size: float = 9) -> Axes:
    """Draw sets of points in the plane, with a marker each; ``legend`` writes their names."""
    for i, (name, X) in enumerate(groups.items()):
        style: Any = {"s": size, "color": (colours or {}).get(name, colour(i)), "marker": MARKERS[i % len(MARKERS)]}
        ax.scatter(X[:, 0], X[:, 1], linewidth=0, alpha=0.8, label=name, rasterized=len(X) > MANY, **style)
    ax.set(xticks=[], yticks=[], aspect="equal", frame_on=False)
    return ax


def legend(figure: Figure, ax: Axes, columns: int | None = None) -> None:
    """Write the legend of one panel below all panels, in one line unless a number of columns is given."""
    handles, names = ax.get_legend_handles_labels()
    figure.legend(
        handles, names, loc="outside lower center", ncols=columns or len(names), **{**LEGEND, "handletextpad": 0.5}
    )


def share_limits(panels: Any, X: Any, margin: float = 0.1) -> None:
    """Give all panels the limits of the rows of X, and a margin in units of their range."""
    low, high = X.min(axis=0), X.max(axis=0)
    room = margin * (high - low)
    for ax in panels.flat:
        ax.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1]))


def in_deviations(ax: Axes, deviation: float) -> None:
    """Give a map of a component the colours of ``deviations``, from −3√λ to 3√λ."""
    ax.images[0].set_clim(-RANGE * deviation, RANGE * deviation)
    ax.set_rasterization_zorder(ABOVE)  # lines as vectors would take most of the file
    for lines in ax.collections:
        lines.set_zorder(1)


def deviations(figure: Figure, panels: Any) -> None:
    """Draw the colour bar that all maps of components share."""
    bar(figure, panels, ScalarMappable(Normalize(-RANGE, RANGE), SIGNED), "component / √λ", extend="both")


def bar(figure: Figure, panels: Any, colours: Any, label: str, extend: str = "neither") -> None:
    """Draw one colour bar to the right of some panels."""
    drawn = figure.colorbar(colours, ax=panels, label=label, shrink=0.75, pad=0.02, aspect=25, extend=extend)
    drawn.ax.tick_params(colors=INK, labelsize=8, width=0.6, length=3)
    drawn.ax.yaxis.label.set(color=INK, fontsize=8)
    drawn.outline.set(edgecolor=INK, linewidth=0.6)


def coloured(figure: Figure, panels: Any, X: Any, values: dict[str, Any], label: str, steps: int = 10) -> None:
    """Draw points in the plane once for each name, in colours of intervals of equal length, with their colour bar."""
    every = np.concatenate([*values.values()])
    limits = np.linspace(every.min(), every.max(), steps + 1)
    norm, cmap = BoundaryNorm(limits, steps), plt.get_cmap("viridis", steps)
    for ax, (name, column) in zip(panels, values.items(), strict=True):
        ax.scatter(X[:, 0], X[:, 1], s=9, c=column, cmap=cmap, norm=norm, linewidth=0)
        ax.set(xticks=[], yticks=[], aspect="equal", frame_on=False, title=name)
    bar(figure, panels, ScalarMappable(norm, cmap), label)
    figure.axes[-1].set_yticks(limits[::2], [f"{limit:.1f}" for limit in limits[::2]])


def labelled(ax: Axes, names: Any) -> Axes:
    """Write names to the left of rows of small pictures."""
    low, high = sorted(ax.get_ylim())
    step = (high - low) / len(names)
    ax.set_yticks([low + step * (i + 0.5) for i in range(len(names))], names)
    ax.tick_params(axis="y", length=0, labelcolor=INK, labelsize=8)
    return ax
