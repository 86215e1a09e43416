"""What a fit will cost: memory and time of each solver before anything is allocated."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from .._core.memory import available_bytes
from .._core.tiles import threads
from ..kernels import as_kernel
from ..linalg.solvers.davidson import EXTRA, rank_for
from ..linalg.solvers.exact import ARRAYS as EXACT_ARRAYS
from ..rkhs.landmarks import choose

PROBE = 512  # rows of the tile and of the product that are timed
DAVIDSON_PASSES, LANCZOS_PASSES, RANDOMIZED_PASSES = 3, 4, 5  # Lanczos: for each component, and 20 to begin with
LAPACK_FLOPS = 4  # times n³: reduction, divide and conquer, back-transformation; half of them not in matrix products


@dataclass(frozen=True)
class Cost:
    """One solver's share of a plan."""

    solver: str
    gigabytes: float
    seconds: float
    fits: bool
    exact: bool


@dataclass(frozen=True)
class Plan:
    """The cost of each solver, and the one that ``"auto"`` takes."""

    n: int
    d: int
    q: int
    auto: str
    costs: tuple[Cost, ...]

    def __str__(self):
        lines = [f"{self.n} rows, {self.d} columns, {self.q} components; solver='auto' takes {self.auto}"]
        lines += [f"{'solver':<12}{'memory':>12}{'time':>12}"]
        lines += [f"{c.solver:<12}{c.gigabytes:>9.2f} GB{_duration(c.seconds):>12}{_remark(c)}" for c in self.costs]
        return "\n".join(lines)


def plan(n, d, q=10, *, kernel="rbf", dtype=np.float64, m=None):
    """Return memory and time of a kernel PCA of n rows, d columns and q components, for each solver.

    Times follow from a tile of the kernel and a matrix product that are timed here and now: trust them within a
    factor of two or three.

    Parameters
    ----------
    n, d : int
        The numbers of rows and columns.
    q : int, default=10
        The number of components.
    kernel : str or Kernel, default="rbf"
        The kernel, as for ``KernelPCA``.
    dtype : dtype, default=float64
        That of the rows.
    m : int, default=None
        The number of landmarks; None for what ``Landmarks()`` takes.

    Returns
    -------
    plan : Plan
        Bytes and seconds of each solver, and what ``"auto"`` would choose.

    Examples
    --------
    >>> import mercer
    >>> mercer.plan(1_000_000, 20).auto
    'landmarks'
    """
    n, d, q = int(n), int(d), int(q)
    m = min(n, max(500, 10 * q) if m is None else m)
    entry, flop = _rates(as_kernel(kernel), d, dtype)
    width, size = q + max(EXTRA, q // 5), np.dtype(dtype).itemsize
    rank = rank_for(n, q)
    one_pass = n**2 / 2 * (entry + 4 * width * flop)
    model = size * n * (d + q)
    table = {
        "exact": (EXACT_ARRAYS * 8 * n**2, n**2 / 2 * entry + LAPACK_FLOPS * n**3 * flop),
        "davidson": (
            model + 4 * n * rank + 8 * size * n * width,
            DAVIDSON_PASSES * one_pass + n * rank * entry / 2 + 2 * n * rank**2 * flop,
        ),
        "lanczos": (
            model + 2 * size * n * (2 * q + 20),
            (LANCZOS_PASSES * q + 20) * n**2 / 2 * (entry + 4 * flop),
        ),
        "randomized": (model + 2 * RANDOMIZED_PASSES * size * n * (q + 10), RANDOMIZED_PASSES * one_pass),
        "landmarks": (8 * 4 * m**2 + size * m * (d + q), n * m * (entry + m * flop) + 10 * m**3 * flop),
    }
    free, exact = available_bytes(), {"exact", "davidson", "lanczos"}
    costs = tuple(
        Cost(name, need / 1e9, seconds / threads(), need < free, name in exact)
        for name, (need, seconds) in table.items()
    )
    return Plan(n, d, q, type(choose("auto", n, q)).__name__.lower(), costs)


def _rates(kernel, d, dtype):
    """Seconds for an entry of the kernel matrix and for a multiplication with addition, on one thread."""
    X = np.random.default_rng(0).random((PROBE, d)).astype(dtype)
    k, K = kernel.bind(X).onto(X), np.ones((PROBE, PROBE), dtype)
    return _seconds(lambda: k(X)) / PROBE**2, _seconds(lambda: K @ K) / PROBE**3


def _seconds(f):
    """The shortest of a few runs, the first of which warms up."""
    times = []
    for _ in range(4):
        start = perf_counter()
        f()
        times.append(perf_counter() - start)
    return min(times)


def _duration(seconds):
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


def _remark(cost):
    return "" if cost.fits else "  more than is free"
