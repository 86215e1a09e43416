"""Few points that stand for many: pivoted Cholesky factors, choices of landmarks, and moments in their span."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import issparse
from sklearn.cluster import MiniBatchKMeans

from .arrays import (
    at_least,
    cast,
    copied,
    cumsum,
    diagonal,
    double,
    elsewhere,
    eps,
    full,
    is_integer,
    largest,
    library,
    namespace,
    numbers,
    placed,
    rows,
    sqnorms,
    zeros,
)
from .gram import Gram
from .kernels.base import in_float64
from .lazy import is_lazy, lazy_ones, take
from .tiles import fold_rows, map_rows

CANDIDATES = 120  # drawn in a round of the pivoted Cholesky: enough for matrix products, few enough to be accepted
ROWS_EACH = 15  # rows among which each landmark is chosen: of more rows than that, a random part
TALL = 4  # times as many rows as fit the cache: adding up m × m matrices is work that short tiles do more often
BLOCKS = 4  # of a triangular matrix
RAW_CONDITION = 1e5  # of K_ZZ: below it moments of k(x, Z) itself lose no digit that anybody sees


def rpcholesky(A, rank, rng, weights=None, tol=None):
    """Return F with A ≈ FFᵀ and its pivots, by accelerated randomly pivoted Cholesky (Epperly, Tropp & Webber 2024).

    Candidates are drawn with probability proportional to the diagonal that is left, and accepted by a second draw
    that undoes the staleness of the first: the pivots are distributed as if drawn one at a time, and the work is in
    matrix products. It ends early where what is left is ``tol`` of the largest diagonal entry. ``weights`` tilt the
    draw.
    """
    xp, left = namespace(A.diag()), at_least(double(A.diag()), 0)
    w = xp.ones_like(left) if weights is None else weights
    tol = 10 * eps(A.diag()) if tol is None else tol
    floor = tol * largest(left)
    F, pivots = zeros((A.shape[0], min(rank, A.shape[0])), left, A.dtype), np.empty(0, int)
    while (k := len(pivots)) < F.shape[1] and largest(left) > floor:
        left[left <= floor] = 0
        drawn = _drawn(left * w / (left @ w), rng)
        H = double(A.block(drawn)) - double(rows(F[:, :k], drawn)) @ double(rows(F[:, :k], drawn)).T
        accepted, L = _rejection_cholesky(H, rows(left, drawn), rng, floor)
        accepted = accepted[: F.shape[1] - k]
        new, L = drawn[accepted], L[: len(accepted), : len(accepted)]
        F[:, k : k + len(new)] = _eliminated(A.columns(new), F[:, :k], rows(F[:, :k], new), L)
        left -= sqnorms(F[:, k : k + len(new)], xp.float64)
        for i in new.tolist():
            left[i] = 0
        left = at_least(left, 0)
        pivots = np.append(pivots, new)
    return F[:, : len(pivots)], pivots


def _drawn(p, rng):
    """Numbers of candidates, each row drawn with its probability p."""
    if not elsewhere(p):
        return rng.choice(len(p), CANDIDATES, p=p)
    mass = cumsum(p)
    return numbers(namespace(p).searchsorted(mass / mass[-1], placed(rng.random(CANDIDATES), p), side="right"))


def _eliminated(columns, F, F_new, L):
    """(columns − F F_newᵀ) L⁻ᵀ: what earlier pivots leave of new columns, orthonormalised against each other."""
    turn = cast(inverse_of_lower(L).T, F.dtype)
    return map_rows(lambda column, f: (column - f @ F_new.T) @ turn, columns, F, width=L.shape[0] + F.shape[1])


def inverse_of_lower(L):
    """L⁻¹ of a lower triangular matrix."""
    if elsewhere(L):
        return namespace(L).linalg.inv(L)
    return scipy.linalg.solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False)


def _rejection_cholesky(H, before, rng, floor):
    """Walk through the candidates: accept i with probability (what is left of it) / (what was), then eliminate it."""
    accepted: list[int] = []
    n, xp = H.shape[0], namespace(H)
    L, left, bars = xp.zeros_like(H), copied(diagonal(H)), at_least(placed(rng.uniform(size=n), H) * before, floor)
    for i in range(n):
        if left[i] > bars[i]:
            k = len(accepted)
            L[:, k] = (H[:, i] - L[:, :k] @ L[i, :k]) / xp.sqrt(left[i])
            left -= L[:, k] ** 2
            accepted.append(i)
    return np.array(accepted, int), xp.tril(rows(L, accepted)[:, : len(accepted)])


def pivoted_cholesky(K):
    """Return F, in the order of the rows, with K = FFᵀ up to rounding: as many columns as K has ranks."""
    L, order, rank, _ = scipy.linalg.lapack.dpstrf(K, lower=True, tol=len(K) * np.finfo(float).eps * K.max(initial=0.0))
    F = np.empty((len(K), rank))
    F[order - 1] = np.tril(L[:, :rank])
    return F


@dataclass(frozen=True)
class Landmarks:
    """Kernel PCA inside the span of ``n`` landmarks, in one pass over the rows: O(nm²) time, O(m²) memory.

    ``choose`` is ``"rpcholesky"`` (best), ``"uniform"``, ``"kmeans"``, an array of row numbers, or an array of points.
    ``n=None`` takes 10 for each component, at least 500.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.eigen import Landmarks
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = KernelPCA(2, solver=Landmarks(50), random_state=0).fit(X)
    >>> model.anchors_.shape
    (50, 3)
    >>> model.solver_.outside_share < 0.05  # of the variance, outside the span of the landmarks
    True
    """

    n: int | None = None
    choose: Any = "rpcholesky"

    def __call__(self, kernel, X, q, weights, rng):
        """The landmarks for rows X: an array of points, or row numbers where X are row numbers."""
        if not isinstance(self.choose, str):
            return _given(self.choose, X)
        if self.choose not in CHOICES:
            raise ValueError(
                f"Landmarks(choose={self.choose!r}): give {', '.join(map(repr, CHOICES))}, row numbers or points."
            )
        m = max(500, 10 * (q or 0)) if self.n is None else self.n
        if m >= X.shape[0]:
            return take(X, slice(None))
        return CHOICES[self.choose](kernel, X, m, weights, rng)


def _given(choice, X):
    choice = choice if issparse(choice) or elsewhere(choice) else np.asarray(choice)
    choice = placed(choice, X) if elsewhere(X) and not elsewhere(choice) else choice
    if choice.ndim == 1 and is_integer(choice):
        return take(X, choice)
    if choice.ndim != 2 or choice.shape[1] != X.shape[1]:
        raise ValueError(
            f"Landmarks must be row numbers or points of {X.shape[1]} columns; the shape is {choice.shape}."
        )
    return cast(copied(choice), X.dtype) if elsewhere(choice) else choice.astype(X.dtype)


def _by_rpcholesky(kernel, X, m, weights, rng):
    n = X.shape[0]
    most = ROWS_EACH * m
    some = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    part = take(X, some)
    gram = Gram(kernel, part) if is_integer(part) else Gram(kernel, part).coarse()
    _, pivots = rpcholesky(gram, m, rng, None if weights is None else take(weights, some))
    return rows(part, np.sort(pivots))


def _by_chance(kernel, X, m, weights, rng):
    if elsewhere(weights):  # the rows of smallest e/w, e ~ Exp(1), are drawn in turn with probabilities w
        xp = namespace(weights)
        keys = placed(rng.exponential(size=X.shape[0]), X) / at_least(weights, eps(weights) ** 2)
        keys = xp.where(weights > 0, keys, xp.inf)
        return rows(X, np.sort(numbers(xp.argsort(keys)[:m])))
    return take(X, np.sort(rng.choice(X.shape[0], m, replace=False, p=take(weights, slice(None)))))


def _by_kmeans(kernel, X, m, weights, rng):
    if elsewhere(X):
        raise ValueError(
            f"Landmarks(choose='kmeans') works on NumPy arrays, and the rows are those of {library(X)}. Use "
            "choose='rpcholesky', or 'uniform'."
        )
    clusters = MiniBatchKMeans(m, n_init=1, random_state=int(rng.integers(2**31)))
    if is_lazy(X):
        some = np.sort(rng.choice(X.shape[0], min(X.shape[0], ROWS_EACH * m), replace=False))
        X, weights = take(X, some), take(weights, some)
    return clusters.fit(X, sample_weight=weights).cluster_centers_.astype(X.dtype)


CHOICES = {"rpcholesky": _by_rpcholesky, "uniform": _by_chance, "kmeans": _by_kmeans}


@dataclass(frozen=True, eq=False)
class LandmarkBasis:
    """An orthonormal basis ΦR of span φ(Z): K_ZZ = LLᵀ, cut where its rank ends, R = L⁻ᵀ on the rows that are kept."""

    kernel: Any
    Z: Any
    R: Any
    condition: float
    given: Any  # all landmarks, also those that add nothing: they decide the signs
    kept: Any = None  # numbers of those that it stands on

    @classmethod
    def of(cls, kernel, Z):
        """The basis on the landmarks Z; those that add nothing are dropped."""
        K = kernel(in_float64(Z), in_float64(Z))
        L, kept = _pivoted(K)
        R = inverse_of_lower(L).T if len(kept) else L
        return cls(kernel, rows(Z, kept), R, float((L[0, 0] / L[-1, -1]) ** 2) if len(kept) else 1.0, Z, kept)

    def moved(self, convert):
        """The same basis where ``convert`` takes its arrays."""
        Z, R, given = map(convert, (self.Z, self.R, self.given))
        return replace(self, kernel=self.kernel.moved(convert), Z=Z, R=R, given=given)

    @property
    def dtype(self):
        return float if is_integer(self.Z) else self.Z.dtype

    def __call__(self, X):
        """f = Rᵀk(Z, x) for each row: the coordinates of φ(x) in the basis."""
        return times_upper(self.kernel(in_float64(X), in_float64(self.Z)), self.R)

    def moments(self, X, weights=None):
        """Sums over the rows of 1, f, ffᵀ and k(x, x), in one pass with a tile in memory at a time.

        Where K_ZZ is well conditioned they are sums over k(x, Z) that are turned by R once; else every tile is.
        """
        k, turned = self.kernel.onto(in_float64(self.Z)), self.condition > RAW_CONDITION
        m = self.R.shape[0]

        def add(sums, x, w):
            x = in_float64(x)
            f = times_upper(k(x), self.R) if turned else k(x)
            first, second, diagonal = sums
            first += w @ f
            if weights is not None:
                f *= namespace(w).sqrt(w)[:, None]
            second += f.T @ f
            diagonal += w @ self.kernel.diag(x)

        w = _ones(X) if weights is None else weights
        start = lambda: (zeros((m,), self.R), zeros((m, m), self.R), zeros((1,), self.R))  # noqa: E731
        first, second, diagonal = fold_rows(add, start, X, w, width=max(1, m // TALL))
        if not turned:
            first, second = self.R.T @ first, self.R.T @ second @ self.R
        count = float(X.shape[0] if weights is None else namespace(w).sum(w))
        return Moments(self, count, first, second, float(diagonal[0]))


def _ones(X):
    """A weight of 1 for each row; in NumPy it takes no room, and for lazy rows it is as lazy."""
    if is_lazy(X):
        return lazy_ones(X)
    return full(X.shape[:1], 1.0, X) if elsewhere(X) else np.broadcast_to(1.0, X.shape[:1])


def _pivoted(K):
    """L and the pivots with K = LLᵀ on them: the largest of what is left is the next, until all is rounding."""
    n, xp = K.shape[0], namespace(K)
    tol = n * eps(K) * float(xp.max(K))
    if not elsewhere(K):
        L, order, rank, _ = scipy.linalg.lapack.dpstrf(K, lower=True, tol=tol)
        return np.tril(L[:rank, :rank]), order[:rank] - 1
    L, left = xp.zeros_like(K), copied(diagonal(K))
    pivots: list[int] = []
    while len(pivots) < n and float(left[i := int(xp.argmax(left))]) > tol:
        k = len(pivots)
        L[:, k] = (K[:, i] - L[:, :k] @ L[i, :k]) / xp.sqrt(left[i])
        left -= L[:, k] ** 2
        left[i] = 0
        pivots.append(i)
    return xp.tril(rows(L, pivots)[:, : len(pivots)]), np.array(pivots, int)


def times_upper(K, R):
    """K @ R for an upper triangular R: in four blocks of columns, five eighths of the work; at once on a device."""
    if elsewhere(K):
        return K @ R
    out = np.empty((len(K), len(R)))
    for block in np.array_split(np.arange(len(R)), BLOCKS):
        if len(block):
            start, end = block[0], block[-1] + 1
            np.matmul(K[:, :end], R[:end, start:end], out=out[:, start:end])
    return out


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over rows of 1, f, ffᵀ and k(x, x) in one basis: they add, so that data may come in pieces."""

    basis: LandmarkBasis
    count: float
    first: Any
    second: Any
    diagonal: float

    def moved(self, convert):
        """The same sums where ``convert`` takes their arrays."""
        first, second = convert(self.first), convert(self.second)
        return Moments(self.basis.moved(convert), self.count, first, second, self.diagonal)

    def scaled(self, c):
        """The moments of rows that count c times as much."""
        return Moments(self.basis, c * self.count, c * self.first, c * self.second, c * self.diagonal)

    def __add__(self, other):
        return Moments(
            self.basis,
            self.count + other.count,
            self.first + other.first,
            self.second + other.second,
            self.diagonal + other.diagonal,
        )
