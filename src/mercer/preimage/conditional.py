"""Conditional means of missing values under one Gaussian, whose mean and covariance are estimated by EM.

With P = Σ⁻¹, the missing values m of a row given the others o have the mean μ_m − C P_mo (x_o − μ_o) and the covariance
C = P_mm⁻¹. Rows with similar numbers of missing values are stacked: smaller P_mm are padded by rows of the identity.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .._core.fields import Numbers
from .._core.registry import stored
from .._core.tiles import row_tiles

SHRINKAGE = 0.02  # of the covariance towards a multiple of the identity
MOST_ITER = 30
TOLERANCE = 1e-3  # change of the mean and the covariance, relative to the largest variance
TEMPORARIES = 4  # stacks of matrices in memory at once


@stored("preimage.Conditional")
@dataclass(frozen=True, eq=False)
class Conditional:
    """A Gaussian with mean (d,) and precision matrix P (d, d)."""

    mean: Annotated[np.ndarray, Numbers("d")]
    precision: Annotated[np.ndarray, Numbers("d", "d")]

    @classmethod
    def of(cls, Z: np.ndarray) -> "Conditional":
        """Return the Gaussian of rows with missing values (NaN), by EM."""
        mean, S = np.nanmean(Z, axis=0), np.diag(np.nanvar(Z, axis=0))
        for _ in range(MOST_ITER):
            full, C = cls(mean, _inverse(S))._expected(Z)
            before, mean = (mean, S), full.mean(axis=0)
            S = np.cov(full.T, bias=True).reshape(S.shape) + C / len(Z)
            changed = max(np.abs(mean - before[0]).max() ** 2, np.abs(S - before[1]).max())
            if changed <= TOLERANCE * S.diagonal().max():
                break
        return cls(mean, _inverse(S))

    def __call__(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows with conditional means instead of NaN, and their standard deviations, 0 for known values."""
        full, spread = Z.copy(), np.zeros_like(Z)
        for rows, columns, valid, x, C in self._stacks(Z):
            at = (rows[:, None], columns)
            full[at] = np.where(valid, x, full[at])
            spread[at] = np.where(valid, np.sqrt(np.diagonal(C, axis1=1, axis2=2)), 0.0)
        return full, spread

    def _expected(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the completed rows, and the sum of the conditional covariances: (n, d), (d, d)."""
        full, total = Z.copy(), np.zeros_like(self.precision)
        for rows, columns, valid, x, C in self._stacks(Z):
            at = (rows[:, None], columns)
            full[at] = np.where(valid, x, full[at])
            np.add.at(total, (columns[:, :, None], columns[:, None, :]), C * (valid[:, :, None] & valid[:, None, :]))
        return full, total

    def _stacks(self, Z: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield rows, their missing columns (padded, ``valid`` where they are missing), their means and covariances."""
        missing = np.isnan(Z)
        known = np.where(missing, 0.0, Z - self.mean) @ self.precision
        counts = missing.sum(axis=1)
        order = np.argsort(counts, kind="stable")
        order = order[counts[order] > 0]
        tiles = row_tiles(len(order), TEMPORARIES * int(counts.max()) ** 2) if len(order) else []
        for rows in (order[tile] for tile in tiles):
            columns = np.argsort(~missing[rows], axis=1, kind="stable")[:, : counts[rows].max()]
            valid = np.take_along_axis(missing[rows], columns, axis=1)
            both = valid[:, :, None] & valid[:, None, :]
            P = np.where(both, self.precision[columns[:, :, None], columns[:, None, :]], np.eye(columns.shape[1]))
            C = np.linalg.inv(P)
            g = np.where(valid, np.take_along_axis(known[rows], columns, axis=1), 0.0)
            yield rows, columns, valid, self.mean[columns] - np.einsum("nij,nj->ni", C, g), C


def _inverse(S: np.ndarray) -> np.ndarray:
    """Return the inverse of the covariance, shrunk towards a multiple of the identity."""
    level = max(S.diagonal().mean(), np.finfo(float).tiny)
    return np.linalg.inv((1 - SHRINKAGE) * S + SHRINKAGE * level * np.eye(len(S)))
