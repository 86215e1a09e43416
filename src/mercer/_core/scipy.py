"""The parts of SciPy that differ between its versions, with the version and the reason for each."""

import inspect
from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh

# SciPy ≥ 1.17: ARPACK draws its restart vectors from ``rng``, and from the system's entropy where none is given; older
# releases restart from a generator of their own, whose state lasts from call to call, and have no such parameter: there
# two runs on a degenerate spectrum may differ by rounding.
ARPACK_TAKES_RNG = "rng" in inspect.signature(eigsh).parameters


def seeded_eigsh(A: Any, k: int, *, v0: np.ndarray, seed: int, **options: Any) -> Any:
    """Call ``scipy.sparse.linalg.eigsh`` with a given start and random generator."""
    generator = {"rng": np.random.default_rng(seed)} if ARPACK_TAKES_RNG else {}
    return eigsh(A, k, v0=v0, **generator, **options)
