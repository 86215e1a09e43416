"""Stability of components under resampling."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..rkhs import principal_subspace
from .html import html_table

STABLE = 0.9  # smallest mean of ``held`` for a stable component


@dataclass(frozen=True, eq=False)
class Stability:
    """The stability of each component.

    u_j are the axes fitted on all samples, u′_k those of a resample. ``same`` (resamples, q) is |⟨u_j, u′_j⟩|, the
    cosine with the component of the same number; ``held`` is the share Σ_k ⟨u_j, u′_k⟩² of an axis that lies in the
    span of the first q components of the resample. ``n_components`` is the number of leading components with a mean
    share of at least 0.9, and ``estimator`` has it.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> from mercer.kernels import RBF
    >>> print(select.stability(KernelPCA(3, kernel=RBF(4.0)), datasets.moons(n=100)[0], random_state=0))
    component  variance    same    held
            1     0.166   0.848   0.926
            2     0.137   0.650   0.858
            3     0.115   0.580   0.699
    """

    same: np.ndarray
    held: np.ndarray
    shares: np.ndarray
    n_components: int
    estimator: Any

    @property
    def table(self) -> list[tuple]:
        """Rows (component, share of the variance, mean of ``same``, mean of ``held``)."""
        columns = self.shares, self.same.mean(axis=0), self.held.mean(axis=0)
        return [(j + 1, *map(float, row)) for j, row in enumerate(zip(*columns, strict=True))]

    def _repr_html_(self) -> str:
        rows = [(j, *(f"{value:.3f}" for value in values)) for j, *values in self.table]
        return html_table(("component", "variance", "same", "held"), rows)

    def __str__(self) -> str:
        head = f"{'component':>9}{'variance':>10}{'same':>8}{'held':>8}"
        return "\n".join([head, *(f"{j:>9}{v:>10.3f}{same:>8.3f}{held:>8.3f}" for j, v, same, held in self.table)])


def stability(
    model: Any, X: Any, *, n_resamples: int = 20, share: float = 0.5, random_state: int | None = None
) -> Stability:
    """Fit a model on random subsets of the samples and compare its components with those of all samples.

    Parameters
    ----------
    model : estimator
        A kernel PCA. It is not changed. The kernel of the subsets is the one bound to all samples.
    X : array-like of shape (n_samples, n_features)
        Samples.
    n_resamples : int, default=20
        Number of subsets.
    share : float, default=0.5
        Share of the samples in a subset, drawn without replacement.
    random_state : int or None, default=None
        Seed for the subsets.

    Returns
    -------
    stability : Stability
        The table; ``n_components``, the number of leading components that are stable; ``estimator`` with it.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> from mercer.kernels import RBF
    >>> result = select.stability(KernelPCA(4, kernel=RBF(gamma=5.0)), datasets.three_clusters(), random_state=0)
    >>> result.n_components  # three clusters span two stable directions
    2
    """
    X, rng = np.asarray(X), np.random.default_rng(random_state)
    if not 0 < share <= 1 or int(share * len(X)) < 2:
        raise ValueError(f"share must be in (0, 1] and leave at least two rows; {share!r} of {len(X)} rows was given.")
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, and {n_resamples!r} was given.")
    whole = clone(model).fit(X)
    axes, settings = whole.subspace_.axes, {"center": model.center, "solver": model.solver, "rng": rng}
    same, held = np.zeros((2, n_resamples, len(axes)))
    for i in range(n_resamples):
        rows = np.sort(rng.choice(len(X), int(share * len(X)), replace=False))
        # with the kernel bound to all samples: bound to a subset it may have another feature space
        part = principal_subspace(whole.kernel_, X[rows].astype(axes.Z.dtype), len(axes), **settings)
        inner = axes.inner(part.axes)
        found = min(inner.shape)
        same[i, :found] = np.abs(inner.diagonal())
        held[i] = np.sum(inner**2, axis=1)
    stable = held.mean(axis=0) >= STABLE
    q = len(stable) if stable.all() else int(np.argmin(stable))
    estimator = clone(model).set_params(n_components=max(q, 1))
    return Stability(same, held, whole.explained_variance_ratio_, q, estimator)
