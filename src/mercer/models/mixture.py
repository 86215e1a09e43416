"""Mixtures of kernel PCA densities: clusters with a shape in feature space."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache, partial
from itertools import cycle, islice
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_array, check_is_fitted

from .._core.arrays import precision
from .._core.blas import single_blas
from .._core.dask import mean, rowwise
from .._core.fields import Count, Maybe, Names, Numbers
from .._core.registry import register
from .._core.sklearn import CallbackSupportMixin, HasMethods, StrOptions, with_callbacks
from .._core.warn import ComponentsWarning, warn
from ..kernels import Kernel, Precomputed, as_kernel
from ..linalg.eigenpairs import Report
from ..linalg.solvers.exact import Exact
from ..preimage import bind_preimage
from ..preimage.batches import batches, stacked
from ..rkhs import FeatureGaussian, Subspace
from ..rkhs.basis import Coordinates
from ..rkhs.em import Run, Start, best_run, by_chance, by_kmeans, by_spectrum, em, in_parts
from ..rkhs.landmarks import choose
from ..rkhs.mixture import FeatureMixture, components, loading_steps, posterior, summed
from ..rkhs.positive import given
from . import diagnostics, validation
from .base import fitted_copy
from .distinct import Rows
from .drawing import ClusterPlotMixin
from .kernel_parameter import KernelParameterMixin, with_width
from .parameters import AT_LEAST_0, AT_LEAST_1, POSITIVE, KernelLike, check_count, constraints, generator

WHOLE = 1_000  # samples up to which "auto" factors the whole Gram matrix
UPDATES = {"direct": components, "em": loading_steps}
STARTS = {
    "auto": ("spectral", "kmeans", "random"),
    "spectral": ("spectral",),
    "random": ("random",),
    "kmeans": ("kmeans",),
}


class Part(NamedTuple):
    """One Gaussian of a mixture: the number of its cluster, its weight among all Gaussians, and its density."""

    cluster: int
    weight: float
    density: FeatureGaussian


@register("mixture")
@dataclass(eq=False, repr=False)
class KernelPCAMixture(
    KernelParameterMixin, ClusterPlotMixin, CallbackSupportMixin, ClusterMixin, DensityMixin, BaseEstimator
):
    """A mixture of probabilistic kernel PCAs: each cluster is a Gaussian around a principal subspace in feature space.

    p(φ) = Σᵢ mᵢ N(φ̄ᵢ, Uᵢ(Λᵢ − ρ)Uᵢᵀ + ρI), fitted by EM (Zhou, section 3). All clusters have the same kernel and the
    same noise variance ρ, because their densities could not be compared otherwise. A cluster can be the sum of several
    such Gaussians (``n_parts``).

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    n_components : int, sequence of int, or None, default=2
        Number of axes of each cluster, or one number for each. Axes with no more variance than the noise are dropped:
        see ``n_components_``. None keeps all others; 0 gives spherical clusters.
    noise_variance : float, default=0.01
        ρ, the noise variance in every direction of the feature space, in the units of k(x, x).
    kernel : str, Kernel or callable, default="rbf"
        As in :class:`KernelPCA`. A radial kernel without a given width has ``gamma="local"``: a quarter of the
        reciprocal of the median squared distance to the 10th neighbour.
    solver : {"auto", "exact", "landmarks"} or a solver, default="auto"
        ``"exact"`` factors the whole Gram matrix, once for all iterations; ``"landmarks"``, or ``Landmarks(n=1000)`` of
        :mod:`mercer.eigen`, works in the span of few samples and stores n × 500 numbers. ``"auto"`` is exact for up to
        1000 samples.
    preimage : {"auto", "fixed_point", "gradient", "distances", "smoother", "learned"} or a method, default="auto"
        How ``sample`` finds pre-images: a name or an instance from :mod:`mercer.preimage`.
    init : {"auto", "spectral", "random", "kmeans"} or array-like of shape (n_samples, n_clusters), default="auto"
        Initial responsibilities of EM: by spectral clustering of the neighbour graph, random, by kernel k-means, or an
        array. ``"auto"`` uses only the spectral start if the kernel has ``gamma="local"``, and otherwise spectral,
        k-means and random starts in turn. With ``n_parts`` above 1 the likelihood does not depend on which Gaussians
        form a cluster: ``"auto"`` then uses only the spectral start, and an array may have a column for each Gaussian,
        those of a cluster side by side.
    n_init : int, default=10
        Number of initialisations; the result with the highest likelihood is kept. The spectral start alone, or an
        array, counts as one initialisation.
    loadings : {"direct", "em"}, default="direct"
        How an iteration finds the axes of a cluster: directly, from eigenpairs (Zhou eq. 20), or by a step of EM for
        the matrices Qᵢ (eq. 11), which converges to the same axes after many more iterations.
    max_iter : int, default=200
        Maximum number of EM iterations for each initialisation.
    tol : float, default=1e-5
        EM has converged when the mean log-likelihood increases, or every responsibility changes, by at most this.
    random_state : int, RandomState instance or None, default=None
        Seed for the initialisations, the selection of landmarks, and ``sample``.
    n_parts : int, default=1
        Number of Gaussians in each cluster; 1 is the mixture of the paper. The clusters of the start are split by
        kernel k-means, and EM fits all Gaussians; the probability of a cluster is the sum over its Gaussians.

    Attributes
    ----------
    weights_ : ndarray of shape (n_clusters,)
        The weights mᵢ of the clusters; fewer than ``n_clusters`` if some clusters lost all samples.
    densities_ : list of FeatureGaussian
        The density of each cluster, or of each of its parts.
    parts_ : list of Part
        The Gaussians, those of a cluster side by side: ``cluster``, its number; ``weight``, the weights of all
        Gaussians sum to 1; ``density``.
    n_components_ : ndarray of shape (n_gaussians,)
        The number of axes of each Gaussian.
    responsibilities_ : ndarray of shape (n_samples, n_clusters)
        p(cluster | sample) of the training samples.
    labels_ : ndarray of shape (n_samples,)
        The most probable cluster of each training sample.
    lower_bound_ : float
        The mean log-likelihood of the training samples, up to a constant that depends on the kernel and ρ only.
    lower_bounds_ : list of float
        The same after each iteration of the best initialisation.
    converged_ : bool
        Whether EM converged for the best initialisation.
    n_iter_ : int
        Its number of iterations.
    kernel_ : Kernel
        The kernel with its data-dependent parameters filled in.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCAMixture, datasets
    >>> from mercer.kernels import RBF
    >>> X, y = datasets.two_cs(0)
    >>> mixture = KernelPCAMixture(2, 2, kernel=RBF.from_sigma(8.0), random_state=0).fit(X)
    >>> [int(count) for count in np.bincount(mixture.labels_)]
    [100, 100]
    >>> mixture.predict_proba([[-6.0, 0.0], [6.0, -6.0]]).max(axis=1).round(2)
    array([1., 1.])
    """

    n_clusters: int = 2
    n_components: int | Sequence[int] | None = 2
    _: KW_ONLY
    noise_variance: float = 0.01
    kernel: KernelLike = "rbf"
    solver: Any = "auto"
    preimage: Any = "auto"
    init: str | ArrayLike = "auto"
    n_init: int = 10
    loadings: str = "direct"
    max_iter: int = 200
    tol: float = 1e-5
    random_state: Any = None
    n_parts: int = 1

    n_features_in_: Count = field(init=False)
    feature_names_in_: Maybe[Names] = field(init=False)
    kernel_: Kernel = field(init=False)
    weights_: Annotated[np.ndarray, Numbers("k", least=0)] = field(init=False)
    _part_weights: Maybe[Annotated[np.ndarray, Numbers("densities_", least=0)]] = field(init=False)
    _part_clusters: Maybe[Annotated[np.ndarray, Numbers("densities_", kinds="iu", least=0)]] = field(init=False)
    densities_: list[FeatureGaussian] = field(init=False)
    lower_bound_: float = field(init=False)
    lower_bounds_: list[float] = field(init=False)
    converged_: bool = field(init=False)
    n_iter_: Count = field(init=False)
    responsibilities_: Annotated[np.ndarray, Numbers("n", "k")] = field(init=False)
    labels_: Annotated[np.ndarray, Numbers("n", kinds="iu")] = field(init=False)
    compression_: Maybe[Any] = field(init=False)

    _doc_link_module = "mercer"
    _parameter_constraints = constraints(
        *("kernel", "preimage", "max_iter", "tol", "random_state"),
        n_clusters=[AT_LEAST_1],
        n_components=[AT_LEAST_0, "array-like", None],
        noise_variance=[POSITIVE],
        solver=[StrOptions({"auto", "exact", "landmarks"}), Exact, HasMethods("basis")],
        init=[StrOptions(set(STARTS)), "array-like"],
        n_init=[AT_LEAST_1],
        n_parts=[AT_LEAST_1],
        loadings=[StrOptions(set(UPDATES))],
    )

    def _check_parts(self) -> None:
        """Raise an error if the parts of a model from a file do not fit each other."""
        validation.check_features(self, self._subspaces())
        if not np.array_equal(np.unique(self._grouping[1]), np.arange(len(self.weights_))):
            raise ValueError(f"its Gaussians are not those of {len(self.weights_)} clusters")

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the mixture by EM from several initialisations; parameters as in :meth:`KernelPCA.fit`."""
        with validation.fitting(self, X), single_blas:  # bitwise the same result with any number of threads
            self._fit(X, sample_weight)
        return self

    def _fit(self, X: Any, sample_weight: Any) -> None:
        kernel = with_width(as_kernel(self.kernel), "local")
        X = validation.check_rows(self, X, kernel, fit=True)
        rows = Rows.of(kernel, X, sample_weight, getattr(self, "feature_names_in_", None))
        q, rho = self._components(self.n_components), float(self.noise_variance)
        ((best, mixture),) = self._runs(kernel, rows, X.shape[0], [(q, rho)])
        self.kernel_, self.densities_ = given(rows.kernel), list(mixture.densities)
        self._part_weights, self._part_clusters = mixture.weights, mixture.clusters
        self.weights_ = summed(mixture.weights[None], mixture.clusters)[0]
        self.lower_bound_, self.lower_bounds_ = best.bounds[-1], best.bounds
        self.converged_, self.n_iter_ = best.converged, len(best.bounds)
        R = summed(best.last.R[rows.member], mixture.clusters)
        self.responsibilities_ = self._of_all_rows(R, X, rows.counted)
        self.labels_ = self.responsibilities_.argmax(axis=1)
        diagnostics.warn_of_outside(self.solver_)
        self._warn(q)

    def _runs(
        self, kernel: Kernel, rows: Rows, n: int, settings: Iterable[tuple[list, float]]
    ) -> Iterator[tuple[Run, FeatureMixture]]:
        """Yield the best run of EM for each (axes of each cluster, ρ), in one basis and from the same starts."""
        rng, settings = generator(self.random_state), list(settings)
        most = max(sum(each or 0 for each in q) for q, _ in settings)
        coordinates = self._coordinates(rows, self.n_parts * most, rng)
        starts = [cache(start) for start in self._starts(kernel, coordinates, rows, n, rng)]
        for q, rho in settings:
            steps = partial(em, coordinates, q=q, rho=rho, w=rows.w, update=UPDATES[self.loadings])
            best = best_run(starts, steps, self.tol, self.max_iter, coordinates.F, rows.w, q, rho, self.loadings)
            yield best, best.last.mixture(coordinates)

    def _components(self, n_components: Any) -> list:
        """Return the requested number of axes of each cluster."""
        if n_components is None or isinstance(n_components, int | np.integer):
            return [n_components] * self.n_clusters
        q = list(n_components)
        if len(q) != self.n_clusters or not all(isinstance(each, int | np.integer) and each >= 0 for each in q):
            raise ValueError(
                f"n_components must be an integer ≥ 0, None, or one such number for each of the {self.n_clusters} "
                f"clusters, and {n_components!r} was given."
            )
        return q

    def _coordinates(self, rows: Rows, q: int, rng: np.random.Generator) -> Coordinates:
        """Return the coordinates of the samples in the basis that the solver defines."""
        solver, n = self.solver, len(rows.w)
        if isinstance(solver, str):
            solver = choose(("exact" if n <= WHOLE else "landmarks") if solver == "auto" else solver, n, q)
        return Coordinates.of(rows.kernel, rows.points, solver, gram=rows.gram, q=q, weights=rows.w, rng=rng)

    def _starts(
        self, kernel: Kernel, coordinates: Coordinates, rows: Rows, n: int, rng: np.random.Generator
    ) -> list[Callable]:
        """Return functions that give the initial responsibilities, and the cluster of each column.

        With ``gamma="local"``, or with several parts, the best clusters need not have the highest likelihood, and only
        the spectral start is used.
        """
        if not isinstance(self.init, str):
            return [partial(self._parted, partial(rows.merged, self._given(n)), coordinates, rows.w, rng)]
        k = min(self.n_clusters, len(rows.w))
        local = getattr(kernel, "gamma", None) == "local" or self.n_parts > 1
        alone = self.init == "spectral" or (self.init == "auto" and local)
        names = ["spectral"] if alone else list(islice(cycle(STARTS[self.init]), self.n_init))
        kinds: dict[str, Callable] = {
            "spectral": partial(by_spectrum, rows.points),
            "kmeans": by_kmeans,
            "random": by_chance,
        }
        each = zip(names, rng.spawn(len(names)), strict=True)
        starts = [(partial(kinds[name], coordinates, k, rows.w, own_rng), own_rng) for name, own_rng in each]
        return [partial(self._parted, start, coordinates, rows.w, own_rng) for start, own_rng in starts]

    def _parted(
        self, start: Callable[[], np.ndarray], coordinates: Coordinates, w: np.ndarray, rng: np.random.Generator
    ) -> Start:
        """Return the responsibilities of the parts, unless the start has them already, and the cluster of each."""
        R = start()
        if R.shape[1] > self.n_clusters:
            return R, np.repeat(np.arange(self.n_clusters), self.n_parts)
        return in_parts(R, self.n_parts, coordinates, w, rng)

    def _given(self, n: int) -> np.ndarray:
        """Return the responsibilities given as ``init``, normalised."""
        R = check_array(self.init, dtype=np.float64, input_name="init")
        shapes = dict.fromkeys([(n, self.n_clusters), (n, self.n_clusters * self.n_parts)])
        if R.shape not in shapes or np.any(R < 0) or np.any(R.sum(axis=1) <= 0):
            raise ValueError(
                f"init must be one of {', '.join(map(repr, STARTS))}, or an array of numbers ≥ 0 of shape "
                f"{' or '.join(map(str, shapes))} with a positive sum in every row; an array of shape {R.shape} was "
                "given."
            )
        return R / R.sum(axis=1, keepdims=True)

    def _of_all_rows(self, R: np.ndarray, X: Any, counted: np.ndarray) -> np.ndarray:
        """Return the responsibilities of all samples, given those of the samples of positive weight."""
        if len(counted) == X.shape[0]:
            return R.astype(precision(X))
        others = np.setdiff1d(np.arange(X.shape[0]), counted)
        rows = others[:, None] if isinstance(self.kernel_, Precomputed) else X[others]
        responsibilities = np.empty((X.shape[0], R.shape[1]), precision(X))
        responsibilities[counted], responsibilities[others] = R, posterior(self._mixture.cluster_logs(rows))[0]
        return responsibilities

    def _warn(self, q: list) -> None:
        """Warn about fewer clusters or components than requested, and if EM has not converged."""
        k, wanted = len(self.weights_), [q[part.cluster] for part in self.parts_]
        if k < self.n_clusters:
            warn(
                f"{k} of n_clusters={self.n_clusters} clusters are left: the others lost all samples, or there are "
                "fewer distinct samples than clusters.",
                ComponentsWarning,
            )
        elif np.any(self.n_components_ < [each or 0 for each in wanted]):
            warn(
                f"The clusters have {self.n_components_.tolist()} of {wanted} components: the others have no more "
                f"variance than noise_variance={self.noise_variance}. Lower it, or n_components.",
                ComponentsWarning,
            )
        if not self.converged_:
            warn(
                f"EM did not converge in max_iter={self.max_iter} iterations from the best initialisation. Raise "
                f"max_iter, or tol={self.tol}.",
                ConvergenceWarning,
            )

    @property
    def _mixture(self) -> FeatureMixture:
        weights, clusters = self._grouping
        return FeatureMixture(weights, tuple(self.densities_), clusters)

    @property
    def _grouping(self) -> tuple[np.ndarray, np.ndarray]:
        """The weight and the cluster of each Gaussian; models of earlier versions have one in each cluster."""
        weights = getattr(self, "_part_weights", self.weights_)
        return weights, getattr(self, "_part_clusters", np.arange(len(weights)))

    @property
    def parts_(self) -> list[Part]:
        """The Gaussians, with their clusters and weights."""
        return [Part(int(c), float(m), part) for m, c, part in zip(*self._grouping, self.densities_, strict=True)]

    def _logs(self, X: Any) -> tuple[np.ndarray, Any]:
        """Return log mᵢ − ½L̂ᵢ of each sample and cluster, summed over its parts, and the validated samples."""
        check_is_fitted(self)
        X = validation.check_rows(self, X, self.kernel_)
        logs = self._mixture.cluster_logs(X)
        if not np.all(np.isfinite(logs)):
            validation.check_diagonal(X, self.kernel_)
        return logs, X

    @rowwise
    def predict(self, X: Any) -> np.ndarray:
        """Return the number of the most probable cluster of each sample: (n_samples,)."""
        return self._logs(X)[0].argmax(axis=1)

    @rowwise
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the responsibilities p(cluster | sample) of eq. 17, which sum to 1: (n_samples, n_clusters)."""
        logs, X = self._logs(X)
        return posterior(logs)[0].astype(precision(X))

    @rowwise
    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log density of each sample, log Σᵢ mᵢ exp(−½L̂ᵢ(x)), without the constant: (n_samples,).

        −½L̂ᵢ is the log density of Gaussian i. The constant (f/2)·log(2πρ) in f dimensions is omitted: compare models
        with the same kernel and ρ only.
        """
        return posterior(self._logs(X)[0])[1]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of ``score_samples``, to be compared between models with the same kernel and ρ."""
        return mean(self.score_samples(X))

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw samples, the pre-images of vectors drawn from the clusters' densities: (n_samples, n_features).

        They are sorted by cluster; the second result has the cluster of each: (n_samples,).
        """
        check_is_fitted(self)
        check_count("n_samples", n_samples)
        rng = generator(self.random_state)
        weights, clusters = self._grouping
        counts = rng.multinomial(int(n_samples), weights / weights.sum())
        drawn = [self._drawn(density, p, rng) for density, p in zip(self.densities_, counts, strict=True) if p]
        return stacked(drawn), np.repeat(clusters, counts)

    def _drawn(self, density: FeatureGaussian, p: int, rng: np.random.Generator) -> np.ndarray:
        """Return the pre-images of p vectors drawn from the density of one cluster."""
        Z = density.subspace.Z
        nearest = bind_preimage(self.preimage, density.subspace)
        slices = batches(p, Z.shape[0])
        X = stacked([nearest(density.sample(rows.stop - rows.start, rng)).X for rows in slices])
        return X.astype(Z.dtype) if np.issubdtype(Z.dtype, np.floating) else X

    @property
    def n_components_(self) -> np.ndarray:
        """The number of axes of each Gaussian."""
        return np.array([len(density.subspace.variances) for density in self.densities_])

    @property
    def solver_(self) -> Report:
        """The report on the solver, of the cluster with the largest share of variance outside the basis."""
        return max((subspace.report for subspace in self._subspaces()), key=lambda report: report.outside_share)

    @property
    def _rho(self) -> float:
        return self.densities_[0].rho

    def _subspaces(self) -> list[Subspace]:
        return [density.subspace for density in self.densities_]

    def _with_subspaces(self, subspaces: list[Subspace]) -> Any:
        densities = [type(old)(new, old.rho) for old, new in zip(self.densities_, subspaces, strict=True)]
        return fitted_copy(self, densities_=densities, kernel_=given(subspaces[0].kernel))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "densities_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)  # scikit-learn's checks read it with predict_proba
        return tags
