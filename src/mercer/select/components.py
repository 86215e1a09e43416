"""Selection of the number of components, by rules on the spectrum or by cross-validation."""

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from ..models.kernel_pca import KernelPCA
from ..models.probabilistic import ProbabilisticKernelPCA
from ..rkhs import FeatureGaussian
from .arguments import check_rule, splitter
from .html import html_table

ALL_BUT = 0.01  # share of the variance that is ignored: the gap is searched among the components that hold the rest
LITTLE = 0.5  # share of the variance: a gap before this is reported
SHUFFLES = 20  # permutations of each column by itself, which remove all structure between columns
SHOWN_ROWS = 20  # largest number of rows of a table that are printed
CHANCE = 0.95  # quantile of the variance over the permutations
RULES = {
    "variance": "variance left",
    "likelihood": "−log density + constant",
    "gap": "next / this variance",
    "permutation": "variance by chance / this variance",
}


@dataclass(frozen=True)
class ComponentChoice:
    """The score of each number of components (``table``; lower is better), the ``best``, and an estimator with it.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> from mercer.kernels import RBF
    >>> choice = select.n_components(KernelPCA(kernel=RBF(4.0)), datasets.moons(n=60)[0], max_components=4)
    >>> choice.unit, {q: round(score, 3) for q, score in choice.table.items()}
    ('variance left', {1: 0.824, 2: 0.686, 3: 0.562, 4: 0.46})
    """

    table: dict[int, float]
    best: int
    estimator: Any
    unit: str

    def plot(self, ax: Any = None) -> Any:
        """Draw the score of each number: :func:`mercer.plots.choice`."""
        from ..plots import choice

        return choice(self.table, self.best, "components", self.unit, ax)

    def _repr_html_(self) -> str:
        rows = [(q, f"{score:.6g}") for q, score in self._shown()]
        return html_table(("components", self.unit), rows, f"Best: {self.best} of {len(self.table):,} candidates.")

    def __str__(self) -> str:
        lines = [f"{q:>10}  {score:.6g}{'  ←' if q == self.best else ''}" for q, score in self._shown()]
        left = len(self.table) - len(lines)
        return "\n".join([f"components  {self.unit}", *lines, *([f"and {left:,} more in .table"] if left else [])])

    def _shown(self) -> list[tuple[int, float]]:
        """Return the first rows of the table, and those around the best one."""
        rows = list(self.table.items())
        return [row for i, row in enumerate(rows) if i < SHOWN_ROWS or abs(row[0] - self.best) <= 2]


def n_components(
    model: Any,
    X: Any,
    *,
    rule: str = "variance",
    share: float = 0.95,
    max_components: int | None = None,
    cv: Any = 5,
    random_state: int | None = None,
) -> ComponentChoice:
    """Choose the number of components of a model.

    Parameters
    ----------
    model : KernelPCA or ProbabilisticKernelPCA
        The model, whose kernel, centring, solver and noise variance are used. It is not changed.
    X : array-like of shape (n_samples, n_features)
        Samples.
    rule : {"variance", "likelihood", "gap", "permutation"}, default="variance"
        ``"variance"``: the smallest number that holds a ``share`` of the variance. ``"likelihood"``: the number with
        the highest held-out likelihood, at the noise variance of the model if it is a number, else at its estimate on
        all samples. ``"gap"``: the number before the smallest ratio λ_{q+1}/λ_q, among those that hold 99 % of the
        variance. ``"permutation"``: the number of leading components that hold more variance than after 20 random
        permutations of each column (Horn's parallel analysis).
    share : float, default=0.95
        Share of the variance, for ``rule="variance"``.
    max_components : int, default=None
        The largest number to consider; None for all, which needs all eigenvalues.
    cv : int or splitter, default=5
        Folds of ``rule="likelihood"``; one decomposition of each fold is used for all numbers of components.
    random_state : int or None, default=None
        Seed for the folds and the permutations.

    Returns
    -------
    choice : ComponentChoice
        ``table``, the score of each number (lower is better); ``best``; ``estimator`` with ``n_components=best``.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters(0)
    >>> select.n_components(KernelPCA(kernel=RBF(gamma=10.0)), X, rule="gap").best
    2
    """
    check_rule("rule", rule, RULES)
    X = np.asarray(X)
    if max_components is not None and (not isinstance(max_components, Integral) or max_components < 1):
        raise ValueError(f"max_components must be an integer ≥ 1 or None, and {max_components!r} was given.")
    if rule == "likelihood":
        scores, best = _likelihood(model, X, max_components, splitter(cv, random_state))
    elif rule == "permutation":
        scores, best = _permutation(model, X, max_components, np.random.default_rng(random_state))
    elif rule == "gap":
        scores, best = _gap(_spectrum(model, X, max_components))
    else:
        scores, best = _variance(_spectrum(model, X, max_components), share)
    table = {q: float(score) for q, score in enumerate(scores, start=1)}
    return ComponentChoice(table, best, clone(model).set_params(n_components=best), RULES[rule])


