"""Class-wise parameters of classifiers: labels, priors and numbers of components."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from .._core.sklearn import check_y
from ..kernels import Cosine, Kernel, Normalized, Precomputed, as_kernel
from .kernel_parameter import with_width


def check_labels(estimator: Any, X: Any, y: Any) -> np.ndarray:
    """Return y as a one-dimensional array of labels, one for each sample."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    y = check_y(y, estimator=estimator)
    check_consistent_length(X, y)
    check_classification_targets(y)
    return y


def class_priors(priors: Any, shares: np.ndarray) -> np.ndarray:
    """Return p_c: the shares of the samples, equal ones, or those given, normalised."""
    if isinstance(priors, str):
        return shares if priors == "empirical" else np.full(len(shares), 1 / len(shares))
    given = np.asarray(priors, float)
    if given.shape != shares.shape or not np.all(given >= 0) or not 0 < given.sum() < np.inf:
        raise ValueError(
            f"priors must be 'empirical', 'uniform' or {len(shares)} numbers ≥ 0, one for each class, "
            f"and {priors!r} was given."
        )
    return given / given.sum()


def class_components(n_components: Any, classes: np.ndarray) -> list:
    """Return the number of axes of each class, None for all, from a number, a sequence or a dictionary."""
    if n_components is None or isinstance(n_components, Integral):
        return [n_components] * len(classes)
    given = list(n_components)
    if isinstance(n_components, Mapping):
        given = [n_components.get(label, -1) for label in classes.tolist()]
    if len(given) != len(classes) or not all(map(_is_number_of_axes, given)):
        raise ValueError(
            f"n_components must be one integer ≥ 0 or None for each of the classes {classes.tolist()}, "
            f"and {n_components!r} was given."
        )
    return given


def class_kernels(model: Any, classes: np.ndarray) -> list[Kernel]:
    """Return a kernel for each class with k(x, x) = 1, from the mapping ``kernel``; only for the limiting rule."""
    if model.noise_ratio != 0 or model.shrinkage != 0 or model.density is not None:
        raise ValueError(
            "Densities in feature spaces of different kernels cannot be compared, only distances (Zhou eq. 23). Use "
            "a kernel for each class with noise_ratio=0, shrinkage=0 and density=None."
        )
    if set(model.kernel) != set(classes.tolist()):
        raise ValueError(
            f"kernel must map each of the classes {classes.tolist()} to a kernel, and has {list(model.kernel)}."
        )
    return [_normalised(with_width(as_kernel(model.kernel[c]), "median")) for c in classes.tolist()]


def _normalised(kernel: Kernel) -> Kernel:
    if isinstance(kernel, Precomputed):
        raise ValueError(
            "A kernel for each class must be one of samples, and a precomputed one was given. Use kernel='precomputed'."
        )
    return kernel if kernel.stationary or isinstance(kernel, Normalized | Cosine) else Normalized(kernel)


def _is_number_of_axes(q: Any) -> bool:
    return q is None or (isinstance(q, int | np.integer) and bool(q >= 0))
