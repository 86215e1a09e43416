"""What every estimator with a ``kernel`` parameter shares: names of kernels, and what the kernel says of the rows."""

from typing import Any

import numpy as np
from sklearn.base import clone

from .._core.arrays import rows
from .._core.registry import KERNELS
from ..kernels import Kernel, Precomputed, as_kernel
from ..linalg.operators import Dense
from . import diagnostics, validation


class Kernelled:
    """An estimator whose ``kernel`` is a name, a ``Kernel`` or a function."""

    kernel: Any

    def set_params(self, **params):
        """Set parameters; ``kernel__gamma`` works on a kernel given by name too."""
        if isinstance(self.kernel, str) and any(name.startswith("kernel__") for name in params):
            self.kernel = as_kernel(self.kernel)
        return super().set_params(**params)  # type: ignore[misc]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        if isinstance(self.kernel, str) and self.kernel not in KERNELS:
            return tags  # fit will say so
        kernel = as_kernel(self.kernel)
        tags.input_tags.sparse = kernel.sparse
        tags.input_tags.pairwise = isinstance(kernel, Precomputed)
        tags.input_tags.positive_only = kernel.nonnegative
        return tags


def with_width(kernel: Kernel, gamma: str) -> Kernel:
    """Return a radial kernel whose width is not given with the rule ``gamma``; any other kernel as it is."""
    if kernel.distance is None or kernel.gamma is not None or getattr(kernel, "lengthscale", None) is not None:
        return kernel
    return clone(kernel).set_params(gamma=gamma)


def bound_to(kernel, X, weights, counted, center=True, names=None):
    """Return the kernel bound to the rows that count, those rows, and their Gram matrix where it is given."""
    if isinstance(kernel, Precomputed):
        validation.check_gram(X)
        kernel, points, gram = kernel.bind(X), counted[:, None], Dense(X[np.ix_(counted, counted)])
    else:
        points, gram = X if counted.shape[0] == X.shape[0] else rows(X, counted), None
        kernel = kernel.bind(points, weights, center=center)
    validation.check_diagonal(kernel.diag(points), kernel)
    diagnostics.warn_of_rows(points, kernel, names)
    return kernel, points, gram
