"""Zhou's expectation–maximisation for the empirical loading matrix, as an eigensolver."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg

from .._core.checkpoints import Checkpoint
from .._core.registry import stored
from .._core.tiles import budget_bytes
from ..linalg.operators import Dense, Operator
from ..linalg.ritz import EPS, Ritz, projection, rayleigh_ritz

NO_VARIANCE = 100 * EPS  # relative to the trace: a smaller variance is a rounding error
VANISHED = np.finfo(float).tiny / EPS**2  # tr QᵀA²Q of constant rows


@stored("rkhs.EM")
@dataclass(frozen=True, eq=False)
class EM:
    """Find Q of the loading matrix W = ΦJQ by Q ← AQ(ρI + M⁻¹QᵀA²Q)⁻¹ (Zhou eq. 11), then Rayleigh–Ritz on its span.

    M = ρI + QᵀAQ, and QᵀA²Q = (AQ)ᵀ(AQ): a step is one product with A. ``rho=None`` re-estimates ρ in every step, in a
    space of ``dimensions`` (Tipping & Bishop 1999, eq. 28). It stops when ‖Av − λv‖ ≤ ``tol``·λ₁ for all q Ritz pairs:
    the scale of Q would need about λ₁/ρ steps, but only its span is used, which converges much faster.

    As ``solver=EM(init=Q)`` of :class:`mercer.ProbabilisticKernelPCA` it starts from Q; the other settings are those of
    the model.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ProbabilisticKernelPCA
    >>> from mercer.eigen import EM
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> Q = ProbabilisticKernelPCA(2, solver="exact").fit(X).loadings_
    >>> model = ProbabilisticKernelPCA(2, solver=EM(init=Q)).fit(X)
    >>> model.n_iter_  # it starts at the solution
    1
    """

    rho: float | None = None
    dimensions: float = 0.0
    max_iter: int = 1000
    tol: float = 1e-6
    init: Any = None  # the first Q, (n, q); None for a random one
    log_likelihoods: list[float] = field(default_factory=list, repr=False)  # mean over the rows, one for each step

    portable = False

    def __call__(self, A: Operator, q: int, rng: np.random.Generator) -> Ritz:
        """Return Ritz pairs of A. Q is stored as VT with an orthonormal V, so that no column underflows."""
        A = Dense(A.dense().astype(A.dtype, copy=False)) if 8 * A.shape[0] ** 2 <= budget_bytes() else A
        checkpoint = Checkpoint("loadings", A.diag(), q, self.rho, self.dimensions)
        kept = checkpoint.read()
        V, T = self._start(A, q, rng) if kept is None else np.linalg.qr(kept["Q"])
        AV = A @ V
        trace = max(float(A.diag().sum(dtype=float)), 0.0)
        rho = trace / self.dimensions if self.rho is None else self.rho
        for passes in range(1, self.max_iter + 1):
            step = LoadingStep.of(T.T @ projection(V, AV) @ T, T.T @ projection(AV, AV) @ T, rho)
            self.log_likelihoods.append(step.log_likelihood(trace, self._counted))
            ritz = rayleigh_ritz(V, AV, q, passes)
            if ritz.residuals.max() <= self.tol or passes == self.max_iter or np.trace(step.S) < VANISHED:
                break
            V_new, R = np.linalg.qr(AV)
            T_new = R.astype(float) @ T @ step.turn
            AV_new = A @ V_new
            if self.rho is None:
                rho = step.noise_variance(T_new.T @ projection(AV_new, AV) @ T, trace, self.dimensions)
            V, T, AV = V_new, T_new, AV_new
            checkpoint.write(Q=V @ T)
        self.log_likelihoods.append(self._at_best(ritz.values, trace))
        return ritz

    def _start(self, A: Operator, q: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the first Q = VT: ``init``, or a matrix with random orthonormal columns."""
        if self.init is None:
            return np.linalg.qr(rng.standard_normal((A.shape[0], q)).astype(A.dtype))[0], np.eye(q)
        Q = np.asarray(self.init, A.dtype)
        if Q.shape != (A.shape[0], q):
            raise ValueError(f"EM(init=Q) needs an array of shape {(A.shape[0], q)}, and one of {Q.shape} was given.")
        V, T = np.linalg.qr(Q)
        return V, T.astype(float)

    @property
    def _counted(self) -> float:
        """The dimensions whose noise the likelihood includes: 0 at a fixed ρ, where they would only add a constant."""
        return self.dimensions if self.rho is None else 0.0

    def _at_best(self, lam: np.ndarray, trace: float) -> float:
        """Return the likelihood of the loadings V(I − ρΛ⁻¹)^½ on the span that was found (Zhou eq. 9)."""
        rho = self.rho
        if rho is None:
            left = trace - lam.sum()
            rho = left / max(self.dimensions - len(lam), 1.0) if left > NO_VARIANCE * trace else 0.0
        lam = lam[lam > rho]
        return LoadingStep.of(np.diag(lam - rho), np.diag(lam * (lam - rho)), rho).log_likelihood(trace, self._counted)


@dataclass(frozen=True, eq=False)
class LoadingStep:
    """One step of EM: M = ρI + QᵀAQ, S = QᵀA²Q and ρ."""

    M: np.ndarray
    S: np.ndarray
    rho: float

    @classmethod
    def of(cls, QtAQ: np.ndarray, S: np.ndarray, rho: float) -> "LoadingStep":
        """Return the step, with exactly symmetric matrices."""
        return cls(rho * np.eye(len(S)) + (QtAQ + QtAQ.T) / 2, (S + S.T) / 2, rho)

    @property
    def turn(self) -> np.ndarray:
        """(ρI + M⁻¹S)⁻¹ = (ρM + S)⁻¹M, which is also defined for a singular M."""
        return _pinvh(self.rho * self.M + self.S) @ self.M

    def noise_variance(self, cross: np.ndarray, trace: float, dimensions: float) -> float:
        """Return ρ = (tr A − tr Q̌ᵀA²QM⁻¹) / dimensions, ``cross`` = Q̌ᵀA²Q; 0 if that is a rounding error."""
        left = trace - np.trace(cross @ _pinvh(self.M))
        return left / dimensions if left > NO_VARIANCE * trace else 0.0

    def log_likelihood(self, trace: float, dimensions: float) -> float:
        """Return the mean −½[(tr A − tr M⁻¹S)/ρ + log|M| + (dimensions − q) log ρ]; −mean r² if ρ = 0."""
        left = max(trace - np.trace(_pinvh(self.M) @ self.S), 0.0)
        if self.rho == 0:
            return -left
        log_det = np.linalg.slogdet(self.M)[1] + (dimensions - len(self.M)) * np.log(self.rho)
        return float(-(left / self.rho + log_det) / 2)


def _pinvh(M: np.ndarray) -> np.ndarray:
    """Return the pseudoinverse of a symmetric matrix, which may be empty."""
    return scipy.linalg.pinvh(M) if len(M) else M
