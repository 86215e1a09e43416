"""Kernel principal component analysis."""

from numbers import Integral

from sklearn.utils.metaestimators import available_if

from .._core.arrays import rows
from .._core.registry import KERNELS, PREIMAGES, SOLVERS, register
from .._core.sklearn import HasMethods, Interval, Named, RealNotInt, StrOptions
from ..rkhs import primal, principal_subspace, subspace_of_moments
from ..rkhs.landmarks import chooses_basis
from . import diagnostics, validation
from .base import KernelTransformer


@register("kpca")
class KernelPCA(KernelTransformer):
    """Principal components in the feature space of a kernel.

    The axes U of C = Σₙ wₙ(φ(xₙ) − φ̄)(φ(xₙ) − φ̄)ᵀ are found as U = ΦB, B = JVΛ^{−½}, from the eigenpairs of A = JᵀKJ
    (Schölkopf, Smola & Müller 1998; Bishop 2006, section 12.3). A row's coordinates are y = k(x, Z)B − offset.

    Parameters
    ----------
    n_components : int, float or None, default=None
        How many components; a number in (0, 1) asks for that share of the variance; None for all of them. Never more
        than the numerical rank: ``n_components_`` says how many there are.
    kernel : str, Kernel or callable, default="rbf"
        A name, a kernel of :mod:`mercer.kernels` such as ``RBF(gamma=0.1)``, scikit-learn's Gaussian-process kernel, a
        function K(X, Y), or ``"precomputed"``.
    center : bool, default=True
        Whether to subtract the mean in feature space.
    solver : {"auto", "exact", "davidson", "lanczos", "randomized", "landmarks"} or a solver, default="auto"
        How the eigenpairs are found: a name or an instance from :mod:`mercer.eigen`, such as ``Landmarks(n=1000)``.
        :func:`mercer.eigen.choose` has the table behind ``"auto"``; where a kernel (linear, polynomial) has fewer
        explicit features than there are rows, it decomposes those. ``solver_`` tells what was done and how well.
    preimage : {"auto", "fixed_point", "gradient", "distances", "smoother", "learned"} or a method, default="auto"
        How ``inverse_transform`` and ``denoise`` find rows: a name or an instance from :mod:`mercer.preimage`.
        ``"auto"``: in closed form for the linear kernel, by fixed point for radial kernels, else by gradient.
    indefinite : {"clip", "error"}, default="clip"
        What to do with the negative eigenvalues of a kernel that is not positive semi-definite: leave them out with a
        warning that gives their mass, or refuse.
    random_state : int, RandomState or None, default=None
        For the solvers that draw random vectors.

    Attributes
    ----------
    n_components_ : int
        The number of components.
    explained_variance_ : ndarray of shape (n_components_,)
        λ, the eigenvalues of the covariance in feature space.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        λ as shares of the whole variance, which is known from the trace.
    eigenvalues_ : ndarray of shape (n_components_,)
        n·λ, as in scikit-learn.
    total_variance_ : float
        The variance in feature space.
    kernel_ : Kernel
        The kernel with its parameters filled in.
    subspace_ : Subspace
        The axes and the mean.
    anchors_ : ndarray or sparse matrix
        The rows that the axes are written on.
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
    >>> bool(kpca.explained_variance_ratio_.sum() < 1)
    True
    """

    _portable = True
    _parameter_constraints: dict = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "kernel": [Named(KERNELS), callable],
        "center": ["boolean"],
        "solver": [Named(SOLVERS, "auto"), callable],
        "preimage": [Named(PREIMAGES, "auto"), HasMethods("bind")],
        "indefinite": [StrOptions({"clip", "error"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="rbf",
        center=True,
        solver="auto",
        preimage="auto",
        indefinite="clip",
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.center = center
        self.solver = solver
        self.preimage = preimage
        self.indefinite = indefinite
        self.random_state = random_state

    def _find(self, kernel, X, gram, weights, rng):
        if isinstance(self.solver, str) and self.solver != "landmarks" and not primal(kernel, X, self.solver):
            validation.check_all_components(self.n_components, X.shape[0])
        subspace = principal_subspace(
            kernel, X, self._q, gram=gram, weights=weights, center=self.center, solver=self.solver, rng=rng
        )
        validation.check_indefinite(self.indefinite, subspace.report)
        diagnostics.warn_of_spectrum(subspace.variances, subspace.total_variance, X.shape[0])
        return self._cut(subspace)

    @available_if(lambda self: chooses_basis(self.solver))
    def partial_fit(self, X, y=None, sample_weight=None):
        """Add rows to the model, which keeps the landmarks and the kernel of its first rows.

        For ``solver="landmarks"`` only. What was fitted in pieces equals what is fitted at once on the same landmarks.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            More rows.
        y : None
            Not used; present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of these rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if hasattr(self, "compression_"):
            raise ValueError("A compressed model cannot learn more rows. Add them to the model it was made from.")
        if not hasattr(self, "subspace_") or self.subspace_.moments is None:
            return self.fit(X, sample_weight=sample_weight)
        X = self._rows(X, "partial_fit")
        weights, counted = validation.check_weights(sample_weight, X)
        seen = self.subspace_.moments
        new = seen.basis.moments(rows(X, counted), weights)
        moments = seen.scaled(self.n_rows_ / seen.count) + new
        subspace = subspace_of_moments(moments, self._q, self.center, self.subspace_.report.solver)
        self.subspace_, self.n_rows_ = self._cut(subspace), moments.count
        self.__dict__.pop("_nearest", None)
        return self

    @property
    def _q(self):
        """The number of components to ask for: all of them where a share is wanted."""
        return self.n_components if isinstance(self.n_components, Integral) else None

    def _cut(self, subspace):
        """The first components that hold the share of variance asked for."""
        if self.n_components is None or self._q is not None:
            return subspace
        return subspace[: subspace.holding(self.n_components)]
