"""The Cauchy kernel, as a plug-in of mercer: ``kernel="cauchy"``."""

from dataclasses import dataclass
from typing import Any

import mercer
from mercer.kernels import Radial


@mercer.register("cauchy")
@dataclass(eq=False, repr=False)
class Cauchy(Radial):
    """k = 1/(1 + γt), t = ‖x − y‖².

    Parameters
    ----------
    gamma, lengthscale : default=None
        The width, as in :class:`mercer.kernels.RBF`.
    """

    gamma: Any = None
    lengthscale: Any = None

    def profile(self, t):
        """Return k as a function of t."""
        return 1 / (1 + self.gamma * t)

    def slope(self, t):
        """Return dk/dt."""
        return -self.gamma / (1 + self.gamma * t) ** 2

    def inverse(self, v):
        """Return the t at which k is v."""
        return (1 / v - 1) / self.gamma
