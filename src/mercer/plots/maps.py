"""Maps over the plane: a function of the model at every point around two-dimensional data."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb

from .style import INK, LEGEND, RISING, SIGNED, WIDTH, axes, colour, plain

MARGIN = 0.12  # of the range of the data: the margin around it
TITLE = 0.3  # inches for a title
GRID = 90  # points per side


def contours(model: Any, X: Any, component: int = 0, ax: Axes | None = None) -> Axes:
    """Draw one component as a function of the plane, over its two-dimensional data.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array-like of shape (n_samples, 2)
        Rows of two columns.
    component : int, default=0
        Index of the component.
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
    >>> X, _ = datasets.clusters()
    >>> plots.contours(KernelPCA(2, kernel=RBF(20.0)).fit(X), X, component=1).get_title()
    'component 2 · 23.2%'
    """
    ax = _levels(lambda points: np.asarray(model.transform(points))[:, component], X, SIGNED, ax)
    share = model.explained_variance_ratio_[component]
    ax.set_title(f"component {component + 1} · {share:.1%}")
    return ax


def novelty(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Draw the distance of each point of the plane to the fitted subspace, over two-dimensional data.

    If the model has fewer anchors than rows, the anchors are circled.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array-like of shape (n_samples, 2)
        Rows of two columns.
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
    >>> X, _ = datasets.clusters()
    >>> plots.novelty(KernelPCA(2, kernel=RBF(20.0)).fit(X), X).get_title()
    'distance to the subspace'
    """
    ax = _levels(lambda points: np.sqrt(np.maximum(model.reconstruction_error(points), 0)), X, RISING, ax)
    anchors = np.asarray(model.anchors_)
    if len(anchors) < len(X):
        style: Any = {"s": 55, "facecolor": "none", "edgecolor": colour(1), "linewidth": 1.4, "label": "anchors"}
        ax.scatter(anchors[:, 0], anchors[:, 1], **style)
    ax.set_title("distance to the subspace")
    return ax


def density(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Draw the log-density of a probabilistic model or a mixture over the plane, up to a constant.

    Parameters
    ----------
    model : estimator
        A fitted ``ProbabilisticKernelPCA`` or ``KernelPCAMixture``.
    X : array-like of shape (n_samples, 2)
        Rows of two columns.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import ProbabilisticKernelPCA, datasets, plots
    >>> from mercer.kernels import RBF
    >>> X, _ = datasets.moons(n=100)
    >>> plots.density(ProbabilisticKernelPCA(5, kernel=RBF(4.0)).fit(X), X).get_title()
    'log-density'
    """
    ax = _levels(lambda points: _above(model.score_samples(points)), X, RISING, ax)
    ax.set_title("log-density")
    return ax


def _above(values: Any) -> Any:
    """Return the values above their median, from 0; lower values become 0."""
    floor = np.median(values)
    return np.maximum(values - floor, 0)


def responsibilities(mixture: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Draw two-dimensional rows, each in a colour mixed from those of its clusters.

    Parameters
    ----------
    mixture : estimator
        A fitted mixture, of mercer or of scikit-learn.
    X : array-like of shape (n_samples, 2)
        Rows of two columns.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import KernelPCAMixture, datasets, plots
    >>> from mercer.kernels import RBF
    >>> X, _ = datasets.two_cs(n=60)
    >>> mixture = KernelPCAMixture(2, kernel=RBF.from_sigma(8), n_init=2, random_state=0).fit(X)
    >>> plots.responsibilities(mixture, X).get_title()
    '2 clusters'
    """
    X, P = _planar(X), np.asarray(mixture.predict_proba(X))
    ax = axes(ax, _height(X))
    ax.scatter(X[:, 0], X[:, 1], s=14, color=np.clip(P @ _colours(P.shape[1]), 0, 1), linewidth=0)
    ax.set(xticks=[], yticks=[], aspect="equal", frame_on=False, title=f"{P.shape[1]} clusters")
    return ax


def regions(classifier: Any, X: Any, y: Any, ax: Axes | None = None) -> Axes:
    """Draw the predicted class of each point of the plane, paler where it is uncertain, with the rows.

    Parameters
    ----------
    classifier : estimator
        A fitted classifier with ``predict_proba``.
    X : array-like of shape (n_samples, 2)
        Rows of two columns.
    y : array-like of shape (n_samples,)
        Their classes.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import KernelPCAClassifier, datasets, plots
    >>> from mercer.kernels import RBF
    >>> X, y = datasets.moons(n=100)
    >>> plots.regions(KernelPCAClassifier(kernel=RBF(4.0)).fit(X, y), X, y).get_title()
    'regions'
    """
    X, y = _planar(X), np.asarray(y)
    x1, x2, points = _grid(X)
    P = np.asarray(classifier.predict_proba(points))
    k = P.shape[1]
    sure = (P.max(axis=1) - 1 / k) / (1 - 1 / k) if k > 1 else np.ones(len(P))
    image = np.column_stack([_colours(k)[P.argmax(axis=1)], 0.05 + 0.35 * sure]).reshape(GRID, GRID, 4)
    ax = axes(ax, _height(X))
    ax.imshow(image, origin="lower", extent=(x1[0], x1[-1], x2[0], x2[-1]), interpolation="bicubic")
    for i, label in enumerate(classifier.classes_):
        ax.scatter(X[y == label, 0], X[y == label, 1], s=9, color=colour(i), linewidth=0, label=plain(label))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=5, **LEGEND)
    ax.set(xticks=[], yticks=[], aspect="equal", frame_on=False, title="regions")
    return ax


def _levels(f: Any, X: Any, cmap: LinearSegmentedColormap, ax: Axes | None) -> Axes:
    """Draw f over the plane as colour and level lines, with the rows of X as points."""
    X = _planar(X)
    x1, x2, points = _grid(X)
    values = f(points).reshape(GRID, GRID)
    ax = axes(ax, _height(X))
    top = np.abs(values).max()
    bottom = -top if cmap is SIGNED else 0.0
    extent = (x1[0], x1[-1], x2[0], x2[-1])
    ax.imshow(values, origin="lower", extent=extent, cmap=cmap, vmin=bottom, vmax=top, interpolation="bicubic")
    ax.contour(x1, x2, values, levels=9, colors=INK, linewidths=0.5, alpha=0.6, linestyles="solid")
    ax.scatter(X[:, 0], X[:, 1], s=5, color=INK, alpha=0.75, linewidth=0, label="rows")
    ax.set(xticks=[], yticks=[], aspect="equal", frame_on=False)
    return ax


def _planar(X: Any) -> Any:
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"A map of the plane needs data with two columns, and X has shape {X.shape}.")
    return X


def _grid(X: Any) -> tuple[Any, Any, Any]:
    """The coordinates of a grid around the rows along both axes, and its points."""
    low, high = X.min(axis=0), X.max(axis=0)
    low, high = low - MARGIN * (high - low), high + MARGIN * (high - low)
    x1, x2 = np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID)
    return x1, x2, np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)


def _height(X: Any) -> float:
    return WIDTH * min(1.1, np.divide(*np.ptp(X, axis=0)[::-1])) + TITLE


def _colours(k: int) -> Any:
    return np.array([to_rgb(colour(i)) for i in range(k)])
