"""Selection of a pre-image method, and a score that can be compared across kernels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from .._core.registry import PREIMAGES, stored
from ..kernels import Radial
from ..models.pipelines import parts
from ..preimage import Compensated, Learned, as_preimage, in_batches, projection
from .arguments import check_rule
from .html import html_table

HELD_OUT = 0.25  # share of the samples for the comparison, if the model is not fitted
# settings of Learned in addition to its default: data on a curve need a narrow kernel, clean data a small alpha
RIDGES = {0.05: (1e-6, 1e-4), 0.3: (1e-2,), 1.0: (1e-4, 1e-1, 1.0), 3.0: (1e-6, 1e-2, 1.0)}  # gamma ↦ alphas
PERFECT = 1e-10  # relative to the variance: smaller errors count as this, which is 100 dB


class Score(NamedTuple):
    """The error of a method: ``decibels``, the mean over samples of 10 log₁₀(variance / error), and ``mse``."""

    decibels: float
    mse: float


@stored("select.Choice")
@dataclass(frozen=True)
class Choice:
    """The methods compared (``table``: name ↦ ``Score``, the best first), the ``best``, and an estimator with it.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> from mercer.kernels import RBF
    >>> X, _ = datasets.moons(n=60)
    >>> model = KernelPCA(4, kernel=RBF(4.0))
    >>> choice = select.preimage(model, X, 0.1, methods=["nearest", "fixed_point"], random_state=0)
    >>> {name: round(float(score.mse), 3) for name, score in choice.table.items()}
    {'compensated fixed_point': 0.04, 'fixed_point': 0.041, 'nearest': 0.051, 'compensated nearest': 0.051}
    """

    table: dict[str, Score]
    best: Any
    estimator: Any

    def _repr_html_(self) -> str:
        rows = [(name, f"{score.decibels:.2f}", f"{score.mse:.6g}") for name, score in self.table.items()]
        return html_table(("method", "decibels", "mean squared error"), rows)

    def __str__(self) -> str:
        width = max(map(len, self.table))
        lines = [f"{name:<{width}}  {score.decibels:8.2f}  {score.mse:.6g}" for name, score in self.table.items()]
        return "\n".join([f"{'':<{width}}  decibels  mean squared error", *lines])


def reconstruction(estimator: Any, X: Any, y: Any = None) -> float:
    """Return −mean ‖x − x̂‖², the score of a fitted model by reconstruction error, for ``scoring=`` of a grid search.

    It is in the units of the data, or of the scaled columns in a pipeline with a scaler, so that kernels and widths can
    be compared. The ``score`` of the models is computed in feature space and cannot be compared: a very wide kernel
    always wins.

    Parameters
    ----------
    estimator : estimator
        A fitted model, or a pipeline that ends with one.
    X : array-like of shape (n_samples, n_features)
        Samples, usually held out.
    y : None
        Not used, present by convention.

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
    prepare, model = parts(estimator)
    prepared = np.asarray(prepare(X), float)
    back = model.inverse_transform(model.transform(prepared))
    return -float(np.mean(np.sum((prepared - back) ** 2, axis=1)))


def preimage(
    model: Any,
    X: Any,
    noise: float | Callable,
    *,
    methods: list | None = None,
    criterion: str = "decibels",
    n_draws: int = 3,
    random_state: int | None = None,
) -> Choice:
    """Compare pre-image methods by their error in denoising.

    Every method is tried on plain projections and, if the kernel is radial, on compensated ones
    (:class:`mercer.preimage.Compensated`).

    Parameters
    ----------
    model : estimator
        A kernel PCA. If it is fitted, X must be new samples; otherwise it is fitted on three quarters of X.
    X : array-like of shape (n_samples, n_features)
        Clean samples.
    noise : float or callable
        The standard deviation of Gaussian noise, or a function (X, rng) ↦ noisy samples.
    methods : list of str or methods, default=None
        Methods to compare; None for all that support the kernel, and several settings of ``Learned``.
    criterion : {"decibels", "mse"}, default="decibels"
        The mean over samples of 10 log₁₀(variance / error), in which all samples count equally, or the mean squared
        error, which a few failures may dominate.
    n_draws : int, default=3
        Number of draws of the noise, over which errors are averaged.
    random_state : int or None, default=None
        Seed for the split and the noise.

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
    >>> {name: round(float(choice.table[name].mse), 3) for name in ("fixed_point", "smoother", "nearest")}
    {'fixed_point': 0.017, 'smoother': 0.025, 'nearest': 0.031}
    """
    check_rule("criterion", criterion, Score._fields)
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


def _fitted(model: Any, X: np.ndarray, random_state: int | None) -> tuple[Any, np.ndarray]:
    """Return a fitted model, and samples that it was not fitted on."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        seen, clean = train_test_split(X, test_size=HELD_OUT, random_state=random_state)
        return clone(model).fit(seen), clean
    if np.array_equal(X, model.anchors_):
        raise ValueError(
            "X are the rows that the model was fitted on, for which all errors are too small. "
            "Give new rows, or a model that is not fitted."
        )
    return model, X


def _noisy(X: np.ndarray, noise: Any, rng: np.random.Generator) -> np.ndarray:
    return noise(X, rng) if callable(noise) else X + noise * rng.standard_normal(X.shape)


def _projections(fitted: Any, noisy: list[np.ndarray]) -> dict[str, tuple]:
    """Return the kinds of projection: for each the lift, and the coordinates of every draw."""
    ways = {"": (fitted._lift, [fitted._project(rows) for rows in noisy])}
    if isinstance(fitted.kernel_, Radial):
        project = projection(fitted.subspace_)
        ways["compensated "] = (fitted.subspace_.lift, [project(rows) for rows in noisy])
    return ways


def _candidates(methods: list | None, fitted: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield names, settings and bound methods; by default those that do not support the kernel are left out."""
    named = _default() if methods is None else {m if isinstance(m, str) else repr(m): m for m in methods}
    for name, method in named.items():
        settings = as_preimage(method, fitted.kernel_)
        try:
            yield name, settings, settings.bind(fitted.subspace_)
        except ValueError:
            if methods is not None:
                raise


def _default() -> dict[str, Any]:
    return {name: name for name in PREIMAGES} | {
        f"learned, alpha={alpha:g}, gamma={gamma:g}": Learned(alpha, gamma)
        for gamma, alphas in RIDGES.items()
        for alpha in alphas
    }


def _score(back: list[np.ndarray], clean: np.ndarray) -> Score:
    """Return the scores over all draws."""
    errors = np.array([np.mean((rows - clean) ** 2, axis=1) for rows in back])
    variance = float(np.mean(clean.var(axis=0))) or 1.0
    decibels = 10 * np.log10(variance / np.maximum(errors, PERFECT * variance))
    return Score(float(decibels.mean()), float(errors.mean()))
