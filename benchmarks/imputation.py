"""Missing values filled in by neighbours, by chained regressions, and by kernel PCA.

    MERCER_DATA=… python benchmarks/imputation.py [--seeds 3]

350 rows of each table are standardised, and a fifth of their values is erased: at random (MCAR), more often where
another column that is always known is large (MAR), or where the value itself is large (MNAR). Root mean squared errors
of the erased values in standard deviations of their columns; means over tables, with standard errors over seeds. All
with defaults; seconds of CPU.
"""

import argparse
import warnings
from time import process_time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from mercer import KernelPCAImputer, datasets

ROWS, SHARE, STEEP = 350, 0.2, 2.0
NAMES = ("ida_diabetis", "ida_image", "ad_glass", "ad_landsat", "ad_pendigits")
KINDS = ("MCAR", "MAR", "MNAR")
FILLERS = {
    "KNNImputer": lambda seed: KNNImputer(),
    "IterativeImputer": lambda seed: IterativeImputer(random_state=seed),
    "KernelPCAImputer": lambda seed: KernelPCAImputer(random_state=seed),
}


def tables():
    """Return the seven tables."""
    found = {name: datasets.load(name)["X"].astype(float) for name in NAMES}
    return found | {"wine": load_wine().data, "cancer": load_breast_cancer().data}


def standardised(X, seed):
    X = X[np.random.default_rng(seed).permutation(len(X))[:ROWS]]
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def erased(X, kind, rng):
    """Return a mask of a fifth of the values."""
    d = X.shape[1]
    drivers = rng.permutation(d)[: max(1, d // 4)] if kind == "MAR" else []
    by = {"MCAR": np.zeros_like(X), "MNAR": X}.get(kind)
    by = X[:, rng.choice(drivers, d)] if by is None else by
    odds = 1 / (1 + np.exp(-STEEP * by))
    p = SHARE * odds / odds.mean(axis=0) * d / (d - len(drivers))
    p[:, drivers] = 0
    missing = rng.random(X.shape) < p
    missing[missing.all(axis=1), 0] = False
    return missing


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="at least 2")
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")  # chained regressions that have not converged
    errors, seconds = {}, {}
    for table, X in tables().items():
        for kind in KINDS:
            for seed in range(seeds):
                full, rng = standardised(X, seed), np.random.default_rng(seed)
                missing = erased(full, kind, rng)
                for name, make in FILLERS.items():
                    start = process_time()
                    filled = make(seed).fit_transform(np.where(missing, np.nan, full))
                    seconds.setdefault(name, []).append(process_time() - start)
                    errors[name, kind, seed, table] = np.sqrt(np.mean((filled - full)[missing] ** 2))
    print(f"| | {' | '.join(KINDS)} | seconds |\n|---|---|---|---|---|")
    for name in FILLERS:
        cells = [cell([[errors[name, kind, s, t] for t in tables()] for s in range(seeds)]) for kind in KINDS]
        print(f"| `{name}` | {' | '.join(cells)} | {np.mean(seconds[name]):.3f} |")


def cell(values):
    """The mean over tables, and its standard error over seeds."""
    means = np.mean(values, axis=1)
    return f"{means.mean():.3f} ± {means.std(ddof=1) / np.sqrt(len(means)):.3f}"


if __name__ == "__main__":
    main()
