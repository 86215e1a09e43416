"""Missing values filled in by column means, by neighbours, and by alternating projection and pre-image.

    MERCER_DATA=… python benchmarks/imputation.py [--seeds 10]

Root mean squared errors of the values that were erased, in standard deviations of their columns (pixels: in grey levels
from 0 to 1); means over seeds, with standard errors; the difference is taken seed by seed. All with defaults, but for
digits ``scale="none"``: pixels have one unit.
"""

import argparse
from time import process_time

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
    parser.add_argument("--seeds", type=int, default=10, help="at least 2")
    parser.add_argument("--only", nargs="*", default=list(CASES))
    options = parser.parse_args()
    print("| data | means | neighbours | mercer | mercer − neighbours | CPU seconds |\n|---|---|---|---|---|---|")
    for name in options.only:
        errors, seconds = compared(name, range(options.seeds))
        columns = [*errors.T, errors[:, 2] - errors[:, 1]]
        print(f"| {name} | " + " | ".join(map(cell, columns)) + f" | {seconds:.1f} |", flush=True)


def compared(name, seeds):
    """The errors of means, neighbours and mercer, a row for each seed, and the seconds of CPU that mercer took."""
    errors, start, others = [], process_time(), 0.0
    for seed in seeds:
        X, missing = erased(CASES[name], seed)
        given, before = np.where(missing, np.nan, X), process_time()
        filled = [filler.fit_transform(given) for filler in (SimpleImputer(), KNNImputer())]
        others += process_time() - before
        ours = KernelPCAImputer(scale="none" if name == "digits" else "columns", random_state=seed)
        filled.append(ours.fit_transform(given))
        errors.append([np.sqrt(np.mean((x - X)[missing] ** 2)) for x in filled])
    return np.array(errors), (process_time() - start - others) / len(seeds)


def cell(values):
    """The mean, and its standard error."""
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


if __name__ == "__main__":
    main()
