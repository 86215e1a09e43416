"""What a pre-image method is: settings whose ``bind(subspace)`` gives a function of expansions."""

from dataclasses import dataclass

import numpy as np

from ..kernels import Linear
from ..rkhs import Expansion


@dataclass(frozen=True, eq=False)
class PreimageResult:
    """Points X whose images are near the vectors of ``target``."""

    X: np.ndarray
    target: Expansion

    @property
    def error(self):
        """‖φ(x) − f‖² for each point and its vector: (p,)."""
        k_xx = self.target.kernel.diag(self.X).astype(float)
        return np.maximum(k_xx - 2 * np.diagonal(self.target(self.X)) + self.target.sqnorms(), 0)


def as_preimage(preimage, kernel):
    """Return the method that a name stands for; ``"auto"`` is the closed form for the linear kernel, else learned."""
    from .learned import Learned
    from .linear import ClosedForm

    if not isinstance(preimage, str):
        return preimage
    if preimage == "auto":
        return ClosedForm() if isinstance(kernel, Linear) else Learned()
    if preimage == "learned":
        return Learned()
    raise ValueError(f"{preimage!r} is no pre-image method. Give 'auto', 'learned' or an instance of mercer.preimage.")
