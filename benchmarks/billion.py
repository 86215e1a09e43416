"""A fit on a billion rows that exist nowhere: the workers generate each chunk from its seed, twice.

    python benchmarks/billion.py [--rows 1e9] [--landmarks 100] [--chunk 500000] [--kill]

Rows have ten columns on a curved surface with noise. Printed are CPU seconds for a row, the peak memory of client and
workers, bytes moved between processes, the share of the scheduler, and the result against a fit on 10⁶ rows with the
same kernel and landmarks. With ``--kill`` one worker is killed in the middle, and the fit has to end all the same.
"""

import argparse
import os
import resource
import signal
import threading
from time import perf_counter

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from mercer import KernelPCA
from mercer.eigen import Landmarks
from mercer.kernels import RBF

D, WORKERS, SMALL = 10, 2, 1_000_000
MB = 2**20


def rows(block_info=None):
    """Return the rows of one chunk: a surface of three parameters in ten columns, with noise."""
    (start, end), _ = block_info[None]["array-location"]
    rng = np.random.default_rng([7, start])
    t = rng.standard_normal((end - start, 3))
    mix = np.random.default_rng(7).standard_normal((6, D))
    return np.hstack([t, np.sin(2 * t)]) @ mix + 0.1 * rng.standard_normal((end - start, D))


def generated(n, chunk):
    """Return a Dask array of n rows."""
    sizes = (*([chunk] * (n // chunk)), *([n % chunk] if n % chunk else []))
    return da.map_blocks(rows, chunks=(sizes, (D,)), dtype=float, meta=np.empty((0, 0)))


def usage():
    """Return the peak memory and the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def moved(dask_worker):
    """Return the bytes that a worker has sent to others and to the client."""
    return sum(entry["total"] for entry in dask_worker.transfer_outgoing_log)


def main():
    """Fit, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--landmarks", type=int, default=100)
    parser.add_argument("--chunk", type=int, default=500_000)
    parser.add_argument("--kill", action="store_true")
    options = parser.parse_args()
    n, m = int(options.rows), options.landmarks
    cluster_options = {"threads_per_worker": 1, "processes": True, "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(n_workers=WORKERS, **cluster_options) as cluster, Client(cluster) as client:
        small = generated(min(n, SMALL), min(options.chunk, SMALL // WORKERS))
        kernel = RBF("median").bind(small)
        reference = KernelPCA(10, kernel=kernel, solver=Landmarks(m), random_state=0).fit(small)
        cpu = sum(seconds for _, seconds in client.run(usage).values())
        own = usage()[1]
        if options.kill:
            victim = next(iter(client.run(os.getpid).values()))
            threading.Timer(20, os.kill, (victim, signal.SIGKILL)).start()
        X = generated(n, options.chunk)
        start = perf_counter()
        model = KernelPCA(10, kernel=kernel, solver=Landmarks(choose=reference.moments_.basis.given)).fit(X)
        wall = perf_counter() - start
        used = client.run(usage)
        cpu = sum(seconds for _, seconds in used.values()) - (0 if options.kill else cpu)
        sample = model.transform(X[:: max(1, n // 1000)]).compute()
        off = np.abs(model.explained_variance_ / reference.explained_variance_ - 1).max()
        tasks = len(X.chunks[0])
        print(f"{n:.0e} rows, m = {m}, {tasks} chunks, {WORKERS} workers{', one killed' if options.kill else ''}")
        print(f"wall {wall:.0f} s; CPU of workers {cpu / n * 1e6:.3f} µs a row")
        print(f"client and scheduler: {usage()[1] - own:.1f} CPU s, {(usage()[1] - own) / tasks * 1e3:.2f} ms a chunk")
        print(f"peak memory: workers {max(peak for peak, _ in used.values()):.0f} MB, client {usage()[0]:.0f} MB")
        print(f"bytes sent by workers to each other: {sum(client.run(moved).values()) / MB:.1f} MB")
        print(f"variances against the fit on {min(n, SMALL):.0e} rows: {off:.2%} at most; outside "
              f"{model.solver_.outside_share:.3%} and {reference.solver_.outside_share:.3%}")  # fmt: skip
        print(f"a sample of {len(sample)} rows has variance {sample[:, 0].var():.4g} along the first axis, "
              f"λ₁ = {model.explained_variance_[0]:.4g}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
