"""Pictures of the components of a fitted model: their spectrum, the scores of rows, and the residuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from .style import LEGEND, RISING, WIDTH, axes, colour, plain, scale_of

MOST_ROWS = 400  # rows of a kernel matrix that is drawn: a pixel each
MOST_GROUPS = 10  # different numbers that are drawn as labels


def scores(Y: Any, labels: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the first two components of each row, coloured by its label, or by a number if there are many.

    Parameters
    ----------
    Y : array-like of shape (n_samples, n_components)
        Coordinates, as returned by ``transform``.
    labels : array-like of shape (n_samples,), default=None
        Classes, or numbers, such as a column of the table.
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
    >>> X, y = datasets.rings(n=90)
    >>> ax = plots.scores(KernelPCA(2, kernel=RBF(3.0)).fit_transform(X), y)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1', '2']
    """
    Y = np.asarray(Y)
    if Y.ndim != 2 or Y.shape[1] < 2:
        raise ValueError(f"scores draws two components, and Y has shape {Y.shape}. Fit with n_components=2.")
    ax = axes(ax)
    labels = None if labels is None else np.asarray(labels)
    if labels is not None and labels.dtype.kind == "f" and len(np.unique(labels)) > MOST_GROUPS:
        points = ax.scatter(Y[:, 0], Y[:, 1], s=12, c=labels, cmap="viridis", alpha=0.85, linewidth=0)
        scale_of(points, ax)
    else:
        groups = [("", slice(None))] if labels is None else [(v, labels == v) for v in np.unique(labels)]
        for i, (label, rows) in enumerate(groups):
            ax.scatter(Y[rows, 0], Y[rows, 1], s=12, color=colour(i), alpha=0.8, linewidth=0, label=plain(label))
        if labels is not None:
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=5, **LEGEND)
    ax.set(xlabel="component 1", ylabel="component 2", title="scores")
    ax.set_aspect("equal", adjustable="datalim")  # components share one unit
    return ax


def scree(model: Any, ax: Axes | None = None, *, linear: Any = None) -> Axes:
    """Draw the share of the total variance of each component, and their cumulative sum.

    Parameters
    ----------
    model : estimator
        A fitted model.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.
    linear : array-like of shape (n_components,), default=None
        Shares of linear PCA, whose cumulative sum is drawn too.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, plots
    >>> from mercer.kernels import RBF
    >>> plots.scree(KernelPCA(4, kernel=RBF(3.0)).fit(datasets.rings(n=90)[0])).get_title()
    '4 components hold 63%'
    """
    ratio = np.asarray(model.explained_variance_ratio_)
    index = np.arange(1, len(ratio) + 1)
    ax = axes(ax)
    ax.bar(index, ratio, color=colour(0), alpha=0.85, width=0.72)
    ax.plot(index, np.cumsum(ratio), "o-", color=colour(1), markersize=3.5, linewidth=1.2, label="  kernel PCA")
    if linear is not None:
        total = np.cumsum(np.asarray(linear)[: len(index)])
        ax.plot(index[: len(total)], total, "s--", color=colour(2), markersize=3, linewidth=1, label="  linear PCA")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, **LEGEND)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    title = (
        f"{len(ratio)} components hold {ratio.sum():.0%}" if len(ratio) > 1 else f"1 component holds {ratio.sum():.0%}"
    )
    ax.set(xlabel="component", ylim=(0, 1), title=title)
    return ax


def residuals(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Draw a histogram of the distances of rows to the fitted subspace.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array-like of shape (n_samples, n_features)
        Rows.
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
    >>> X, _ = datasets.rings(n=90)
    >>> plots.residuals(KernelPCA(4, kernel=RBF(3.0)).fit(X), X).get_xlabel()
    'distance to the subspace'
    """
    r = np.sqrt(np.maximum(model.reconstruction_error(X), 0))
    ax = axes(ax, 2.6)
    ax.hist(r, bins=40, color=colour(0), alpha=0.85)
    ax.set(xlabel="distance to the subspace", ylabel="rows", title=f"median {np.median(r):.3g}, largest {r.max():.3g}")
    return ax


def kernel_matrix(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Draw k(X, X), with rows ordered by the first component: blocks are clusters, K ≈ I shows a kernel that is too
    narrow.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array-like of shape (n_samples, n_features)
        Rows.
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
    >>> X, _ = datasets.rings(n=90)
    >>> plots.kernel_matrix(KernelPCA(4, kernel=RBF(3.0)).fit(X), X).get_title()
    'kernel matrix, 90 rows'
    """
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
