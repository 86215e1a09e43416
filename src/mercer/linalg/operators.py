"""Symmetric operators, which need not be stored: the Gram matrix, and the weighted covariance based on it.

``Gram``, ``Dense`` and ``Covariance`` are the only three that the library uses. Solvers do not know kernels: they use
only the members of :class:`Operator`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse

from .._core import dask, native, tiles
from .._core.arrays import (
    Array,
    asarray_like,
    cast,
    columns,
    double,
    full,
    in_memory,
    is_objects,
    namespace,
    precision,
    rows,
    shared,
    zeros,
)
from .._core.dense import mirrored
from .._core.tiles import (
    fold_rows,
    for_rows,
    map_rows,
    sum_rows,
    sum_shares,
    symmetric_matrix,
    symmetric_rows,
    upper_tiles,
)
from ..kernels import Kernel
from ..kernels.base import is_wide

STORED_BYTES, DOUBLE_BYTES = 4, 8
COSTLY_COLUMNS = 64  # with more columns, a tile takes longer to compute than to read
PARALLEL_ROWS = 2_000  # a stored matrix with fewer rows is multiplied by BLAS in a few milliseconds


class Operator(Protocol):
    """A symmetric n × n matrix A = JᵀKJ, which need not be stored: all members that a solver may use.

    ``points`` are the rows of data that A is computed from, or None; ``root`` is √w of shape (n, 1), ones for rows
    without weights. ``gram`` is K, also an operator: A itself if nothing is centred (J = I, see :class:`Uncentred`).
    If ``gram`` has a method ``tile(i, j)``, the entries of slices of rows and columns in float64, negative eigenvalues
    are searched for without a dense matrix.
    """

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def points(self) -> Any: ...
    @property
    def root(self) -> Array: ...
    @property
    def gram(self) -> "Operator": ...

    def __matmul__(self, V: Array) -> Array:
        """Return A V in the dtype of A."""

    def J(self, V: Array) -> Array:
        """Return J V."""

    def Jt(self, M: Array) -> Array:
        """Return Jᵀ M."""

    def congruence(self, F: Array) -> Array:
        """Return FᵀJJᵀF in float64."""

    def diag(self) -> Array:
        """Return the diagonal."""

    def columns(self, index: np.ndarray) -> Array:
        """Return some columns."""

    def block(self, index: np.ndarray) -> Array:
        """Return the square block of some rows and the same columns."""

    def coarse(self) -> "Operator":
        """Return A in single precision, or A itself if that is not faster."""

    def dense(self) -> Array:
        """Return A as a new float64 array."""


def _summed_gram(add: Callable[..., None], F: Array, *others: Array) -> Array:
    """Return the sum of the Gram matrices that ``add`` adds for tiles of rows, in float64."""
    r = F.shape[1]
    return mirrored(fold_rows(add, lambda: (zeros((r, r), F),), F, *others, width=r)[0])


class Uncentred:
    """The members of an operator that is not centred: J is the identity."""

    shape: Any
    dtype: Any
    points: Any = None
    _array: Array = np.empty(0)  # an array of the library, and on the device, that the operator uses

    @property
    def gram(self) -> Any:
        """The operator itself."""
        return self

    @property
    def root(self) -> Array:
        """Ones: rows have no weights."""
        return full((self.shape[0], 1), 1.0, self._array, self.dtype)

    def J(self, V: Array) -> Array:
        """Return V."""
        return V

    def Jt(self, M: Array) -> Array:
        """Return M."""
        return M

    def congruence(self, F: Array) -> Array:
        """Return FᵀF in float64."""
        return _summed_gram(lambda sums, f: native.add_gram(sums[0], f), F)

    def coarse(self) -> Any:
        """Return the operator itself."""
        return self


@dataclass(frozen=True, eq=False)
class Gram(Uncentred):
    """K = k(X, X), whose tiles are computed in each product, or stored in ``kept``."""

    kernel: Kernel
    X: Array
    kept: "Kept | None" = None
    home: Any = None  # the rows as a Dask array, if products are computed on its cluster

    @property
    def shape(self) -> tuple[int, int]:
        return (self.X.shape[0], self.X.shape[0])

    @property
    def dtype(self) -> Any:
        return precision(self.X)

    @property
    def points(self) -> Any:
        return self.X

    @property
    def _array(self) -> Array:
        return self.X

    def __matmul__(self, V: Array) -> Array:
        V = cast(V, self.dtype)
        factor = self.kernel.factor(self.X)
        if factor is not None:
            return factor @ (factor.T @ V)
        if self.home is not None:
            return dask.symmetric_blocks(tiles.OneThread(self.kernel), self.home, V, tiles.PASS)
        if self._here is not None:
            return asarray_like(self._here @ shared(V), V)
        if self.kept is not None:
            return self.kept.product(V)
        share = self.kernel.symmetric(self.X)
        if share is None:
            return symmetric_rows(self.kernel.pairs(self.X), V)
        return sum_shares(partial(share, V), entries=self.shape[0] ** 2 / 2)

    @cached_property
    def _here(self) -> "Gram | None":
        """The operator on a NumPy view of the rows of another library, if a fused product reads their memory."""
        few = self.X.shape[1] <= COSTLY_COLUMNS and self.home is None
        X = in_memory(self.X) if few else None
        return None if X is None or self.kernel.symmetric(X) is None else Gram(self.kernel, X)

    def diag(self) -> Array:
        return self.kernel.diag(self.X)

    def columns(self, index: np.ndarray) -> Array:
        k = self.kernel.onto(rows(self.X, index))
        return map_rows(k, self.X, width=len(index))

    def block(self, index: np.ndarray) -> Array:
        return self.kernel(rows(self.X, index), rows(self.X, index))

    def tile(self, i: slice, j: slice) -> Array:
        return double(self.kernel(rows(self.X, i), rows(self.X, j)))

    def repeated(self) -> "Gram | Dense":
        """Return K for many products: its tiles are stored if that is faster and they fit the memory budget.

        Tiles are stored only in single precision: solvers compute few products in double precision. With many more
        columns than rows, and for rows that are objects, K is computed once, in double precision.
        """
        fits = self.home is None and DOUBLE_BYTES * self.shape[0] ** 2 <= tiles.budget_bytes()
        if fits and is_objects(self.X):
            return Dense(self.dense(), self.X)
        K = self.kernel.wide_gram(self.X) if fits and is_wide(self.X) else None
        if K is not None:
            return Dense(cast(K, self.dtype), self.X)
        if self.dtype != namespace(self.X).float32 or not self._worth_storing():
            return self
        return replace(self, kept=Kept(self.kernel, self.X))

    def rounded(self) -> "Gram | Dense":
        """Return K for many products; its entries are stored with an error of at most 2⁻³² if that is faster."""
        storable = self.home is None and native.rounded(self.kernel, self.X) is not None and not is_wide(self.X)
        return replace(self, kept=Kept(self.kernel, self.X)) if storable and self._worth_storing() else self.repeated()

    def _worth_storing(self) -> bool:
        """Return True if tiles take longer to compute than to read, and half of them fit the memory budget."""
        fused = self._here is not None or self.kernel.symmetric(self.X) is not None
        costly = self.X.shape[1] > COSTLY_COLUMNS or not fused
        return costly and self.shape[0] ** 2 / 2 * STORED_BYTES <= tiles.budget_bytes()

    def coarse(self) -> "Gram | Dense":
        """Return K in single precision."""
        if self.dtype == namespace(self.X).float32 or is_objects(self.X):
            return self
        origin = namespace(self.X).mean(self.X, axis=0) if self.kernel.stationary and not issparse(self.X) else 0
        X = self.X if issparse(self.X) else self.X - origin
        if self.kept is not None:
            return replace(self, X=cast(X, namespace(X).float32))  # the tiles serve both precisions
        if self.home is not None:
            return Gram(self.kernel, X.astype(np.float32), home=(self.home - origin).astype(np.float32))
        return Gram(self.kernel, cast(X, namespace(X).float32)).repeated()

    def dense(self) -> Array:
        K = self.kernel.wide_gram(self.X)
        return symmetric_matrix(self.kernel.pairs(double(self.X)), self.shape[0], self.X) if K is None else K


class Kept:
    """The tiles of k(X, X) on or above the diagonal, which the first product computes and the next ones read.

    Values of kernels that the C extension supports are between 0 and 1: they are stored as 32-bit integers, with an
    error of at most 2⁻³², and multiplied in the precision of the other factor.
    """

    def __init__(self, kernel: Kernel, X: Array) -> None:
        self.kernel, self.X = kernel, X
        self.tiles: dict[tuple[int, int], Array] = {}

    def __len__(self) -> int:
        return len(self.tiles)

    def product(self, V: Array) -> Array:
        """Return K @ V in the dtype of V."""
        pairs = self.kernel.pairs(self.X) if not self.tiles else lambda i, j: self.kernel.pairs(self.X)(i, j)
        store = native.rounded(self.kernel, self.X)
        if store is None:
            return symmetric_rows(pairs, V, self.tiles)
        room = {} if self.tiles else _room(V)
        f = lambda i, j: store(pairs(i, j), room[i.start, j.start])  # noqa: E731
        return symmetric_rows(f, V / native.ONE, self.tiles, native.stored_products)


def _room(V: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    """Return arrays for tiles of integers, all in one: the system provides large arrays in large pages, and faster."""
    tiles = upper_tiles(len(V), V)
    shapes = [(i.stop - i.start, j.stop - j.start) for i, j in tiles]
    ends = np.cumsum([h * w for h, w in shapes])
    parts = np.split(np.empty(ends[-1], np.int32), ends[:-1])
    return {(i.start, j.start): part.reshape(shape) for (i, j), part, shape in zip(tiles, parts, shapes, strict=True)}


@dataclass(frozen=True, eq=False)
class Dense(Uncentred):
    """K stored as an array."""

    K: Array
    points: Any = None
    fewest_rows = PARALLEL_ROWS  # with fewer, K is not multiplied in tiles

    @property
    def _array(self) -> Array:
        return self.K

    @property
    def shape(self) -> tuple[int, int]:
        return self.K.shape

    @property
    def dtype(self) -> Any:
        return self.K.dtype

    def __matmul__(self, V: Array) -> Array:
        V = cast(V, self.dtype)
        if self.K.shape[0] < self.fewest_rows:
            return self.K @ V
        return symmetric_rows(lambda i, j: self.K[i, j], V)  # reads half of the matrix, in threads

    def diag(self) -> Array:
        return namespace(self.K).linalg.diagonal(self.K)

    def columns(self, index: np.ndarray) -> Array:
        return columns(self.K, index)

    def block(self, index: np.ndarray) -> Array:
        return columns(rows(self.K, index), index)

    def tile(self, i: slice, j: slice) -> Array:
        return double(self.K[i, j])

    def dense(self) -> Array:
        xp = namespace(self.K)
        return xp.astype(self.K, xp.float64, copy=True)


class Covariance:
    """A = JᵀKJ, J = (I − SGᵀ) diag(√w): the matrix that shares its eigenvalues with Σₙ wₙ(φₙ − φ̄)(φₙ − φ̄)ᵀ.

    ``S`` has a column of mean weights for each group, and the one-hot G assigns the rows to groups; one group is the
    usual centring, ``S=None`` is no centring. K itself is never changed.
    """

    def __init__(self, gram: Operator, w: Array, S: Array | None = None, groups: Any = None) -> None:
        n, xp = gram.shape[0], namespace(w)
        self.gram, self.w, self.xp = gram, w, xp
        self.groups = np.zeros(n, int) if groups is None else np.asarray(groups)
        self.root = xp.astype(xp.sqrt(w), gram.dtype, copy=False)[:, None]
        self.S = zeros((n, 1), w) if S is None else xp.reshape(xp.astype(S, xp.float64, copy=False), (n, -1))
        self.G = asarray_like(np.eye(self.S.shape[1])[self.groups], w, gram.dtype)
        self.centred = S is not None

    @property
    def shape(self) -> tuple[int, int]:
        return self.gram.shape

    @property
    def dtype(self) -> Any:
        return self.gram.dtype

    @property
    def points(self) -> Any:
        return self.gram.points

    def J(self, V: Array) -> Array:
        """Return J V."""
        U = self.root * V
        return U - self.xp.matmul(self._S, self.xp.matmul(self.G.T, U)) if self.centred else U

    def Jt(self, M: Array) -> Array:
        """Return Jᵀ M."""
        return self.root * (M - self.xp.matmul(self.G, self.xp.matmul(self._S.T, M)) if self.centred else M)

    def __matmul__(self, V: Array) -> Array:
        xp, groups = self.xp, self.S.shape[1]
        JV = self.J(xp.astype(V, self.dtype, copy=False))
        if "KS" in self.__dict__ or not self.centred:
            return self.Jt(self.gram @ JV)
        K_SJV = self.gram @ xp.concat([self._S, JV], axis=1)  # the means are computed with the first product
        self.KS = xp.astype(K_SJV[:, :groups], xp.float64)
        return self.Jt(K_SJV[:, groups:])

    @cached_property
    def _S(self) -> Array:
        return self.xp.astype(self.S, self.dtype, copy=False)

    @cached_property
    def KS(self) -> Array:
        """The mean of k(xₙ, ·) over each group: (n, g)."""
        xp = self.xp
        return xp.astype(self.gram @ self._S, xp.float64, copy=False) if self.centred else xp.zeros_like(self.S)

    @property
    def mean_sqnorms(self) -> Array:
        """‖φ̄‖² of each group: diag SᵀKS."""
        return self.xp.sum(self.S * self.KS, axis=0)

    def diag(self) -> Array:
        xp = self.xp
        G, root, diagonal = (xp.astype(x, xp.float64, copy=False) for x in (self.G, self.root[:, 0], self.gram.diag()))
        own_mean = xp.sum(G * self.KS, axis=1)
        return root * root * (diagonal - 2 * own_mean + G @ self.mean_sqnorms)

    def coarse(self) -> "Covariance":
        """Return A in single precision, or A itself if that is not faster."""
        gram = self.gram.coarse()
        return self if gram is self.gram else Covariance(gram, self.w, self.S if self.centred else None, self.groups)

    def congruence(self, F: Array) -> Array:
        """Return FᵀJJᵀF, in float64 over tiles of rows."""
        means = sum_rows(lambda s, f: s.T @ f, self._S, F, width=F.shape[1])

        def add(sums: tuple[Array, ...], f: Array, root: Array, g: Array) -> None:
            native.add_gram(sums[0], root * (f - native.matmul(g, means)))

        return _summed_gram(add, F, self.root, self.G)

    def columns(self, index: np.ndarray) -> Array:
        JE = rows(self.root, index)[:, 0] * self.gram.columns(index)
        if self.centred:
            JE = JE - cast(self.KS @ double(rows(self.G, index) * rows(self.root, index)).T, self.dtype)
        return self.Jt(JE)

    def block(self, index: np.ndarray) -> Array:
        return rows(self.columns(index), index)

    def tile(self, i: slice, j: slice) -> Array:
        """Return the entries of some rows and columns, in float64, if ``gram`` has a method ``tile`` too."""
        gram: Any = self.gram
        return self._centred(self.xp.asarray(gram.tile(i, j), copy=True), i, j)

    def dense(self) -> Array:
        A = self.gram.dense()
        self.KS = A @ self.S
        every = slice(0, self.shape[0])
        for_rows(
            lambda i: self._centred(A[i, :], i, every), self.shape[0], self.shape[0], A
        )  # while it is in the cache
        return A

    def _centred(self, K: Array, i: slice, j: slice) -> Array:
        """Return √w (K − KS Gᵀ − (KS Gᵀ)ᵀ + G SᵀKS Gᵀ) √w, in place, of the entries K of some rows and columns."""
        KS, G, root = self.KS, double(self.G), double(self.root)
        SKS = self.S.T @ KS
        several = SKS.shape[0] > 1
        K -= KS[i, :] @ G[j, :].T if several else KS[i, :]
        K += (G[i, :] @ SKS) @ G[j, :].T - G[i, :] @ KS[j, :].T if several else SKS - KS[j, :].T
        K *= root[i, :]
        K *= root[j, :].T
        return K
