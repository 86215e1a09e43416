"""Symmetric operators that need not exist in memory: the Gram matrix, and the weighted covariance around it.

``Gram``, ``Dense`` and ``Covariance`` are the only three that the library uses. A solver sees nothing of a kernel: all
that it may ask of an operator is declared by :class:`Operator`.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse

from .._core import dask
from .._core.arrays import Array, asarray_like, cast, columns, double, full, namespace, rows, zeros
from .._core.tiles import (
    PASS,
    OneThread,
    budget_bytes,
    for_rows,
    map_rows,
    sum_rows,
    sum_shares,
    symmetric_matrix,
    symmetric_rows,
)
from ..kernels import Kernel

SINGLE_BYTES = 4
DEAR_COLUMNS = 64  # above it a tile costs more to make than to read


class Operator(Protocol):
    """A symmetric n × n matrix A = JᵀKJ that need not exist in memory: all that a solver may ask of it.

    ``points`` are the rows behind the matrix, or None; ``root`` is √w of shape (n, 1), ones where rows have no weights.
    ``gram`` is K, an operator too: A itself where nothing is centred (J = I, see :class:`Uncentred`).
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

    @property
    def cheap(self) -> bool:
        """Whether another product with A costs little, because its tiles are kept in memory."""

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
        """Return A in single precision, or A itself where nothing is gained."""

    def dense(self) -> Array:
        """Return A as a new float64 array."""


class Uncentred:
    """The part of an operator that is the same wherever nothing is centred: J is the identity."""

    shape: Any
    dtype: Any
    points: Any = None
    cheap = False
    _array: Any = np.empty(0)  # an array of the library, and on the device, that the operator works with

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
        return sum_rows(lambda f: double(f.T @ f), F, width=F.shape[1])

    def coarse(self) -> Any:
        """Return the operator itself."""
        return self


@dataclass(frozen=True, eq=False)
class Gram(Uncentred):
    """K = k(X, X), whose tiles are made where they are used and forgotten, or kept in a dictionary."""

    kernel: Kernel
    X: Any
    kept: dict | None = None
    home: Any = None  # the rows as a Dask array, where products are made on its cluster

    @property
    def shape(self):
        return (self.X.shape[0], self.X.shape[0])

    @property
    def dtype(self):
        return self.X.dtype

    @property
    def points(self):
        return self.X

    @property
    def _array(self):
        return self.X

    @property
    def cheap(self):
        return self.kept is not None

    def __matmul__(self, V):
        V = cast(V, self.dtype)
        if self.home is not None:
            return dask.symmetric_blocks(OneThread(self.kernel), self.home, V, PASS)
        share = self.kernel.symmetric(self.X) if self.kept is None else None
        if share is None:
            return symmetric_rows(self.kernel.pairs(self.X), V, self.kept)
        return sum_shares(partial(share, V), entries=self.shape[0] ** 2 / 2)

    def diag(self):
        return self.kernel.diag(self.X)

    def columns(self, index):
        k = self.kernel.onto(rows(self.X, index))
        return map_rows(k, self.X, width=len(index))

    def block(self, index):
        return self.kernel(rows(self.X, index), rows(self.X, index))

    def repeated(self):
        """K for many products: with its tiles kept, where they cost more to make than to read and there is room.

        Only in single precision: in double the few products that are needed come after many in single.
        """
        dear = self.X.shape[1] > DEAR_COLUMNS or self.kernel.symmetric(self.X) is None
        room = self.dtype == namespace(self.X).float32 and self.shape[0] ** 2 / 2 * SINGLE_BYTES <= budget_bytes()
        return replace(self, kept={} if dear and room else None)

    def coarse(self):
        """K in single precision."""
        if self.dtype == namespace(self.X).float32:
            return self
        origin = namespace(self.X).mean(self.X, axis=0) if self.kernel.stationary and not issparse(self.X) else 0
        X = self.X if issparse(self.X) else self.X - origin
        if self.home is not None:
            return Gram(self.kernel, X.astype(np.float32), home=(self.home - origin).astype(np.float32))
        return Gram(self.kernel, cast(X, namespace(X).float32)).repeated()

    def dense(self):
        return symmetric_matrix(self.kernel.pairs(double(self.X)), self.shape[0], self.X)


@dataclass(frozen=True, eq=False)
class Dense(Uncentred):
    """K in memory."""

    K: Any

    @property
    def _array(self):
        return self.K

    @property
    def shape(self):
        return self.K.shape

    @property
    def dtype(self):
        return self.K.dtype

    def __matmul__(self, V):
        return self.K @ cast(V, self.dtype)

    def diag(self):
        return namespace(self.K).linalg.diagonal(self.K)

    def columns(self, index):
        return columns(self.K, index)

    def block(self, index):
        return columns(rows(self.K, index), index)

    def dense(self):
        xp = namespace(self.K)
        return xp.astype(self.K, xp.float64, copy=True)


