"""scikit-learn's inverse of kernel PCA, with its default and with a tuned alpha, beside ours."""

import numpy as np
from denoising_data import decibels, draws
from sklearn.base import clone
from sklearn.decomposition import KernelPCA as ScikitLearn
from sklearn.model_selection import train_test_split

from mercer import KernelPCA, select

ALPHAS = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0)
HEAD = ["q", "noise", "scikit-learn", "alpha tuned", "", "auto", "chosen", "", "ahead by"]


def rows(task, n_draws):
    """Cells of the table: decibels between the variance and the error, in the mean over rows and draws."""
    for q in task.components:
        seen, held_out = train_test_split(task.train, test_size=0.25, random_state=0)
        tried, final = theirs(task, q, seen), theirs(task, q, task.train)
        ours = KernelPCA(q, kernel=task.kernel, random_state=0)
        auto = clone(ours).fit(task.train)
        for noise, f in task.noises.items():
            noisy = draws(task, noise, 1 if noise == "none" else n_draws)
            judged = f(held_out, np.random.default_rng(0))
            alpha = max(ALPHAS, key=lambda alpha: decibels(tried[alpha](judged), held_out))
            choice = select.preimage(ours, task.train, f, n_draws=1, random_state=0)
            chosen = choice.estimator.fit(task.train)
            cells = [_mean(clean, noisy, task) for clean in (final[1.0], final[alpha], auto.denoise, chosen.denoise)]
            lead = cells[3][0] - max(cells[0][0], cells[1][0])
            texts = [f"{mean:.2f} ± {error:.2f}" for mean, error in cells]
            yield [str(q), noise, *texts[:2], f"{alpha:g}", *texts[2:], next(iter(choice.table)), f"{lead:+.2f}"]


def theirs(task, q, train):
    """alpha ↦ a function from noisy to clean rows; the eigenvectors are found once."""
    model = ScikitLearn(q, kernel="rbf", gamma=task.kernel.gamma, eigen_solver="arpack", random_state=0).fit(train)
    coordinates, table = model.transform(train), {}
    for alpha in ALPHAS:
        # what fit does last with fit_inverse_transform=True
        inverse = ScikitLearn(q, kernel="rbf", gamma=task.kernel.gamma, alpha=alpha, fit_inverse_transform=True)
        inverse.gamma_ = task.kernel.gamma
        inverse._fit_inverse_transform(coordinates, train)
        inverse.X_fit_ = train
        table[alpha] = lambda X, inverse=inverse: inverse.inverse_transform(model.transform(X))
    return table


def _mean(clean, noisy, task):
    figures = [decibels(clean(X), task.clean) for X in noisy]
    return np.mean(figures), np.std(figures, ddof=1) / np.sqrt(len(figures)) if len(figures) > 1 else 0.0
