"""Landmarks: a few points that represent all rows, and the rules that choose them."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .._core.arrays import (
    Array,
    asarray_like,
    cast,
    eps,
    is_foreign,
    is_objects,
    library,
    namespace,
    row_numbers,
    rows,
    sqnorms,
)
from .._core.dask import is_lazy, take
from .._core.native import matmul
from .._core.registry import register
from .._core.tiles import map_rows
from ..kernels import Kernel
from ..kernels.base import Radial
from ..kernels.width import DEFAULT_ROWS, MEDIAN_ROWS
from ..linalg import eigenpairs
from ..linalg.cholesky import rpcholesky
from ..linalg.operators import Gram
from .basis import Basis

ROWS_EACH = 10  # candidate rows for each landmark: a random subset if there are more rows
PIVOTED = ("auto", "rpcholesky")
MIN_HALF_LIFE = 1e-3  # number of rows; with this half-life only the last row has any weight
LARGE = 100_000  # number of rows above which ``solver="auto"`` does not compute all pairs


@register("landmarks", file="landmarks.Landmarks")
@dataclass(frozen=True)
class Landmarks:
    """Kernel PCA inside the span of ``n`` landmarks, in one pass over the rows: O(nm²) time, O(m²) memory.

    ``choose`` is ``"auto"`` (best), ``"rpcholesky"``, ``"uniform"``, ``"kmeans"``, an array of row numbers, or an array
    of points. ``"rpcholesky"`` draws rows by randomly pivoted Cholesky. ``"auto"`` does so too, and if the kernel is a
    smooth function of the Euclidean distance (RBF, Matérn, …), it moves each of these points to the mean of the rows
    that are nearest to it, wherever that represents them better. ``n=None`` uses 10 for each component, at least 500.

    ``refresh`` and ``half_life`` are for ``partial_fit``. If more than a share ``refresh`` of the variance of the
    latest rows is outside the span of the landmarks, or a clearly larger share than of earlier rows, some of the latest
    rows become landmarks and the least useful landmarks are dropped; None keeps all landmarks. Points given as an array
    never change. With a ``half_life`` of n rows, the weight of a row is halved after every n later rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.eigen import Landmarks
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = KernelPCA(2, solver=Landmarks(50), random_state=0).fit(X)
    >>> model.anchors_.shape
    (50, 3)
    >>> print(f"{model.solver_.outside_share:.3f}")  # the share of the variance outside the span of the landmarks
    0.001
    """

    n: int | None = None
    choose: Any = "auto"
    _: KW_ONLY
    refresh: float | None = 0.05
    half_life: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("n", 1), ("refresh", 0), ("half_life", MIN_HALF_LIFE)):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and float(value) >= least):
                raise ValueError(f"Landmarks({name}={value!r}): give a number of at least {least}, or None.")

    @property
    def fixed(self) -> bool:
        """Whether ``partial_fit`` keeps the landmarks: points that were given, or ``refresh=None``."""
        return self.refresh is None or not isinstance(self.choose, str)

    def count(self, q: int | None) -> int:
        """Return the number of landmarks for q components."""
        return max(500, 10 * (q or 0)) if self.n is None else self.n

    def basis(self, kernel: Kernel, X: Array, q: int | None, weights: Array | None, rng: np.random.Generator) -> Basis:
        """Return an orthonormal basis of the span of landmarks chosen among the rows X."""
        return Basis.of(kernel, self(kernel, X, q, weights, rng))

    def __call__(self, kernel: Kernel, X: Array, q: int | None, weights: Array | None, rng: np.random.Generator) -> Any:
        """Return the landmarks for rows X: an array of points, or row numbers if X are row numbers."""
        if not isinstance(self.choose, str):
            return _given(self.choose, X)
        if self.choose not in CHOICES:
            raise ValueError(
                f"Landmarks(choose={self.choose!r}): give {', '.join(map(repr, CHOICES))}, row numbers or points."
            )
        m = self.count(q)
        if m >= X.shape[0]:
            return take(X, slice(None))
        return CHOICES[self.choose](kernel, X, m, weights, rng)


def choose(solver: Any, n: int, q: int | None) -> Any:
    """Return the solver for a name; ``"auto"`` follows this table.

    Models decompose linear and small polynomial kernels in their own feature space before they consult it.

    ==============================  ============================================
    very few rows (n ≤ 100)         ``Exact``: LAPACK on the stored matrix
    many components (q > n/5)       ``Exact``: iterations are not faster
    few rows (n ≤ 1200; n ≤ 1800    ``Lanczos`` on the stored matrix
    with q ≥ 30)
    up to 100 000 rows              ``Davidson``, no matrix stored
    more                            ``Landmarks``: one pass, error reported
    ==============================  ============================================

    Parameters
    ----------
    solver : str or solver
        A name; a solver is returned unchanged.
    n : int
        Number of samples.
    q : int or None
        Number of components; None for all.

    Returns
    -------
    solver : solver
        An instance.

    Examples
    --------
    >>> from mercer.eigen import choose
    >>> choose("auto", n=50, q=2), choose("auto", n=20_000, q=10)
    (Exact(), Davidson(tol=1e-06, rank=None, max_passes=30))
    """
    return Landmarks() if _goes_to_landmarks(solver, n, q) else eigenpairs.choose(solver, n, q)


def choose_for(x: Array, solver: Any, n: int, q: int | None) -> Any:
    """Return the solver as :func:`choose` does, but only one that supports arrays like ``x``."""
    return Landmarks() if _goes_to_landmarks(solver, n, q) else eigenpairs.choose_for(x, solver, n, q)


def _goes_to_landmarks(solver: Any, n: int, q: int | None) -> bool:
    return isinstance(solver, str) and solver == "auto" and n > LARGE and q is not None and 5 * q <= n


def chooses_basis(solver: Any) -> bool:
    """Return True if a solver, or the name of one, uses a basis (:class:`Landmarks`) and not an operator."""
    return hasattr(Landmarks if isinstance(solver, str) and solver == "landmarks" else solver, "basis")


def _given(choice: Any, X: Array) -> Any:
    choice = choice if issparse(choice) else asarray_like(choice, X)
    if choice.ndim == 1 and namespace(choice).isdtype(choice.dtype, "integral"):
        return take(X, choice)
    if choice.ndim != 2 or choice.shape[1] != X.shape[1]:
        raise ValueError(
            f"Landmarks must be row numbers or points of {X.shape[1]} columns; the shape is {choice.shape}."
        )
    return cast(choice.copy() if issparse(choice) else namespace(choice).asarray(choice, copy=True), X.dtype)


def _by_rpcholesky(kernel: Kernel, X: Array, m: int, weights: Array | None, rng: np.random.Generator) -> Any:
    return _pivots(kernel, X, m, weights, rng)[0]


def _pivots(kernel: Kernel, X: Array, m: int, weights: Array | None, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Return landmarks, and the rows that they were drawn from with their weights."""
    part, some = sample_rows(X, ROWS_EACH * m, rng)
    w = None if weights is None else take(weights, some)
    numbered = namespace(part).isdtype(part.dtype, "integral")
    gram = Gram(kernel, part) if numbered else Gram(kernel, part).coarse()
    _, pivots = rpcholesky(gram, m, rng, w)
    return rows(part, np.sort(pivots)), part, w


