"""Two interlocked Cs, after Zhou's figure 2: in how many draws each method finds them.

    python benchmarks/two_cs.py [--draws 50]

Half circles of radius 6 (or 12) with radial noise of standard deviation 0.6, 200 rows in all; an RBF kernel of σ = 8
for whatever has a kernel, two axes for each cluster, ρ = 0.01. A draw counts where the adjusted Rand index exceeds
0.95. The iterations are those of EM from random responsibilities after which no label changes any more.
"""

import argparse
from time import process_time

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from mercer import KernelPCAMixture
from mercer.datasets import two_cs
from mercer.eigen import Exact
from mercer.kernels import RBF
from mercer.rkhs.basis import Coordinates
from mercer.rkhs.em import by_chance, em

KERNEL, AXES, RHO = RBF.from_sigma(8.0), 2, 0.01
FOUND = 0.95
STEPS = 60  # of EM: more than any draw needs


def contenders(seed):
    """Name ↦ an estimator with ``fit_predict``."""
    ours = {"noise_variance": RHO, "kernel": KERNEL, "random_state": seed}
    return {
        "KernelPCAMixture": KernelPCAMixture(2, AXES, **ours),
        "one random start": KernelPCAMixture(2, AXES, init="random", n_init=1, **ours),
        "one k-means start": KernelPCAMixture(2, AXES, init="kmeans", n_init=1, **ours),
        "GaussianMixture": GaussianMixture(2, n_init=10, random_state=seed),
        "KMeans": KMeans(2, n_init=10, random_state=seed),
        "SpectralClustering": SpectralClustering(2, gamma=KERNEL.gamma, random_state=seed),
    }


def settled(X, y, seed):
    """The iterations until no label changes, where one random start finds the Cs; else None."""
    w = np.full(len(X), 1 / len(X))
    factor = Coordinates.of(KERNEL, X, Exact())
    R = by_chance(factor, 2, w, np.random.default_rng(seed))
    steps = zip(range(STEPS), em(factor, R, [AXES] * 2, RHO, w), strict=False)
    labels = [step.R.argmax(axis=1) for _, step in steps]
    if adjusted_rand_score(y, labels[-1]) <= FOUND:
        return None
    return 1 + max((t for t, before in enumerate(labels, 1) if np.any(before != labels[-1])), default=0)


def main():
    """Print a table for each radius."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=50)
    draws = parser.parse_args().draws
    for radius in (6.0, 12.0):
        print(f"\nradius {radius:g}, {draws} draws: found, and seconds of one processor for each fit")
        data = [two_cs(seed, radius=radius) for seed in range(draws)]
        for name in contenders(0):
            start = process_time()
            labels = [contenders(seed)[name].fit_predict(X) for seed, (X, _) in enumerate(data)]
            seconds = (process_time() - start) / draws
            found = sum(adjusted_rand_score(y, own) > FOUND for (_, y), own in zip(data, labels, strict=True))
            print(f"{name:<20}{found:>4}{seconds:>9.3f}")
        counts = [settled(X, y, seed) for seed, (X, y) in enumerate(data)]
        counts = [count for count in counts if count is not None]
        share = np.mean([2 <= count <= 4 for count in counts])
        print(f"iterations until labels settle: median {np.median(counts):g}, 2 to 4 in {share:.0%} of {len(counts)}")


if __name__ == "__main__":
    main()
