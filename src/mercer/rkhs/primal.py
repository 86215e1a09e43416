"""The primal space: feature spaces so small that their covariance is decomposed itself, rather than a kernel matrix."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.arrays import rows, scatter_rows
from .._core.registry import stored
from ..kernels import Kernel
from .expansion import Expansion

ANCHORS = 500  # rows to write axes on, where fewer would do: pre-images begin from them


@stored("rkhs.Primal")
@dataclass(frozen=True)
class Primal:
    """Eigenpairs of the covariance of ``features`` explicit features, in one pass over n rows: O(n·features²), exact.

    What ``solver="auto"`` does where a kernel has fewer features than there are rows; ``Kernel.features`` is the map.
    The basis is orthonormal and stands on as many rows as span the space, so that axes are expansions here too.
    """

    features: int


def primal(kernel: Kernel, X: Any, solver: Any = "auto") -> Primal | None:
    """Return the setting where ``solver="auto"`` finds a primal space smaller than the dual one, else None."""
    f = kernel.n_features(X.shape[1]) if isinstance(solver, str) and solver == "auto" else None
    return None if f is None or f >= X.shape[0] else Primal(f)


def anchors(spanning: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the numbers of rows to write axes on: those that span the space, and others where pre-images may begin."""
    others = np.setdiff1d(np.arange(n), spanning, assume_unique=True)
    more = max(0, min(n, ANCHORS) - len(spanning))
    return np.sort(np.append(spanning, rng.choice(others, more, replace=False)))


def on_anchors(f: Expansion, spanning: np.ndarray, chosen: np.ndarray, X: Any) -> Expansion:
    """Return the same vectors on more of the rows, with coefficients of 0 on those that are new."""
    B = scatter_rows(f.B, np.searchsorted(chosen, spanning), len(chosen))
    return replace(f, Z=X if len(chosen) == X.shape[0] else rows(X, chosen), B=B)
