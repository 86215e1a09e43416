"""The exact pre-image of the linear kernel, for which φ is the identity."""

from dataclasses import dataclass

from .._core.arrays import cast, double
from .._core.registry import stored
from ..kernels import Linear
from ..rkhs import Subspace
from .base import Nearest, found


@stored("preimage.ClosedForm")
@dataclass(frozen=True)
class ClosedForm:
    """x = o + Σ bᵢ(zᵢ − o) for the vector Σ bᵢφ(zᵢ) of the linear kernel with origin o.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> model = KernelPCA(2, kernel="linear").fit(X)  # preimage="auto" uses ClosedForm
    >>> X[0].round(3), model.inverse_transform(model.transform(X))[0].round(3)
    (array([ 0.126, -0.132]), array([ 0.126, -0.132]))
    """

    exact = True
    portable = True

    def bind(self, subspace: Subspace) -> Nearest:
        """Return the function from vectors to points."""
        kernel, Z = subspace.kernel, subspace.Z
        if not isinstance(kernel, Linear):
            raise ValueError(
                f"ClosedForm is for the linear kernel, and this model has {kernel!r}. Use preimage='auto'."
            )
        origin = 0.0 if kernel.origin is None else kernel.origin
        points = double(Z.toarray() if hasattr(Z, "toarray") else Z) - origin
        return lambda target, near=None: found(cast(double(target.B).T @ points + origin, target.B.dtype), target)
