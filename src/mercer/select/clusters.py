"""How many clusters a mixture should have, by its likelihood and what its parameters cost."""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

RULES = ("bic", "icl")


class Scores(NamedTuple):
    """What a number of clusters scores; of ``bic`` and ``icl`` less is better."""

    log_likelihood: float
    n_parameters: int
    bic: float
    icl: float


@dataclass(frozen=True)
class ClusterChoice:
    """What each number of clusters scores (``table``), the ``best`` number, and the ``estimator`` fitted with it."""

    table: dict[int, Scores]
    best: int
    estimator: Any

    def plot(self, of="bic", ax=None):
        """Draw a score of each number, ``"bic"``, ``"icl"`` or ``"log_likelihood"``: :func:`mercer.plots.choice`."""
        from ..plots import choice

        table = {k: getattr(row, of) for k, row in self.table.items()}
        return choice(table, self.best, "clusters", of.replace("_", "-"), ax)

    def __str__(self):
        lines = [f"{'clusters':>8}{'log-likelihood':>16}{'parameters':>12}{'BIC':>12}{'ICL':>12}"]
        for k, row in self.table.items():
            mark = "  best" if k == self.best else ""
            lines += [f"{k:>8}{row.log_likelihood:>16.1f}{row.n_parameters:>12}{row.bic:>12.1f}{row.icl:>12.1f}{mark}"]
        return "\n".join(lines)


def n_clusters(model, X, numbers=range(1, 7), *, rule="bic"):
    """Choose the number of clusters of a mixture, at one kernel and one noise variance.

    The log-likelihood L is that of all n rows, up to a constant that all numbers share. With p parameters, BIC =
    −2L + p·log n, and ICL adds twice the entropy of the responsibilities: it wants clusters that do not overlap. The
    feature space may have any number of dimensions; those D in which the rows vary by more than the noise are counted,
    so that a cluster with q axes has D means, Dq − q(q − 1)/2 loadings, and a weight.

    Both choose the number of Gaussians that the density needs. A cluster that is bent in feature space too needs more
    than one: look at the table, where the gain falls off.

    Parameters
    ----------
    model : KernelPCAMixture
        What to choose for; its ``n_components`` is one number, or None. It is not changed.
    X : array-like of shape (n_samples, n_features)
        Rows.
    numbers : sequence of int, default=range(1, 7)
        The numbers of clusters to compare.
    rule : {"bic", "icl"}, default="bic"
        Which score chooses.

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
    if rule not in RULES:
        raise ValueError(f"rule={rule!r}: give one of {', '.join(map(repr, RULES))}.")
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


def _fitted(model, k, X):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The clusters have", UserWarning)  # small clusters have fewer axes: counted
        return clone(model).set_params(n_clusters=k).fit(X)


def _scores(mixture, D):
    R, q = mixture.responsibilities_.astype(float), mixture.n_components_
    n, L = len(R), len(R) * mixture.lower_bound_
    p = int(len(q) - 1 + np.sum(D + D * q - q * (q - 1) // 2))
    bic = -2 * L + p * np.log(n)
    entropy = -np.sum(R * np.log(np.where(R > 0, R, 1)))
    return Scores(float(L), p, float(bic), float(bic + 2 * entropy))
