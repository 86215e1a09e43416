"""Whether the width that ``select.kernel`` chooses is good on rows that no search has seen.

    MERCER_DATA=… python benchmarks/choosing.py [--seeds 5]

Two thirds of the rows are searched, with three folds, among the nine default widths of an RBF. Then every width of the
table is fitted on them and judged on the last third: the mean squared error of rows that go there and back, with the
noise given. ``chosen / best`` is the error of the width that was chosen over that of the width that turns out best;
beside it that of 1 / median squared distance, which takes no search, and the time that was told before the search over
the time that it took.
"""

import argparse
from time import perf_counter

import numpy as np

from mercer import KernelPCA, datasets, select
from mercer.kernels import RBF

DRAWS = 3  # of the noise


def pima(seed):
    """All rows, in standard deviations."""
    arrays = datasets.load("pima")
    X = np.concatenate([arrays["X_train"], arrays["X_test"]]).astype(float)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def usps(seed):
    """Some of the handwritten digits."""
    X = datasets.load("usps")["X_train"]
    return X[np.random.default_rng(seed).choice(len(X), 600, replace=False)].astype(float)


CASES = {
    "three clusters": (lambda seed: datasets.three_clusters(seed, n=150), 4, 0.1),
    "two Cs": (lambda seed: datasets.two_cs(seed, n=300)[0], 6, 1.0),
    "rings": (lambda seed: datasets.rings(seed, n=450)[0], 10, 0.1),
    "moons": (lambda seed: datasets.moons(seed, n=400)[0], 6, 0.1),
    "Pima": (pima, 5, 0.0),
    "Pima, noisy": (pima, 20, 0.5),
    "USPS": (usps, 20, 0.0),
    "USPS, noisy": (usps, 40, 0.5),
}


def compared(draw, q, noise, seed):
    """Errors on the last third, chosen / best and median / best, and the time told over the time taken."""
    rng, X = np.random.default_rng(seed), draw(seed)
    X = X[rng.permutation(len(X))]
    seen, last = np.split(X, [2 * len(X) // 3])
    settings = {"kernels": ["rbf"], "noise": noise, "random_state": seed}
    told, start = select.kernel_cost(KernelPCA(q), seen, **settings).seconds, perf_counter()
    found = select.kernel(KernelPCA(q), seen, **settings)
    taken = perf_counter() - start
    clean = np.tile(last, (DRAWS if noise else 1, 1))
    noisy = clean + noise * rng.standard_normal(clean.shape)

    def error(kernel):
        model = KernelPCA(q, kernel=kernel).fit(seen)
        return np.mean((model.inverse_transform(model.transform(noisy)) - clean) ** 2)

    best = min(error(row.kernel) for row in found.table)
    return error(found.best) / best, error(RBF(gamma="median")) / best, told / taken


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print(
        "| data | components | noise | chosen / best | worst seed | median / best | told / taken |\n" + "|---" * 7 + "|"
    )
    for name, (draw, q, noise) in CASES.items():
        ratios = np.array([compared(draw, q, noise, seed) for seed in range(options.seeds)])
        chosen, median, told = ratios.mean(axis=0)
        figures = f"{chosen:.3f} | {ratios[:, 0].max():.3f} | {median:.3f} | {told:.1f}"
        print(f"| {name} | {q} | {noise:g} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
