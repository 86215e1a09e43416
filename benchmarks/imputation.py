"""Missing values filled in by neighbours, by chained regressions, and by kernel PCA.

    MERCER_DATA=… python benchmarks/imputation.py [--quick] [--seeds 10] [--again]

350 rows of each table are standardised, and a fifth of their values is erased: at random (MCAR), more often where
another column that is always known is large (MAR), or where the value itself is large (MNAR). Root mean squared errors
of the erased values in standard deviations of their columns; means over tables, with standard errors over seeds. All
with defaults. Seconds of CPU for 350 × 20 values, a fifth of them missing at random.
"""

import warnings
from itertools import product
from time import process_time

import numpy as np
from results import Results, options
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


def judged(make, full, missing, seed):
    """Return the error of a method, and its seconds."""
    start = process_time()
    filled = make(seed).fit_transform(np.where(missing, np.nan, full))
    return float(np.sqrt(np.mean((filled - full)[missing] ** 2))), process_time() - start


def speed(make):
    """Return the CPU seconds for 350 × 20 values of six factors and noise, the best of three."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 6)) @ rng.normal(size=(6, 20)) + rng.normal(size=(ROWS, 20)) / 2
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return min(judged(make, X, erased(X, "MCAR", np.random.default_rng(1)), 0)[1] for _ in range(3))


def main():
    """Measure what the file of results does not have, and write the table."""
    given = options(__doc__, seeds=(10, 3))
    results = Results("imputation", given.again)
    warnings.simplefilter("ignore")  # chained regressions that have not converged
    found, seconds = {}, {name: results.once(lambda: speed(make), name, "speed") for name, make in FILLERS.items()}  # noqa: B023
    for table, X in tables().items():
        for kind, seed in product(KINDS, range(given.seeds)):
            full = standardised(X, seed)
            missing = erased(full, kind, np.random.default_rng(seed))
            for name, make in FILLERS.items():
                row = results.once(lambda: judged(make, full, missing, seed), name, kind, table, seed)  # noqa: B023
                found.setdefault((name, kind), {}).setdefault(seed, []).append(row[0])
    lines = [f"| | {' | '.join(KINDS)} | seconds, 350 × 20 | over k-NN's |", "|---|---|---|---|---|---|"]
    for name in FILLERS:
        cells = [cell(list(found[name, kind].values())) for kind in KINDS]
        cells += [f"{seconds[name]:.3f}", f"{seconds[name] / seconds['KNNImputer']:.0f}"]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    results.publish("monitoring.md", lines)


def cell(values):
    """The mean over tables, and its standard error over seeds."""
    means = np.mean(values, axis=1)
    return f"{means.mean():.3f} ± {means.std(ddof=1) / np.sqrt(len(means)):.3f}"


if __name__ == "__main__":
    main()
