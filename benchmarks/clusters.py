"""Landmarks on a Dask cluster: strong and weak scaling on one machine, and a cost model fitted to them.

    python benchmarks/clusters.py [--rows 1000000]

Rows are drawn inside the workers, which have one thread each. Beside them stands the same fit on rows in memory, held
to as many threads. The model is seconds = n/P · (d·m + m²) · c₁ + passes · c₂ for n rows on P workers.
"""

import argparse
from time import perf_counter

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from threadpoolctl import threadpool_limits

from mercer import KernelPCA
from mercer.eigen import Landmarks
from mercer.kernels import RBF

D, CHUNK = 10, 100_000
PASSES = 2  # the rows that landmarks are chosen among, and the sums


def fit(X, m):
    """Seconds of one fit, the better of two."""
    seconds = []
    for _ in range(2):
        start = perf_counter()
        KernelPCA(10, kernel=RBF(0.1), solver=Landmarks(n=m), random_state=0).fit(X)
        seconds.append(perf_counter() - start)
    return min(seconds)


def on_workers(n, m, workers):
    """Seconds on a local cluster."""
    options = {"threads_per_worker": 1, "processes": True, "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster):
        return fit(da.random.default_rng(0).standard_normal((n, D), chunks=(CHUNK, D)), m)


def in_memory(n, m, threads):
    """Seconds on an array, and those that it takes to draw it, which workers do too."""
    start = perf_counter()
    X = np.random.default_rng(0).standard_normal((n, D))
    drawn = perf_counter() - start
    with threadpool_limits(threads):
        return fit(X, m) + drawn / threads


def main():
    """Print the table and the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n = parser.parse_args().rows
    cases = [(n, 500, 1), (n, 500, 2), (2 * n, 500, 2), (n, 200, 1), (n, 200, 2), (n // 4, 500, 1), (n // 4, 500, 2)]
    print(f"{'rows':>9} {'m':>5} {'workers':>8} {'cluster':>9} {'in memory':>10}")
    seconds = []
    for rows, m, workers in cases:
        seconds.append(on_workers(rows, m, workers))
        print(f"{rows:>9} {m:>5} {workers:>8} {seconds[-1]:>7.2f} s {in_memory(rows, m, workers):>8.2f} s", flush=True)
    work = [rows / workers * (D * m + m**2) for rows, m, workers in cases]
    (c1, c2), *_ = np.linalg.lstsq(np.column_stack([work, np.full(len(work), PASSES)]), np.array(seconds), rcond=None)
    off = np.max(np.abs(np.array(work) * c1 + PASSES * c2 - seconds) / seconds)
    print(f"c1 = {c1:.2e} s, c2 = {c2:.2f} s; largest error of the model {off:.0%}")
    far = 1e9 / 100 * (D * 500 + 500**2) * c1 + PASSES * c2
    print(f"On paper: 1e9 rows on 100 such workers, m = 500: {far:.0f} s; {8 * 500**2 / 1e6:.0f} MB a sum")


if __name__ == "__main__":
    main()
