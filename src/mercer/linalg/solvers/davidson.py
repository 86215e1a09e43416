"""Block Davidson: eigenpairs of a matrix that is not stored, in few passes over it."""

from dataclasses import dataclass

import numpy as np

from ..._core.arrays import Array, asarray_like, columns, eye, namespace, row_numbers, rows, sqnorms
from ..._core.registry import register
from ..._core.tiles import map_rows, sum_rows
from ..cholesky import rpcholesky
from ..operators import Operator
from ..ritz import TINY, Ritz, norms, orthonormal, polished, projection, rayleigh_ritz

EXTRA = 5  # vectors in addition to q: they separate the q pairs from the next eigenvalues
FEWEST = 12  # vectors to multiply by: fewer take as long
RANK = (60, 200)  # limits of the rank of the factor: n/40 between them, and at least 4 for each component
MOST_BLOCKS = 8  # the basis may have this many times the columns of its first block, then it is restarted …
ROOM = 2 * 10**6  # … or this many entries, if there are few rows
NEARNESS = 0.02  # relative to θ: a pole closer than this to θ belongs to a vector that is already in the basis
FLOOR = 3e-6  # smallest residual that products in single precision reach
LESS = 3.0  # the last pass divided residuals by c: the correction in double precision divides them by c/LESS


