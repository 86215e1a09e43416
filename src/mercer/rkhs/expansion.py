"""Vectors of the feature space, as combinations of images of points."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from .._core.arrays import Array, columns, is_objects, namespace, rows
from .._core.fields import Numbers
from .._core.registry import stored
from .._core.tiles import map_rows
from ..kernels import Kernel


@stored("rkhs.Expansion")
@dataclass(frozen=True, eq=False)
class Expansion:
    """p vectors f_j = Σᵢ B[i, j] φ(zᵢ); ``squares`` = ‖f_j‖² if they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.rkhs import Expansion
    >>> f = Expansion(Linear(), Z=np.eye(2), B=np.array([[3.0], [4.0]]))  # φ(x) = x: the vector (3, 4)
    >>> f.sqnorms(), f(np.array([[1.0, 1.0]]))
    (array([25.]), array([[7.]]))
    """

    kernel: Kernel
    Z: Annotated[Array, Numbers("m", "d", kinds="iufO", sparse=True)]
    B: Annotated[Array, Numbers("m", "p", kinds="f")]
    squares: Annotated[Array, Numbers("p")] = None

    def _check_parts(self) -> None:
        """Raise an error if the kernel cannot be evaluated on the points; kernels of whole objects could take long."""
        if self.Z.shape[0] == 0:
            return
        if is_objects(self.Z):
            self.kernel.checked(self.Z)
        if _is_whole(self.kernel):
            return
        numbers = self.Z[:, 0].argsort()[[0, -1]] if self.Z.dtype.kind in "iu" else [0]  # of a precomputed kernel
        points = self.Z[numbers]
        if not np.all(np.isfinite(self.kernel(points, points))):
            raise ValueError(f"{self.kernel!r} is not finite on its points")

    def __len__(self) -> int:
        return self.B.shape[1]

    def __call__(self, X: Array) -> Array:
        """Return ⟨φ(x), f_j⟩ for each row x of X: (n, p)."""
        k_B, width = self.kernel.product(self.Z, self.B)
        return map_rows(k_B, X, width=width)

    def at(self, X: Array) -> Array:
        """Return ⟨φ(x_j), f_j⟩ for the j-th row and the j-th vector: (p,)."""
        k = self.kernel.onto(self.Z)
        xp = namespace(self.B)
        tile = lambda x, b: xp.sum(k(x) * b, axis=1, dtype=xp.float64)  # noqa: E731
        return map_rows(tile, X, self.B.T, width=2 * self.Z.shape[0])

    def inner(self, other: "Expansion") -> Array:
        """Return ⟨f_i, g_j⟩: (p, p′)."""
        return self.B.T @ other(self.Z)

    def sqnorms(self) -> Array:
        """Return ‖f_j‖²: (p,)."""
        return namespace(self.B).sum(self.B * self(self.Z), axis=0) if self.squares is None else self.squares

    def __matmul__(self, M: Array) -> "Expansion":
        """Return the vectors Σ_j f_j M[j, ·]."""
        return replace(self, B=self.B @ M, squares=None)

    def __add__(self, other: "Expansion") -> "Expansion":
        """Return sums of vectors on the same points; a single vector is added to each."""
        return replace(self, B=self.B + other.B, squares=None)

    def __getitem__(self, j: Any) -> "Expansion":
        """Return some of the vectors."""
        j = np.atleast_1d(np.arange(len(self))[j])
        return replace(self, B=columns(self.B, j), squares=None if self.squares is None else rows(self.squares, j))


def _is_whole(kernel: Kernel) -> bool:
    """Return True if a kernel, or a part of it, takes whole objects, such as strings and series."""
    parts = kernel.get_params(deep=False).values()
    return bool(kernel.whole) or any(_is_whole(part) for part in parts if isinstance(part, Kernel))
