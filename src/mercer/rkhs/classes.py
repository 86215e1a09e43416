"""Densities of several classes that may be compared: subspaces with shrunk covariances, energies, and the rule of ties.

All classes share one kernel and one ρ, because a density in feature space is known up to a constant of these alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._core.blas import single_blas
from .._core.tiles import map_rows
from ..linalg.operators import Covariance, Dense, Gram
from .basis import Moments
from .expansion import Expansion
from .gaussian import FeatureGaussian, energies, energy
from .landmarks import choose
from .subspace import Subspace, principal_subspace, splitter, subspace_of_moments

TIE_POWER = 2 / 3  # of the rounding unit: r² that are nearer than this share of their terms are equal but for rounding
SOFT = 0.01  # of the variance within classes: the least scale of r² in probabilities, where the axes hold all of it
FINER = 1e-4  # of the variance within classes: the noise at which ties of the limiting rule are looked at more closely


def class_subspaces(kernel, X, y, q=None, *, gram=None, weights=None, shrinkage=0.0, solver="auto", rng=None):
    """Return the principal subspace about φ̄_c of (1 − γ)C_c + γ Σₖ pₖCₖ, γ = ``shrinkage``, for each class c.

    ``y`` numbers the class of each row from 0; every class has a row. ``q`` is None (all axes) or one number a class.
    """
    w, members = _weights(X, y, weights)
    q = [None] * members.shape[1] if q is None else q
    most = None if None in q else max(*q, 1)
    chosen = choose(solver, X.shape[0], most)
    if hasattr(chosen, "basis"):
        subspaces = _inside_landmarks(kernel, X, y, w, shrinkage, chosen, most, rng)
    elif shrinkage == 0:
        subspaces = _apart(kernel, X, y, w, gram, q, solver, rng)
    elif shrinkage == 1:
        subspaces = _pooled(kernel, X, y, w, members, gram, most, solver, rng)
    else:
        subspaces = _shrunk(kernel, X, y, w, members, gram, shrinkage, q, solver, rng)
    return [subspace[:qc] for subspace, qc in zip(subspaces, q, strict=True)]


def _weights(X, y, weights):
    """The weights of the rows, which sum to 1, and their membership of the classes: (n,), (n, n_classes)."""
    w = np.full(X.shape[0], 1 / X.shape[0]) if weights is None else weights / weights.sum()
    return w, np.eye(y.max() + 1)[y]


def _mean_weights(w, members):
    """A column for each class, which sums to 1."""
    return members * w[:, None] / (w @ members)


def _at_least_one(q):
    return q if q is None else max(q, 1)


def _apart(kernel, X, y, w, gram, q, solver, rng):
    """γ = 0: each class by itself."""
    for c, qc in enumerate(q):
        rows = np.flatnonzero(y == c)
        own = None if gram is None else Dense(gram.block(rows))
        wc = w[rows] / w[rows].sum()
        yield principal_subspace(kernel, X[rows], _at_least_one(qc), gram=own, weights=wc, solver=solver, rng=rng)


def _shrunk(kernel, X, y, w, members, gram, shrinkage, q, solver, rng):
    """wₙ = (1 − γ)·1[yₙ = c]/n_c + γ/n on all rows, each centred by the mean of its own class."""
    S = _mean_weights(w, members)
    for c, qc in enumerate(q):
        first = np.argsort(np.arange(len(q)) != c, kind="stable")  # the mean of the first group is the subspace's
        wc = (1 - shrinkage) * S[:, c] + shrinkage * w
        yield principal_subspace(
            kernel,
            X,
            _at_least_one(qc),
            gram=gram,
            weights=wc,
            groups=np.argsort(first)[y],
            mean=S[:, first],
            solver=solver,
            rng=rng,
        )


def _pooled(kernel, X, y, w, members, gram, q, solver, rng):
    """γ = 1: one decomposition serves all classes, about different means."""
    S = _mean_weights(w, members)
    pooled = principal_subspace(kernel, X, q, gram=gram, weights=w, groups=y, mean=S, solver=solver, rng=rng)
    for s in S.T.astype(pooled.axes.B.dtype):
        mean = Expansion(kernel, X, s[:, None])
        offset = pooled.axes.inner(mean)[:, 0]
        yield replace(pooled, mean=mean, offset=offset, mean_sqnorm=float(mean.sqnorms()[0]))


def _inside_landmarks(kernel, X, y, w, shrinkage, solver, q, rng):
    """The same covariances inside the span of landmarks that all classes share, from the moments of each class."""
    with single_blas:
        basis = solver.basis(kernel, X, q, w, rng)
        classes = [basis.moments(X[y == c], w[y == c]) for c in range(y.max() + 1)]
    shares = [moments.count for moments in classes]
    about_mean = [_about_mean(moments.scaled(1 / share)) for moments, share in zip(classes, shares, strict=True)]
    pooled = [sum(p * term[i] for p, term in zip(shares, about_mean, strict=True)) for i in (1, 2)]
    for mean, *own in about_mean:
        C, trace = ((1 - shrinkage) * mine + shrinkage * all_ for mine, all_ in zip(own, pooled, strict=True))
        moments = Moments(basis, 1.0, mean, C + np.outer(mean, mean), trace + mean @ mean)
        with single_blas:
            yield subspace_of_moments(moments, q, True, solver)


def _about_mean(moments):
    """f̄, the covariance of f and tr C of rows whose weights sum to 1."""
    mean = moments.first
    return mean, moments.second - np.outer(mean, mean), moments.diagonal - mean @ mean


def variance_within(kernel, X, y, weights=None):
    """Σ_c p_c tr C_c, without a decomposition."""
    w, members = _weights(X, y, weights)
    return float(Covariance(Gram(kernel, X), w, _mean_weights(w, members), y).diag().sum())


def pooled_variance(subspaces, shares):
    """Σ_c p_c tr C_c, which shrinkage leaves as it is: the unit of ρ."""
    return float(sum(p * subspace.total_variance for p, subspace in zip(shares, subspaces, strict=True)))


def feature_gaussians(subspaces, shares, noise_ratio):
    """Return a density for each class, all at ρ = ``noise_ratio`` · Σ_c p_c tr C_c."""
    rho = noise_ratio * pooled_variance(subspaces, shares)
    return [FeatureGaussian.of(subspace, rho) for subspace in subspaces]


def class_joint(densities, X, log_prior, shares):
    """log p_c − ½L̂_c up to a constant of the row (Zhou eq. 21), or −½r²_c/τ at ρ = 0 (eq. 23): (n, n_classes).

    τ, the mean of r² over the training rows, only sets the scale: the limit itself has none.
    """
    subspaces, rho = [density.subspace for density in densities], densities[0].rho
    parts = relative_splits(subspaces, X)
    if rho > 0:
        both = zip(parts, subspaces, strict=True)
        return np.column_stack([-energy(Y, r2, s.variances, rho) / 2 for (Y, r2), s in both]) + log_prior
    variance = pooled_variance(subspaces, shares)
    r2 = np.array([outside for _, outside in parts])
    moved = untied(r2, _closer(parts, subspaces, FINER * variance), log_prior, _tie_width(parts, subspaces))
    left = sum(p * (s.total_variance - s.variances.sum()) for p, s in zip(shares, subspaces, strict=True))
    return -moved.T / (2 * (max(left, SOFT * variance) or 1.0))


def relative_splits(subspaces, X):
    """Y and r² − k(x, x) for each subspace; k(x, x) is the same for all, and rows of a given matrix do not carry it.

    Subspaces on the same anchors share one evaluation of the kernel.
    """
    Zs = {id(s.Z): s.Z for s in subspaces}
    groups = [[c for c, s in enumerate(subspaces) if s.Z is Z] for Z in Zs.values()]
    found: dict = {}
    for group in groups:
        found.update(zip(group, _along([subspaces[c] for c in group], X), strict=True))
    return [found[c] for c in range(len(subspaces))]


def _along(subspaces: Sequence[Subspace], X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return the same for subspaces on the same anchors."""
    parts, width = splitter(subspaces)
    products = map_rows(lambda x: np.hstack([np.column_stack(part) for part in parts(x)]), X, width=width)
    ends = np.cumsum([len(s.variances) + 1 for s in subspaces])[:-1]
    for part in np.split(products, ends, axis=1):
        yield part[:, :-1], part[:, -1]


