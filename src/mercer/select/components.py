"""How many components to keep, by rules that are read off one decomposition, or a few."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, check_cv

from ..models.kernel_pca import KernelPCA
from ..models.probabilistic import ProbabilisticKernelPCA
from ..rkhs import FeatureGaussian

ALL_BUT = 0.01  # of the variance: the gap is sought among the components that hold the rest
SHUFFLES = 20  # of each column by itself, which leave no structure but that of chance
CHANCE = 0.95  # of the shuffles have a component of less variance
RULES = {
    "variance": "variance left",
    "likelihood": "−log density + constant",
    "gap": "next / this variance",
    "permutation": "variance by chance / this variance",
}


@dataclass(frozen=True)
class ComponentChoice:
    """What each number of components scores (``table``: less is better), the ``best`` and an estimator that has it."""

    table: dict[int, float]
    best: int
    estimator: Any
    unit: str

    def plot(self, ax=None):
        """Draw the score of each number: :func:`mercer.plots.choice`."""
        from ..plots import choice

        return choice(self.table, self.best, "components", self.unit, ax)

    def __str__(self):
        lines = [f"{q:>10}  {score:.6g}{'  ←' if q == self.best else ''}" for q, score in self.table.items()]
        return "\n".join([f"components  {self.unit}", *lines])


def n_components(model, X, *, rule="variance", share=0.95, max_components=None, cv=5, random_state=None):
    """Choose the number of components of a model.

    Parameters
    ----------
    model : KernelPCA or ProbabilisticKernelPCA
        What to choose for: its kernel, centring, solver and noise variance are used. It is not changed.
    X : array-like of shape (n_samples, n_features)
        Rows.
    rule : {"variance", "likelihood", "gap", "permutation"}, default="variance"
        ``"variance"``: the fewest that hold a ``share`` of the variance. ``"likelihood"``: the most likely number on
        rows that were held out, at one noise variance: that of the model if it is a number, else the one that it finds
        on all rows. ``"gap"``: the number before the steepest fall λ_{q+1}/λ_q, among those that hold 99 % of the
        variance. ``"permutation"``: the leading ones that hold more of the variance than they would by chance, which
        20 shuffles of each column by itself tell (Horn's parallel analysis).
    share : float, default=0.95
        Share of the variance, for ``rule="variance"``.
    max_components : int, default=None
        The largest number to consider; None for all, which takes the whole spectrum.
    cv : int or splitter, default=5
        Folds of ``rule="likelihood"``. Each is decomposed once, for all numbers of components.
    random_state : int or None, default=None
        Seed of the folds and of the shuffles.

    Returns
    -------
    choice : ComponentChoice
        ``table``, what each number scores (less is better); ``best``; ``estimator`` with ``n_components=best``.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters(0)
    >>> select.n_components(KernelPCA(kernel=RBF(gamma=10.0)), X, rule="gap").best
    2
    """
    if rule not in RULES:
        raise ValueError(f"rule={rule!r}: give one of {', '.join(map(repr, RULES))}.")
    X = np.asarray(X)
    if max_components is not None and (not isinstance(max_components, Integral) or max_components < 1):
        raise ValueError(f"max_components must be an integer ≥ 1 or None, and {max_components!r} was given.")
    if rule == "likelihood":
        folds = KFold(cv, shuffle=True, random_state=random_state) if isinstance(cv, Integral) else check_cv(cv)
        scores, best = _likelihood(model, X, max_components, folds)
    elif rule == "permutation":
        scores, best = _permutation(model, X, max_components, np.random.default_rng(random_state))
    elif rule == "gap":
        scores, best = _gap(_spectrum(model, X, max_components))
    else:
        scores, best = _variance(_spectrum(model, X, max_components), share)
    table = {q: float(score) for q, score in enumerate(scores, start=1)}
    return ComponentChoice(table, best, clone(model).set_params(n_components=best), RULES[rule])


def _spectrum(model, X, q):
    """A kernel PCA with the kernel of the model, fitted."""
    solver = "auto" if isinstance(model.solver, str) and model.solver == "em" else model.solver
    kpca = KernelPCA(q, kernel=model.kernel, center=model.center, solver=solver, random_state=model.random_state)
    return kpca.fit(X)


def _variance(kpca, share):
    """What is left of the variance, and the fewest components that leave no more than 1 − share of it."""
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, and {share!r} was given.")
    return 1 - np.cumsum(kpca.explained_variance_ratio_), max(kpca.subspace_.holding(share), 1)


def _gap(kpca):
    """λ_{q+1}/λ_q, and where it is least among the components that hold all but a hundredth of the variance."""
    lam = kpca.explained_variance_
    if len(lam) < 2:
        return np.zeros(len(lam)), 1
    falls = lam[1:] / lam[:-1]
    return falls, int(np.argmin(falls[: max(kpca.subspace_.holding(1 - ALL_BUT), 1)])) + 1


def _permutation(model, X, most, rng):
    """The share of a component by chance over its share, and the number of leading ones before this reaches 1."""
    kpca = _spectrum(model, X, most)
    shares, fixed = kpca.explained_variance_ratio_, clone(model).set_params(kernel=kpca.kernel_)
    chance = np.zeros((SHUFFLES, len(shares)))
    for row in chance:
        found = _spectrum(fixed, rng.permuted(X, axis=0), len(shares)).explained_variance_ratio_
        row[: len(found)] = found[: len(shares)]
    scores = np.quantile(chance, CHANCE, axis=0) / shares
    return scores, max(int(np.argmax(np.append(scores, 1.0) >= 1)), 1)


def _likelihood(model, X, most, folds):
    """Mean −log density of rows held out, at one ρ, for 1, 2, … components; and where it is least."""
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


def _noise(model, X):
    """The one ρ at which all numbers of components are compared."""
    rho = getattr(model, "noise_variance", "mle")
    if isinstance(rho, str):
        whole = ProbabilisticKernelPCA(noise_variance=rho, kernel=model.kernel, center=model.center)
        rho = whole.fit(X).noise_variance_
    if not rho > 0:
        raise ValueError(
            f"Likelihoods are compared at one noise variance, and here it is {rho}. Give noise_variance a number."
        )
    return float(rho)
