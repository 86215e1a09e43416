"""The ``kernel`` parameter of the estimators: names of kernels, scikit-learn's tags, binding to data."""

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._core.arrays import rows
from .._core.keywords import Keywords
from .._core.registry import KERNELS
from ..kernels import Kernel, Precomputed, as_kernel
from ..linalg.operators import Dense
from ..rkhs.positive import PositivePart, positive_part
from . import diagnostics, validation

OF_KERNEL = "It is a parameter of the kernel: use kernel={} of mercer.kernels, and kernel__{} in a grid search."


class KernelParameterMixin(Keywords):
    """Mixin for estimators whose parameter ``kernel`` is a name, a ``Kernel`` or a function."""

    kernel: Any
    _misplaced = {
        "gamma": OF_KERNEL.format("RBF(gamma=…)", "gamma"),
        "sigma": OF_KERNEL.format("RBF.from_sigma(…)", "gamma"),
        "length_scale": OF_KERNEL.format("RBF(lengthscale=…)", "lengthscale"),
        "degree": OF_KERNEL.format("Polynomial(degree=…)", "degree"),
        "coef0": OF_KERNEL.format("Polynomial(coef0=…)", "coef0"),
        "kernel_params": "Give them to the kernel: kernel=RBF(gamma=…) of mercer.kernels.",
        "eigen_solver": "It is called solver here; solver='auto' is a good choice.",
        "n_jobs": "All cores are used; limit them with threadpoolctl.threadpool_limits.",
        "fit_inverse_transform": "Every model has inverse_transform: see the parameter preimage.",
        "remove_zero_eig": "Components without variance are always left out.",
    }

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__gamma`` also works if the kernel was given by name."""
        if isinstance(self.kernel, str) and any(name.startswith("kernel__") for name in params):
            self.kernel = as_kernel(self.kernel)
        return super().set_params(**params)  # type: ignore[misc]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        try:
            kernel = of_all_classes(self.kernel)
        except (ValueError, TypeError):
            return tags  # fit raises the error
        tags.input_tags.sparse = kernel.sparse
        tags.input_tags.pairwise = isinstance(kernel, Precomputed)
        tags.input_tags.positive_only = kernel.nonnegative
        tags.input_tags.string = kernel.rows == "objects"
        return tags


def of_all_classes(kernel: Any) -> Kernel:
    """Return the kernel; for a mapping of classes to kernels their sum, which takes the rows that all of them take."""
    if not isinstance(kernel, Mapping):
        return as_kernel(kernel)
    if not kernel:
        raise ValueError("kernel is an empty dictionary. Give a kernel for each class, or one for all.")
    return reduce(add, map(as_kernel, kernel.values()))


def takes_objects(estimator: Any) -> bool:
    """Return True if the kernel of an estimator takes objects."""
    kernel = getattr(estimator, "kernel", None)
    return getattr(KERNELS.get(kernel) if isinstance(kernel, str) else kernel, "rows", None) == "objects"


def with_width(kernel: Kernel, gamma: str) -> Kernel:
    """Return the kernel, with ``gamma`` as its width rule if it is a kernel of a distance that has no given width."""
    if kernel.distance is None or kernel.gamma is not None or getattr(kernel, "lengthscale", None) is not None:
        return kernel
    return clone(kernel).set_params(gamma=gamma)


def bound_to(
    kernel: Kernel,
    X: Any,
    weights: Any,
    counted: Any,
    center: bool = True,
    names: Any = None,
    indefinite: str | None = "clip",
) -> tuple[Kernel, Any, Any]:
    """Return the kernel bound to the rows of positive weight, those rows, and their Gram matrix if it is given. If the
    kernel matrix has negative eigenvalues, the kernel is replaced by its positive part, with a warning, or an error is
    raised if ``indefinite`` is ``"error"``; with None it is not replaced.
    """
    if isinstance(kernel, Precomputed):
        validation.check_gram(X)
        whole = len(counted) == X.shape[0]
        kernel, points, gram = kernel.bind(X), counted[:, None], Dense(X if whole else X[np.ix_(counted, counted)])
    else:
        kernel = kernel.on(names)
        points, gram = X if counted.shape[0] == X.shape[0] else rows(X, counted), None
        kernel = kernel.bind(points, weights, center=center)
    validation.check_diagonal(points, kernel, names)
    diagnostics.warn_of_rows(points, kernel, names)
    if indefinite is not None:
        kernel = positive_part(kernel, points, gram, weights, center)
    if not isinstance(kernel, PositivePart):
        return kernel, points, gram
    validation.check_indefinite(str(indefinite), kernel.lowest, kernel.negative_mass)
    return kernel, points, Dense(kernel(points, points))