class Covariance:
    """A = JᵀKJ, J = (I − SGᵀ) diag(√w): the covariance Σₙ wₙ(φₙ − φ̄)(φₙ − φ̄)ᵀ seen from the rows.

    ``S`` has a column of mean weights for each group and G says which group a row is centred by; one group is the
    usual centring, ``S=None`` is none. K itself is never changed.
    """

    def __init__(self, gram, w, S=None, groups=None):
        n, xp = gram.shape[0], namespace(w)
        self.gram, self.w, self.xp = gram, w, xp
        self.groups = np.zeros(n, int) if groups is None else np.asarray(groups)
        self.root = xp.astype(xp.sqrt(w), gram.dtype, copy=False)[:, None]
        self.S = zeros((n, 1), w) if S is None else xp.reshape(xp.astype(S, xp.float64, copy=False), (n, -1))
        self.G = asarray_like(np.eye(self.S.shape[1])[self.groups], w, gram.dtype)
        self.centred = S is not None

    @property
    def shape(self):
        return self.gram.shape

    @property
    def dtype(self):
        return self.gram.dtype

    @property
    def points(self):
        return self.gram.points

    @property
    def cheap(self):
        return self.gram.cheap

    def J(self, V):
        """J V."""
        U = self.root * V
        return U - self.xp.matmul(self._S, self.xp.matmul(self.G.T, U)) if self.centred else U

    def Jt(self, M):
        """Jᵀ M."""
        return self.root * (M - self.xp.matmul(self.G, self.xp.matmul(self._S.T, M)) if self.centred else M)

    def __matmul__(self, V):
        xp, groups = self.xp, self.S.shape[1]
        JV = self.J(xp.astype(V, self.dtype, copy=False))
        if "KS" in self.__dict__ or not self.centred:
            return self.Jt(self.gram @ JV)
        K_SJV = self.gram @ xp.concat([self._S, JV], axis=1)  # the means ride along on the first product
        self.KS = xp.astype(K_SJV[:, :groups], xp.float64)
        return self.Jt(K_SJV[:, groups:])

    @cached_property
    def _S(self):
        return self.xp.astype(self.S, self.dtype, copy=False)

    @cached_property
    def KS(self):
        """k(xₙ, ·) averaged over each group: (n, g)."""
        xp = self.xp
        return xp.astype(self.gram @ self._S, xp.float64, copy=False) if self.centred else xp.zeros_like(self.S)

    @property
    def mean_sqnorms(self):
        """‖φ̄‖² of each group: diag SᵀKS."""
        return self.xp.sum(self.S * self.KS, axis=0)

    def diag(self):
        xp = self.xp
        G, root, diagonal = (xp.astype(x, xp.float64, copy=False) for x in (self.G, self.root[:, 0], self.gram.diag()))
        own_mean = xp.sum(G * self.KS, axis=1)
        return root * root * (diagonal - 2 * own_mean + G @ self.mean_sqnorms)

    def coarse(self):
        """A in single precision, or itself where nothing is gained."""
        gram = self.gram.coarse()
        return self if gram is self.gram else Covariance(gram, self.w, self.S if self.centred else None, self.groups)

    def congruence(self, F):
        """FᵀJJᵀF, in float64 over tiles of rows."""
        means = sum_rows(lambda s, f: s.T @ f, self._S, F, width=F.shape[1])

        def tile(f, root, g):
            JtF = root * (f - g @ means)
            return self.xp.astype(JtF.T @ JtF, self.xp.float64, copy=False)

        return sum_rows(tile, F, self.root, self.G, width=F.shape[1])

    def columns(self, index):
        JE = rows(self.root, index)[:, 0] * self.gram.columns(index)
        if self.centred:
            JE = JE - cast(self.KS @ double(rows(self.G, index) * rows(self.root, index)).T, self.dtype)
        return self.Jt(JE)

    def block(self, index):
        return rows(self.columns(index), index)

    def dense(self):
        """K − KS Gᵀ − (KS Gᵀ)ᵀ + G SᵀKS Gᵀ between √w and √w, in the one array that K takes."""
        A, G = self.gram.dense(), double(self.G)
        KS = self.KS = A @ self.S
        SKS, root = self.S.T @ KS, double(self.root)
        several = SKS.shape[0] > 1

        def centre(i: slice) -> None:
            """Centre one tile of rows after the other, in place, while it is in the cache."""
            tile = A[i, :]
            tile -= KS[i, :] @ G.T if several else KS[i, :]
            tile += (G[i, :] @ SKS) @ G.T - G[i, :] @ KS.T if several else SKS - KS.T
            tile *= root[i, :]
            tile *= root.T

        for_rows(centre, *self.shape, A)
        return A