@register("davidson", file="davidson.Davidson")
@dataclass(frozen=True)
class Davidson:
    """Block Davidson, preconditioned by a pivoted Cholesky factor, until every residual is below ``tol``·λ₁.

    A ≈ GGᵀ gives the first block, and (GGᵀ − θI)⁻¹ turns residuals into new directions: each pass over A reduces the
    residuals by a factor of a hundred or more. The first passes are in single precision; their result is then refined
    in double precision. ``rank`` is the rank of G; None chooses it from n and q (:func:`rank_for`).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.eigen import Davidson
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = KernelPCA(2, solver=Davidson(tol=1e-8)).fit(X)
    >>> model.eigenvalues_.round(3)
    array([50.559, 45.497])
    """

    tol: float = 1e-6
    rank: int | None = None
    max_passes: int = 30
    strict = True  # a residual above ``tol`` is a failure if LAPACK can replace the solver
    fewest_rows = 100  # up to which ``eigenpairs`` uses Exact instead

    def __call__(self, A: Operator, q: int, rng: np.random.Generator) -> Ritz:
        """Return Ritz pairs of A."""
        n, coarse = A.shape[0], A.coarse()
        width = min(n, q + max(EXTRA, q // 5))
        factor = _Factor.of(coarse, self.rank or rank_for(n, q), rng)
        basis = factor.leading(width, rng)
        if coarse is A:
            return self._iterate(A, q, factor, basis, 0)
        ritz = self._iterate(coarse, q, factor, basis, 0, last=False)
        basis = namespace(basis).astype(factor.corrected(ritz, q), A.dtype, copy=False)
        return self._iterate(A, q, factor, basis, ritz.passes)

    def _iterate(self, A: Operator, q: int, factor: "_Factor", basis: Array, passes: int, last: bool = True) -> Ritz:
        """Repeat: Rayleigh–Ritz, precondition the residuals that are too large, multiply by A.

        If this is not the last iteration, it ends as soon as one correction should bring all residuals below ``tol``.
        """
        n, width, worst = A.shape[0], basis.shape[1], 1.0
        images, passes = A @ basis, passes + 1
        S, xp = projection(basis, images), namespace(basis)
        while True:
            ritz = rayleigh_ritz(basis, images, width, passes, S)
            found = ritz.values.shape[0]
            before, worst = worst, float(xp.max(ritz.residuals[-q:]))
            enough = self.tol if last else max(FLOOR, self.tol * before / max(LESS * worst, TINY))
            if not worst > enough or passes >= self.max_passes:
                return ritz
            open_ = _open(ritz, q, self.tol if last else FLOOR)
            if basis.shape[1] + open_.shape[0] > min(n, max(MOST_BLOCKS * width, ROOM // n)):
                basis, images, S = ritz.vectors, ritz.images, eye(found, S) * ritz.values
            pairs = rows(ritz.values, open_), columns(ritz.vectors, open_), columns(ritz.images, open_)
            new = orthonormal(xp.astype(factor.corrections(*pairs), A.dtype, copy=False), basis)
            if new.shape[1] == 0:
                return ritz
            A_new = A @ new
            across, own = projection(basis, A_new), projection(new, A_new)
            S = xp.concat([xp.concat([S, across], axis=1), xp.concat([across.T, own], axis=1)])
            basis, images = xp.concat([basis, new], axis=1), xp.concat([images, A_new], axis=1)
            passes += 1


def _open(ritz: Ritz, q: int, tol: float) -> np.ndarray:
    """Return the numbers of the pairs whose residuals are above ``tol``, and of the next ones if these are few."""
    extra = max(ritz.values.shape[0] - q, 0)
    open_ = extra + row_numbers(namespace(ritz.residuals).nonzero(ritz.residuals[-q:] > tol)[0])
    return np.append(np.arange(max(extra - max(FEWEST - len(open_), 0), 0), extra), open_)


def rank_for(n: int, q: int) -> int:
    """Return the rank of the factor that balances its cost against the passes it saves, as measured."""
    return min(n, max(RANK[0], min(RANK[1], n // 40), 4 * q))


@dataclass(frozen=True, eq=False)
class _Factor:
    """A ≈ GGᵀ + τI with G = JᵀF and K ≈ FFᵀ. G is not stored: J is applied to thin matrices. GᵀG = WSWᵀ.

    τ is the mean diagonal entry of A − GGᵀ: it is large for narrow kernels.
    """

    A: Operator
    F: Array
    S: Array
    W: Array
    tau: float

    @classmethod
    def of(cls, A: Operator, rank: int, rng: np.random.Generator) -> "_Factor":
        """Return the factor from a pivoted Cholesky decomposition of K."""
        F = rpcholesky(A.gram, rank, rng)[0]
        xp = namespace(F)
        S, W = xp.linalg.eigh(xp.astype(A.congruence(F), F.dtype, copy=False))
        least = S.shape[0] * float(xp.finfo(F.dtype).eps) * max(float(xp.max(S)), 0.0) if S.shape[0] else 0.0
        kept = xp.flip(xp.nonzero(least < S)[0])
        left = A.gram.diag() - sqnorms(F)
        tau = max(float(xp.mean(xp.square(A.root[:, 0]) * left)), 0.0)
        S, W = (xp.astype(xp.take(part, kept, axis=-1), xp.float64) for part in (S, W))
        return cls(A, F, S, W, tau)

    def leading(self, width: int, rng: np.random.Generator) -> Array:
        """Return orthonormal leading eigenvectors of GGᵀ, completed by random vectors if there are fewer."""
        xp, known = namespace(self.F), min(width, self.S.shape[0])
        basis = xp.linalg.qr(self._times(self.W[:, :known] / xp.sqrt(self.S[:known])))[0]
        missing = asarray_like(rng.standard_normal((basis.shape[0], width - basis.shape[1])), basis, basis.dtype)
        return xp.concat([basis, orthonormal(missing, basis)], axis=1)

    def corrected(self, ritz: Ritz, q: int) -> Array:
        """Return the last q Ritz vectors, each with its own correction: v − (GGᵀ + τI − θI)⁻¹r, orthonormal."""
        xp, V, AV = namespace(self.F), ritz.vectors[:, -q:], ritz.images[:, -q:]
        theta = xp.clip(ritz.values[-q:], TINY, None)
        lengths = norms(AV - V * xp.astype(theta, V.dtype, copy=False))
        step = xp.astype(self.corrections(theta, V, AV), xp.float64)
        V = xp.astype(V, xp.float64, copy=False)
        scale = lengths / xp.maximum(theta - self.tau, NEARNESS * theta)
        step *= xp.where(scale * norms(step) < 1, scale, 0.0)  # a step longer than the vector itself is not taken
        return polished(V - (step - V @ (V.T @ step)))

    def corrections(self, values: Array, vectors: Array, images: Array) -> Array:
        """Return (GGᵀ + τI − θI)⁻¹r = U((S − σ)⁻¹ + σ⁻¹)Uᵀr − r/σ of residuals r, times σ = θ − τ; U = GWS^{−½}."""
        F, xp, dtype = self.F, namespace(self.F), self.F.dtype
        theta = xp.clip(values, TINY, None)
        R = images - vectors * xp.astype(theta, vectors.dtype, copy=False)
        R = xp.astype(R / xp.clip(norms(R), TINY, None), dtype, copy=False)
        theta = xp.maximum(theta - self.tau, NEARNESS * theta)
        gap = self.S[:, None] - theta
        gap = xp.where(abs(gap) < NEARNESS * theta, xp.copysign(NEARNESS * theta, gap), gap)
        U = self.W / xp.sqrt(self.S)
        GtR = sum_rows(lambda f, r: xp.astype(f.T @ r, xp.float64, copy=False), F, self.A.J(R), width=F.shape[1])
        return self._times(U @ ((theta / gap + 1) * (U.T @ GtR))) - R

    def _times(self, M: Array) -> Array:
        """Return G M."""
        M = namespace(self.F).astype(M, self.F.dtype, copy=False)
        return self.A.Jt(map_rows(lambda f: f @ M, self.F, width=self.F.shape[1]))
