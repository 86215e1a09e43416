"""Zhou's expectation–maximisation for the empirical loading matrix, as an eigensolver."""

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg

from .._core.registry import stored
from .._core.tiles import budget_bytes
from ..linalg.operators import Dense
from ..linalg.ritz import EPS, projection, rayleigh_ritz

ROUNDING = 100 * EPS  # of the trace: variance that is no more than this is none
NOTHING = np.finfo(float).tiny / EPS**2  # a Q that has faded away: the rows are constant


@stored("rkhs.EM")
@dataclass(frozen=True, eq=False)
class EM:
    """Find Q of the loading matrix W = ΦJQ by Q ← AQ(ρI + M⁻¹QᵀA²Q)⁻¹ (Zhou eq. 11), then Rayleigh–Ritz on its span.

    M = ρI + QᵀAQ, and QᵀA²Q = (AQ)ᵀ(AQ): a step is one product with A. ``rho=None`` re-estimates ρ in every step, in a
    space of ``dimensions`` (Tipping & Bishop 1999, eq. 28). It ends where ‖Av − λv‖ ≤ ``tol``·λ₁ for all q Ritz pairs:
    the scale of Q takes about λ₁/ρ steps, its span far fewer, and the span is all that the finish needs.
    """

    rho: float | None = None
    dimensions: float = 0.0
    max_iter: int = 1000
    tol: float = 1e-6
    log_likelihoods: list = field(default_factory=list, repr=False)  # of a mean row, one for each step: written to

    portable = False

    def __call__(self, A, q, rng):
        """Ritz pairs of A. Q is kept as VT with an orthonormal V, so that no column can fade away."""
        A = Dense(A.dense().astype(A.dtype, copy=False)) if 8 * A.shape[0] ** 2 <= budget_bytes() else A
        V, T = np.linalg.qr(rng.standard_normal((A.shape[0], q)).astype(A.dtype))[0], np.eye(q)
        AV = A @ V
        trace = max(float(A.diag().sum(dtype=float)), 0.0)
        rho = trace / self.dimensions if self.rho is None else self.rho
        for passes in range(1, self.max_iter + 1):
            step = Step.of(T.T @ projection(V, AV) @ T, T.T @ projection(AV, AV) @ T, rho)
            self.log_likelihoods.append(step.log_likelihood(trace, self._counted))
            ritz = rayleigh_ritz(V, AV, q, passes)
            if ritz.residuals.max() <= self.tol or passes == self.max_iter or np.trace(step.S) < NOTHING:
                break
            V_new, R = np.linalg.qr(AV)
            T_new = R.astype(float) @ T @ step.turn
            AV_new = A @ V_new
            if self.rho is None:
                rho = step.noise_variance(T_new.T @ projection(AV_new, AV) @ T, trace, self.dimensions)
            V, T, AV = V_new, T_new, AV_new
        self.log_likelihoods.append(self._at_best(ritz.values, trace))
        return ritz

    @property
    def _counted(self):
        """The dimensions whose noise the likelihood counts: at one ρ, all that it adds is a constant."""
        return self.dimensions if self.rho is None else 0.0

    def _at_best(self, lam, trace):
        """The likelihood of the loadings V(I − ρΛ⁻¹)^½ on the span that was found (Zhou eq. 9)."""
        rho = self.rho
        if rho is None:
            left = trace - lam.sum()
            rho = left / max(self.dimensions - len(lam), 1.0) if left > ROUNDING * trace else 0.0
        lam = lam[lam > rho]
        return Step.of(np.diag(lam - rho), np.diag(lam * (lam - rho)), rho).log_likelihood(trace, self._counted)


@dataclass(frozen=True, eq=False)
class Step:
    """What one step needs of Q: M = ρI + QᵀAQ, S = QᵀA²Q and ρ."""

    M: np.ndarray
    S: np.ndarray
    rho: float

    @classmethod
    def of(cls, QtAQ, S, rho):
        """Symmetric to the last digit."""
        return cls(rho * np.eye(len(S)) + (QtAQ + QtAQ.T) / 2, (S + S.T) / 2, rho)

    @property
    def turn(self):
        """(ρI + M⁻¹S)⁻¹ = (ρM + S)⁻¹M, which is defined where M is singular too."""
        return _pinvh(self.rho * self.M + self.S) @ self.M

    def noise_variance(self, cross, trace, dimensions):
        """ρ of the step: (tr A − tr Q̌ᵀA²QM⁻¹) / dimensions, ``cross`` = Q̌ᵀA²Q; 0 where that is all rounding."""
        left = trace - np.trace(cross @ _pinvh(self.M))
        return left / dimensions if left > ROUNDING * trace else 0.0

    def log_likelihood(self, trace, dimensions):
        """−½[(tr A − tr M⁻¹S)/ρ + log|M| + (dimensions − q) log ρ], of a mean row; −mean r² where ρ = 0."""
        left = max(trace - np.trace(_pinvh(self.M) @ self.S), 0.0)
        if self.rho == 0:
            return -left
        log_det = np.linalg.slogdet(self.M)[1] + (dimensions - len(self.M)) * np.log(self.rho)
        return float(-(left / self.rho + log_det) / 2)


def _pinvh(M):
    """The pseudoinverse of a symmetric matrix; of an empty one too, which SciPy 1.11 refuses."""
    return scipy.linalg.pinvh(M) if len(M) else M
