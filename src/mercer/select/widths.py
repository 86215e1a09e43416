"""Rules for the width of a radial kernel, k = κ(γt), t = ‖x − y‖², from the distances between rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..kernels import RBF, sqdist
from ..models.kernel_pca import KernelPCA

MOST_ROWS = 1000  # whose pairs are looked at: half a million distances
WIDEST, NARROWEST = 1e-3, 1e3  # γ times the median squared distance, between which a maximum is sought
PER_DECADE = 8  # values of γ that are looked at, before the best is refined


@dataclass(frozen=True)
class Widths:
    """γ by each rule (``table``), the rule and the ``gamma`` taken, and an estimator that has it."""

    table: dict[str, float]
    rule: str
    gamma: float
    estimator: Any

    def __str__(self):
        width = max(map(len, self.table))
        lines = [f"{rule:<{width}}  {gamma:.6g}" for rule, gamma in self.table.items()]
        return "\n".join([f"{'rule':<{width}}  gamma", *lines])


def widths(X, *, rule="median", random_state=None):
    """Return γ by several rules.

    ==================  ===========================================================================================
    ``"median"``        1 / median of t, the usual start
    ``"narrow"``        1 / the 10 % quantile of t: rows see their neighbours only
    ``"wide"``          1 / the 90 % quantile of t: nearly linear
    ``"silverman"``     1 / (2h²), h = σ(4 / (n(d + 2)))^{1/(d+4)} for a density of n rows in d columns, σ² their mean
                        variance
    ``"variance"``      where the entries of the RBF's matrix off the diagonal vary most: neither all 0 nor all 1
    ==================  ===========================================================================================

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, scaled as the kernel will see them.
    rule : str, default="median"
        The rule that the estimator takes.
    random_state : int or None, default=None
        Seed of the rows that are looked at, where there are more than 1000.

    Returns
    -------
    widths : Widths
        ``table``, rule ↦ γ; ``gamma``; ``estimator``, a kernel PCA with it.

    Examples
    --------
    >>> from mercer import datasets, select
    >>> sorted(select.widths(datasets.three_clusters()).table)
    ['median', 'narrow', 'silverman', 'variance', 'wide']
    """
    if rule not in RULES:
        raise ValueError(f"rule={rule!r}: give one of {', '.join(map(repr, RULES))}.")
    X = np.asarray(X, float)
    if X.ndim != 2 or len(X) < 2:
        raise ValueError(f"Widths need a table of at least two rows, and the shape is {X.shape}.")
    t = _distances(X, np.random.default_rng(random_state))
    table = {name: float(f(t, X)) for name, f in RULES.items()}
    return Widths(table, rule, table[rule], KernelPCA(kernel=RBF(gamma=table[rule])))


def _distances(X, rng):
    """Squared distances of all pairs of rows, those of equal rows left out; 1 where all rows are equal."""
    some = X if len(X) <= MOST_ROWS else X[rng.choice(len(X), MOST_ROWS, replace=False)]
    t = sqdist(some, some)[np.triu_indices(len(some), 1)]
    t = t[t > 0]
    return t if len(t) else np.ones(1)


def _silverman(t, X):
    n, d = X.shape
    variance = float(np.mean(X.var(axis=0))) or 1.0
    return 1 / (2 * variance * (4 / (n * (d + 2))) ** (2 / (d + 4)))


def _most_varied(t, X):
    """The γ of the largest variance of exp(−γt): the best of a grid, refined between its neighbours."""
    u = t / np.median(t)
    spread = lambda log_gamma: -float(np.var(np.exp(-np.exp(log_gamma) * u)))  # noqa: E731
    decades = np.log10(NARROWEST / WIDEST)
    grid = np.log(np.geomspace(WIDEST, NARROWEST, int(PER_DECADE * decades) + 1))
    best = int(np.argmin([spread(g) for g in grid]))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return np.exp(minimize_scalar(spread, bounds=ends, method="bounded").x) / np.median(t)


RULES = {
    "median": lambda t, X: 1 / np.median(t),
    "narrow": lambda t, X: 1 / np.quantile(t, 0.1),
    "wide": lambda t, X: 1 / np.quantile(t, 0.9),
    "silverman": _silverman,
    "variance": _most_varied,
}
