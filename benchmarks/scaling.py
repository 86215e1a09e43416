"""What a fit on a cluster costs: a model of a few terms, fitted to runs and tried on others.

    python benchmarks/scaling.py [--again]

For n rows of d columns, m landmarks and c chunks on P workers,

    CPU of the workers = n (io · d + kernel · d · m + products · m²) + task · c
    CPU of client and scheduler = scheduler · c + axes · m³ + once
    seconds = max(workers / P, scheduler · c) + axes · m³ + once

Kernel and landmarks are given, so that the rows are made once, by the workers (which is the term ``io``, and reading a
file would be another). Runs with m = 0 only read the rows. The model is fitted to CPU seconds, which other work on the
machine changes less than the time that passes. ``--chunks`` measures the scheduler with 10,000 tiny chunks instead.
Figures are kept in ``results/scaling.json``, and the tables on ``guides/dask.md``.
"""

import argparse

import numpy as np
from billion import D, cluster, generated, measured
from distributed import Client
from results import Results
from scipy.optimize import nnls

from mercer import KernelPCA
from mercer.eigen import Landmarks
from mercer.kernels import RBF

# rows, landmarks, rows of a chunk, workers
FITTED = [
    (1_000_000, 0, 50_000, 1),
    (1_000_000, 0, 5_000, 2),
    (1_000_000, 50, 50_000, 1),
    (1_000_000, 100, 100_000, 2),
    (500_000, 300, 50_000, 1),
    (500_000, 500, 50_000, 2),
    (500_000, 100, 2_500, 1),
    (1_000_000, 100, 2_500, 2),
]
HELD_OUT = [
    (1_000_000, 200, 50_000, 1),
    (1_000_000, 200, 50_000, 2),
    (2_000_000, 100, 100_000, 2),
    (500_000, 400, 25_000, 2),
]
FAR = (10**10, 500, 500_000, 100)
TINY, ROWS = 10_000, 100  # chunks, and rows of each


def estimator(m, kernel):
    """Return an estimator whose width and landmarks are given, or one of which only the width is."""
    Z = np.random.default_rng(0).standard_normal((m, D))
    return KernelPCA(5, kernel=kernel, solver=Landmarks(choose=Z))


def run(n, m, chunk, workers):
    """Return the seconds of CPU of workers and client, and those that passed, of one fit."""
    with cluster(workers) as local, Client(local) as client:
        model, X = estimator(m, RBF(0.05)), generated(n, chunk)
        estimator(max(m, 1), RBF(0.05)).fit(generated(2 * chunk, chunk))  # imports
        _, figures = measured(client, lambda: model.fit(X) if m else X.min().compute())
    return [figures["workers"], figures["client"], figures["wall"]]


def tiny():
    """Return milliseconds of client and scheduler for each of many tiny chunks, by what a fit has to find out."""
    found = {}
    with cluster() as local, Client(local) as client:
        estimators = {
            "width and landmarks given": estimator(50, RBF(0.05)),
            "landmarks drawn": KernelPCA(5, solver=Landmarks(50), random_state=0),
        }
        for name, model in estimators.items():
            model.fit(generated(10 * ROWS, ROWS))
            X = generated(TINY * ROWS, ROWS)
            found[name] = measured(client, lambda model=model, X=X: model.fit(X))[1]["client"] / TINY * 1e3
    return found


def terms(runs):
    """Return the matrices of the terms of workers and client, one row for each run."""
    n, m, chunk, _ = np.array(runs, float).T
    workers = np.column_stack([n * D, n * D * m, n * m**2, n / chunk])
    return workers, np.column_stack([n / chunk, m**3, np.ones(len(runs))])


def fitted(matrix, seconds):
    """Return the coefficients that are not negative with the least relative errors."""
    return nnls(matrix / seconds[:, None], np.ones(len(seconds)))[0]


def lines(kept):
    """Return the lines of the page: the runs, the model, its errors and its prediction."""
    seen = {case: kept.figures[" | ".join(map(str, case))] for case in FITTED + HELD_OUT}
    sides = [np.array([seen[case][side] for case in FITTED]) for side in (0, 1)]
    coefficients = [fitted(matrix, seconds) for matrix, seconds in zip(terms(FITTED), sides, strict=True)]
    told = ["| rows | m | chunks | workers | CPU of workers | by the model | CPU of client | by the model | passed |",
            "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    errors = []
    for case in FITTED + HELD_OUT:
        n, m, chunk, workers = case
        model = [float((matrix @ c)[0]) for matrix, c in zip(terms([case]), coefficients, strict=True)]
        cpu, client, wall = seen[case]
        held = case in HELD_OUT
        if held:
            errors.append([abs(model[0] / cpu - 1), abs(model[1] / client - 1)])
        told.append(
            f"| {n:,}{' (held out)' if held else ''} | {m} | {n // chunk} | {workers} | {cpu:.1f} s | "
            f"{model[0]:.1f} s | {client:.2f} s | {model[1]:.2f} s | {wall:.0f} s |"
        )
    (io, kernel, products, task), (scheduler, axes, once) = coefficients
    far = [float((matrix @ c)[0]) for matrix, c in zip(terms([FAR]), coefficients, strict=True)]
    worst = np.max(errors, axis=0)
    busy = scheduler * FAR[0] / FAR[2]
    seconds = max(far[0] / FAR[3], busy) + far[1] - busy
    return [
        *told,
        "",
        f"The model: io {io * 1e9:.1f} ns for each number, kernel {kernel * 1e9:.2f} ns for each number and landmark, "
        f"products {products * 1e12:.0f} ps for each pair of landmarks and row, and {task * 1e3:.1f} ms for each "
        f"chunk; the scheduler {scheduler * 1e3:.1f} ms for each chunk, and the client {once:.1f} s and for the axes "
        f"{axes * 500**3:.1f} s if m = 500. On the runs held out it is wrong by at most {worst[0]:.0%} for the "
        f"workers and {worst[1]:.0%} for client and scheduler. For {FAR[0]:.0e} rows, m = {FAR[1]}, chunks of "
        f"{FAR[2]:,} rows and {FAR[3]} such workers it predicts {far[0] / FAR[3]:.0f} s for each worker and "
        f"{far[1]:.0f} s for the scheduler, so {seconds / 60:.0f} minutes.",
    ]


def main():
    """Run what is not in the file, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", action="store_true", help="ignore figures that are kept from an earlier run")
    parser.add_argument("--chunks", action="store_true", help="the scheduler's time for tiny chunks")
    options = parser.parse_args()
    if options.chunks:
        kept = Results("scaling-chunks", options.again)
        figures = kept.once(tiny, "tiny")
        told = ", ".join(f"{ms:.2f} ms with {name}" for name, ms in figures.items())
        kept.publish(
            "guides/dask.md", [f"{TINY:,} chunks of {ROWS} rows: {told} for each chunk, client and scheduler."]
        )
        return
    kept = Results("scaling", options.again)
    for case in FITTED + HELD_OUT:
        print(case, kept.once(lambda case=case: run(*case), *case), flush=True)
    kept.publish("guides/dask.md", lines(kept))


if __name__ == "__main__":
    main()
