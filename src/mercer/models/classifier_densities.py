"""Mixtures as class densities in the search of the classifier: their losses on held-out samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels import Kernel, Precomputed
from ..linalg.operators import Dense
from ..rkhs.mixture import relative_logs
from .classifier_scoring import Loss
from .distinct import Rows
from .mixture import KernelPCAMixture


def check_densities(densities: Sequence) -> list:
    """Return the densities to try, or raise an error unless each is None or a mixture."""
    for density in densities:
        if not (density is None or isinstance(density, KernelPCAMixture)):
            raise ValueError(
                f"densities must contain None (a Gaussian for each class) and KernelPCAMixture, and {density!r} was "
                "given. Use GridSearchCV with KernelPCAClassifier(density=…) for others."
            )
    return list(densities)


@dataclass(frozen=True, eq=False)
class HeldOutMixtures:
    """The samples X, their kernel matrix K, the row numbers of each class of a fold and of its held-out samples.

    ``variance`` is the variance within the classes, the unit of ρ.
    """

    kernel: Kernel
    X: Any
    K: np.ndarray
    classes: Sequence[np.ndarray]
    held: np.ndarray
    variance: float

    def losses(
        self,
        shrinkages: Sequence[float],
        truth: np.ndarray,
        q: Sequence,
        noise_ratios: Sequence[float],
        log_priors: Sequence[np.ndarray],
        loss: Loss,
        density: KernelPCAMixture,
    ) -> np.ndarray:
        """Return the losses of each rule on the held-out samples: (shrinkages, priors, ratios, candidates, losses).

        A candidate is a list with a number of axes for each class (None: the number of the mixture), or False if it is
        not tried. Losses are infinite for candidates that are not tried, for the limiting rule, and for shrinkages
        above 0. Other parameters as in ``HeldOut.losses``.
        """
        ratios, plain = np.asarray(noise_ratios), np.flatnonzero(np.asarray(shrinkages) == 0)
        found = np.full((len(shrinkages), len(log_priors), len(ratios), len(q), 1), np.inf)
        noisy, tried = np.flatnonzero(ratios > 0), np.flatnonzero([candidate is not False for candidate in q])
        if 0 in (len(plain), len(noisy), len(tried)):
            return found
        rho = self.variance * ratios[noisy]
        kept = [each for each in q if each is not False]
        E = np.array([self._energies(density, c, [each[c] for each in kept], rho) for c in range(len(self.classes))])
        each = [loss(E - 2 * log_prior.reshape(-1, 1, 1, 1), truth, ratios[noisy]) for log_prior in log_priors]
        found = np.repeat(found, each[0].shape[-1], axis=-1)
        found[np.ix_(plain, np.arange(len(each)), noisy, tried)] = each
        return found

    def _energies(self, density: KernelPCAMixture, c: int, q: Sequence, rho: np.ndarray) -> np.ndarray:
        """Return −2 log Σᵢ mᵢ exp(−½L̂ᵢ) of class c up to a constant of the sample and ρ: (len(rho), len(q), len(held)).

        The mixtures of all settings share one basis, the initialisations, and one evaluation of the kernel.
        """
        points = np.arange(len(self.K))[:, None] if isinstance(self.kernel, Precomputed) else self.X
        own = self.classes[c]
        n, ones = len(own), np.ones(len(own))
        gram = Dense(self.K[np.ix_(own, own)])
        rows = Rows(self.kernel, points[own], gram, ones / n, np.arange(n), ones, np.arange(n))
        axes = [density._components(density.n_components if each is None else each) for each in q]
        runs = density._runs(self.kernel, rows, n, [(each, one) for one in rho.tolist() for each in axes])
        logs = relative_logs([mixture for _, mixture in runs], points[self.held])
        return -2 * np.reshape(logs, (len(rho), len(q), len(self.held)))
