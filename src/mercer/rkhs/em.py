"""EM for mixtures in feature space (Zhou eq. 17–20): initialisation, iterations and convergence."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from .._core.arrays import Array
from .._core.blas import single_blas
from .._core.checkpoints import Checkpoint
from .._core.tiles import followed, map_rows
from ..kernels import Kernel
from ..kernels.base import in_float64
from ..kernels.width import NEIGHBOUR
from .basis import Coordinates
from .mixture import Component, FeatureMixture, component_energies, components, density, posterior

EMPTY = 1e-10  # relative to the weight of all rows: a component with less weight has lost its rows
SPECTRAL_ROWS = 1500  # largest number of rows whose affinities are stored and decomposed
KMEANS = 3  # starts of k-means on spectral coordinates
LLOYD = 100  # iterations of k-means, which only initialises EM


@dataclass(frozen=True, eq=False)
class MixtureStep:
    """The state of EM after an iteration: the parameters, and the responsibilities and likelihood under them.

    ``bound`` is the mean log-likelihood of the rows, ``R`` their responsibilities; ``filled`` is True if a component
    without rows was given one, so that the bound may have decreased. ``clusters`` has the cluster of each component.
    """

    weights: np.ndarray
    components: list[Component]
    R: np.ndarray
    log_p: np.ndarray
    bound: float
    filled: bool
    clusters: np.ndarray

    def mixture(self, coordinates: Coordinates) -> FeatureMixture:
        """Return the mixture as a density that can be evaluated at new rows, with clusters numbered from 0."""
        clusters = np.unique(self.clusters, return_inverse=True)[1]
        return FeatureMixture(self.weights, tuple(density(coordinates, c) for c in self.components), clusters)


def em(
    coordinates: Coordinates,
    R: np.ndarray,
    q: Sequence[int | None],
    rho: float,
    w: np.ndarray,
    update: Callable[..., list[Component]] = components,
    clusters: np.ndarray | None = None,
) -> Iterator[MixtureStep]:
    """Yield the iterations of EM from responsibilities R, without end (Zhou eq. 17–20).

    ``update`` computes the components from the weights of the rows and the previous components: :func:`components`
    returns the best ones, :func:`loading_steps` takes one step of eq. 11.

    ``q`` has the number of axes of each cluster, ``w`` the weight of each row, summing to 1. ``clusters`` has the
    cluster of each component; by default each component is a cluster. The density of a cluster is the sum of its
    components, so that EM for the clusters is EM for all components. A component that loses all its rows is dropped. If
    it is the only one of its cluster, it first gets the row with the lowest likelihood, and is dropped if it loses this
    row too.
    """
    clusters = np.arange(R.shape[1]) if clusters is None else clusters
    lives = (np.bincount(clusters)[clusters] == 1).astype(float)
    R, lives, filled = _refilled(R, np.zeros(len(R)), w, lives)
    found: list = [None] * R.shape[1]
    while True:
        m = w @ R
        alive = m > EMPTY
        R, m, lives, clusters = R[:, alive], m[alive], lives[alive], clusters[alive]
        before = [last for last, lives_on in zip(found, alive, strict=True) if lives_on]
        weights, shares = m / m.sum(), np.array([w * r / (w @ r) for r in R.T])
        found = update(coordinates, shares, [q[c] for c in clusters], rho, before)
        R, log_p = posterior(np.log(weights) - component_energies(coordinates, found) / 2)
        yield MixtureStep(weights, found, R, log_p, float(w @ log_p), filled, clusters)
        R, lives, filled = _refilled(R, log_p, w, lives)


def _refilled(
    R: np.ndarray, log_p: np.ndarray, w: np.ndarray, lives: np.ndarray
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Assign the row with the lowest likelihood to each component that lost its rows for the first time."""
    lost = np.flatnonzero((w @ R <= EMPTY) & (lives > 0))
    if len(lost) == 0:
        return R, lives, False
    R, lives = R.copy(), lives.copy()
    R[np.argsort(log_p)[: len(lost)]] = np.eye(R.shape[1])[lost[: len(R)]]
    lives[lost] -= 1
    return R, lives, True


Start = tuple[np.ndarray, np.ndarray]  # responsibilities, and the cluster of each column
Steps = Callable[..., Iterator[MixtureStep]]


@dataclass(frozen=True, eq=False)
class Run:
    """EM from one start: the last iteration, the bound after each, and whether it converged."""

    last: MixtureStep
    bounds: list[float]
    converged: bool


def run(start: Start, steps: Steps, tol: float, max_iter: int, *settings: Any) -> Run:
    """Iterate from a start until the bound increases, or all responsibilities change, by at most ``tol``.

    ``settings`` and the start identify the run, for its checkpoint.
    """
    R, clusters = start
    checkpoint = Checkpoint("em", R, clusters, tol, *settings)
    kept = checkpoint.read() or {"R": R, "clusters": clusters, "bounds": np.empty(0)}
    bounds: list[float] = kept["bounds"].tolist()[: max_iter - 1]
    before = None
    for step in islice(steps(kept["R"], clusters=kept["clusters"]), max_iter - len(bounds)):
        bounds.append(step.bound)
        checkpoint.write(R=step.R, clusters=step.clusters, bounds=bounds)
        if before is not None and not step.filled and step.R.shape == before.R.shape:
            moved = np.abs(step.R - before.R).max(initial=0.0)
            if step.bound - before.bound <= tol or moved <= tol:
                return Run(step, bounds, True)
        before = step
    return Run(step, bounds, False)