def _closer(parts, subspaces, rho):
    """L̂ at a small ρ, by which ties are broken; 0 where nothing varies within the classes."""
    if rho == 0:
        return np.zeros((len(parts), len(parts[0][1])))
    both = zip(parts, subspaces, strict=True)
    return np.array([energies(Y, r2, s.variances, [len(s.variances)], [rho])[0, 0] for (Y, r2), s in both])


def _tie_width(parts, subspaces):
    """How near two r² must be to count as equal: well above the rounding of their terms."""
    both = zip(parts, subspaces, strict=True)
    scale = [np.abs(r2) + np.sum(Y**2, axis=1) + s.mean_sqnorm for (Y, r2), s in both]
    return np.finfo(subspaces[0].axes.B.dtype).eps ** TIE_POWER * np.max(scale, axis=0)


def untied(r2, finer, log_prior, width):
    """r² of each class (first axis) with the winner of a tie moved ahead by its width.

    Rows that lie in the subspaces of several classes (duplicates, many axes) have equal r² but for rounding. Of the
    classes within ``width`` of the least r², the one of least ``finer`` energy wins, then the one of largest prior.
    """
    best = r2.min(axis=0)
    near = r2 <= best + width
    finer = np.where(near, finer, np.inf)
    lowest = finer.min(axis=0)
    near &= finer <= lowest + np.sqrt(np.finfo(float).eps) * np.abs(lowest)
    prior = np.where(near, log_prior.reshape(-1, *[1] * (r2.ndim - 1)), -np.inf)
    moved = r2.copy()
    winner = prior.argmax(axis=0)[None]
    np.put_along_axis(moved, winner, np.where(near.sum(axis=0) > 0, best - width, best)[None], axis=0)
    return moved
