"""Coordinates, distances and densities of rows on tensors of a graph, by mercer's own functions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ...rkhs import FeatureGaussian, Subspace
from ...rkhs.classes import FINER, TIE_POWER, limit_scale, pooled_variance
from ...rkhs.gaussian import energy
from ...rkhs.subspace import splitter
from . import namespace as xp
from .graph import Tensor


def in_graph(subspace: Subspace, x: Tensor) -> Subspace:
    """Return the subspace with its arrays as constants of the graph, in the dtype that the graph computes in."""
    _check_kernel(subspace.kernel)

    def constant(array: Any) -> Tensor:
        dense = array.toarray() if issparse(array) else np.asarray(array)
        return Tensor(x.graph, dense.astype(x.dtype))

    return replace(subspace, moments=None).moved(constant)


def _check_kernel(kernel: Any) -> None:
    if not kernel.portable:
        raise ValueError(
            f"A model with the kernel {kernel!r} cannot be converted to ONNX: functions, precomputed matrices and "
            "kernels that other packages compute have no formula that a graph could hold. Use a kernel of "
            "mercer.kernels such as RBF, or a subclass of Radial or Projective."
        )


def coordinates(subspace: Subspace, x: Tensor) -> Tensor:
    """Return k(x, Z)B − offset: (n, q)."""
    if len(subspace.axes) == 0:
        raise ValueError("A model without components has no coordinates that ONNX could return. Fit it to other data.")
    subspace = in_graph(subspace, x)
    k_B, _ = subspace.kernel.product(subspace.Z, subspace.axes.B)
    return k_B(x) - subspace.offset


def relative_split(subspace: Subspace, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return Y and r² − k(x, x): (n, q), (n,)."""
    parts, _ = splitter([in_graph(subspace, x)])
    ((Y, r2),) = parts(x)
    return Y, r2


def split(subspace: Subspace, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return Y and r²: (n, q), (n,)."""
    Y, r2 = relative_split(subspace, x)
    return Y, xp.clip(in_graph(subspace, x).kernel.diag(x) + r2, 0)


def density_energy(density: FeatureGaussian, x: Tensor) -> Tensor:
    """Return L̂ of Zhou eq. 16, or r² if ρ = 0."""
    return energy(*split(density.subspace, x), in_graph(density.subspace, x).variances, density.rho)


def columns(parts: Sequence[Tensor]) -> Tensor:
    """Return vectors side by side."""
    return xp.concat([part[:, None] for part in parts], axis=1)


def log_sum_exp(logs: Tensor) -> Tensor:
    """Return log Σ exp of each row."""
    largest = xp.max(logs, axis=1, keepdims=True)
    return xp.log(xp.sum(xp.exp(logs - largest), axis=1)) + largest[:, 0]


def joint_of_classes(densities: Sequence[FeatureGaussian], x: Tensor, log_prior: Any, shares: Any) -> Tensor:
    """Return the result of :func:`mercer.rkhs.classes.class_joint`: (n, n_classes)."""
    subspaces, rho = [density.subspace for density in densities], densities[0].rho
    parts = [relative_split(subspace, x) for subspace in subspaces]
    if rho == 0:
        return _limit(parts, subspaces, log_prior, shares)
    both = zip(parts, subspaces, strict=True)
    energies = [energy(Y, r2, in_graph(s, x).variances, rho) for (Y, r2), s in both]
    return columns(energies) * -0.5 + log_prior


def _limit(parts: Sequence, subspaces: Sequence[Subspace], log_prior: np.ndarray, shares: Any) -> Tensor:
    """Return −½r²/τ of the limiting rule (Zhou eq. 23), ties broken as :func:`mercer.rkhs.classes.untied` does."""
    variance = pooled_variance(subspaces, shares)
    r2 = columns([part for _, part in parts])
    scale = columns([xp.abs(r2) + xp.sum(Y * Y, axis=1) + s.mean_sqnorm
                     for (Y, r2), s in zip(parts, subspaces, strict=True)])  # fmt: skip
    width = float(np.finfo(subspaces[0].axes.B.dtype).eps ** TIE_POWER) * xp.max(scale, axis=1, keepdims=True)
    best = xp.min(r2, axis=1, keepdims=True)
    near = r2 <= best + width
    finer = xp.where(near, _finer(parts, subspaces, FINER * variance), np.inf)
    lowest = xp.min(finer, axis=1, keepdims=True)
    near = near & (finer <= lowest + float(np.finfo(float).eps ** 0.5) * xp.abs(lowest))
    winner = xp.argmax(xp.where(near, log_prior, -np.inf), axis=1)
    moved = xp.where(winner[:, None] == np.arange(len(parts)), best - width, r2)
    return moved * (-0.5 / limit_scale(subspaces, shares))


def _finer(parts: Sequence, subspaces: Sequence[Subspace], rho: float) -> Tensor:
    """Return L̂ at a small ρ, by which ties are broken; 0 if nothing varies within the classes."""
    if rho == 0:
        return columns([r2 * 0.0 for _, r2 in parts])
    energies = []
    for (Y, r2), s in zip(parts, subspaces, strict=True):
        above = s.variances > rho
        weights = 1 / np.where(above, s.variances, rho)  # axes within the noise count as noise
        energies.append(xp.sum(Y * Y * weights, axis=1) + r2 / rho + float(np.log(s.variances[above] / rho).sum()))
    return columns(energies)
