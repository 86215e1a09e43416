"""Rows that are pictures: denoised, walked through, generated over a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .style import axes

SIDE = 0.42  # inches of one small picture
GAP = 1  # pixels between pictures


def images(X: Any, shape: Any = None, n_columns: int = 10, ax: Axes | None = None) -> Axes:
    """Draw rows as small pictures of a shape (height, width); of a square one where none is given."""
    X = np.asarray(X)
    shape = _shape(X.shape[-1], shape)
    rows = -(-len(X) // n_columns)
    canvas = np.full((rows * (shape[0] + GAP) - GAP, n_columns * (shape[1] + GAP) - GAP), np.nan)
    for i, row in enumerate(X):
        top, left = i // n_columns * (shape[0] + GAP), i % n_columns * (shape[1] + GAP)
        canvas[top : top + shape[0], left : left + shape[1]] = row.reshape(shape)
    ax = axes(ax, SIDE * rows * shape[0] / shape[1] + 0.3, SIDE * n_columns)
    ax.imshow(canvas, cmap="gray", interpolation="nearest")
    ax.set(xticks=[], yticks=[], frame_on=False)
    return ax


def denoised(model: Any, X: Any, shape: Any = None, ax: Axes | None = None) -> Axes:
    """Draw noisy rows above, and what the model makes of them below."""
    X = np.asarray(X)
    clean = model.denoise(X)
    ax = images(np.concatenate([X, clean]), shape, len(X), ax)
    ax.images[0].set_clim(clean.min(), clean.max())  # noise is not to set the contrast
    ax.set_title("noisy rows, and denoised")
    return ax


def walk(model: Any, first: Any, last: Any, n_steps: int = 10, shape: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the rows between two rows, along the straight line of their coordinates."""
    ax = images(model.interpolate(first, last, n_steps), shape, n_steps, ax)
    ax.set_title("from one row to another")
    return ax


def latent_grid(
    model: Any, components: Any = (0, 1), n_steps: int = 10, shape: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw what lies behind a grid over two components: the first from left to right, the second upwards."""
    X = model.latent_grid(components, n_steps).X
    ax = images(X[::-1].reshape(n_steps**2, -1), shape, n_steps, ax)
    ax.set_title(f"components {components[0] + 1} and {components[1] + 1}")
    return ax


def _shape(d: int, shape: Any) -> tuple[int, int]:
    side = round(d**0.5)
    if shape is None and side * side != d:
        raise ValueError(f"{d} columns are no square picture. Give shape=(height, width).")
    shape = (side, side) if shape is None else tuple(shape)
    if shape[0] * shape[1] != d:
        raise ValueError(f"shape={shape} holds {shape[0] * shape[1]} pixels, and rows have {d} columns.")
    return shape
