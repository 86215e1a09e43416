"""Pre-images by descent, for every differentiable kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from .base import Anchors, found, start


@dataclass(frozen=True)
class Gradient:
    """Minimise k(x, x) − 2f(x) by L-BFGS, from the nearest anchor, within ``bounds`` = (lowest, highest) if given."""

    max_iter: int = 200
    tol: float = 1e-8
    bounds: Any = None

    def bind(self, subspace):
        """Return the function from vectors to points."""
        kernel = subspace.kernel
        if not kernel.differentiable:
            raise ValueError(f"Gradient needs a kernel with a derivative, and {kernel!r} has none. Use 'smoother'.")
        anchors = Anchors(subspace)

        def nearest(target, near=None):
            X = start(anchors, target, near).astype(float)
            ends = [self._descend(kernel, anchors.rows.astype(float), g, x) for g, x in zip(target.B.T, X, strict=True)]
            points = np.array([end.x for end in ends]).reshape(X.shape).astype(target.B.dtype)
            n_iter = np.array([end.nit for end in ends], int)
            return found(points, target, n_iter)

        return nearest

    def _descend(self, kernel, Z, g, x):
        weights = g[None].astype(float)
        bounds = None if self.bounds is None else Bounds(*(np.broadcast_to(b, len(x)) for b in self.bounds))

        def distance(x):
            x = x[None]
            value = kernel.diag(x) - 2 * np.sum(weights * kernel(x, Z), axis=1)
            return float(value[0]), (kernel.diag_gradient(x) - 2 * kernel.gradient(x, Z, weights))[0]

        options = {"maxiter": self.max_iter, "ftol": self.tol * 1e-4, "gtol": self.tol}
        return minimize(distance, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