def _spectrum(model: Any, X: np.ndarray, q: int | None) -> KernelPCA:
    """Return a fitted kernel PCA with the kernel of the model."""
    solver = "auto" if isinstance(model.solver, str) and model.solver == "em" else model.solver
    kpca = KernelPCA(q, kernel=model.kernel, center=model.center, solver=solver, random_state=model.random_state)
    return kpca.fit(X)


def _variance(kpca: KernelPCA, share: float) -> tuple[np.ndarray, int]:
    """Return the remaining variance, and the smallest number of components that hold the share."""
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, and {share!r} was given.")
    return 1 - np.cumsum(kpca.explained_variance_ratio_), max(kpca.subspace_.holding(share), 1)


def _gap(kpca: KernelPCA) -> tuple[np.ndarray, int]:
    """Return λ_{q+1}/λ_q, and the number where it is smallest."""
    lam = kpca.explained_variance_
    if len(lam) < 2:
        return np.zeros(len(lam)), 1
    falls = lam[1:] / lam[:-1]
    best = int(np.argmin(falls[: max(kpca.subspace_.holding(1 - ALL_BUT), 1)])) + 1
    share = float(kpca.explained_variance_ratio_[:best].sum())
    if share < LITTLE:
        warnings.warn(
            f"The largest gap of the spectrum is after component {best} of {len(lam)}, and the components before it "
            f"hold {share:.0%} of the variance. Use rule='variance' or rule='permutation' to keep more.",
            stacklevel=3,
        )
    return falls, best


def _permutation(model: Any, X: np.ndarray, most: int | None, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return the variances after permutation divided by those before, and the number of leading ratios below 1."""
    kpca = _spectrum(model, X, most)
    shares, fixed = kpca.explained_variance_ratio_, clone(model).set_params(kernel=kpca.kernel_)
    chance = np.zeros((SHUFFLES, len(shares)))
    for row in chance:
        found = _spectrum(fixed, rng.permuted(X, axis=0), len(shares)).explained_variance_ratio_
        row[: len(found)] = found[: len(shares)]
    scores = np.quantile(chance, CHANCE, axis=0) / shares
    return scores, max(int(np.argmax(np.append(scores, 1.0) >= 1)), 1)


def _likelihood(model: Any, X: np.ndarray, most: int | None, folds: Any) -> tuple[np.ndarray, int]:
    """Return the mean held-out −log density at one ρ for 1, 2, … components, and the number where it is smallest."""
    rho = _noise(model, X)
    total = []
    for seen, held in folds.split(X):
        density = FeatureGaussian.of(_spectrum(model, X[seen], most).subspace_, rho)
        total.append(density.energies(X[held]).sum(axis=0) / 2)
    q = max(map(len, total)) - 1
    if q == 0:
        raise ValueError(f"No component has more variance than the noise, {rho:.3g}. Lower noise_variance.")
    # a fold with fewer components above the noise has the same density for all larger numbers
    padded = [np.pad(sums, (0, q + 1 - len(sums)), mode="edge") for sums in total]
    scores = np.sum(padded, axis=0)[1:] / len(X)
    return scores, int(np.argmin(scores)) + 1


def _noise(model: Any, X: np.ndarray) -> float:
    """Return the ρ at which all numbers of components are compared."""
    rho = getattr(model, "noise_variance", "mle")
    if isinstance(rho, str):
        whole = ProbabilisticKernelPCA(noise_variance=rho, kernel=model.kernel, center=model.center)
        rho = whole.fit(X).noise_variance_
    if not rho > 0:
        raise ValueError(
            f"Likelihoods are compared at one noise variance, and here it is {rho}. Give noise_variance a number."
        )
    return float(rho)
