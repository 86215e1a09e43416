"""Streams of ten batches: ``partial_fit`` against one fit on all rows, with the same kernel and number of landmarks.

For each stream: the ratio of the shares outside the landmarks (target 1.2), the relative difference of the variances
and of the mean reconstruction error over all rows (target 3 %), and the seconds for one of the last batches.
"""

import argparse
import time
import warnings

import numpy as np

from mercer import KernelPCA
from mercer.eigen import Landmarks
from mercer.kernels import RBF

BATCHES, ROWS, COLUMNS, LANDMARKS, COMPONENTS = 10, 1000, 5, 200, 5


def streams(rng, rows=ROWS):
    """Yield the name of each stream and its batches."""
    draw = lambda n=rows: rng.standard_normal((n, COLUMNS))  # noqa: E731
    centres = 4 * rng.standard_normal((5, COLUMNS))
    clusters = lambda: centres[rng.integers(0, 5, rows)] + 0.5 * draw()  # noqa: E731
    yield "iid", [draw() for _ in range(BATCHES)]
    yield "mean + 1 per batch", [draw() + i for i in range(BATCHES)]
    yield "shift of 8 after the first", [draw() + 8 * (i > 0) for i in range(BATCHES)]
    yield "first batch one cluster of five", [centres[0] + 0.5 * draw(), *(clusters() for _ in range(BATCHES - 1))]
    yield "first batch 20 rows", [draw(20), *(draw() for _ in range(BATCHES - 1))]
    yield "there and back", [draw() + 8 * (i % 2) for i in range(BATCHES)]


def compare(batches, gamma=None, landmarks=LANDMARKS, **settings):
    """Return ratios of a stream to one fit on all rows: share outside, variances, reconstruction error, time."""
    X = np.vstack(batches)
    kernel = RBF("median" if gamma is None else gamma).bind(X)
    stream = KernelPCA(COMPONENTS, kernel=kernel, solver=Landmarks(landmarks, **settings), random_state=0)
    seconds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = KernelPCA(COMPONENTS, kernel=kernel, solver=Landmarks(landmarks), random_state=0).fit(X)
        for batch in batches:
            start = time.perf_counter()
            stream.partial_fit(batch)
            seconds.append(time.perf_counter() - start)
    outside = [m.moments_.basis.outside(X).mean() / whole.total_variance_ for m in (stream, whole)]
    variances = np.abs(stream.explained_variance_ / whole.explained_variance_ - 1).max()
    error = stream.reconstruction_error(X).mean() / whole.reconstruction_error(X).mean() - 1
    return {
        "outside": outside[0],
        "outside of a fit": outside[1],
        "ratio": outside[0] / outside[1],
        "stated": stream.solver_.outside_share,
        "variances": variances,
        "error": error,
        "refreshes": len(stream.solver_.changes),
        "seconds": np.median(seconds[-3:]),
    }


def main():
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--gamma", type=float, default=None)
    for seed in range((options := parser.parse_args()).seeds):
        for name, batches in streams(np.random.default_rng(seed), options.rows):
            figures = compare(batches, options.gamma)
            print(f"{name:34}", "  ".join(f"{key} {value:.4g}" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()
