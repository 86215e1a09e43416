"""Which pre-image method to use, and a score that may be compared across kernels."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from .._core.registry import PREIMAGES, stored
from ..kernels import Radial
from ..preimage import Compensated, Learned, as_preimage, in_batches, projection

HELD_OUT = 0.25  # share of the rows that judge, where the model is not fitted yet
# settings of Learned beside its default: rows that lie on a curve ask for a narrow kernel, clean ones for a small alpha
RIDGES = {0.05: (1e-6, 1e-4), 0.3: (1e-2,), 1.0: (1e-4, 1e-1, 1.0), 3.0: (1e-6, 1e-2, 1.0)}  # gamma ↦ alphas
PERFECT = 1e-10  # of the variance: an error below it counts as this, 100 dB


class Score(NamedTuple):
    """How clean rows came back: ``decibels``, the mean over rows of 10 log₁₀(variance / error), and ``mse``."""

    decibels: float
    mse: float


@stored("select.Choice")
@dataclass(frozen=True)
class Choice:
    """What was compared (``table``: name ↦ ``Score``, the best first), the ``best`` of it, and an estimator with it."""

    table: dict[str, Score]
    best: Any
    estimator: Any

    def __str__(self):
        width = max(map(len, self.table))
        lines = [f"{name:<{width}}  {score.decibels:8.2f}  {score.mse:.6g}" for name, score in self.table.items()]
        return "\n".join([f"{'':<{width}}  decibels  mean squared error", *lines])


def reconstruction(estimator, X, y=None):
    """Score a fitted model by −mean ‖x − x̂‖² of rows and their way there and back: for ``scoring=`` of a grid search.

    It is in the units of the rows, so that kernels and widths may be compared; the feature-space ``score`` of the
    models may not, because a kernel that makes all rows alike always wins it.

    Parameters
    ----------
    estimator : estimator
        A fitted model, or a pipeline that ends with one.
    X : array-like of shape (n_samples, n_features)
        Rows, most often held out.
    y : None
        Ignored.

    Returns
    -------
    score : float
        Larger is better; 0 is perfect.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> import mercer
    >>> widths = {"kernel__gamma": [0.01, 0.1, 1.0]}
    >>> search = GridSearchCV(mercer.KernelPCA(3), widths, scoring=mercer.select.reconstruction)
    >>> search.fit(load_iris().data).best_params_
    {'kernel__gamma': 0.01}
    """
    back = estimator.inverse_transform(estimator.transform(X))
    return -float(np.mean(np.sum((np.asarray(X, float) - back) ** 2, axis=1)))


def preimage(model, X, noise, *, methods=None, criterion="decibels", n_draws=3, random_state=None):
    """Compare pre-image methods by how well they bring back clean rows from noisy ones.

    Every method is tried on projections as they are and, where the kernel is radial, on compensated ones
    (:class:`mercer.preimage.Compensated`).

    Parameters
    ----------
    model : estimator
        A kernel PCA. Fitted, X are rows that it has not seen; else it is fitted on three quarters of X.
    X : array-like of shape (n_samples, n_features)
        Clean rows.
    noise : float or callable
        The standard deviation of Gaussian noise, or a function (X, rng) ↦ noisy rows.
    methods : list of str or methods, default=None
        What to compare; None for all that the kernel allows, and several settings of ``Learned``.
    criterion : {"decibels", "mse"}, default="decibels"
        What decides: the mean over rows of the decibels between variance and error, to which all rows count alike, or
        the mean squared error, in which a few rows that failed may outweigh all others.
    n_draws : int, default=3
        Draws of the noise, over which errors are averaged.
    random_state : int or None, default=None
        Seed of the split and of the noise.

    Returns
    -------
    choice : Choice
        ``table``, the scores of each method; ``best``; ``estimator`` with ``preimage=best``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mercer import KernelPCA, select
    >>> from mercer.kernels import RBF
    >>> X = load_digits().data[:200] / 16
    >>> choice = select.preimage(KernelPCA(20, kernel=RBF(0.05)), X, noise=0.2, random_state=0)
    >>> best = choice.estimator.fit(X)
    >>> bool(choice.table["smoother"].mse >= min(score.mse for score in choice.table.values()))
    True
    """
    if criterion not in Score._fields:
        raise ValueError(f"criterion={criterion!r} is unknown. Give one of {', '.join(map(repr, Score._fields))}.")
    X, rng = np.asarray(X, float), np.random.default_rng(random_state)
    fitted, clean = _fitted(model, X, random_state)
    noisy = [_noisy(clean, noise, rng) for _ in range(n_draws)]
    ways = _projections(fitted, noisy)
    table, tried = {}, {}
    for name, settings, nearest in _candidates(methods, fitted):
        for prefix, (lift, coordinates) in ways.items():
            shape = fitted.subspace_.Z.shape
            back = [in_batches(nearest, lift, Y, near, shape).X for Y, near in zip(coordinates, noisy, strict=True)]
            table[prefix + name] = _score(back, clean)
            tried[prefix + name] = Compensated(settings) if prefix else settings
    sign = 1 if criterion == "mse" else -1
    ranked = sorted(table, key=lambda name: sign * getattr(table[name], criterion))
    best = tried[ranked[0]]
    return Choice({name: table[name] for name in ranked}, best, clone(model).set_params(preimage=best))


def _fitted(model, X, random_state):
    """A fitted model, and rows that it has not seen."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        seen, clean = train_test_split(X, test_size=HELD_OUT, random_state=random_state)
        return clone(model).fit(seen), clean
    if np.array_equal(X, model.anchors_):
        raise ValueError(
            "X are the rows that the model was fitted on, which every method brings back too well. "
            "Give rows that it has not seen, or a model that is not fitted."
        )
    return model, X


def _noisy(X, noise, rng):
    return noise(X, rng) if callable(noise) else X + noise * rng.standard_normal(X.shape)


def _projections(fitted, noisy):
    """Ways to project: for each the lift, and the coordinates of every draw."""
    ways = {"": (fitted._lift, [fitted._project(rows) for rows in noisy])}
    if isinstance(fitted.kernel_, Radial):
        project = projection(fitted.subspace_)
        ways["compensated "] = (fitted.subspace_.lift, [project(rows) for rows in noisy])
    return ways


def _candidates(methods, fitted):
    """Names, settings and bound methods; what the kernel does not allow is left out unless it was asked for."""
    named = _default() if methods is None else {m if isinstance(m, str) else repr(m): m for m in methods}
    for name, method in named.items():
        settings = as_preimage(method, fitted.kernel_)
        try:
            yield name, settings, settings.bind(fitted.subspace_)
        except ValueError:
            if methods is not None:
                raise


def _default():
    return {name: name for name in PREIMAGES} | {
        f"learned, alpha={alpha:g}, gamma={gamma:g}": Learned(alpha, gamma)
        for gamma, alphas in RIDGES.items()
        for alpha in alphas
    }


def _score(back, clean):
    """Scores over all draws."""
    errors = np.array([np.mean((rows - clean) ** 2, axis=1) for rows in back])
    variance = float(np.mean(clean.var(axis=0))) or 1.0
    decibels = 10 * np.log10(variance / np.maximum(errors, PERFECT * variance))
    return Score(float(decibels.mean()), float(errors.mean()))
