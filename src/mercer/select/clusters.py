"""Selection of the number of clusters of a mixture by BIC or ICL."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .arguments import check_rule

RULES = ("bic", "icl")


class Scores(NamedTuple):
    """The scores of a number of clusters; lower is better for ``bic`` and ``icl``."""

    log_likelihood: float
    n_parameters: int
    bic: float
    icl: float


@dataclass(frozen=True)
class ClusterChoice:
    """The scores of each number of clusters (``table``), the ``best`` number, and the ``estimator`` fitted with it."""

    table: dict[int, Scores]
    best: int
    estimator: Any

    def plot(self, of: str = "bic", ax: Any = None) -> Any:
        """Draw a score of each number, ``"bic"``, ``"icl"`` or ``"log_likelihood"``: :func:`mercer.plots.choice`."""
        from ..plots import choice

        table = {k: getattr(row, of) for k, row in self.table.items()}
        return choice(table, self.best, "clusters", of.replace("_", "-"), ax)

    def __str__(self) -> str:
        lines = [f"{'clusters':>8}{'log-likelihood':>16}{'parameters':>12}{'BIC':>12}{'ICL':>12}"]
        for k, row in self.table.items():
            mark = "  best" if k == self.best else ""
            lines += [f"{k:>8}{row.log_likelihood:>16.1f}{row.n_parameters:>12}{row.bic:>12.1f}{row.icl:>12.1f}{mark}"]
        return "\n".join(lines)


def n_clusters(model: Any, X: Any, numbers: Iterable[int] = range(1, 7), *, rule: str = "bic") -> ClusterChoice:
    """Choose the number of clusters of a mixture, at one kernel and one noise variance.

    L is the log-likelihood of all n samples, up to a constant that is the same for all numbers. With p parameters,
    BIC = −2L + p·log n, and ICL adds twice the entropy of the responsibilities, which favours clusters that do not
    overlap. Only the D dimensions of the feature space with more variance than the noise are counted: a cluster with q
    axes has D means, Dq − q(q − 1)/2 loadings, and a weight.

    Both choose the number of Gaussians that the density needs. A cluster that is curved in feature space needs more
    than one: look in the table for the number where the improvement becomes small.

    Parameters
    ----------
    model : KernelPCAMixture
        The model; its ``n_components`` must be one number, or None. It is not changed.
    X : array-like of shape (n_samples, n_features)
        Samples.
    numbers : sequence of int, default=range(1, 7)
        The numbers of clusters to compare.
    rule : {"bic", "icl"}, default="bic"
        The score to minimise.

    Returns
    -------
    choice : ClusterChoice
        ``table``, number ↦ (log_likelihood, n_parameters, bic, icl); ``best``; ``estimator``, fitted with that number.

    Examples
    --------
    >>> from mercer import KernelPCAMixture, datasets, select
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters(0)
    >>> model = KernelPCAMixture(n_components=1, kernel=RBF(gamma=2.0), n_init=4, random_state=0)
    >>> select.n_clusters(model, X, range(1, 5)).best
    3
    """
    check_rule("rule", rule, RULES)
    if not isinstance(model.init, str) or np.ndim(model.n_components):
        raise ValueError(
            "To compare numbers of clusters, init must be a name and n_components one number or None: "
            f"init={model.init!r} and n_components={model.n_components!r} are for one number of clusters."
        )
    whole = clone(model).set_params(n_clusters=1, n_components=None, n_init=1).fit(X)
    model = clone(model).set_params(kernel=whole.kernel_)
    D = max(int(whole.n_components_[0]), 1)
    fitted = {int(k): _fitted(model, k, X) for k in numbers}
    table = {k: _scores(mixture, D) for k, mixture in fitted.items()}
    best = min(table, key=lambda k: getattr(table[k], rule))
    return ClusterChoice(table, best, fitted[best])


def _fitted(model: Any, k: int, X: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The clusters have", UserWarning)  # small clusters may have fewer axes
        return clone(model).set_params(n_clusters=k).fit(X)


def _scores(mixture: Any, D: int) -> Scores:
    R, q = mixture.responsibilities_.astype(float), mixture.n_components_
    n, L = len(R), len(R) * mixture.lower_bound_
    p = int(len(q) - 1 + np.sum(D + D * q - q * (q - 1) // 2))
    bic = -2 * L + p * np.log(n)
    entropy = -np.sum(R * np.log(np.where(R > 0, R, 1)))
    return Scores(float(L), p, float(bic), float(bic + 2 * entropy))
