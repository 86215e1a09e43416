"""EM for mixtures in feature space (Zhou eq. 17–20): its steps, its end, and where it starts."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from .._core.blas import single_blas
from .._core.tiles import followed
from .mixture import Component, FeatureMixture, component, component_energies, density, posterior

EMPTY = 1e-10  # of all rows: a component of less weight has lost its rows
LLOYD = 100  # rounds of k-means, which only has to give a start


@dataclass(frozen=True, eq=False)
class Step:
    """Where EM stands after an iteration: the parameters, and what follows from them for the rows.

    ``bound`` is the mean log-likelihood of the rows, ``R`` their responsibilities, both under these parameters;
    ``filled`` tells that a component which had lost its rows was given one, so that the bound may have fallen.
    """

    weights: np.ndarray
    components: list[Component]
    R: np.ndarray
    log_p: np.ndarray
    bound: float
    filled: bool

    def mixture(self, coordinates):
        """The mixture that takes new rows."""
        return FeatureMixture(self.weights, tuple(density(coordinates, c) for c in self.components))


def em(coordinates, R, q, rho, w):
    """Yield the steps of EM from responsibilities R, for ever (Zhou eq. 17–20).

    ``q`` has a number of axes for each component, ``w`` a weight for each row, summing to 1. A component that loses all
    its rows is given the row that is explained worst; when it loses that too, it is dropped.
    """
    q = list(q)[: R.shape[1]]
    R, lives, filled = _refilled(R, np.zeros(len(R)), w, np.ones(R.shape[1]))
    while True:
        m = w @ R
        alive = m > EMPTY
        R, m, lives = R[:, alive], m[alive], lives[alive]
        q = [each for each, lives_on in zip(q, alive, strict=True) if lives_on]
        weights = m / m.sum()
        components = [component(coordinates, w * r / (w @ r), each, rho) for r, each in zip(R.T, q, strict=True)]
        R, log_p = posterior(np.log(weights) - component_energies(coordinates, components) / 2)
        yield Step(weights, components, R, log_p, float(w @ log_p), filled)
        R, lives, filled = _refilled(R, log_p, w, lives)


def _refilled(R, log_p, w, lives):
    """Responsibilities where every component that lost its rows, and has a life left, has the worst row for its own."""
    lost = np.flatnonzero((w @ R <= EMPTY) & (lives > 0))
    if len(lost) == 0:
        return R, lives, False
    R, lives = R.copy(), lives.copy()
    R[np.argsort(log_p)[: len(lost)]] = np.eye(R.shape[1])[lost[: len(R)]]
    lives[lost] -= 1
    return R, lives, True


@dataclass(frozen=True, eq=False)
class Run:
    """EM from one start: its last step, the bound after each, and whether it had converged."""

    last: Step
    bounds: list[float]
    converged: bool


def run(steps, tol, max_iter):
    """Take the steps until the bound grows, or every responsibility changes, by no more than ``tol``."""
    bounds: list[float] = []
    before = None
    for step in islice(steps, max_iter):
        bounds.append(step.bound)
        if before is not None and not step.filled and step.R.shape == before.R.shape:
            moved = np.abs(step.R - before.R).max(initial=0.0)
            if step.bound - before.bound <= tol or moved <= tol:
                return Run(step, bounds, True)
        before = step
    return Run(step, bounds, False)


def best_run(starts: list[Callable], steps, tol, max_iter):
    """The run of the highest bound: ``steps(start())`` are those of EM from a start."""
    runs = (run(steps(start()), tol, max_iter) for start in followed("starts of EM", starts))
    with single_blas:
        return max(runs, key=lambda run: run.bounds[-1])


def by_chance(coordinates, k, w, rng):
    """Responsibilities drawn evenly from all there are: (n, k)."""
    return rng.dirichlet(np.ones(k), len(w))


def by_kmeans(coordinates, k, w, rng):
    """Responsibilities 0 and 1 by k-means in feature space, whose first centres are drawn far apart: (n, k)."""
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


def _seeds(F, k, w, rng):
    """Row numbers, each drawn with probability w times its squared distance to those before it (k-means++)."""
    seeds, p = [], w
    nearest = np.full(len(F), np.inf)
    for _ in range(k):
        seeds.append(int(rng.choice(len(F), p=p / p.sum())))
        nearest = np.minimum(nearest, np.sum((F - F[seeds[-1]]) ** 2, axis=1))
        p = w * nearest if np.any(w * nearest > 0) else w
    return seeds
