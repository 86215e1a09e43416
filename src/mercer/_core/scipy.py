"""The changing parts of SciPy that the library uses, with the version and the reason beside each."""

import inspect
from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh

# SciPy ≥ 1.17: ARPACK draws its restart vectors from ``rng``, and from the system's entropy where none is given; older
# releases restart from a generator of their own with a fixed seed, and have no such parameter.
_TAKES_RNG = "rng" in inspect.signature(eigsh).parameters


def seeded_eigsh(A: Any, k: int, *, v0: np.ndarray, seed: int, **options: Any) -> Any:
    """Call ``scipy.sparse.linalg.eigsh`` with a given start and random generator: two runs give the same bits."""
    generator = {"rng": np.random.default_rng(seed)} if _TAKES_RNG else {}
    return eigsh(A, k, v0=v0, **generator, **options)
