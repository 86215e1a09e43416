"""Clusters found by mixtures in feature space, and by other methods: agreement, number, and time.

    python benchmarks/clustering.py [--quick] [--seeds 10] [--again]

Adjusted Rand indices on eight tables with the number of clusters given and no other setting, and the number that
``select.n_clusters`` finds, also in uniform noise, where it should be 1. Means over tables, with standard errors over
seeds: draws of the generated tables, nine tenths of the others. HDBSCAN is not given the number; samples that
it leaves out are a cluster of their own. Seconds of CPU for 1000 rows of 10 columns in five blobs.
"""

import warnings
from time import process_time

import numpy as np
from results import Results, options
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from mercer import KernelPCAMixture, datasets, select

SUBSET, SHEAR = 0.9, np.array([[0.6, -0.6], [-0.4, 0.8]])
METHODS = {
    "`KernelPCAMixture`": lambda k, seed: KernelPCAMixture(k, random_state=seed),
    "`KernelPCAMixture(n_parts=2)`": lambda k, seed: KernelPCAMixture(k, n_parts=2, random_state=seed),
    "`SpectralClustering`": lambda k, seed: SpectralClustering(k, random_state=seed),
    "`SpectralClustering`, neighbours": lambda k, seed: SpectralClustering(
        k, affinity="nearest_neighbors", random_state=seed
    ),
    "`KMeans`": lambda k, seed: KMeans(k, n_init=10, random_state=seed),
    "`GaussianMixture`": lambda k, seed: GaussianMixture(k, n_init=5, random_state=seed),
    "`HDBSCAN`": lambda k, seed: HDBSCAN(min_cluster_size=15, copy=True),
}


def blobs(seed, spread=0.6):
    return make_blobs(300, centers=3, cluster_std=spread, random_state=seed)


def anisotropic(seed):
    X, y = make_blobs(300, centers=[(-6, -6), (0, 0), (6, 6)], random_state=seed)
    return X @ SHEAR, y


def subset(load, seed, most_class=None):
    """Return nine tenths of the rows of a table, of the first classes only if their number is given."""
    X, y = load(return_X_y=True)
    kept = np.flatnonzero(y < (most_class or np.inf))
    rows = np.random.default_rng(seed).permutation(kept)[: int(SUBSET * len(kept))]
    return X[rows], y[rows]


def pixels(X, y):
    return X / 16, y  # grey levels in [0, 1]


TABLES = {  # name: rows and labels of a seed, the numbers of clusters that are right
    "two Cs": (lambda seed: datasets.two_cs(seed), {2}),
    "moons": (lambda seed: make_moons(300, noise=0.06, random_state=seed), {2}),
    "circles": (lambda seed: make_circles(300, noise=0.05, factor=0.4, random_state=seed), {2}),
    "blobs": (blobs, {3}),
    "anisotropic": (anisotropic, {3}),
    "wine": (lambda seed: subset(load_wine, seed), {3}),
    "iris": (lambda seed: subset(load_iris, seed), {2, 3}),
    "digits 0–4": (lambda seed: pixels(*subset(load_digits, seed, 5)), {4, 5, 6}),
}
NOISE = "uniform noise"


def table(name, seed):
    """Return rows and labels; columns are standardised, except pixels, which have a common unit."""
    if name == NOISE:
        return np.random.default_rng(seed).uniform(size=(300, 2)), np.zeros(300, int)
    X, y = TABLES[name][0](seed)
    return (X if "digits" in name else StandardScaler().fit_transform(X)), y


def agreement(method, name, seed):
    X, y = table(name, seed)
    return adjusted_rand_score(y, METHODS[method](len(set(y)), seed).fit_predict(X))


def number(name, seed):
    X, _ = table(name, seed)
    return select.n_clusters(KernelPCAMixture(random_state=seed), X, random_state=seed).best


def seconds(method):
    """Return the CPU seconds of a fit, the better of two."""
    X = make_blobs(1000, 10, centers=5, random_state=0)[0]
    times = []
    for _ in range(2):
        start = process_time()
        METHODS[method](5, 0).fit(X)
        times.append(process_time() - start)
    return min(times)


def main():
    """Measure what the file of results does not have, and write the tables."""
    given = options(__doc__, seeds=(10, 3))
    results, seeds = Results("clustering", given.again), range(given.seeds)
    warnings.simplefilter("ignore")
    lines = [f"| adjusted Rand index | {' | '.join(TABLES)} | mean | seconds |", "|---" * (len(TABLES) + 3) + "|"]
    for method in METHODS:
        found = [[results.once(lambda: agreement(method, t, s), method, t, s) for t in TABLES] for s in seeds]  # noqa: B023
        time = results.once(lambda: seconds(method), method, "seconds")  # noqa: B023
        means = np.mean(found, axis=1)
        cells = [f"{value:.2f}" for value in np.mean(found, axis=0)]
        cells += [f"{means.mean():.2f} ± {means.std(ddof=1) / np.sqrt(len(means)):.2f}", f"{time:.2f}"]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    right = {name: accepted for name, (_, accepted) in TABLES.items()} | {NOISE: {1}}
    counts = {t: [results.once(lambda: number(t, s), "n_clusters", t, s) for s in seeds] for t in right}  # noqa: B023
    shares = [f"{np.mean([k in right[t] for k in counts[t]]):.0%} ({_told(right[t])})" for t in right]
    lines += ["", f"| number of clusters | {' | '.join(right)} |", "|---" * (len(right) + 1) + "|"]
    lines.append(f"| `select.n_clusters` right, of {len(seeds)} | {' | '.join(shares)} |")
    results.publish("guides/clustering.md", lines)


def _told(numbers):
    return " or ".join(map(str, sorted(numbers)))


if __name__ == "__main__":
    main()
