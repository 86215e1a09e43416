"""Pictures of fitted models in one style: the only place that knows matplotlib."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

INK = "#3d4658"  # readable on white; captured() turns it into the page's own colour
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
MARGIN = 0.12  # of the range of the data, left free around it
TITLE = 0.3  # inches that a title takes
GRID = 90  # points per side of the maps over the plane


def scores(Y: Any, labels: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the first two components of each row, coloured by its label."""
    Y = np.asarray(Y)
    if Y.ndim != 2 or Y.shape[1] < 2:
        raise ValueError(f"scores draws two components, and Y has shape {Y.shape}. Fit with n_components=2.")
    ax = _axes(ax)
    groups = [(None, slice(None))] if labels is None else [(v, np.asarray(labels) == v) for v in np.unique(labels)]
    for i, (label, rows) in enumerate(groups):
        ax.scatter(Y[rows, 0], Y[rows, 1], s=12, color=_colour(i), alpha=0.8, linewidth=0, label=label)
    if labels is not None:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=5, **_LEGEND)
    ax.set(xlabel="component 1", ylabel="component 2", title="scores")
    ax.set_aspect("equal", adjustable="datalim")  # components share one unit
    return ax


def scree(model: Any, ax: Axes | None = None) -> Axes:
    """Draw the share of the total variance that each component holds, and their running sum."""
    ratio = np.asarray(model.explained_variance_ratio_)
    index = np.arange(1, len(ratio) + 1)
    ax = _axes(ax)
    ax.bar(index, ratio, color=_colour(0), alpha=0.85, width=0.72)
    ax.plot(index, np.cumsum(ratio), "o-", color=_colour(1), markersize=3.5, linewidth=1.2)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel="component", ylim=(0, 1), title=f"{len(ratio)} components hold {ratio.sum():.0%}")
    return ax


def contours(model: Any, X: Any, component: int = 0, ax: Axes | None = None) -> Axes:
    """Draw one component as a function of the plane, over its two-dimensional data."""
    ax = _map(lambda points: np.asarray(model.transform(points))[:, component], X, _SIGNED, ax)
    share = model.explained_variance_ratio_[component]
    ax.set_title(f"component {component + 1} · {share:.1%}")
    return ax


def novelty(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Draw how far from the fitted subspace each point of the plane lies, over two-dimensional data."""
    ax = _map(lambda points: np.sqrt(np.maximum(model.reconstruction_error(points), 0)), X, _RISING, ax)
    ax.set_title("distance to the subspace")
    return ax


@contextmanager
def captured(name: str) -> Iterator[list[str]]:
    """Collect what is drawn inside the block as SVG elements for an HTML page; no window opens.

    The ink takes the colour of the page's text, and the identifiers begin with the name,
    so that the pictures of several blocks can stand on one page.
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


def _axes(ax: Axes | None, height: float = 3.3) -> Axes:
    """Return the axes, new ones in our style where there are none yet."""
    if ax is None:
        with plt.rc_context(STYLE):
            ax = plt.subplots(figsize=(WIDTH, height))[1]
    ax.tick_params(colors=INK, labelsize=8, width=0.6, length=3)
    return ax


def _map(f: Any, X: Any, cmap: LinearSegmentedColormap, ax: Axes | None) -> Axes:
    """Draw f over the plane as colour and level lines, with the rows of X as points."""
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"A map of the plane needs data with two columns, and X has shape {X.shape}.")
    low, high = X.min(axis=0), X.max(axis=0)
    low, high = low - MARGIN * (high - low), high + MARGIN * (high - low)
    x, y = np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID)
    values = f(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).reshape(GRID, GRID)
    ax = _axes(ax, WIDTH * np.divide(*(high - low)[::-1]) + TITLE)
    top = np.abs(values).max()
    bottom = -top if cmap is _SIGNED else 0.0
    extent = (low[0], high[0], low[1], high[1])
    ax.imshow(values, origin="lower", extent=extent, cmap=cmap, vmin=bottom, vmax=top, interpolation="bicubic")
    ax.contour(x, y, values, levels=9, colors=INK, linewidths=0.5, alpha=0.6, linestyles="solid")
    ax.scatter(X[:, 0], X[:, 1], s=5, color=INK, alpha=0.75, linewidth=0)
    ax.set(xticks=[], yticks=[], aspect="equal", frame_on=False)
    return ax


def _colour(i: int) -> str:
    return PALETTE[i % len(PALETTE)]


def _fading(*stops: tuple[float, str, float]) -> LinearSegmentedColormap:
    """Return a colour map through (position, colour, opacity) stops, so that small values show the page."""
    return LinearSegmentedColormap.from_list("fading", [(at, to_rgba(colour, alpha)) for at, colour, alpha in stops])


_SIGNED = _fading((0, PALETTE[1], 0.9), (0.5, PALETTE[1], 0), (0.5, PALETTE[0], 0), (1, PALETTE[0], 0.9))
_RISING = _fading((0, PALETTE[0], 0), (1, PALETTE[0], 0.8))
_LEGEND: Any = {
    "fontsize": 8,
    "labelcolor": INK,
    "frameon": False,
    "handletextpad": 0,
    "columnspacing": 0.8,
    "borderaxespad": 0,
}


def _svg(figure: Figure, prefix: str) -> str:
    text = io.StringIO()
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "mercer"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    title = html.escape(figure.axes[0].get_title())
    svg = f'<svg role="img" aria-label="{title}"' + svg[svg.index("<svg") + 4 :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"', "", svg)  # inside HTML they are implied
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", svg)
    return svg.replace(INK, "currentColor")
