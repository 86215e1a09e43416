"""What this machine can do at best, measured in the same run: products, exponentials and memory.

A figure of another machine is compared by its distance to these limits rather than by its seconds.
"""

import os
import re
import time
from dataclasses import dataclass

import numpy as np

SIDE = 1024  # of the square matrices that are multiplied
ENTRIES = 2**22  # of the arrays that exp is taken of, and that are read: beyond the caches
LANES = 8  # parts of a product by the C extension, which threads share
REPEATS = 7


@dataclass(frozen=True)
class Limits:
    """GFLOP/s of a matrix product on all cores (BLAS, or ours if it is faster), ns of an exp on one, GB/s read."""

    gemm: float
    exp: float
    bandwidth: float
    cores: int

    def kernel(self, n, d):
        """Seconds for one half of a kernel matrix of n rows and d columns: its inner products and exponentials."""
        return n**2 / 2 * (2 * d / (1e9 * self.gemm) + 1e-9 * self.exp / self.cores)

    def __str__(self):
        return (
            f"float64 products {self.gemm:.0f} GFLOP/s on {self.cores} cores, exp {self.exp:.2f} ns on one core, "
            f"memory {self.bandwidth:.0f} GB/s"
        )

    @classmethod
    def parsed(cls, text):
        """The limits that a page states, or None."""
        found = re.search(
            r"products (\d+) GFLOP/s on (\d+) cores, exp ([\d.]+) ns on one core, memory (\d+) GB/s", text
        )
        return found and cls(float(found[1]), float(found[3]), float(found[4]), int(found[2]))


def limits():
    """Measure the limits: the best of several runs."""
    from mercer._core.native import exp_into, matmul
    from mercer._core.tiles import in_threads, slices

    rng = np.random.default_rng(0)
    A, x = rng.random((SIDE, SIDE)), rng.random(ENTRIES)
    exponents = -x[: ENTRIES // 16]  # in the cache: the exponential alone
    own = lambda lane: [matmul(A[i], A) for i in lane]  # noqa: E731
    products = _least(lambda: A @ A), _least(lambda: in_threads(own, slices(SIDE, SIDE // LANES)))
    return Limits(
        gemm=2 * SIDE**3 / min(products) / 1e9,
        exp=1e9 * _least(lambda: exp_into(exponents.copy())) / exponents.size,
        bandwidth=x.nbytes / _least(x.sum) / 1e9,
        cores=os.cpu_count() or 1,
    )


def _least(work):
    """The least seconds of several runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
