"""Symmetric operators that need not exist in memory: the Gram matrix, and the weighted covariance around it.

An operator knows its ``shape`` and ``dtype``, multiplies (``A @ V``), and gives its diagonal (``diag()``), some columns
(``columns(index)``), the square block of some rows (``block(index)``) and itself as a new float64 array (``dense()``).
``points`` are the rows behind it, or None. These are the only three; a solver sees nothing else of a kernel.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse

from . import lazy
from .arrays import (
    cast,
    columns,
    copied,
    diagonal,
    double,
    elsewhere,
    full,
    is_single,
    namespace,
    placed,
    product,
    rows,
    side_by_side,
    single,
    zeros,
)
from .kernels import Kernel
from .tiles import PASS, OneThread, for_rows, keeps, map_rows, sum_rows, sum_shares, symmetric_matrix, symmetric_rows

SINGLE_BYTES = 4
DEAR_COLUMNS = 64  # above it a tile costs more to make than to read


class Operator(Protocol):
    """A symmetric matrix that need not exist in memory."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def points(self) -> Any: ...
    def __matmul__(self, V): ...
    def diag(self) -> np.ndarray: ...
    def columns(self, index) -> np.ndarray: ...
    def block(self, index) -> np.ndarray: ...
    def dense(self) -> np.ndarray: ...


class _Uncentred:
    """An operator that is not centred from another one: J is the identity."""

    shape: Any
    dtype: Any
    _like: Any  # an array that lives where the operator does

    @property
    def gram(self):
        return self

    @property
    def root(self):
        return full((self.shape[0], 1), 1.0, self._like, self.dtype)

    def J(self, V):
        return V

    def Jt(self, M):
        return M

    def congruence(self, F):
        return sum_rows(lambda f: double(f.T @ f), F, width=F.shape[1])


@dataclass(frozen=True, eq=False)
class Gram(_Uncentred):
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
    def _like(self):
        return self.X

    def __matmul__(self, V):
        V = _as(V, self.dtype)
        if self.home is not None:
            return lazy.symmetric_blocks(OneThread(self.kernel), self.home, V, PASS)
        share = self.kernel.symmetric(self.X) if self.kept is None else None
        if share is None:
            return symmetric_rows(self.kernel.pairs(self.X), V, self.kept)
        return sum_shares(lambda i, s: share(V, i, s), entries=self.shape[0] ** 2 / 2)

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
        room = is_single(self.X) and keeps(self.shape[0], SINGLE_BYTES)
        return replace(self, kept={} if dear and room else None)

    def coarse(self):
        """K in single precision."""
        if is_single(self.X):
            return self
        origin = namespace(self.X).mean(self.X, axis=0) if self.kernel.stationary and not issparse(self.X) else 0
        X = self.X if issparse(self.X) else self.X - origin
        if self.home is not None:
            return Gram(self.kernel, X.astype(np.float32), home=(self.home - origin).astype(np.float32))
        return Gram(self.kernel, single(X)).repeated()

    def dense(self):
        if elsewhere(self.X):
            return map_rows(self.kernel.onto(double(self.X)), double(self.X), width=self.shape[0])
        return symmetric_matrix(self.kernel.pairs(self.X.astype(float)), self.shape[0], float)


@dataclass(frozen=True, eq=False)
class Dense(_Uncentred):
    """K in memory."""

    K: Any
    points = None

    @property
    def _like(self):
        return self.K

    @property
    def shape(self):
        return self.K.shape

    @property
    def dtype(self):
        return self.K.dtype

    def __matmul__(self, V):
        return self.K @ _as(V, self.dtype)

    def diag(self):
        return diagonal(self.K)

    def columns(self, index):
        return columns(self.K, index)

    def block(self, index):
        return columns(rows(self.K, index), index) if elsewhere(self.K) else self.K[np.ix_(index, index)]

    def coarse(self):
        return self

    def dense(self):
        return double(copied(self.K)) if elsewhere(self.K) else self.K.astype(float)


def _as(V, dtype):
    """V in a dtype, where it lives."""
    return cast(V, dtype) if elsewhere(V) else np.asarray(V, dtype)


class Covariance:
    """A = JᵀKJ, J = (I − SGᵀ) diag(√w): the covariance Σₙ wₙ(φₙ − φ̄)(φₙ − φ̄)ᵀ seen from the rows.

    ``S`` has a column of mean weights for each group and G says which group a row is centred by; one group is the
    usual centring, ``S=None`` is none. K itself is never changed.
    """

    def __init__(self, gram, w, S=None, groups=None):
        n = gram.shape[0]
        self.gram, self.w = gram, w
        self.groups = np.zeros(n, int) if groups is None else np.asarray(groups)
        self.root = cast(namespace(w).sqrt(w), gram.dtype)[:, None]
        self.S = zeros((n, 1), w) if S is None else namespace(w).reshape(_as(S, namespace(w).float64), (n, -1))
        self.G = placed(np.eye(self.S.shape[1])[self.groups], w, gram.dtype)
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

    def J(self, V):
        """J V."""
        U = self.root * V
        return U - product(self._S, product(self.G.T, U)) if self.centred else U

    def Jt(self, M):
        """Jᵀ M."""
        return self.root * (M - product(self.G, product(self._S.T, M)) if self.centred else M)

    def __matmul__(self, V):
        JV = self.J(_as(V, self.dtype))
        if "KS" in self.__dict__ or not self.centred:
            return self.Jt(self.gram @ JV)
        K_SJV = self.gram @ side_by_side(self._S, JV)  # the means ride along on the first product
        self.KS = double(copied(K_SJV[:, : self.S.shape[1]]))
        return self.Jt(K_SJV[:, self.S.shape[1] :])

    @cached_property
    def _S(self):
        return cast(self.S, self.dtype)

    @cached_property
    def KS(self):
        """k(xₙ, ·) averaged over each group: (n, g)."""
        return double(self.gram @ self._S) if self.centred else namespace(self.S).zeros_like(self.S)

    @property
    def mean_sqnorms(self):
        """‖φ̄‖² of each group: diag SᵀKS."""
        return namespace(self.S).sum(self.S * self.KS, axis=0)

    def diag(self):
        G = double(self.G)
        own_mean = namespace(G).sum(G * self.KS, axis=1)
        K_centred = double(self.gram.diag()) - 2 * own_mean + G @ self.mean_sqnorms
        return double(self.root[:, 0]) ** 2 * K_centred

    def coarse(self):
        """A in single precision, or itself where nothing is gained."""
        gram = self.gram.coarse()
        return self if gram is self.gram else Covariance(gram, self.w, self.S if self.centred else None, self.groups)

    def congruence(self, F):
        """FᵀJJᵀF, in float64 over tiles of rows."""
        means = sum_rows(lambda s, f: s.T @ f, self._S, F, width=F.shape[1])

        def tile(f, root, g):
            JtF = root * (f - g @ means)
            return double(JtF.T @ JtF)

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
        if elsewhere(A):
            KSG = KS @ G.T
            A -= KSG
            A -= KSG.T
            A += G @ SKS @ G.T
            return root * A * root.T

        def centre(rows):
            """One tile of rows after the other, while it is in the cache."""
            tile = A[rows]
            tile -= KS[rows] @ G.T if len(SKS) > 1 else KS[rows]
            tile += (G[rows] @ SKS) @ G.T - G[rows] @ KS.T if len(SKS) > 1 else SKS - KS.T
            tile *= root[rows]
            tile *= root.T

        for_rows(centre, *self.shape)
        return A
