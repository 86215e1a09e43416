"""What is denoised: rows to fit, clean rows to bring back, and kinds of noise."""

from typing import NamedTuple

import numpy as np
from data import folder
from sklearn.datasets import load_digits, make_moons

from mercer.kernels import RBF, Kernel

PERFECT = 1e-10  # of the variance: an error below it counts as this, 100 dB
A_CLASS, TEST = 300, 100  # USPS: digits of each class to fit, images to clean


class Task(NamedTuple):
    """Rows to fit, clean rows that the model does not see, a kernel, numbers of components, and noises by name."""

    train: np.ndarray
    clean: np.ndarray
    kernel: Kernel
    components: tuple
    noises: dict


def gaussian(sd):
    """Add normal noise."""
    return lambda X, rng: X + sd * rng.standard_normal(X.shape)


def speckle(share, low=-1.0):
    """Set a share of the pixels to black or white."""
    return lambda X, rng: np.where(rng.random(X.shape) < share, rng.choice([low, 1.0], X.shape), X)


def usps(seed=0):
    """Digits with pixels in [−1, 1], exp(−d²/128), and the two noises of the literature; the first rows if no seed."""
    with np.load(folder() / "usps.npz", allow_pickle=False) as arrays:
        X, y, test = arrays["X_train"].astype(float), arrays["y_train"], arrays["X_test"].astype(float)
    if seed is None:
        chosen, clean = [np.flatnonzero(y == c)[:A_CLASS] for c in range(10)], test[:TEST]
    else:
        rng = np.random.default_rng(seed)
        chosen = [rng.choice(np.flatnonzero(y == c), A_CLASS, replace=False) for c in range(10)]
        clean = test[rng.choice(len(test), TEST, replace=False)]
    noises = {"Gaussian, sd 0.5": gaussian(0.5), "speckle, 40 %": speckle(0.4)}
    return Task(X[np.concatenate(chosen)], clean, RBF(1 / 128), (1, 4, 16, 64, 256), noises)


def digits(seed=0):
    """scikit-learn's digits, pixels in [0, 1]."""
    X = np.random.default_rng(seed).permutation(load_digits().data / 16)
    noises = {"none": gaussian(0), "Gaussian, sd 0.1": gaussian(0.1), "Gaussian, sd 0.25": gaussian(0.25)}
    noises["speckle, 20 %"] = speckle(0.2, low=0.0)
    return Task(X[:1000], X[1000:1300], RBF(0.1), (16, 64, 256), noises)


def moons(seed=0):
    """Two half circles in the plane."""
    noises = {"none": gaussian(0), "Gaussian, sd 0.05": gaussian(0.05), "Gaussian, sd 0.15": gaussian(0.15)}
    noises["Gaussian, sd 0.3"] = gaussian(0.3)
    clean = make_moons(200, random_state=seed + 1)[0]
    return Task(make_moons(600, random_state=seed)[0], clean, RBF(3.0), (4, 8, 16), noises)


def draws(task, noise, n):
    """Noisy copies of the clean rows, from fixed seeds."""
    return [task.noises[noise](task.clean, np.random.default_rng(seed)) for seed in range(n)]


def decibels(X, clean, top=None):
    """10 log₁₀(top² / mean squared error) of each row, in the mean over rows; top² is the variance if not given."""
    variance = clean.var(axis=0).mean()
    error = np.maximum(np.mean((X - clean) ** 2, axis=1), PERFECT * variance)
    return float(np.mean(10 * np.log10((variance if top is None else top**2) / error)))


def pooled(X, clean, top):
    """10 log₁₀(top² / mean squared error over all rows)."""
    return float(10 * np.log10(top**2 / np.mean((X - clean) ** 2)))
