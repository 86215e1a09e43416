"""The primal space: if a kernel has few explicit features, their covariance is decomposed, not the kernel matrix."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.arrays import rows, scatter_rows
from .._core.registry import stored
from ..kernels import Kernel
from .expansion import Expansion

ANCHORS = 500  # anchors of a model, even if fewer span the space: pre-images start from them


@stored("rkhs.Primal")
@dataclass(frozen=True)
class Primal:
    """Eigenpairs of the covariance of ``features`` explicit features, in one pass over n rows: O(n·features²), exact.

    ``solver="auto"`` uses it if a kernel has fewer features (``Kernel.features``) than there are rows. The basis is
    orthonormal and consists of combinations of rows that span the space, so that axes are expansions here too.
    """

    features: int


def primal(kernel: Kernel, X: Any, solver: Any = "auto") -> Primal | None:
    """Return the setting if ``solver="auto"`` and the primal space is smaller than the dual one, else None."""
    f = kernel.n_features(X.shape[1]) if isinstance(solver, str) and solver == "auto" else None
    return None if f is None or f >= X.shape[0] else Primal(f)


def anchors(spanning: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the row numbers of the anchors: those that span the space, and others from which pre-images start."""
    others = np.setdiff1d(np.arange(n), spanning, assume_unique=True)
    more = max(0, min(n, ANCHORS) - len(spanning))
    return np.sort(np.append(spanning, rng.choice(others, more, replace=False)))


def on_anchors(f: Expansion, spanning: np.ndarray, chosen: np.ndarray, X: Any) -> Expansion:
    """Return the same vectors as expansions on more rows, whose coefficients are 0."""
    B = scatter_rows(f.B, np.searchsorted(chosen, spanning), len(chosen))
    return replace(f, Z=X if len(chosen) == X.shape[0] else rows(X, chosen), B=B)
