"""Mixtures of kernel PCA densities: clusters that have a shape in feature space."""

import warnings
from functools import partial
from itertools import cycle, islice
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from .._core.blas import single_blas
from .._core.dask import rowwise
from .._core.registry import KERNELS, PREIMAGES, register
from .._core.sklearn import CallbackSupportMixin, HasMethods, Interval, Named, StrOptions, reported, with_callbacks
from ..kernels import Kernel, Precomputed, as_kernel
from ..linalg.eigenpairs import Report
from ..linalg.solvers.exact import Exact
from ..preimage import as_preimage
from ..preimage.batches import batches
from ..rkhs.basis import Coordinates
from ..rkhs.em import best_run, by_chance, by_kmeans, em
from ..rkhs.landmarks import Landmarks
from ..rkhs.mixture import FeatureMixture, posterior
from . import diagnostics, validation
from .base import fitted_copy
from .distinct import Rows
from .drawing import DrawsClusters
from .kernel_parameter import Kernelled

WHOLE = 1_000  # rows up to which "auto" factors the whole Gram matrix
STARTS = {"auto": (by_chance, by_kmeans), "random": (by_chance,), "kmeans": (by_kmeans,)}


@register("mixture")
class KernelPCAMixture(Kernelled, DrawsClusters, CallbackSupportMixin, ClusterMixin, DensityMixin, BaseEstimator):
    """A mixture of probabilistic kernel PCAs: each cluster is a Gaussian around a principal subspace in feature space.

    p(φ) = Σᵢ mᵢ N(φ̄ᵢ, Uᵢ(Λᵢ − ρ)Uᵢᵀ + ρI), fitted by EM (Zhou, section 3). All clusters share the kernel and the noise
    variance ρ: their densities could not be compared otherwise.

    Parameters
    ----------
    n_clusters : int, default=2
        The number of clusters.
    n_components : int, sequence of int, or None, default=2
        The number of axes of each cluster, or one number for each. Axes along which a cluster has no more variance than
        the noise are left out: ``n_components_`` says how many there are. None keeps all others; 0 leaves round
        clusters.
    noise_variance : float, default=0.01
        ρ, the variance in every direction of the feature space. Where k(x, x) = 1, variances are shares of 1.
    kernel : str, Kernel or callable, default="rbf"
        A name, a kernel of :mod:`mercer.kernels` such as ``RBF(gamma=0.1)``, scikit-learn's Gaussian-process kernel, a
        function K(X, Y), or ``"precomputed"``.
    solver : {"auto", "exact", "landmarks"} or a solver, default="auto"
        ``"exact"`` factors the whole Gram matrix, once for all iterations; ``"landmarks"``, or
        ``Landmarks(n=1000)`` of :mod:`mercer.eigen`, works inside the span of few rows, with n × 500 numbers in memory.
        ``"auto"`` is exact up to 1000 rows.
    preimage : {"auto", "fixed_point", "gradient", "distances", "smoother", "learned"} or a method, default="auto"
        How ``sample`` finds rows: a name or an instance from :mod:`mercer.preimage`.
    init : {"auto", "random", "kmeans"} or array-like of shape (n_samples, n_clusters), default="auto"
        Where EM starts: from random responsibilities, from a kernel k-means, from both in turn, or from the
        responsibilities that are given.
    n_init : int, default=10
        The number of starts; the one of the highest likelihood is kept. Responsibilities that are given are one start.
    max_iter : int, default=200
        The most iterations of EM from each start.
    tol : float, default=1e-5
        EM has converged where the mean log-likelihood grows, or every responsibility changes, by no more than this.
    random_state : int, RandomState or None, default=None
        For the starts, the choice of landmarks, and ``sample``.

    Attributes
    ----------
    weights_ : ndarray of shape (n_clusters,)
        The weights mᵢ of the clusters. There are fewer than were asked for where some lost all their rows.
    densities_ : list of FeatureGaussian
        The density of each cluster.
    n_components_ : ndarray of shape (n_clusters,)
        The number of axes of each.
    responsibilities_ : ndarray of shape (n_samples, n_clusters)
        p(cluster | row) of the training rows.
    labels_ : ndarray of shape (n_samples,)
        The likeliest cluster of each of them.
    lower_bound_ : float
        The mean log-likelihood of the training rows, up to a constant that models of the same kernel and ρ share.
    lower_bounds_ : list of float
        The same after each iteration of the best start.
    converged_ : bool
        Whether the best start converged.
    n_iter_ : int
        Its number of iterations.
    kernel_ : Kernel
        The kernel with its parameters filled in.

    Examples
    --------
    >>> from mercer import KernelPCAMixture, datasets
    >>> from mercer.kernels import RBF
    >>> X, y = datasets.two_cs(0)
    >>> mixture = KernelPCAMixture(2, 2, kernel=RBF.from_sigma(8.0), random_state=0).fit(X)
    >>> bool(max((mixture.labels_ == y).mean(), (mixture.labels_ != y).mean()) > 0.98)
    True
    >>> mixture.predict_proba([[-6.0, 0.0], [6.0, -6.0]]).max(axis=1).round(2)
    array([1., 1.])
    """

    _doc_link_module = "mercer"
    _keeps_rows = False  # equal rows are merged, into an array of our own
    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 0, None, closed="left"), "array-like", None],
        "noise_variance": [Interval(Real, 0, None, closed="neither")],
        "kernel": [Named(KERNELS), callable],
        "solver": [StrOptions({"auto", "exact", "landmarks"}), Exact, Landmarks],
        "preimage": [Named(PREIMAGES, "auto"), HasMethods("bind")],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters=2,
        n_components=2,
        *,
        noise_variance=0.01,
        kernel="rbf",
        solver="auto",
        preimage="auto",
        init="auto",
        n_init=10,
        max_iter=200,
        tol=1e-5,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.noise_variance = noise_variance
        self.kernel = kernel
        self.solver = solver
        self.preimage = preimage
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks
    def fit(self, X, y=None, sample_weight=None):
        """Fit the mixture by EM, from several starts.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; for ``kernel="precomputed"`` the matrix k(xᵢ, xⱼ).
        y : None
            Not used; present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight 2 counts as two rows, a row of weight 0 as none.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with validation.unchanged_on_error(self), reported(self, X), single_blas:  # the same bits for any threads
            self._fit(X, sample_weight)
        return self

    def _rows_of(self, kernel: Kernel, X: Any, sample_weight: Any) -> Rows:
        return Rows.of(kernel, X, sample_weight, getattr(self, "feature_names_in_", None))

    @property
    def solver_(self) -> Report:
        """What was done to find the subspaces: the report of the cluster with the largest share outside."""
        return max((density.subspace.report for density in self.densities_), key=lambda report: report.outside_share)

    def _fit(self, X, sample_weight):
        self._validate_params()
        self.__dict__.pop("compression_", None)
        kernel = as_kernel(self.kernel)
        X = validation.check_rows(self, X, kernel, fit=True)
        rows, q, rho = self._rows_of(kernel, X, sample_weight), self._components(), float(self.noise_variance)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        coordinates = self._coordinates(rows, sum(each or 0 for each in q), rng)
        validation.check_indefinite("clip", coordinates.report)
        starts = self._starts(coordinates, rows, X.shape[0], rng)
        best = best_run(starts, partial(em, coordinates, q=q, rho=rho, w=rows.w), self.tol, self.max_iter)
        mixture = best.last.mixture(coordinates)
        self.kernel_, self.weights_, self.densities_ = rows.kernel, mixture.weights, list(mixture.densities)
        self.lower_bound_, self.lower_bounds_ = best.bounds[-1], best.bounds
        self.converged_, self.n_iter_ = best.converged, len(best.bounds)
        self.responsibilities_ = self._of_all_rows(best.last.R[rows.member], X, rows.counted)
        self.labels_ = self.responsibilities_.argmax(axis=1)
        diagnostics.warn_of_outside(self.solver_)
        self._warn(q)

    def _components(self):
        """The number of axes asked for in each cluster."""
        if self.n_components is None or isinstance(self.n_components, Integral):
            return [self.n_components] * self.n_clusters
        q = list(self.n_components)
        if len(q) != self.n_clusters or not all(isinstance(each, int | np.integer) and each >= 0 for each in q):
            raise ValueError(
                f"n_components must be a whole number ≥ 0, None, or one such number for each of the {self.n_clusters} "
                f"clusters, and {self.n_components!r} was given."
            )
        return q

    def _coordinates(self, rows, q, rng):
        solver = self.solver
        if isinstance(solver, str):
            exact = solver == "exact" or (solver == "auto" and len(rows.w) <= WHOLE)
            solver = Exact() if exact else Landmarks()
        return Coordinates.of(rows.kernel, rows.points, solver, gram=rows.gram, q=q, weights=rows.w, rng=rng)

    def _starts(self, coordinates, rows, n, rng):
        """Functions that give the responsibilities to start from."""
        if not isinstance(self.init, str):
            return [partial(rows.merged, self._given(n))]
        k = min(self.n_clusters, len(rows.w))
        kinds = islice(cycle(STARTS[self.init]), self.n_init)
        own = rng.spawn(self.n_init)
        return [partial(kind, coordinates, k, rows.w, own_rng) for kind, own_rng in zip(kinds, own, strict=True)]

    def _given(self, n):
        """The responsibilities given as ``init``, summing to 1."""
        R = check_array(self.init, dtype=np.float64, input_name="init")
        if R.shape != (n, self.n_clusters) or np.any(R < 0) or np.any(R.sum(axis=1) <= 0):
            raise ValueError(
                f"init must be 'auto', 'random', 'kmeans', or numbers ≥ 0 of the shape {(n, self.n_clusters)}, not all "
                f"of them 0 in any row; an array of the shape {R.shape} was given."
            )
        return R / R.sum(axis=1, keepdims=True)

    def _of_all_rows(self, R, X, counted):
        """Responsibilities of all rows of X, from those of the rows that count."""
        if len(counted) == X.shape[0]:
            return R.astype(X.dtype)
        others = np.setdiff1d(np.arange(X.shape[0]), counted)
        rows = others[:, None] if isinstance(self.kernel_, Precomputed) else X[others]
        responsibilities = np.empty((X.shape[0], R.shape[1]), X.dtype)
        responsibilities[counted], responsibilities[others] = R, posterior(self._mixture.logs(rows))[0]
        return responsibilities

    def _warn(self, q):
        """Tell what came out otherwise than asked for."""
        k = len(self.weights_)
        if k < self.n_clusters:
            warnings.warn(
                f"{k} of n_clusters={self.n_clusters} clusters are left: the others lost all their rows, or there are "
                "fewer different rows than clusters.",
                stacklevel=4,
            )
        elif np.any(self.n_components_ < [each or 0 for each in q]):
            warnings.warn(
                f"The clusters have {self.n_components_.tolist()} of {q} components: along the others there is no more "
                f"variance than noise_variance={self.noise_variance}. Lower it, or n_components.",
                stacklevel=4,
            )
        if not self.converged_:
            warnings.warn(
                f"EM did not converge in max_iter={self.max_iter} iterations from its best start. Raise max_iter, or "
                f"tol={self.tol}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    @property
    def _mixture(self):
        return FeatureMixture(self.weights_, tuple(self.densities_))

    def _logs(self, X):
        """log mᵢ − ½L̂ᵢ of each row and cluster, and the rows."""
        check_is_fitted(self)
        X = validation.check_rows(self, X, self.kernel_)
        logs = self._mixture.logs(X)
        if not np.all(np.isfinite(logs)):
            validation.check_diagonal(self.kernel_.diag(X), self.kernel_)
        return logs, X

    @rowwise
    def predict(self, X):
        """Return the likeliest cluster of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; for ``kernel="precomputed"`` the matrix k(x, training rows).

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Numbers of clusters.
        """
        return self._logs(X)[0].argmax(axis=1)

    @rowwise
    def predict_proba(self, X):
        """Return the responsibilities p(cluster | row) of eq. 17.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        R : ndarray of shape (n_samples, n_clusters)
            Probabilities, which sum to 1 in each row.
        """
        logs, X = self._logs(X)
        return posterior(logs)[0].astype(X.dtype)

    @rowwise
    def score_samples(self, X):
        """Return the logarithm of the density at each row, log Σᵢ mᵢ exp(−½L̂ᵢ(x)).

        It lacks the constant (f/2)·log(2πρ): models of the same kernel and ρ may be compared, others may not.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log-likelihoods.
        """
        return posterior(self._logs(X)[0])[1]

    def score(self, X, y=None):
        """Return the mean of ``score_samples``, which models of one kernel and one ρ may be compared by."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples=1):
        """Draw rows: pre-images of vectors that are drawn from the clusters' densities in feature space.

        Parameters
        ----------
        n_samples : int, default=1
            How many.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows, cluster by cluster.
        labels : ndarray of shape (n_samples,)
            The clusters that they were drawn from.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a whole number ≥ 1, and {n_samples!r} was given.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        counts = rng.multinomial(int(n_samples), self.weights_ / self.weights_.sum())
        drawn = [self._drawn(density, p, rng) for density, p in zip(self.densities_, counts, strict=True) if p]
        return np.vstack(drawn), np.repeat(np.arange(len(counts)), counts)

    def _drawn(self, density, p, rng):
        Z = density.subspace.Z
        nearest = as_preimage(self.preimage, self.kernel_).bind(density.subspace)
        slices = batches(p, Z.shape[0])
        X = np.vstack([nearest(density.sample(rows.stop - rows.start, rng)).X for rows in slices])
        return X.astype(Z.dtype) if np.issubdtype(Z.dtype, np.floating) else X

    @property
    def n_components_(self):
        """The number of axes of each cluster."""
        return np.array([len(density.subspace.variances) for density in self.densities_])

    @property
    def _rho(self):
        """The variance in every direction outside the subspaces."""
        return self.densities_[0].rho

    def _subspaces(self):
        """The subspaces that the fitted model consists of."""
        return [density.subspace for density in self.densities_]

    def _with_subspaces(self, subspaces):
        """A copy of the fitted model with other subspaces."""
        densities = [type(old)(new, old.rho) for old, new in zip(self.densities_, subspaces, strict=True)]
        return fitted_copy(self, densities_=densities, kernel_=subspaces[0].kernel)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "densities_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)  # the checks read it wherever there is predict_proba
        return tags
