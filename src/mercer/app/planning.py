"""Estimates of memory and time of a fit for each solver, before anything large is allocated."""

from collections.abc import Callable
from dataclasses import dataclass
from time import thread_time
from typing import Any

import numpy as np

from .._core.blas import single_blas
from .._core.memory import available_bytes
from .._core.tiles import threads
from ..kernels import as_kernel
from ..linalg.solvers.davidson import EXTRA, rank_for
from ..linalg.solvers.exact import LAPACK_ARRAYS
from ..models.parameters import check_count
from ..rkhs.landmarks import choose
from ..select.html import html_table

PROBE = 512  # rows of the tile and of the product that are timed
DAVIDSON_PASSES, LANCZOS_PASSES, RANDOMIZED_PASSES = 3, 4, 5  # Lanczos: per component, and 20 initially
LAPACK_FLOPS = 4  # times n³: reduction, divide and conquer, back-transformation; half of it outside matrix products
ACCURATE = {"exact", "davidson", "lanczos"}


@dataclass(frozen=True)
class Cost:
    """Memory and time of one solver."""

    solver: str
    gigabytes: float
    seconds: float
    fits: bool
    exact: bool

    def __str__(self) -> str:
        note = "" if self.fits else "  more than the available memory"
        return f"{self.solver:<12}{self.gigabytes:>9.2f} GB{_duration(self.seconds):>12}{note}"


@dataclass(frozen=True)
class Plan:
    """The cost of each solver, and the one that ``"auto"`` chooses."""

    n: int
    d: int
    q: int
    auto: str
    costs: tuple[Cost, ...]

    def _repr_html_(self) -> str:
        rows = [(cost.solver, f"{cost.gigabytes:.2f} GB", _duration(cost.seconds)) for cost in self.costs]
        return html_table(("solver", "memory", "time"), rows, f"solver='auto' chooses {self.auto}.")

    def __str__(self) -> str:
        head = f"{self.n} rows, {self.d} columns, {self.q} components; solver='auto' chooses {self.auto}"
        return "\n".join([head, f"{'solver':<12}{'memory':>12}{'time':>12}", *map(str, self.costs)])


def plan(n: int, d: int, q: int = 10, *, kernel: Any = "rbf", dtype: Any = np.float64, m: int | None = None) -> Plan:
    """Estimate memory and time of a kernel PCA for each solver.

    Times are extrapolated from one tile of the kernel matrix and one matrix product, which are timed by this call;
    expect them to be accurate within a factor of two or three.

    Parameters
    ----------
    n, d : int
        Number of rows and of columns.
    q : int, default=10
        Number of components.
    kernel : str or Kernel, default="rbf"
        The kernel, as for ``KernelPCA``.
    dtype : dtype, default=float64
        Data type of the rows.
    m : int, default=None
        Number of landmarks; None for the default of ``Landmarks()``.

    Returns
    -------
    plan : Plan
        Gigabytes and seconds of each solver, and the choice of ``"auto"``.

    Examples
    --------
    >>> import mercer
    >>> mercer.plan(1_000_000, 20).auto
    'landmarks'
    """
    n, d, q = int(n), int(d), int(q)
    for name, number in {"n": n, "d": d, "q": q}.items():
        check_count(name, number)
    m = min(n, max(500, 10 * q) if m is None else m)
    entry, flop = _rates(as_kernel(kernel), d, dtype)
    width, size, rank = q + max(EXTRA, q // 5), np.dtype(dtype).itemsize, rank_for(n, q)
    one_pass = n**2 / 2 * (entry + 4 * width * flop)
    model = size * n * (d + q)
    table = {  # bytes, and seconds on one thread
        "exact": (LAPACK_ARRAYS * 8 * n**2, n**2 / 2 * entry + LAPACK_FLOPS * n**3 * flop),
        "davidson": (
            model + 4 * n * rank + 8 * size * n * width,
            DAVIDSON_PASSES * one_pass + n * rank * entry / 2 + 2 * n * rank**2 * flop,
        ),
        "lanczos": (model + 2 * size * n * (2 * q + 20), (LANCZOS_PASSES * q + 20) * n**2 / 2 * (entry + 4 * flop)),
        "randomized": (model + 2 * RANDOMIZED_PASSES * size * n * (q + 10), RANDOMIZED_PASSES * one_pass),
        "landmarks": (8 * 4 * m**2 + size * m * (d + q), n * m * (entry + m * flop) + 10 * m**3 * flop),
    }
    free = available_bytes()
    costs = tuple(
        Cost(name, need / 1e9, seconds / threads(), need < free, name in ACCURATE)
        for name, (need, seconds) in table.items()
    )
    return Plan(n, d, q, type(choose("auto", n, q)).__name__.lower(), costs)


def _rates(kernel: Any, d: int, dtype: Any) -> tuple[float, float]:
    """Return the seconds per entry of the kernel matrix and per multiply-add, on one thread."""
    X = np.random.default_rng(0).random((PROBE, d)).astype(dtype)
    k, K = kernel.bind(X).onto(X), np.ones((PROBE, PROBE), dtype)
    with single_blas:
        return _seconds(lambda: k(X)) / PROBE**2, _seconds(lambda: K @ K) / PROBE**3


def _seconds(f: Callable[[], Any]) -> float:
    """Return the processor time, in which other programs do not count, of the fastest of four runs."""
    times = []
    for _ in range(4):
        start = thread_time()
        f()
        times.append(thread_time() - start)
    return min(times)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