def _automatic(kernel: Kernel, X: Array, m: int, weights: Array | None, rng: np.random.Generator) -> Any:
    Z, part, w = _pivots(kernel, X, m, weights, rng)
    return _centred(kernel, part, Z, w) if _has_centres(kernel, Z) else Z


def _has_centres(kernel: Any, Z: Array) -> bool:
    """Return True if the mean of rows represents their images: for smooth kernels of the distance, and dense rows."""
    smooth = isinstance(kernel, Radial) and kernel.distance is Radial.distance and not kernel.rough
    return smooth and not issparse(Z)


def are_means(solver: Landmarks, basis: Basis) -> bool:
    """Return True if the landmarks of a basis, chosen by ``solver``, may be means of rows."""
    choice = solver.choose if isinstance(solver.choose, str) else ""
    return choice == "kmeans" or (choice == "auto" and _has_centres(basis.kernel, basis.Z))


def _centred(kernel: Radial, X: Array, Z: Array, weights: Array | None) -> Array:
    """Return Z with each point replaced by the mean x̄ of its own rows X, if Σk(x, x̄)² > Σk(x, z)² over these rows.

    The sum is what φ(z) alone explains of their squared lengths. A row belongs to the nearest point.
    """
    bound, xp, m = kernel.ready(Z.shape[1]), namespace(Z), Z.shape[0]
    origin = xp.mean(Z, axis=0)  # rounding errors of distances grow with the distance to the origin
    x, z = bound.scaled(X - origin), bound.scaled(Z - origin)
    half = sqnorms(z) / 2
    nearest = row_numbers(map_rows(lambda x: xp.argmax(matmul(x, z.T) - half, axis=1), x, width=m))
    w = xp.ones_like(x[:, :1]) if weights is None else cast(weights, X.dtype)[:, None]

    def sums(values: Array) -> Array:
        """Return Σwv over the rows of each point."""
        if is_foreign(values):
            own = asarray_like(nearest[:, None] == np.arange(m), values, values.dtype)
            return own.T @ (w * values)
        return csr_array((w[:, 0], (nearest, np.arange(len(nearest)))), shape=(m, len(nearest))) @ values

    def explained(z: Array) -> Array:
        return sums(bound.profile(sqnorms(x - rows(z, nearest))[:, None]) ** 2)

    counts = sums(xp.ones_like(w))
    means = sums(X - origin) / xp.where(counts > 0, counts, 1)
    better = (explained(bound.scaled(means)) > explained(z)) & (counts > 0)
    return cast(xp.where(better, means + origin, Z), X.dtype)


