"""Pre-images on a device, for arrays of other libraries than NumPy: the closed form, the fixed point and the smoother.

They are the same equations for all points at once, with masks in place of rows that are left out.
"""

import numpy as np

from ..arrays import at_least, cast, double, full, largest, library, namespace, numbers, rows, side_by_side, stacked
from ..rkhs import Expansion
from ..tiles import device_tiles
from .base import IN_SPAN, PreimageResult, as_preimage, check_radial
from .batches import ALIVE
from .fixed_point import CANCELLED, HALVINGS, FixedPoint
from .gradient import Gradient
from .linear import ClosedForm
from .smoother import Smoother


def bind_elsewhere(preimage, subspace):
    """Return the function from vectors to points; ``"auto"`` takes the smoother where it would take the gradient."""
    method = as_preimage(preimage, subspace.kernel)
    if preimage == "auto" and isinstance(method, Gradient):
        method = Smoother()
    if isinstance(method, ClosedForm):
        return _closed_form(subspace)
    if isinstance(method, FixedPoint):
        return _fixed_point(method, subspace)
    if isinstance(method, Smoother) and method.rows is None:
        return _smoother(method, subspace)
    raise ValueError(
        f"{method!r} works on NumPy arrays, and this model was fitted on those of {library(subspace.Z)}. Use "
        "preimage='fixed_point' or 'smoother', or fit on NumPy arrays."
    )


def in_batches_elsewhere(nearest, lift, Y, near, m):
    """Return the pre-images of the vectors ``lift(y)``, of m anchors, for each row y of Y: one PreimageResult."""
    tiles = device_tiles(Y.shape[0], ALIVE * m)
    found = [nearest(lift(Y[i, :]), None if near is None else near[i, :]) for i in tiles]
    parts = [(result.X, result.n_iter, result.fallback) for result in found]
    X, n_iter, fallback = (stacked(part) for part in zip(*parts, strict=True))
    return PreimageResult(X, n_iter, fallback, lambda: stacked([_squared_error(X[i, :], lift(Y[i, :])) for i in tiles]))


def _closed_form(subspace):
    """x = o + Σ bᵢ(zᵢ − o) for the linear kernel about o."""
    origin = 0.0 if subspace.kernel.origin is None else subspace.kernel.origin
    points = double(subspace.Z) - origin

    def nearest(target, near=None):
        X = cast(double(target.B).T @ points + origin, target.B.dtype)
        return _found(X, target, full(X.shape[:1], 0, X, namespace(X).int64), [])

    return nearest


def _smoother(method, subspace):
    values = _values(subspace)

    def nearest(target, near=None):
        X = cast(smooth_elsewhere(values(target), double(subspace.Z), method.neighbours), target.B.dtype)
        return _found(X, target, full(X.shape[:1], 0, X, namespace(X).int64), [])

    return nearest


def _fixed_point(method, subspace):
    """Mika's fixed point from the nearest anchor, or from ``near``, and the smoother where that ends nearer."""
    check_radial(method, subspace.kernel)
    Z, values, both = subspace.Z, _values(subspace), subspace.kernel.with_slope(subspace.Z)
    xp, k_zz = namespace(Z), double(subspace.kernel.diag(Z))

    def nearest(target, near=None):
        f = values(target)
        X = cast(rows(Z, xp.argmin(k_zz - 2 * f, axis=1)), target.B.dtype)
        if near is not None:
            X = xp.where((_distances(target, near) < _distances(target, X))[:, None], near, X)
        X, n_iter = _climb(method, both, Z, target.B.T, X)
        mean = cast(smooth_elsewhere(f, double(Z), method.neighbours), X.dtype)
        worse = _distances(target, mean) < _distances(target, X)
        return _found(xp.where(worse[:, None], mean, X), target, n_iter, numbers(xp.nonzero(worse)[0]))

    return nearest


def _climb(method, both, Z, G, X):
    """Raise f(x) = Σ gᵢκ(tᵢ) of every row; those that have settled, or whose weights cancel, stay where they are."""
    xp = namespace(X)
    spread = float(xp.mean(xp.var(Z, axis=0))) or 1.0
    f, C = _weights(both, G, X)
    going, n_iter = f == f, full(X.shape[:1], 0, X, xp.int64)
    for _ in range(method.max_iter):
        total = xp.sum(C, axis=1)
        going = going & (abs(total) > CANCELLED * xp.sum(abs(C), axis=1))
        if not xp.any(going):
            break
        n_iter += cast(going, n_iter.dtype)
        goal = xp.where(going[:, None], C @ Z / xp.where(going, total, 1.0)[:, None], X)
        moved, f, C = _step(both, G, X, goal, f)
        going = going & (xp.mean((moved - X) ** 2, axis=1) > method.tol**2 * spread)
        X = moved
    return X, n_iter


def _step(both, G, X, goal, f):
    """Go to the goal, or half as far, until f is not lower than before; stay where no step helps."""
    xp, moved = namespace(X), goal
    f_new, C = _weights(both, G, moved)
    for halving in range(HALVINGS + 1):
        worse = (f_new < f)[:, None]
        if not xp.any(worse):
            break
        moved = xp.where(worse, X if halving == HALVINGS else (moved + X) / 2, moved)
        f_new, C = _weights(both, G, moved)
    return moved, f_new, C


def _weights(both, G, X):
    """f(x) and the weights gᵢκ′(tᵢ) of the anchors."""
    xp = namespace(X)
    k, slope = both(X)
    return xp.sum(k * G, axis=1, dtype=xp.float64), slope * G


def smooth_elsewhere(values, points, neighbours):
    """The mean of the rows of largest values, weighted by them; the row of the largest where none is positive."""
    xp, k = namespace(values), min(neighbours, points.shape[0])
    index = xp.argsort(values, axis=1)[:, points.shape[0] - k :]
    w = at_least(xp.take_along_axis(values, index, axis=1), 0)
    w[:, -1] += cast(xp.sum(w, axis=1) == 0, w.dtype)
    chosen = xp.reshape(rows(points, xp.reshape(index, (-1,))), (*index.shape, points.shape[1]))
    return xp.sum((w / xp.sum(w, axis=1, keepdims=True))[:, :, None] * chosen, axis=1)


def _values(subspace):
    """The function from vectors to their values at the anchors, f_j(zᵢ): (p, m).

    Those of the axes and the mean are computed once, for all vectors in their span.
    """
    basis = double(side_by_side(subspace.axes.B, subspace.mean.B))
    at_anchors = Expansion(subspace.kernel, double(subspace.Z), basis)(double(subspace.Z))
    inverse = namespace(basis).linalg.pinv(basis)

    def values(target):
        B = double(target.B)
        M = inverse @ B
        if largest(abs(basis @ M - B)) <= IN_SPAN * largest(abs(B)):
            return (at_anchors @ M).T
        return double(target(subspace.Z)).T

    return values


def _distances(target, X):
    """k(x, x) − 2f(x): the squared distance to each vector, but for its own square."""
    return double(target.kernel.diag(X)) - 2 * target.at(X)


def _squared_error(X, target):
    """‖φ(x_j) − f_j‖²."""
    return at_least(_distances(target, X) + target.sqnorms(), 0)


def _found(X, target, n_iter, replaced):
    fallback = np.full(X.shape[0], "", dtype=object)
    fallback[replaced] = "smoother"
    return PreimageResult(X, n_iter, fallback, lambda: _squared_error(X, target))
