"""Selection of the number of clusters: by dense regions, or of Gaussians by BIC or ICL."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state

from ..kernels import RBF, as_kernel
from ..models.kernel_pca import KernelPCA
from .arguments import check_rule
from .html import html_table

RULES = ("density", "bic", "icl")
AXES = 5  # components in which dense regions are searched
LEAST_SHARE = 0.1  # smallest share of the samples in a cluster
NEIGHBOURS = 5  # number of neighbours that define the density at a sample
MOST_ROWS = 2000
SUBSAMPLES, SUBSAMPLE = 10, 0.7  # their number, and the share of the samples in each
STABLE = 0.8  # adjusted Rand index of the clusters of subsamples and of all samples, on average


class Scores(NamedTuple):
    """The scores of a number of clusters; lower is better for ``bic`` and ``icl``."""

    log_likelihood: float
    n_parameters: int
    bic: float
    icl: float


@dataclass(frozen=True)
class ClusterChoice:
    """The scores of each number of clusters (``table``), the ``best`` number, and the ``estimator`` fitted with it.

    Examples
    --------
    >>> from mercer import KernelPCAMixture, datasets, select
    >>> from mercer.kernels import RBF
    >>> mixture = KernelPCAMixture(kernel=RBF(2.0), random_state=0)
    >>> choice = select.n_clusters(mixture, datasets.three_clusters(), [2, 3, 4], rule="bic")
    >>> choice.best, {k: round(row.bic) for k, row in choice.table.items()}
    (3, {2: 956, 3: 766, 4: 780})
    """

    table: dict[int, Scores]
    best: int
    estimator: Any

    def plot(self, of: str = "bic", ax: Any = None) -> Any:
        """Draw a score of each number, ``"bic"``, ``"icl"`` or ``"log_likelihood"``: :func:`mercer.plots.choice`."""
        from ..plots import choice

        table = {k: getattr(row, of) for k, row in self.table.items()}
        return choice(table, self.best, "clusters", of.replace("_", "-"), ax)

    def _repr_html_(self) -> str:
        rows = [
            (k, f"{row.log_likelihood:.1f}", row.n_parameters, f"{row.bic:.1f}", f"{row.icl:.1f}")
            for k, row in self.table.items()
        ]
        return html_table(("clusters", "log-likelihood", "parameters", "BIC", "ICL"), rows, f"Best: {self.best}.")

    def __str__(self) -> str:
        lines = [f"{'clusters':>8}{'log-likelihood':>16}{'parameters':>12}{'BIC':>12}{'ICL':>12}"]
        for k, row in self.table.items():
            mark = "  best" if k == self.best else ""
            lines += [f"{k:>8}{row.log_likelihood:>16.1f}{row.n_parameters:>12}{row.bic:>12.1f}{row.icl:>12.1f}{mark}"]
        return "\n".join(lines)


@dataclass(frozen=True)
class DensityChoice:
    """The ``best`` number of clusters, its ``stability``, and the ``estimator`` fitted with it.

    ``table`` has the share of subsamples in which each number of dense regions was found. ``stability`` is the mean
    adjusted Rand index between the regions in subsamples and in all samples: 1 if they are always the same.

    Examples
    --------
    >>> from mercer import KernelPCAMixture, datasets, select
    >>> choice = select.n_clusters(KernelPCAMixture(random_state=0), datasets.three_clusters(0))
    >>> choice.best
    3
    """

    table: dict[int, float]
    best: int
    estimator: Any
    stability: float

    def plot(self, ax: Any = None) -> Any:
        """Draw the share of subsamples for each number: :func:`mercer.plots.choice`."""
        from ..plots import choice

        return choice(self.table, self.best, "clusters", "share of subsamples", ax)

    def _repr_html_(self) -> str:
        rows = [(k, f"{share:.0%}") for k, share in self.table.items()]
        return html_table(("clusters", "share of subsamples"), rows, f"{self}.")

    def __str__(self) -> str:
        shares = ", ".join(f"{k} in {share:.0%}" for k, share in self.table.items())
        if self.best == 1:
            return f"1 cluster: no evidence for more than one (stability {self.stability:.2f}; subsamples: {shares})"
        return f"{self.best} clusters, stability {self.stability:.2f} of 1 (subsamples: {shares})"


def n_clusters(
    model: Any, X: Any, numbers: Iterable[int] = range(1, 7), *, rule: str = "density", random_state: Any = 0
) -> "ClusterChoice | DensityChoice":
    """Choose the number of clusters of a mixture.

    ``"density"`` counts the dense regions that are separated by sparse ones, each with at least a tenth of the samples,
    by HDBSCAN on 5 kernel principal components of median width. It is repeated on 10 subsamples of 70 %: if the regions
    are not reproducible (mean adjusted Rand index below 0.8), or hold less than half of the samples, the answer is 1,
    because there is no evidence for more clusters.

    ``"bic"`` and ``"icl"`` choose the number of Gaussians, at one kernel and one noise variance. L is the
    log-likelihood of all n samples, up to a constant that is the same for all numbers. With p parameters,
    BIC = −2L + p·log n, and ICL adds twice the entropy of the responsibilities, which favours clusters that do not
    overlap. Only the D dimensions of the feature space with more variance than the noise are counted: a cluster with q
    axes has D means, Dq − q(q − 1)/2 loadings, and a weight.

    A cluster that is curved in feature space needs more than one Gaussian: look in the table for the number where the
    improvement becomes small.

    Parameters
    ----------
    model : KernelPCAMixture
        The model; its ``n_components`` must be one number, or None. It is not changed.
    X : array-like of shape (n_samples, n_features)
        Samples.
    numbers : sequence of int, default=range(1, 7)
        The numbers of Gaussians to compare by ``"bic"`` and ``"icl"``.
    rule : {"density", "bic", "icl"}, default="density"
        Whether to count dense regions, or Gaussians with the smallest BIC or ICL.
    random_state : int, RandomState instance or None, default=0
        Seed for the subsamples of ``"density"``.

    Returns
    -------
    choice : DensityChoice or ClusterChoice
        ``best``, the number; ``estimator``, fitted with it; ``table``: the share of subsamples with each number, or
        number ↦ (log_likelihood, n_parameters, bic, icl). ``stability`` of a ``DensityChoice`` says how certain it is.

    Examples
    --------
    >>> from mercer import KernelPCAMixture, datasets, select
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters(0)
    >>> model = KernelPCAMixture(n_components=1, kernel=RBF(gamma=2.0), n_init=4, random_state=0)
    >>> select.n_clusters(model, X).best
    3
    >>> select.n_clusters(model, X, range(1, 5), rule="bic").best
    3
    """
    check_rule("rule", rule, RULES)
    if rule == "density":
        return _by_density(model, X, random_state)
    if not isinstance(model.init, str) or np.ndim(model.n_components):
        raise ValueError(
            "To compare numbers of clusters, init must be a name and n_components one number or None: "
            f"init={model.init!r} and n_components={model.n_components!r} are for one number of clusters."
        )
    whole = clone(model).set_params(n_clusters=1, n_components=None, n_init=1, n_parts=1).fit(X)
    model = clone(model).set_params(kernel=whole.kernel_)
    D = max(int(whole.n_components_[0]), 1)
    fitted = {int(k): _fitted(model, k, X) for k in numbers}
    table = {k: _scores(mixture, D) for k, mixture in fitted.items()}
    best = min(table, key=lambda k: getattr(table[k], rule))
    return ClusterChoice(table, best, fitted[best])


def _by_density(model: Any, X: Any, random_state: Any) -> DensityChoice:
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    Y = _components(model, X)
    Y = Y[np.sort(rng.permutation(len(Y))[:MOST_ROWS])]
    labels, least = _regions(Y), int(SUBSAMPLE * len(Y))
    draws = [np.sort(rng.permutation(len(Y))[:least]) for _ in range(SUBSAMPLES)]
    found = [_regions(Y[rows]) for rows in draws]
    stability = float(np.mean([_agreement(labels[rows], own) for rows, own in zip(draws, found, strict=True)]))
    counts = np.bincount([max(int(own.max()) + 1, 1) for own in found])
    table = {k: float(count) / SUBSAMPLES for k, count in enumerate(counts) if count}
    sound = stability >= STABLE and np.mean(labels >= 0) > 1 / 2
    best = int(labels.max()) + 1 if sound else 1
    return DensityChoice(table, best, _fitted(model, best, X), stability)


def _components(model: Any, X: Any) -> np.ndarray:
    """Return kernel principal components of median width, or those of the model's kernel if it is not radial."""
    kernel = as_kernel(model.kernel)
    kernel = RBF(gamma="median") if kernel.distance is not None else kernel
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about the width, which need not suit the model
        return np.asarray(KernelPCA(AXES, kernel=kernel, random_state=0).fit_transform(X), float)


def _regions(Y: np.ndarray) -> np.ndarray:
    """Return the number of the dense region of each sample, −1 outside."""
    least = max(int(LEAST_SHARE * len(Y)), 2)
    if len(Y) <= NEIGHBOURS or Y.shape[1] == 0:
        return np.full(len(Y), -1)
    return HDBSCAN(min_cluster_size=least, min_samples=NEIGHBOURS, copy=True).fit_predict(Y)


def _agreement(labels: np.ndarray, others: np.ndarray) -> float:
    """Return the adjusted Rand index on the samples inside the regions of both; 0 if there are none."""
    both = (labels >= 0) & (others >= 0)
    return float(adjusted_rand_score(labels[both], others[both])) if both.any() else 0.0


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
