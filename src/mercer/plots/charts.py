"""Charts of a fitted model: its spectrum, its scores, its alarms and what lies behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from .style import INK, LEGEND, RISING, WIDTH, axes, colour, names_of, plain, scale_of

WIDE = 1.2 * WIDTH
MOST_BARS = 12  # variables that a chart of bars shows
MOST_ROWS = 400  # of a kernel matrix that is drawn: a pixel each


def scores(Y: Any, labels: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the first two components of each row, coloured by its label, or by a number where labels are many."""
    Y = np.asarray(Y)
    if Y.ndim != 2 or Y.shape[1] < 2:
        raise ValueError(f"scores draws two components, and Y has shape {Y.shape}. Fit with n_components=2.")
    ax = axes(ax)
    labels = None if labels is None else np.asarray(labels)
    if labels is not None and labels.dtype.kind == "f" and len(np.unique(labels)) > 10:
        points = ax.scatter(Y[:, 0], Y[:, 1], s=12, c=labels, cmap="viridis", alpha=0.85, linewidth=0)
        scale_of(points, ax)
    else:
        groups = [(None, slice(None))] if labels is None else [(v, labels == v) for v in np.unique(labels)]
        for i, (label, rows) in enumerate(groups):
            ax.scatter(Y[rows, 0], Y[rows, 1], s=12, color=colour(i), alpha=0.8, linewidth=0, label=plain(label))
        if labels is not None:
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=5, **LEGEND)
    ax.set(xlabel="component 1", ylabel="component 2", title="scores")
    ax.set_aspect("equal", adjustable="datalim")  # components share one unit
    return ax


def scree(model: Any, ax: Axes | None = None) -> Axes:
    """Draw the share of the total variance that each component holds, and their running sum."""
    ratio = np.asarray(model.explained_variance_ratio_)
    index = np.arange(1, len(ratio) + 1)
    ax = axes(ax)
    ax.bar(index, ratio, color=colour(0), alpha=0.85, width=0.72)
    ax.plot(index, np.cumsum(ratio), "o-", color=colour(1), markersize=3.5, linewidth=1.2)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel="component", ylim=(0, 1), title=f"{len(ratio)} components hold {ratio.sum():.0%}")
    return ax


def chart(monitor: Any, X: Any, of: str = "spe", ax: Axes | None = None) -> Axes:
    """Draw T² or SPE of rows in their order, with its limit; rows beyond it stand out."""
    values = np.asarray(getattr(monitor, of)(X))
    limit = getattr(monitor.limits_, of)
    index, beyond = np.arange(len(values)), values > limit
    ax = axes(ax, 2.6, WIDE)
    ax.plot(index, values, color=colour(0), linewidth=0.7)
    ax.scatter(index[beyond], values[beyond], s=9, color=colour(1), linewidth=0, zorder=3)
    ax.axhline(limit, color=INK, linewidth=0.8, linestyle="--")
    name = {"t2": "T²", "spe": "SPE"}[of]
    ax.set(xlabel="row", title=f"{name}: {beyond.sum()} of {len(values)} rows beyond the limit", xlim=(0, len(values)))
    ax.set_ylim(bottom=0)
    return ax


def contributions(monitor: Any, X: Any, of: str = "spe", names: Any = None, ax: Axes | None = None) -> Axes:
    """Draw what each variable adds to T² or SPE, on the average over rows."""
    values = np.asarray(monitor.contributions(X, of=of)).mean(axis=0)
    ax = _bars(values, names_of(monitor, len(values), names), ax)
    ax.set_title(f"contributions to {'T²' if of == 't2' else 'SPE'}")
    return ax


def importance(values: Any, names: Any = None, ax: Axes | None = None) -> Axes:
    """Draw how much each input variable drives a component: shares as :func:`mercer.importance.importance` gives."""
    values = np.asarray(values, float)
    ax = _bars(values, names_of(None, len(values), names), ax)
    ax.set_title("importance")
    return ax


def residuals(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Draw how the distances of rows to the fitted subspace are spread."""
    r = np.sqrt(np.maximum(model.reconstruction_error(X), 0))
    ax = axes(ax, 2.6)
    ax.hist(r, bins=40, color=colour(0), alpha=0.85)
    ax.set(xlabel="distance to the subspace", ylabel="rows", title=f"median {np.median(r):.3g}, largest {r.max():.3g}")
    return ax


def kernel_matrix(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Draw k(X, X), rows ordered by the first component: blocks are clusters, K ≈ I is a kernel too narrow."""
    X = np.asarray(X)
    rows = np.linspace(0, len(X) - 1, min(len(X), MOST_ROWS)).astype(int)
    part = X[rows]
    order = np.argsort(np.asarray(model.transform(part))[:, 0]) if model.n_components_ else np.arange(len(part))
    ax = axes(ax, WIDTH)
    K = model.kernel_(part[order], part[order])
    picture = ax.imshow(K, cmap=RISING, interpolation="nearest")
    scale_of(picture, ax)
    ax.set(xticks=[], yticks=[], frame_on=False, title=f"kernel matrix, {len(part)} rows")
    return ax


def _bars(values: Any, names: list[str], ax: Axes | None) -> Axes:
    """Draw the largest values as bars with the names of their variables."""
    order = np.argsort(-np.abs(values))[:MOST_BARS][::-1]
    ax = axes(ax, 0.5 + 0.24 * len(order))
    ax.barh(np.arange(len(order)), values[order], color=colour(0), alpha=0.85)
    ax.set_yticks(np.arange(len(order)), [_short(names[j]) for j in order])
    return ax


def _short(name: str, most: int = 24) -> str:
    return plain(name if len(name) <= most else name[: most - 1] + "…")
