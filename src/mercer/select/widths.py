"""Rules for the width of a radial kernel, k = κ(γt), t = ‖x − y‖², from the distances between samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from ..kernels import RBF, sqdist
from ..models.kernel_pca import KernelPCA
from .arguments import check_rule, subset
from .html import html_table

MOST_ROWS = 1000  # number of samples whose pairs are used: half a million distances
WIDEST, NARROWEST = 1e-3, 1e3  # limits of the search for a maximum: γ times the median squared distance
PER_DECADE = 8  # values of γ on the grid, before the best is refined


@dataclass(frozen=True)
class Widths:
    """γ by each rule (``table``), the chosen rule and its ``gamma``, and an estimator with it.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> found = select.widths(KernelPCA(2, kernel="rbf"), datasets.moons(n=60)[0])
    >>> found.rule, {rule: round(gamma, 2) for rule, gamma in found.table.items()}
    ('median', {'median': 0.73, 'narrow': 6.82, 'wide': 0.19, 'silverman': 3.85, 'variance': 0.84})
    """

    table: dict[str, float]
    rule: str
    gamma: float
    estimator: Any

    def _repr_html_(self) -> str:
        return html_table(("rule", "gamma"), [(rule, f"{gamma:.6g}") for rule, gamma in self.table.items()])

    def __str__(self) -> str:
        width = max(map(len, self.table))
        lines = [f"{rule:<{width}}  {gamma:.6g}" for rule, gamma in self.table.items()]
        return "\n".join([f"{'rule':<{width}}  gamma", *lines])


def widths(estimator: Any, X: Any, *, rule: str = "median", random_state: int | None = None) -> Widths:
    """Return γ by several rules.

    ==================  ===========================================================================================
    ``"median"``        1 / median of t, the usual start
    ``"narrow"``        1 / 10 % quantile of t: only near neighbours are similar
    ``"wide"``          1 / 90 % quantile of t: nearly linear
    ``"silverman"``     1 / (2h²), h = σ(4 / (n(d + 2)))^{1/(d+4)} for a density of n samples in d columns, σ² their
                        mean variance
    ``"variance"``      the off-diagonal entries of the RBF kernel matrix have the largest variance
    ==================  ===========================================================================================

    Parameters
    ----------
    estimator : estimator or None
        The model that gets the width, with an RBF kernel; None for a kernel PCA.
    X : array-like of shape (n_samples, n_features)
        Samples, with columns scaled as for the kernel.
    rule : str, default="median"
        The rule for the estimator.
    random_state : int or None, default=None
        Seed for a random subset of 1000 samples, which is used if there are more.

    Returns
    -------
    widths : Widths
        ``table``, rule ↦ γ; ``gamma``, that of ``rule``; ``estimator`` with it.

    Examples
    --------
    >>> from mercer import datasets, select
    >>> sorted(select.widths(None, datasets.three_clusters()).table)
    ['median', 'narrow', 'silverman', 'variance', 'wide']
    """
    check_rule("rule", rule, RULES)
    X = np.asarray(X, float)
    if X.ndim != 2 or len(X) < 2:
        raise ValueError(f"Widths need a table of at least two rows, and the shape is {X.shape}.")
    t = _distances(X, np.random.default_rng(random_state))
    table = {name: float(f(t, X)) for name, f in RULES.items()}
    model = KernelPCA() if estimator is None else clone(estimator)
    return Widths(table, rule, table[rule], model.set_params(kernel=RBF(gamma=table[rule])))


def _distances(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the squared distances of all pairs of different samples; 1 if all samples are equal."""
    some = subset(X, MOST_ROWS, rng)
    t = sqdist(some, some)[np.triu_indices(len(some), 1)]
    t = t[t > 0]
    return t if len(t) else np.ones(1)


def _silverman(t: np.ndarray, X: np.ndarray) -> float:
    n, d = X.shape
    variance = float(np.mean(X.var(axis=0))) or 1.0
    return 1 / (2 * variance * (4 / (n * (d + 2))) ** (2 / (d + 4)))


def _most_varied(t: np.ndarray, X: np.ndarray) -> float:
    """Return the γ with the largest variance of exp(−γt): the best of a grid, refined between its neighbours."""
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
