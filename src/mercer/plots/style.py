"""The style of all pictures, and pictures as SVG for a page."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure

INK = "#3d4658"  # readable on white; captured() replaces it by the text colour of the page
PALETTE = (  # each of them readable on white and on black
    "#2f7ed8",
    "#ec6a1f",
    "#16a085",
    "#a45fd6",
    "#d8a013",
    "#e0507f",
    "#6f8299",
    "#12a9c4",
    "#93653f",
    "#74a832",
)
STYLE: Any = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "figure.constrained_layout.use": True,
    "text.color": INK,
}
WIDTH = 3.6  # inches


def axes(ax: Axes | None, height: float = 3.3, width: float = WIDTH) -> Axes:
    """Return the axes, or new ones in mercer's style if there are none."""
    if ax is None:
        with plt.rc_context(STYLE):
            ax = plt.subplots(figsize=(width, height))[1]
    ax.tick_params(colors=INK, labelsize=8, width=0.6, length=3)
    return ax


def colour(i: int) -> str:
    """Return the i-th colour."""
    return PALETTE[i % len(PALETTE)]


def plain(name: Any) -> str:
    """Return a name that matplotlib draws literally, without a special meaning of dollars and leading underscores."""
    text = str(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def scale_of(picture: Any, ax: Axes) -> None:
    """Draw a colour bar beside a picture, in mercer's style."""
    bar = ax.figure.colorbar(picture, ax=ax, shrink=0.75)
    bar.ax.tick_params(colors=INK, labelsize=8, width=0.6, length=3)
    bar.outline.set(edgecolor=INK, linewidth=0.6)


def names_of(model: Any, d: int, names: Any = None) -> list[str]:
    """Return names for d columns: those given, those of the model's table, or x0, x1, …"""
    names = getattr(model, "feature_names_in_", None) if names is None else names
    return [f"x{j}" for j in range(d)] if names is None else [str(name) for name in names]


def fading(*stops: tuple[float, str, float]) -> LinearSegmentedColormap:
    """Return a colour map through (position, colour, opacity) stops; small values are transparent."""
    return LinearSegmentedColormap.from_list("fading", [(at, to_rgba(colour, alpha)) for at, colour, alpha in stops])


SIGNED = fading((0, PALETTE[1], 0.9), (0.5, PALETTE[1], 0), (0.5, PALETTE[0], 0), (1, PALETTE[0], 0.9))
RISING = fading((0, PALETTE[0], 0), (1, PALETTE[0], 0.8))
LEGEND: Any = {
    "fontsize": 8,
    "labelcolor": INK,
    "frameon": False,
    "handletextpad": 0,
    "columnspacing": 0.8,
    "borderaxespad": 0,
}


@contextmanager
def captured(name: str) -> Iterator[list[str]]:
    """Collect what is drawn inside the block as SVG elements for an HTML page; no window opens.

    Lines and text have the text colour of the page. Identifiers begin with the name, so that a page can contain the
    pictures of several blocks.

    Parameters
    ----------
    name : str
        Prefix of the identifiers of the pictures.

    Yields
    ------
    svgs : list of str
        The pictures, once the block has ended.

    Examples
    --------
    >>> from mercer import plots
    >>> with plots.captured("a") as svgs:
    ...     ax = plots.importance([0.2, 0.8])
    >>> svgs[0][:17]
    '<svg role="img" a'
    """
    backend, before = plt.get_backend(), set(plt.get_fignums())
    plt.switch_backend("svg")
    svgs: list[str] = []
    try:
        yield svgs
        new = [number for number in plt.get_fignums() if number not in before]
        svgs += [_svg(plt.figure(number), f"{name}-{number}-") for number in new]
    finally:
        for number in set(plt.get_fignums()) - before:
            plt.close(number)
        plt.switch_backend(backend)


def _svg(figure: Figure, prefix: str) -> str:
    text = io.StringIO()
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "mercer"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    title = html.escape(figure.axes[0].get_title())
    svg = f'<svg role="img" aria-label="{title}"' + svg[svg.index("<svg") + 4 :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)  # they are not needed inside HTML
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", svg)
    return svg.replace(INK, "currentColor")
