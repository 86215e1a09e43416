"""Missing values filled in by column means, by neighbours, and by alternating projection and pre-image.

    MERCER_DATA=… python benchmarks/imputation.py [--seeds 3]

Root mean squared errors of the values that were erased, in standard deviations of their columns (pixels: in grey levels
from 0 to 1); means over seeds, with standard errors. All with defaults, but for digits ``scale="none"``: pixels have
one unit.
"""

import argparse
from time import perf_counter

import numpy as np
from data import folder
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer, SimpleImputer

from mercer import KernelPCAImputer, datasets

ROWS = 500


def two_cs(seed):
    """One of two coordinates is missing in a fifth of the rows."""
    X, rng = datasets.two_cs(seed, n=300)[0], np.random.default_rng(seed)
    missing = np.zeros(X.shape, bool)
    rows = rng.choice(len(X), len(X) // 5, replace=False)
    missing[rows, rng.integers(2, size=len(rows))] = True
    return X / X.std(axis=0), missing


def digits(seed):
    """A fifth of the pixels is erased."""
    return some(load_digits().data / 16, 400, seed), 0.2


def table(name):
    """A real table, a tenth of whose values is erased."""

    def draw(seed):
        with np.load(folder() / f"{name}.npz", allow_pickle=False) as arrays:
            X = np.concatenate([arrays[key] for key in arrays.files if key.startswith("X")]).astype(float)
        return some(X / X.std(axis=0), ROWS, seed), 0.1

    return draw


def some(X, n, seed):
    return X[np.random.default_rng(seed).permutation(len(X))[:n]]


CASES = {"two Cs": two_cs, "digits": digits, "Pima": table("pima"), "thyroid": table("ad_thyroid")}
CASES |= {"satimage2": table("ad_satimage2"), "pendigits": table("ad_pendigits")}


def erased(draw, seed):
    """Rows and which of their entries are missing: given, or by a share."""
    X, missing = draw(seed)
    if isinstance(missing, float):
        missing = np.random.default_rng(1000 + seed).random(X.shape) < missing
        missing[missing.all(axis=1)] = False
    return X, missing


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(CASES))
    options = parser.parse_args()
    print("| data | means | neighbours | mercer | seconds |\n|---|---|---|---|---|")
    for name in options.only:
        errors, start = [], perf_counter()
        for seed in range(options.seeds):
            X, missing = erased(CASES[name], seed)
            given = np.where(missing, np.nan, X)
            ours = KernelPCAImputer(scale="none" if name == "digits" else "columns", random_state=seed)
            fillers = SimpleImputer(), KNNImputer(), ours
            errors.append([np.sqrt(np.mean((f.fit_transform(given) - X)[missing] ** 2)) for f in fillers])
        spread = np.std(errors, axis=0, ddof=1) / np.sqrt(options.seeds) if options.seeds > 1 else np.zeros(3)
        cells = [f"{mean:.3f} ± {error:.3f}" for mean, error in zip(np.mean(errors, axis=0), spread, strict=True)]
        print(f"| {name} | " + " | ".join(cells) + f" | {(perf_counter() - start) / options.seeds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
