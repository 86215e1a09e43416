"""Classification of held-out rows, for cross-validation on one kernel matrix.

One decomposition for each class and shrinkage gives the results for all numbers of axes, noise variances and priors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..linalg.ritz import EPS
from .classes import FINER, SOFT, TIE_POWER, untied
from .gaussian import energies

BELOW_NOISE = 1e-4  # relative to the lowest noise: a direction with less variance does not change the result


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The axes of a class and the held-out rows: variances λ, coordinates Y, and r² to the span of all axes."""

    lam: np.ndarray
    Y: np.ndarray
    r2: np.ndarray


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The held-out rows ``held``, and the training rows ``rows`` with classes ``y``, of the kernel matrix K.

    ``least`` is the lowest noise that will be used, as a share of the variance within classes.
    """

    K: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    held: np.ndarray
    least: float = 0.0

    @cached_property
    def _S(self) -> np.ndarray:
        """Mean weights: a column for each class."""
        members = np.eye(self.y.max() + 1)[self.y]
        return members / members.sum(axis=0)

    @cached_property
    def shares(self) -> np.ndarray:
        """p_c, the shares of the classes."""
        return np.bincount(self.y) / len(self.y)

    @cached_property
    def _K_rows(self) -> np.ndarray:
        return self.K[np.ix_(self.rows, self.rows)]

    @cached_property
    def _KS(self) -> np.ndarray:
        """⟨φ, φ̄_c⟩ of the rows."""
        return self._K_rows @ self._S

    @cached_property
    def _SKS(self) -> np.ndarray:
        """⟨φ̄_k, φ̄_c⟩."""
        return self._S.T @ self._KS

    @cached_property
    def _M(self) -> np.ndarray:
        """⟨φ_i − φ̄, φ_j − φ̄⟩, each row about the mean of its own class."""
        across = self._KS[:, self.y]
        return self._K_rows - across - across.T + self._SKS[np.ix_(self.y, self.y)]

    @cached_property
    def _seen(self) -> tuple[np.ndarray, np.ndarray]:
        """k(x, ·) of the held-out rows, and their products with the means."""
        k = self.K[np.ix_(self.held, self.rows)]
        return k, k @ self._S

    def _products(self, c: int) -> np.ndarray:
        """⟨φ(x) − φ̄_c, φ_j − φ̄⟩ of held-out rows x."""
        k, kS = self._seen
        return k - kS[:, self.y] - self._KS[:, c] + self._SKS[c, self.y]

    def _distances(self, c: int) -> np.ndarray:
        """‖φ(x) − φ̄_c‖²."""
        return self.K.diagonal()[self.held] - 2 * self._seen[1][:, c] + self._SKS[c, c]

    @cached_property
    def variance(self) -> float:
        """Σ_c p_c tr C_c, the unit of ρ."""
        return float(self._M.trace()) / len(self.y)

    @cached_property
    def tie_width(self) -> np.ndarray:
        """The difference up to which two r² count as equal."""
        return EPS**TIE_POWER * (self.K.diagonal()[self.held] + self._SKS.diagonal().max())

    def spectra(self, shrinkage: float) -> list[Spectrum]:
        """Return the spectrum of (1 − γ)C_c + γ Σₖ pₖCₖ for each class c, γ = ``shrinkage``."""
        decomposed = self._apart if shrinkage == 0 else self._shrunk
        return [self._spectrum(c, *decomposed(c, shrinkage)) for c in range(len(self.shares))]

    def _spectrum(self, c: int, lam: np.ndarray, turn: np.ndarray, columns: Any) -> Spectrum:
        Y = self._products(c)[:, columns] @ turn
        return Spectrum(lam, Y, np.maximum(self._distances(c) - np.sum(Y**2, axis=1), 0))

    def _apart(self, c: int, _: float) -> tuple[np.ndarray, np.ndarray, Any]:
        """γ = 0, in the dual of the class alone: λ, and VΛ^{−½}, which maps products to coordinates."""
        own = np.flatnonzero(self.y == c)
        lam, V = _eigh(self._M[np.ix_(own, own)] / len(own), self._SKS[c, c])
        return lam, V / np.sqrt(len(own) * lam), own

    @cached_property
    def _pooled(self) -> tuple[np.ndarray, np.ndarray]:
        """γ = 1, for all classes: λ, and VΛ^{−½}."""
        n = len(self.y)
        lam, V = _eigh(self._M / n, self._SKS.diagonal().max())
        kept = lam > BELOW_NOISE * self.least * self.shares.min() * self.variance
        return lam[kept], V[:, kept] / np.sqrt(n * lam[kept])

    @cached_property
    def _moments(self) -> list[np.ndarray]:
        """C_c of each class along the pooled axes."""
        lam, turn = self._pooled
        F = self._M @ turn
        return [F[self.y == c].T @ F[self.y == c] / np.sum(self.y == c) for c in range(len(self.shares))]

    def _shrunk(self, c: int, shrinkage: float) -> tuple[np.ndarray, np.ndarray, Any]:
        """0 < γ ≤ 1, along the pooled axes, whose span contains those of every class."""
        lam, turn = self._pooled
        if shrinkage < 1:
            C = (1 - shrinkage) * self._moments[c] + shrinkage * np.diag(lam)
            lam, W = _eigh(C, self._SKS.diagonal().max())
            turn = turn @ W
        return lam, turn, slice(None)

    def losses(
        self,
        shrinkage: float,
        truth: np.ndarray,
        q: np.ndarray,
        noise_ratios: Sequence[float],
        log_priors: Sequence[np.ndarray],
        loss: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Return the losses of each rule on the held-out rows (Zhou eq. 21–23): (priors, ratios, candidates, losses).

        ``q`` has a row for each candidate and a column for each class; ``truth`` are the classes of the held-out rows.
        ``loss`` is a function of the costs (classes, ratios, candidates, rows), the true classes and the ratios. The
        costs are L̂_c − 2 log p_c; if ρ = 0, they are r²_c in units of a small share of the variance within classes.
        """
        rho = self.variance * np.append(noise_ratios, FINER)
        spectra = self.spectra(shrinkage)
        E = np.array([energies(s.Y, s.r2, s.lam, q[:, c], rho) for c, s in enumerate(spectra)])
        ratios = np.asarray(noise_ratios)
        return np.array([loss(self._costs(E, rho[:-1], log_prior), truth, ratios) for log_prior in log_priors])

    def _costs(self, E: np.ndarray, rho: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
        cost = E[:, :-1] - 2 * log_prior.reshape(-1, 1, 1, 1)
        for r in np.flatnonzero(rho == 0):
            cost[:, r] = untied(E[:, r], E[:, -1], log_prior, self.tie_width) / (SOFT * self.variance or 1.0)
        return cost


def _eigh(A: np.ndarray, centred: float) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenpairs in descending order, above the rounding errors of A and of the squared means ``centred``."""
    lam, V = np.linalg.eigh(A)
    kept = np.flatnonzero(lam > len(A) * EPS * max(lam[-1], centred))[::-1]
    return lam[kept], V[:, kept]
