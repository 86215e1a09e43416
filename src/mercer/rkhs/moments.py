"""Moments of coordinates in a basis: sums over rows, which can be added, subtracted and moved to another basis.

For a fixed basis ΦR of span φ(Z) and f = Rᵀk(Z, x), a model depends on its rows only through Σw, Σwf, Σwffᵀ and Σwk(x,
x).
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from .._core.arrays import Array, namespace
from .._core.fields import Count, NotNegative, Numbers
from .._core.registry import stored
from ..kernels.base import in_float64

if TYPE_CHECKING:
    from .basis import Basis


@stored("landmarks.Moments")
@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over rows of 1, f, ffᵀ and k(x, x), each row times its weight, in one basis.

    ``count`` is the sum of the weights and ``rows`` the number of rows. Moments of different rows in one basis add up:
    see :func:`mercer.merge` and :func:`mercer.remove`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.eigen import Landmarks
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> moments = KernelPCA(2, solver=Landmarks(50), random_state=0).fit(X).moments_
    >>> moments.rows, moments.first.shape, moments.second.shape
    (500, (50,), (50, 50))
    """

    basis: "Basis"
    count: NotNegative
    first: Annotated[Array, Numbers("r")]
    second: Annotated[Array, Numbers("r", "r")]
    diagonal: float
    rows: Count = 0

    def moved(self, convert: Any) -> "Moments":
        """Return a copy with all arrays converted by ``convert``."""
        return replace(self, basis=self.basis.moved(convert), first=convert(self.first), second=convert(self.second))

    def scaled(self, c: float) -> "Moments":
        """Return the moments for weights that are c times as large."""
        sums = [c * part for part in self._sums]
        return replace(self, count=sums[0], first=sums[1], second=sums[2], diagonal=sums[3])

    def __add__(self, other: "Moments") -> "Moments":
        sums = [mine + theirs for mine, theirs in zip(self._sums, other._sums, strict=True)]
        return Moments(self.basis, *sums, rows=self.rows + other.rows)  # type: ignore[misc]

    def __sub__(self, other: "Moments") -> "Moments":
        return replace(self + other.scaled(-1.0), rows=self.rows - other.rows)

    def into(self, basis: "Basis") -> "Moments":
        """Return the moments of the rows' projections in another basis: f′ = Tf, T = R′ᵀk(Z′, Z)R.

        This is exact if the old span contains the new one. Otherwise only the projections of the rows onto the old span
        are known; Σk(x, x) does not change, so that ``outside`` includes the part that is lost.
        """
        if basis is self.basis or (_equal(basis.R, self.basis.R) and _equal(basis.Z, self.basis.Z)):
            return replace(self, basis=basis)
        T = basis(in_float64(self.basis.Z)).T @ self.basis.R
        return replace(self, basis=basis, first=T @ self.first, second=T @ self.second @ T.T)

    @property
    def outside(self) -> float:
        """Σw(k(x, x) − ‖f‖²), the squared distances of the rows to the span of the basis."""
        xp = namespace(self.second)
        return max(self.diagonal - float(xp.sum(xp.linalg.diagonal(self.second))), 0.0)

    def variance(self, center: bool = True) -> float:
        """Return the total variance in feature space, or the mean of k(x, x) if it is not centred."""
        return self.diagonal / self.count - (float(self.first @ self.first) / self.count**2 if center else 0.0)

    @property
    def _sums(self) -> tuple[Any, Array, Array, Any]:
        return self.count, self.first, self.second, self.diagonal


def _equal(a: Any, b: Any) -> bool:
    if hasattr(a, "toarray"):
        return a.shape == b.shape and (a != b).nnz == 0
    return a.shape == b.shape and bool(namespace(a).all(a == b)) if a is not b else True