def best_run(starts: Sequence[Callable[[], Start]], steps: Steps, tol: float, max_iter: int, *settings: Any) -> Run:
    """Return the run of the highest bound; ``steps`` are the iterations from the responsibilities of a start."""
    runs = (run(start(), steps, tol, max_iter, *settings) for start in followed("starts of EM", starts))
    with single_blas:
        return max(runs, key=lambda run: run.bounds[-1])


def in_parts(
    R: np.ndarray, p: int, coordinates: Coordinates, w: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Split each cluster into p parts by k-means in feature space.

    Return the responsibilities and the cluster of each part: (n, k·p), (k·p,). In a cluster with fewer than p distinct
    rows, some parts have no rows, and EM drops them.
    """
    clusters = np.repeat(np.arange(R.shape[1]), p)
    if p == 1:
        return R, clusters
    parts = [by_kmeans(coordinates, p, w * r if np.any(w * r) else w, rng) for r in R.T]
    return np.hstack([r[:, None] * own for r, own in zip(R.T, parts, strict=True)]), clusters


def by_chance(coordinates: Coordinates, k: int, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw responsibilities from the uniform distribution: (n, k)."""
    return rng.dirichlet(np.ones(k), len(w))


def by_kmeans(coordinates: Coordinates, k: int, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return responsibilities 0 and 1 by k-means in feature space, initialised by k-means++: (n, k)."""
    F = coordinates.F
    centres = F[_seeds(F, k, w, rng)]
    labels = None
    for _ in range(LLOYD):
        previous, labels = labels, np.argmin(np.sum(centres**2, axis=1) - 2 * F @ centres.T, axis=1)
        if previous is not None and np.array_equal(labels, previous):
            break
        R = w[:, None] * np.eye(k)[labels]
        held = R.sum(axis=0) > 0
        centres[held] = (R.T @ F)[held] / R.sum(axis=0)[held, None]
    return np.eye(k)[labels]


def by_spectrum(points: Array, coordinates: Coordinates, k: int, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return responsibilities 0 and 1 by spectral clustering of the rows ``points``: (n, k).

    The affinity of two rows is exp(−d²/s), s the median of d² to the 10th neighbour: this separates curved and nested
    clusters for every width of the kernel. Rows far from all others can then become clusters of their own. If a cluster
    has fewer than 10 rows (or n/2k, if that is less), each row is therefore connected to its 10 nearest neighbours at
    any distance instead. With many rows, a random subset is clustered, and each other row gets the cluster of the
    nearest one in feature space.
    """
    n = len(w)
    some = np.arange(n) if n <= SPECTRAL_ROWS else np.sort(rng.choice(n, SPECTRAL_ROWS, replace=False))
    t, seed = distances(coordinates.kernel, points[some]), int(rng.integers(2**31))
    labels = _spectral_labels(affinities(t), k, seed)
    if np.bincount(labels, minlength=min(k, len(t))).min() < min(NEIGHBOUR, len(t) // (2 * k)):
        labels = _spectral_labels(neighbourhood(t), k, seed)
    if len(some) < n:
        F = coordinates.F[some]
        half = np.sum(F**2, axis=1) / 2
        labels = labels[map_rows(lambda f: np.argmax(f @ F.T - half, axis=1), coordinates.F, width=len(some))]
    return np.eye(k)[labels]


def distances(kernel: Kernel, Z: Array) -> np.ndarray:
    """Return the distances that a radial kernel is a function of, or the squared ones in feature space."""
    if kernel.distance is not None:
        return np.asarray(kernel.distance(in_float64(Z), in_float64(Z)))
    K = np.asarray(kernel(in_float64(Z), in_float64(Z)))
    return np.maximum(K.diagonal()[:, None] + K.diagonal() - 2 * K, 0)


def affinities(t: np.ndarray) -> np.ndarray:
    """Return exp(−t/s), s the median of t to the 10th neighbour."""
    s = np.median(_tenth(t))
    return np.exp(-t / (s or 1.0))


def neighbourhood(t: np.ndarray) -> np.ndarray:
    """Return 1 for two rows that are both among the 10 neighbours of the other, ½ if one is, and 0 for others."""
    near = (t <= _tenth(t)[:, None]).astype(float)
    return (near + near.T) / 2


def _tenth(t: np.ndarray) -> np.ndarray:
    neighbour = min(NEIGHBOUR, len(t) - 1)
    return np.partition(t, neighbour, axis=1)[:, neighbour]


def _spectral_labels(A: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return clusters by k-means of the k leading eigenvectors of D^{−½}AD^{−½}, with rows of length 1."""
    from sklearn.cluster import KMeans

    n, root = len(A), np.sqrt(A.sum(axis=1))
    U = eigh(A / root[:, None] / root, subset_by_index=[max(n - k, 0), n - 1])[1]
    U = U / np.maximum(np.linalg.norm(U, axis=1, keepdims=True), np.finfo(float).tiny)
    kmeans = KMeans(min(k, n), n_init=KMEANS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        return kmeans.fit_predict(U)


def _seeds(F: np.ndarray, k: int, w: np.ndarray, rng: np.random.Generator) -> list[int]:
    """Draw k row numbers, each with probability ∝ w times the squared distance to the nearest drawn one (k-means++)."""
    seeds, p = [], w
    nearest = np.full(len(F), np.inf)
    for _ in range(k):
        seeds.append(int(rng.choice(len(F), p=p / p.sum())))
        nearest = np.minimum(nearest, np.sum((F - F[seeds[-1]]) ** 2, axis=1))
        p = w * nearest if np.any(w * nearest > 0) else w
    return seeds
