"""Rows of pixels as images: denoised, along a line between two rows, over a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .style import axes

SIDE = 0.42  # inches of one small picture
GAP = 1  # pixels between pictures


def images(X: Any, shape: Any = None, n_columns: int = 10, ax: Axes | None = None) -> Axes:
    """Draw rows as small pictures.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows of pixels.
    shape : tuple of int, default=None
        Height and width of a picture; a square by default.
    n_columns : int, default=10
        Pictures side by side.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import datasets, plots
    >>> plots.images(datasets.digits()[0][:20]).images[0].get_array().shape  # with a pixel between them
    (17, 89)
    """
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
    """Draw noisy rows above, and the denoised rows below.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array-like of shape (n_samples, n_features)
        Noisy rows of pixels.
    shape : tuple of int, default=None
        Height and width of a picture; a square by default.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, plots
    >>> from mercer.kernels import RBF
    >>> X, _ = datasets.digits()
    >>> model = KernelPCA(10, kernel=RBF("median")).fit(X[100:200])
    >>> plots.denoised(model, X[:5]).get_title()
    'noisy rows, and denoised'
    """
    X = np.asarray(X)
    clean = model.denoise(X)
    ax = images(np.concatenate([X, clean]), shape, len(X), ax)
    ax.images[0].set_clim(clean.min(), clean.max())  # the noise should not determine the contrast
    ax.set_title("noisy rows, and denoised")
    return ax


def walk(model: Any, first: Any, last: Any, n_steps: int = 10, shape: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the rows between two rows, along the straight line between their coordinates.

    Parameters
    ----------
    model : estimator
        A fitted model.
    first, last : array-like of shape (n_features,)
        The rows at both ends.
    n_steps : int, default=10
        Pictures.
    shape : tuple of int, default=None
        Height and width of a picture; a square by default.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, plots
    >>> from mercer.kernels import RBF
    >>> X, _ = datasets.digits()
    >>> model = KernelPCA(10, kernel=RBF("median")).fit(X[100:200])
    >>> plots.walk(model, X[0], X[1], n_steps=5).get_title()
    'from one row to another'
    """
    ax = images(model.interpolate(first, last, n_steps), shape, n_steps, ax)
    ax.set_title("from one row to another")
    return ax


def latent_grid(
    model: Any, components: Any = (0, 1), n_steps: int = 10, shape: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the pre-images of a grid over two components: the first from left to right, the second upwards.

    Parameters
    ----------
    model : estimator
        A fitted model.
    components : tuple of int, default=(0, 1)
        Indices of the two components.
    n_steps : int, default=10
        Pictures along each side.
    shape : tuple of int, default=None
        Height and width of a picture; a square by default.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, plots
    >>> from mercer.kernels import RBF
    >>> X, _ = datasets.digits()
    >>> model = KernelPCA(10, kernel=RBF("median")).fit(X[100:200])
    >>> plots.latent_grid(model, n_steps=3).get_title()
    'components 1 and 2'
    """
    X = model.latent_grid(components, n_steps).X
    ax = images(X[::-1].reshape(n_steps**2, -1), shape, n_steps, ax)
    ax.set_title(f"components {components[0] + 1} and {components[1] + 1}")
    return ax


def _shape(d: int, shape: Any) -> tuple[int, int]:
    side = round(d**0.5)
    if shape is None and side * side != d:
        raise ValueError(f"Rows of {d} columns cannot be drawn as square pictures. Give shape=(height, width).")
    shape = (side, side) if shape is None else tuple(shape)
    if shape[0] * shape[1] != d:
        raise ValueError(f"shape={shape} holds {shape[0] * shape[1]} pixels, and rows have {d} columns.")
    return shape
