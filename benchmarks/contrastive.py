"""Groups of samples that the variance of a background hides: contrastive components, beside other methods.

    MERCER_DATA=… python benchmarks/contrastive.py [--quick] [--seeds 10] [--again]

Needs umap-learn (the extra ``docs``). Adjusted Rand indices of two normal clusters on two components with the two
groups of four tables, means over seeds with standard errors. ``proteins``: 77 columns with six common factors, 20 of
them changed in one of the groups. ``images``: handwritten zeros and ones on patches of a texture. ``Eastman 5, 10`` and
``3, 5``: 500 rows of two faults of the Tennessee Eastman process, against its normal operation. Columns are divided by
the standard deviations of the background. Linear contrastive PCA (Abid et al. 2018) is three lines of NumPy; "best" is
the best of five contrasts, judged with the labels, which no user has. ContrastiveKernelPCA uses ``contrast="auto"``;
the broad RBF has a tenth of the default ``gamma``.
"""

import warnings
from itertools import product

import numpy as np
from results import Results, options, table
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from mercer import ContrastiveKernelPCA, KernelPCA, datasets
from mercer.kernels import RBF

CONTRASTS = (1, 3, 10, 30, 100)
BROAD = 0.1  # of the default γ


def proteins(rng):
    factors, labels = rng.normal(size=(6, 77)), np.repeat([0, 1], 135)
    rows = rng.normal(size=(405, 6)) @ factors + rng.normal(size=(405, 77))
    changed = rng.choice(77, 20, replace=False)
    rows[:270, changed] += 1.6 * labels[:, None] * rng.choice([-1, 1], 20)
    return rows[:270], rows[270:], labels


def images(rng):
    digits, labels = load_digits(n_class=2, return_X_y=True)
    texture = gaussian_filter(rng.normal(size=(300, 300)), (2, 0.7))
    patches = np.lib.stride_tricks.sliding_window_view(texture / texture.std(), (8, 8)).reshape(-1, 64)
    chosen = patches[rng.choice(len(patches), len(digits) + 400, replace=False)]
    return digits / 10 + chosen[: len(digits)], chosen[len(digits) :], labels


def faults(first, second):
    def rows(rng):
        data = datasets.load("te")
        parts = [rng.permutation(data[f"fault_{k:02d}"][160:])[:250] for k in (first, second)]  # from row 160
        return np.vstack(parts), data["X_train"][::2], np.repeat([0, 1], 250)

    return rows


TABLES = {"proteins": proteins, "images": images, "Eastman 5, 10": faults(5, 10), "Eastman 3, 5": faults(3, 5)}


def agreement(Y, labels):
    return adjusted_rand_score(labels, GaussianMixture(2, random_state=0, n_init=3).fit_predict(Y))


def linear_cpca(X, B, contrast):
    """Return two components of linear contrastive PCA."""
    X = X - X.mean(axis=0)
    axes = np.linalg.eigh(np.cov(X.T) - contrast * np.cov(B.T))[1][:, -2:]
    return X @ axes


def umap(X, B):
    from umap import UMAP

    return UMAP(random_state=0, n_jobs=1).fit_transform(X)


def auto(kernel):
    return lambda X, B: ContrastiveKernelPCA(2, contrast="auto", kernel=kernel(X)).fit_transform(X, background=B)


METHODS = {
    "PCA": lambda X, B: PCA(2).fit_transform(X),
    "KernelPCA": lambda X, B: KernelPCA(2).fit_transform(X),
    "UMAP": umap,
    "linear cPCA, contrast 1": lambda X, B: linear_cpca(X, B, 1),
    "ContrastiveKernelPCA, linear": auto(lambda X: "linear"),
    "ContrastiveKernelPCA, broad RBF": auto(lambda X: RBF(BROAD * RBF().bind(X).gamma)),
    "ContrastiveKernelPCA, RBF": auto(lambda X: RBF()),
}
BEST = "linear cPCA, best contrast"


def measured(method, name, seed):
    """Return the agreement of one method on one table."""
    X, B, labels = TABLES[name](np.random.default_rng(seed))
    X, B = (rows / B.std(axis=0) for rows in (X, B))
    if method == BEST:
        return max(agreement(linear_cpca(X, B, contrast), labels) for contrast in CONTRASTS)
    return agreement(METHODS[method](X, B), labels)


def main():
    """Measure what the file of results does not have, and print the table."""
    given = options(__doc__, seeds=(10, 3))
    results, seeds = Results("contrastive", given.again), range(given.seeds)
    warnings.simplefilter("ignore")
    for method, name, seed in product([*METHODS, BEST], TABLES, seeds):
        results.once(lambda: measured(method, name, seed), method, name, seed)  # noqa: B023
    print(table("contrastive", TABLES))


if __name__ == "__main__":
    main()
