"""Eigenpairs by a randomised block Krylov method."""

from dataclasses import dataclass

import numpy as np

from ..._core.arrays import asarray_like, hstack, namespace
from ..._core.registry import register
from ..operators import Operator
from ..ritz import Ritz, orthonormal, rayleigh_ritz


@register("randomized")
@dataclass(frozen=True)
class Randomized:
    """Randomised block Krylov: ``power + 1`` passes over A, for any q.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.eigen import Randomized
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> KernelPCA(2, solver=Randomized(power=3), random_state=0).fit(X).solver_.passes
    4
    """

    oversample: int = 10
    power: int = 4
    direct = True

    def __call__(self, A: Operator, q: int, rng: np.random.Generator) -> Ritz:
        """Return Ritz pairs of A."""
        n = A.shape[0]
        start = asarray_like(rng.standard_normal((n, min(n, q + self.oversample))), A.root, A.dtype)
        block = namespace(start).linalg.qr(start)[0]
        basis, images, passes = block, A @ block, 1
        while passes <= self.power and (block := orthonormal(images[:, -block.shape[1] :], basis)).shape[1]:
            basis, images, passes = hstack(basis, block), hstack(images, A @ block), passes + 1
        return rayleigh_ritz(basis, images, min(n, q + self.oversample), passes)