def sample_rows(X: Array, most: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Return a random subset of at most ``most`` rows, and their numbers in ascending order."""
    n = X.shape[0]
    some = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    return take(X, some), some


def rows_for_fit(n: int, solver: Any, q: int | None, rng: np.random.Generator) -> np.ndarray:
    """Return the numbers of the rows that a fit reads before its pass over all rows: for the width and the landmarks.

    The generator is copied, so that the fit draws the same landmarks again.
    """
    evenly = [np.linspace(0, n - 1, min(n, most)).astype(int) for most in (MEDIAN_ROWS, DEFAULT_ROWS)]
    setting = solver if hasattr(solver, "basis") else Landmarks()
    m, drawn, again = setting.count(q), np.empty(0, int), deepcopy(rng)
    if isinstance(setting.choose, str) and setting.choose in PIVOTED and m < n:
        drawn = np.arange(n) if n <= ROWS_EACH * m else again.choice(n, ROWS_EACH * m, replace=False)
    elif isinstance(setting.choose, str) and setting.choose == "uniform" and m < n:
        drawn = again.choice(n, m, replace=False)
    return np.unique(np.concatenate([*evenly, drawn]))


def _uniform(kernel: Kernel, X: Array, m: int, weights: Array | None, rng: np.random.Generator) -> Any:
    if weights is None:
        return take(X, np.sort(rng.choice(X.shape[0], m, replace=False)))
    weights = take(weights, slice(None))
    xp = namespace(weights)
    keys = asarray_like(rng.exponential(size=X.shape[0]), weights) / xp.clip(weights, eps(weights) ** 2, None)
    keys = xp.where(weights > 0, keys, xp.inf)  # the smallest e/w with e ~ Exp(1) are a sample without replacement
    return take(X, np.sort(row_numbers(xp.argsort(keys)[:m])))


def _by_kmeans(kernel: Kernel, X: Array, m: int, weights: Array | None, rng: np.random.Generator) -> Any:
    from sklearn.cluster import MiniBatchKMeans

    if is_foreign(X):
        raise ValueError(
            f"Landmarks(choose='kmeans') works on NumPy arrays, and the rows are of {library(X)}. Use "
            "choose='auto', 'rpcholesky' or 'uniform'."
        )
    if is_objects(X):
        raise ValueError(
            "Landmarks(choose='kmeans') needs rows of numbers. Use choose='auto', 'rpcholesky' or 'uniform'."
        )
    clusters = MiniBatchKMeans(m, n_init=1, random_state=int(rng.integers(2**31)))
    if is_lazy(X):
        X, some = sample_rows(X, ROWS_EACH * m, rng)
        weights = take(weights, some)
    return clusters.fit(X, sample_weight=weights).cluster_centers_.astype(X.dtype)


CHOICES: dict[str, Callable] = {
    "auto": _automatic,
    "rpcholesky": _by_rpcholesky,
    "uniform": _uniform,
    "kmeans": _by_kmeans,
}
