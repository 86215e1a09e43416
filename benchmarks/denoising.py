"""Denoising of handwritten digits: linear PCA, every pre-image method, and scikit-learn's inverse, in decibels.

    MERCER_DATA=… python benchmarks/denoising.py [--draws 5]

USPS, pixels in [−1, 1]: 300 digits of each class to fit, 100 images to clean, kernel exp(−d²/128). Gaussian noise has
standard deviation 0.5; speckle sets 40 % of the pixels to −1 or 1. Each figure is the mean over draws of the noise,
with its standard error, at the best number of components; PSNR = 10 log₁₀(2² / mean squared error).
"""

import argparse
from time import perf_counter

import numpy as np
from data import folder
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as ScikitLearn

from mercer import KernelPCA, select
from mercer.kernels import RBF

COMPONENTS = (1, 4, 16, 64, 256)
A_CLASS, TEST = 300, 100
GAMMA = 1 / 128
METHODS = ("fixed_point", "gradient", "distances", "smoother", "learned")


def gaussian(X, rng):
    """Noise of standard deviation one half."""
    return X + 0.5 * rng.standard_normal(X.shape)


def speckle(X, rng):
    """Two pixels in five are black or white."""
    flipped = rng.random(X.shape) < 0.4
    return np.where(flipped, rng.choice([-1.0, 1.0], X.shape), X)


def digits(seed=0):
    """Rows to fit and rows to clean."""
    with np.load(folder() / "usps.npz", allow_pickle=False) as arrays:
        X, y, test = arrays["X_train"].astype(float), arrays["y_train"], arrays["X_test"].astype(float)
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(y == c), A_CLASS, replace=False) for c in range(10)]
    return X[np.concatenate(chosen)], test[rng.choice(len(test), TEST, replace=False)]


def psnr(X, clean):
    return 10 * np.log10(4 / np.mean((X - clean) ** 2))


def cleaners(train):
    """(name, q) ↦ a function from noisy to clean rows."""
    table = {}
    for q in COMPONENTS:
        pca = PCA(q).fit(train)
        table["linear PCA", q] = lambda X, m=pca: m.inverse_transform(m.transform(X))
        theirs = ScikitLearn(q, kernel="rbf", gamma=GAMMA, fit_inverse_transform=True).fit(train)
        table["scikit-learn", q] = lambda X, m=theirs: m.inverse_transform(m.transform(X))
        for method in METHODS:
            ours = KernelPCA(q, kernel=RBF(GAMMA), preimage=method).fit(train)
            table[method, q] = lambda X, m=ours: m.denoise(X)
    return table


def main():
    """Print a table for each kind of noise, and what ``select.preimage`` would choose."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    draws = parser.parse_args().draws
    train, clean = digits()
    table = cleaners(train)
    for noise in (gaussian, speckle):
        start = perf_counter()
        noisy = [noise(clean, np.random.default_rng(seed)) for seed in range(draws)]
        figures = {key: np.array([psnr(f(X), clean) for X in noisy]) for key, f in table.items()}
        print(f"\n{noise.__name__}: PSNR in dB over {draws} draws (noisy: {psnr(noisy[0], clean):.1f})")
        print(f"{'':<14}" + "".join(f"{q:>9}" for q in COMPONENTS) + "      best")
        for name in dict.fromkeys(name for name, _ in figures):
            row = [figures[name, q] for q in COMPONENTS]
            best = max(row, key=np.mean)
            error = best.std(ddof=1) / np.sqrt(draws)
            cells = "".join(f"{np.mean(cell):>9.2f}" for cell in row)
            print(f"{name:<14}{cells}   {best.mean():.2f} ± {error:.2f}")
        for q in (64, 256):
            choice = select.preimage(KernelPCA(q, kernel=RBF(GAMMA)), train, noise, random_state=0, n_draws=1)
            print(f"select.preimage at q = {q}: {choice.best}")
        print(f"({perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
