"""The kernel about the mean of the rows, for the likelihood of a centred sparse model, and a mean on few anchors."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._core.arrays import Array
from ..._core.tiles import sum_rows
from ...kernels import Kernel
from ...kernels.base import in_float64
from ..expansion import Expansion

CUT = 1e-12  # relative to the largest eigenvalue of K_ZZ: smaller ones do not help to express the mean


@dataclass(eq=False, repr=False)
class Centred(Kernel):
    """k̃(x, y) = ⟨φ(x) − φ̄, φ(y) − φ̄⟩, φ̄ = Σ pₙφₙ; ``sqnorm`` = ‖φ̄‖²."""

    kernel: Kernel
    mean: Expansion
    sqnorm: float

    @classmethod
    def of(cls, kernel: Kernel, X: Array, weights: Array | None = None) -> "Centred":
        """Return the kernel about the mean of the rows X, with weights that sum to 1 (None: 1/n)."""
        p = np.full(X.shape[0], 1 / X.shape[0]) if weights is None else weights
        mean = Expansion(kernel, in_float64(X), p[:, None])
        return cls(kernel, mean, float(sum_rows(lambda x, p: p @ mean(x)[:, 0], in_float64(X), p, width=X.shape[0])))

    @property
    def definite(self) -> bool:  # type: ignore[override]
        """Whether the kernel itself is positive semi-definite."""
        return self.kernel.definite

    def onto(self, Z: Array) -> Callable[[Array], Array]:
        k, m_Z = self.kernel.onto(Z), self.mean(Z)[:, 0]
        return lambda x: k(x) - self.mean(x) - m_Z + self.sqnorm

    def diag(self, X: Array) -> Array:
        return self.kernel.diag(X) - 2 * self.mean(X)[:, 0] + self.sqnorm

    def on_anchors(self, Z: Array) -> tuple[np.ndarray, float]:
        """Return the coefficients s of the projection of φ̄ onto span φ(Z), and ‖φ̄ − ΦZ s‖²: K_ZZ s = ⟨φ(Z), φ̄⟩."""
        Z = in_float64(Z)
        m = self.mean(Z)[:, 0]
        s = np.linalg.lstsq(self.kernel(Z, Z), m, rcond=CUT)[0]
        return s, max(self.sqnorm - float(m @ s), 0.0)
