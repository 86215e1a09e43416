"""Pre-images by Mika's fixed point, for all points at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arrays import Array, asarray_like, cast, namespace, row_numbers, rows, with_rows
from .._core.registry import register
from ..rkhs import Expansion, Subspace
from .base import Anchors, Nearest, PreimageResult, check_radial, distances, found, start
from .smoother import smooth

CANCELLED = 1e-3  # of Σ|gκ′|: a smaller sum of weights has cancelled
HALVINGS = 5


@register("fixed_point")
@dataclass(frozen=True)
class FixedPoint:
    """x ← Σ gᵢκ′(tᵢ)zᵢ / Σ gᵢκ′(tᵢ), tᵢ = ‖x − zᵢ‖² (Mika et al. 1999), for radial kernels.

    g are the coefficients of the vector f = Σ gᵢφ(zᵢ). A step that would lower f(x) = ⟨φ(x), f⟩ is halved. If the
    weights of a point cancel, or its result is farther away than the mean of its ``neighbours`` nearest anchors, this
    mean is returned, and ``fallback`` is ``"smoother"``.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> from mercer.preimage import FixedPoint
    >>> X, _ = datasets.moons(n=100)
    >>> model = KernelPCA(8, kernel=RBF(4.0), preimage=FixedPoint(max_iter=200)).fit(X)
    >>> print(f"{abs(model.denoise(X) - X).mean():.2f}")
    0.06
    """

    max_iter: int = 100
    tol: float = 1e-6
    neighbours: int = 10
    exact = True
    portable = True

    def bind(self, subspace: Subspace) -> Nearest:
        """Return the function from vectors to points."""
        check_radial(self, subspace.kernel)
        anchors = Anchors(subspace)
        both = subspace.kernel.with_slope(anchors.rows)

        def nearest(target: Expansion, near: Array | None = None) -> PreimageResult:
            X, n_iter = self._climb(both, anchors.rows, target.B.T, start(anchors, target, near))
            xp, mean = namespace(X), cast(smooth(anchors.values(target), anchors.rows, self.neighbours), X.dtype)
            worse = distances(target, mean) < distances(target, X)
            fallback = np.full(X.shape[0], "", dtype=object)
            fallback[row_numbers(xp.nonzero(worse)[0])] = "smoother"
            return found(xp.where(worse[:, None], mean, X), target, n_iter, fallback)

        return nearest

    def _climb(self, both: Callable, Z: Array, G: Array, X: Array) -> tuple[Array, Array]:
        """Increase f(x) = Σ gᵢκ(tᵢ) of every row from its current point; rows that have converged are skipped."""
        xp, every = namespace(X), np.arange(X.shape[0])
        n_iter, spread = np.zeros(X.shape[0], int), float(xp.mean(xp.var(Z, axis=0))) or 1.0
        f, C = _weights(both, G, X)
        going, moving = every, X  # the numbers of the rows that have not converged, and their points
        for _ in range(self.max_iter):
            total = xp.sum(C, axis=1)
            sound = abs(total) > CANCELLED * xp.sum(abs(C), axis=1)
            going, moving, f, C, total = _only(sound, going, moving, f, C, total)
            if len(going) == 0:
                break
            n_iter[going] += 1
            moved, f, C = _step(both, rows(G, going), moving, C @ Z / total[:, None], f)
            settling = xp.mean((moved - moving) ** 2, axis=1) > self.tol**2 * spread
            X = with_rows(X, going, moved)
            going, moving, f, C = _only(settling, going, moved, f, C)
        return X, asarray_like(n_iter, X)


def _only(mask: Array, going: np.ndarray, *arrays: Array) -> tuple[Any, ...]:
    """Return the row numbers, and the rows of the arrays, where the mask is true."""
    index = row_numbers(namespace(mask).nonzero(mask)[0])
    if len(index) == len(going):
        return going, *arrays
    return going[index], *(rows(array, index) for array in arrays)


def _step(both: Callable, G: Array, X: Array, goal: Array, f: Array) -> tuple[Array, Array, Array]:
    """Step to the goal, halving the step until f is not lower than before; stay if no step helps."""
    moved = goal
    f_new, C = _weights(both, G, moved)
    for halving in range(HALVINGS + 1):
        worse = row_numbers(namespace(f).nonzero(f_new < f)[0])
        if len(worse) == 0:
            break
        back = rows(X, worse) if halving == HALVINGS else (rows(moved, worse) + rows(X, worse)) / 2
        f_back, C_back = _weights(both, rows(G, worse), back)
        moved, f_new, C = with_rows(moved, worse, back), with_rows(f_new, worse, f_back), with_rows(C, worse, C_back)
    return moved, f_new, C


def _weights(both: Callable, G: Array, X: Array) -> tuple[Array, Array]:
    """Return f(x) and the weights gᵢκ′(tᵢ) of the anchors."""
    xp = namespace(X)
    k, slope = both(X)
    k *= G
    slope *= G
    return xp.sum(k, axis=1, dtype=xp.float64), slope
