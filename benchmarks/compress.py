"""Small models: how much faster a compressed model transforms, and how well its components still classify.

    python benchmarks/compress.py [--splits 5] [--rows 10000]

The first table compresses kernel PCA of 10 000 rows (10 columns, 10 components, exp(−d²/10)) to 200 anchors, and
times ``transform`` of 10 000 other rows: medians of interleaved runs. φ is the largest error of an axis, certified;
"moved" is the root of the mean square by which coordinates of the other rows differ from the full model's, relative
to their size, for the worst component.

The second is the accuracy of a linear classifier (logistic regression on standardised components) on scikit-learn's
digits, half to fit and half to test, 10 components, γ = 1/median squared distance: the mean over splits, with its
standard error. "full" keeps all rows. Random subsets are kernel PCA of so many rows by lot.
"""

import argparse
import warnings
from functools import partial
from statistics import median

import numpy as np
from data import clusters, normal
from measure import timed
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelPCA, SparseKernelPCA, compress
from mercer.eigen import Landmarks
from mercer.kernels import RBF

ANCHORS, ROUNDS, BAR = 200, 7, 20
MOVES = 50  # steps of free anchors on the large model
COMPONENTS, SIZES = 10, (12, 20, 40, 80, 160)
KERNEL = RBF("median")


def faster(rows):
    """Print what compression to 200 anchors gains and costs."""
    print(f"{rows} rows to {ANCHORS} anchors; transform of {rows} other rows")
    print(
        f"{'rows':<10}{'anchors':<9}{'compress':>9}{'full':>9}{'small':>9}{'ratio':>7}{'size':>7}{'φ':>10}{'moved':>10}"
    )
    for source in (clusters, normal):
        X = source(2 * rows, 10)
        train, other = X[:rows], X[rows:]
        full = KernelPCA(10, kernel=RBF(0.1)).fit(train)
        for free in (False, True):
            small, (seconds, _) = timed(partial(compress, full, ANCHORS, free=free, max_iter=MOVES))
            laps = [[timed(partial(m.transform, other))[1][0] for m in (full, small)] for _ in range(ROUNDS)]
            before, after = (median(lap) for lap in zip(*laps, strict=True))
            Y, moved = full.transform(other), small.transform(other) - full.transform(other)
            worst = np.sqrt(np.mean(moved**2, axis=0) / np.mean(Y**2, axis=0)).max()
            report = small.compression_
            print(
                f"{source.__name__:<10}{'free' if free else 'greedy':<9}{seconds:>7.1f} s{before * 1e3:>6.0f} ms"
                f"{after * 1e3:>6.0f} ms{before / after:>6.0f}×{report.bytes_before / report.bytes:>6.0f}×"
                f"{report.error:>10.1e}{worst:>10.1e}" + ("" if before / after >= BAR else f"  missed: ≥ {BAR}×")
            )


def models(X, m, full, rng):
    """Name ↦ a model of m anchors."""
    q, gamma = COMPONENTS, full.kernel_.gamma
    few = X[rng.choice(len(X), m, replace=False)]
    return {
        "sparse": lambda: SparseKernelPCA(q, n_anchors=m, kernel=RBF(gamma)).fit(X),
        "compressed": lambda: compress(full, m),
        "compressed, free": lambda: compress(full, m, free=True, max_iter=100),
        "landmarks": lambda: KernelPCA(q, kernel=RBF(gamma), solver=Landmarks(n=m), random_state=0).fit(X),
        "random subset": lambda: KernelPCA(q, kernel=RBF(gamma)).fit(few),
    }


def accuracy(model, split):
    """Share of right labels of a linear classifier on the components."""
    X, test, y, y_test = split
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return classifier.fit(model.transform(X), y).score(model.transform(test), y_test)


def classified(splits):
    """Print the accuracy against the number of anchors."""
    X, y = load_digits(return_X_y=True)
    table: dict = {}
    for seed in range(splits):
        split = train_test_split(X / 16, y, test_size=0.5, random_state=seed, stratify=y)  # grey levels to [0, 1]
        full = KernelPCA(COMPONENTS, kernel=KERNEL).fit(split[0])
        table.setdefault(("full", None), []).append(accuracy(full, split))
        for m in SIZES:
            for name, make in models(split[0], m, full, np.random.default_rng(seed)).items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of fewer anchors than asked for
                    model = make()
                table.setdefault((name, m), []).append(accuracy(model, split))
    print(f"\naccuracy on digits in %, {len(split[0])} training rows, {COMPONENTS} components, {splits} splits")
    print(f"{'anchors':<18}" + "".join(f"{m:>14}" for m in SIZES))
    print(f"{'full':<18}{_cell(table['full', None]):>14}  with all {len(split[0])}")
    for name in dict.fromkeys(name for name, m in table if m):
        print(f"{name:<18}" + "".join(f"{_cell(table[name, m]):>14}" for m in SIZES))


def _cell(shares):
    error = np.std(shares, ddof=1) / len(shares) ** 0.5 if len(shares) > 1 else 0.0
    return f"{100 * np.mean(shares):.2f} ± {100 * error:.2f}"


def main():
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10_000)
    arguments = parser.parse_args()
    faster(arguments.rows)
    classified(arguments.splits)


if __name__ == "__main__":
    main()
