"""Kernel principal component analysis."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np

from .._core.registry import register
from .._core.sklearn import StrOptions
from ..kernels import Kernel
from ..linalg.operators import Dense
from ..rkhs import Subspace, primal, principal_subspace, subspace_of_moments
from ..rkhs.moments import Moments
from ..rkhs.positive import PositivePart
from . import diagnostics, validation
from .base import KernelTransformer
from .parameters import FROM_0, KernelLike, constraints
from .streams import StreamMixin


@register("kpca")
@dataclass(eq=False, repr=False)
class KernelPCA(StreamMixin, KernelTransformer):
    """Principal component analysis in the feature space of a kernel.

    The axes U of C = Σₙ wₙ(φ(xₙ) − φ̄)(φ(xₙ) − φ̄)ᵀ are U = ΦB, B = JV/√Λ, from the eigenpairs (V, Λ) of A = JᵀKJ
    (Schölkopf, Smola & Müller 1998; Bishop 2006, section 12.3). K is the kernel matrix of the samples, Φ = (φ(x₁), …),
    wₙ are the weights of the samples, 1/n by default, and J centres and weights. The coordinates of a sample are
    y = k(x, Z)B − offset, with the samples Z that the axes are expanded on.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a number in (0, 1) keeps that share of the variance, None keeps all components, 0 the
        mean alone. There are never more than the numerical rank: see ``n_components_``.
    kernel : str, Kernel or callable, default="rbf"
        A name or an instance from :mod:`mercer.kernels`, such as ``RBF(gamma=0.1)``, a Gaussian process kernel of
        scikit-learn, a function ``K(X, Y)``, or ``"precomputed"``.
    center : bool, default=True
        Whether to subtract the mean in feature space.
    solver : {"auto", "exact", "davidson", "lanczos", "randomized", "landmarks"} or a solver, default="auto"
        The eigensolver: a name or an instance from :mod:`mercer.eigen`, such as ``Landmarks(n=1000)``. For ``"auto"``
        see the table of :func:`mercer.eigen.choose`; if a kernel (linear, polynomial) has fewer explicit features than
        there are samples, their covariance is decomposed. ``solver_`` reports the solver that was used.
    preimage : {"auto", "fixed_point", "gradient", "distances", "smoother", "learned"} or a method, default="auto"
        The method by which ``inverse_transform`` and ``denoise`` find pre-images: a name or an instance from
        :mod:`mercer.preimage`. ``"auto"``: in closed form for the linear kernel, by fixed point for radial kernels,
        else by gradient.
    indefinite : {"clip", "error"}, default="clip"
        What to do with a kernel that is not positive semi-definite: use its positive part with a warning, or raise an
        error. With ``"clip"`` all results (variances, shares, distances, pre-images) are those of the positive part of
        the centred matrix, without the axes of variance below |λ_min|; ``solver_`` reports the share that was left out.
    random_state : int, RandomState instance or None, default=None
        Seed for the solvers that use random vectors.

    Attributes
    ----------
    n_components_ : int
        Number of components.
    explained_variance_ : ndarray of shape (n_components_,)
        λ, the eigenvalues of the covariance in feature space.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        λ divided by the total variance, which is known from the trace.
    eigenvalues_ : ndarray of shape (n_components_,)
        n·λ, as in scikit-learn.
    total_variance_ : float
        The total variance in feature space.
    kernel_ : Kernel
        The kernel with its data-dependent parameters filled in.
    subspace_ : Subspace
        The axes and the mean.
    anchors_ : ndarray or sparse matrix
        The samples that the axes are expanded on.
    solver_ : Report
        The solver, its passes over the matrix and its residual.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import RBF
    >>> X, _ = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> kpca = KernelPCA(2, kernel=RBF(gamma=2.0))
    >>> kpca.fit_transform(X).shape
    (200, 2)
    >>> kpca.explained_variance_ratio_.round(2)
    array([0.22, 0.18])
    """

    n_components: int | float | None = None
    _: KW_ONLY
    kernel: KernelLike = "rbf"
    center: bool = True
    solver: Any = "auto"
    preimage: Any = "auto"
    indefinite: str = "clip"
    random_state: Any = None

    _portable = True
    _parameter_constraints = constraints(
        *("kernel", "center", "solver", "preimage", "random_state"),
        n_components=FROM_0,
        indefinite=[StrOptions({"clip", "error"})],
    )

    def _find(self, kernel: Kernel, X: Any, gram: Dense | None, weights: Any, rng: np.random.Generator) -> Subspace:
        if self._most is None and not primal(kernel, X, self.solver):
            validation.check_all_components(X.shape[0], self.solver, self.n_components)
        subspace = principal_subspace(
            kernel, X, self._most, gram=gram, weights=weights, center=self.center, solver=self.solver, rng=rng
        )
        report = subspace.report
        if not isinstance(kernel, PositivePart):
            validation.check_indefinite(self.indefinite, report.lowest, report.negative_mass)
        diagnostics.warn_of_spectrum(subspace.variances, subspace.total_variance, X.shape[0])
        return self._cut(subspace)

    def _of_moments(self, moments: Moments, solver: Any) -> Subspace:
        return self._cut(subspace_of_moments(moments, self._most, self.center, solver))

    @property
    def _most(self) -> Any:
        """The number of components to compute; None, for all, if a share of the variance is requested."""
        return self.n_components if isinstance(self.n_components, Integral) else None

    def _cut(self, subspace: Subspace) -> Subspace:
        """Return the first components, as many as hold the requested share of the variance."""
        if self.n_components is None or self._most is not None:
            return subspace
        return subspace[: subspace.holding(self.n_components)]
