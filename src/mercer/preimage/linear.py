"""The linear kernel's pre-image, which is exact: φ is the identity."""

from dataclasses import dataclass

import numpy as np

from .base import PreimageResult


@dataclass(frozen=True)
class ClosedForm:
    """x = o + Σ bᵢ(zᵢ − o) for the vector Σ bᵢφ(zᵢ) of the linear kernel about o."""

    def bind(self, subspace):
        origin = 0.0 if subspace.kernel.origin is None else subspace.kernel.origin
        Z = subspace.Z
        rows = (Z.toarray() if hasattr(Z, "toarray") else Z) - origin

        def nearest(target, near=None):
            return PreimageResult((target.B.T @ rows + origin).astype(target.B.dtype), target)

        return nearest


def is_linear(kernel):
    """Whether φ is the identity about an origin."""
    return hasattr(kernel, "origin") and np.ndim(kernel.origin) <= 1
