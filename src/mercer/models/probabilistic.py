"""Probabilistic kernel principal component analysis: likelihood, uncertainty, sampling."""

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Annotated, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, asarray_like, cast, namespace
from .._core.dask import mean, rowwise
from .._core.fields import Count, Maybe, NotNegative, Numbers
from .._core.registry import SOLVERS, register
from .._core.sklearn import Named, StrOptions
from .._core.tiles import row_tiles
from .._core.warn import NoiseWarning, warn
from ..kernels import Kernel
from ..linalg.operators import Dense
from ..preimage.batches import ALIVE, stacked
from ..rkhs import (
    EM,
    Expansion,
    FeatureGaussian,
    Subspace,
    noise_variance,
    primal,
    principal_subspace,
    subspace_of_moments,
)
from ..rkhs.gaussian import dimensions, spanned_dimensions
from ..rkhs.moments import Moments
from ..rkhs.positive import PositivePart
from . import diagnostics, validation
from .base import KernelTransformer
from .parameters import FROM_0, NOT_NEGATIVE, KernelLike, check_count, constraints, generator
from .streams import StreamMixin

SHARE = 0.95  # share of the variance that the components hold if their number is not given
ORTHONORMAL = 1e-3  # columns of V that differ more from length 1 are not eigenvectors of A
FLAT = 1.05  # in units of the noise: the direction of a component with less variance is arbitrary


@register("probabilistic")
@dataclass(eq=False, repr=False)
class ProbabilisticKernelPCA(StreamMixin, KernelTransformer):
    """A Gaussian in the feature space of a kernel, N(φ̄, WWᵀ + ρI), with q latent variables.

    φ(x) = φ̄ + Wh + ε, h ~ N(0, I), ε ~ N(0, ρI). The maximum likelihood estimate of W is U√(Λ − ρ) with the principal
    axes U and variances Λ: kernel PCA is the limit ρ → 0 (Zhou 2003; De Plaen & Suykens 2023; Tipping & Bishop 1999).
    With the coordinates y of a sample and its squared distance r² to the subspace, the density depends only on
    Σ y²/λ + r²/ρ and Σ log(λ/ρ).

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number q of latent variables, 0 for a spherical density about the mean; a number in (0, 1) keeps that share of
        the variance. None: all axes with more variance than ``noise_variance`` if that is a number, else as many as
        hold 95 % of the variance. Axes with no more variance than the noise are dropped: see ``n_components_``.
    noise_variance : {"mle", "paper"} or float, default="mle"
        ρ, in the units of the kernel. ``"mle"``, the maximum likelihood estimate: the variance outside the axes divided
        by D − q, with D the dimension that the samples span (the columns of a linear kernel, distinct samples − 1 for
        an RBF), so that neither duplicates of all samples nor a factor on ``sample_weight`` change it. ``"paper"``:
        divided by N − q, with N the sum of the weights (Zhou; De Plaen & Suykens). A number, or 0 for the limit.
    kernel, center, preimage : see :class:`KernelPCA`
        The same parameters; ``sample`` uses ``preimage`` too.
    solver : {"auto", "exact", "davidson", "lanczos", "randomized", "landmarks", "em"} or a solver, default="auto"
        As in :class:`KernelPCA`, or ``"em"`` for Zhou's expectation maximisation, the slowest solver, meant for
        comparison.
    max_iter : int, default=1000
        Maximum number of iterations of ``solver="em"``.
    tol : float, default=1e-6
        ``solver="em"`` has converged when the residual of the eigenpairs, relative to λ₁, is at most this.
    random_state : int, RandomState instance or None, default=None
        Seed for sampling, and for the solvers that use random vectors.

    Attributes
    ----------
    noise_variance_ : float
        ρ.
    n_components_ : int
        Number of latent variables.
    posterior_variance_ : ndarray of shape (n_components_,)
        ρ/λ, the variance of each latent variable given a sample; it is the same for all samples.
    density_ : FeatureGaussian
        The density, for work with vectors of the feature space.
    log_likelihoods_ : ndarray of shape (n_iter_ + 1,)
        With ``solver="em"``: the mean log-likelihood before each iteration and at the end, up to a constant.
    n_iter_ : int
        Iterations of ``solver="em"``; for other solvers the passes over the kernel matrix.
    kernel_, subspace_, anchors_, solver_, total_variance_, explained_variance_, explained_variance_ratio_, eigenvalues_
        As in :class:`KernelPCA`.

    Notes
    -----
    A feature space may have infinitely many dimensions f, and log N(φ(x)) = −½L̂ − (f/2) log(2πρ) is then infinite.
    ``score_samples`` omits that constant, which depends on the kernel and on ρ only. Compare scores only between
    samples, numbers of components, classes and mixtures with the same kernel and the same ρ. ``noise_variance="mle"``
    estimates a different ρ for each model: give a number instead. ``score_samples`` is not a density of x in the space
    of the data.

    Examples
    --------
    >>> from mercer import ProbabilisticKernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters(0)
    >>> model = ProbabilisticKernelPCA(2, kernel=RBF(gamma=10.0), random_state=0).fit(X)
    >>> H = model.transform(X)
    >>> H.shape, model.sample(5)[0].shape
    ((90, 2), (5, 2))
    >>> model.score_samples([X[0], [3.0, 3.0]]).round(1)  # log-densities: a training row, and a point far away
    array([ -15.4, -212.3])
    """

    n_components: int | float | None = None
    _: KW_ONLY
    noise_variance: str | float = "mle"
    kernel: KernelLike = "rbf"
    center: bool = True
    solver: Any = "auto"
    preimage: Any = "auto"
    max_iter: int = 1000
    tol: float = 1e-6
    random_state: Any = None

    noise_variance_: NotNegative = field(init=False)
    n_iter_: Count = field(init=False)
    log_likelihoods_: Maybe[Annotated[np.ndarray, Numbers("t")]] = field(init=False)

    _portable = True
    _parameter_constraints = constraints(
        *("kernel", "center", "preimage", "max_iter", "tol", "random_state"),
        n_components=FROM_0,
        noise_variance=[StrOptions({"mle", "paper"}), NOT_NEGATIVE],
        solver=[Named(SOLVERS, "auto", "em"), callable],
    )

    def _find(self, kernel: Kernel, X: Any, gram: Dense | None, weights: Any, rng: np.random.Generator) -> Subspace:
        if self._needs_all and not primal(kernel, X, self.solver):
            validation.check_all_components(X.shape[0], self.solver, self.n_components)
        D = self.n_rows_ if self.noise_variance == "paper" else spanned_dimensions(kernel, X, self.center)
        solver = self._resolved_solver(D)
        settings: dict[str, Any] = {"q": self._most, "center": self.center, "solver": solver, "rng": rng}
        subspace = principal_subspace(kernel, X, gram=gram, weights=weights, **settings)
        report = subspace.report
        if not isinstance(kernel, PositivePart):
            validation.check_indefinite("clip", report.lowest, report.negative_mass)
        diagnostics.warn_of_spectrum(subspace.variances, subspace.total_variance, X.shape[0])
        self._set_iterations(solver, subspace)
        return self._with_noise(subspace, D)

    def _with_noise(self, subspace: Subspace, D: float) -> Subspace:
        """Set the noise variance in D dimensions, and return the components above it."""
        q = self._wanted(subspace)
        self.noise_variance_ = self._noise(subspace, q, D)
        if subspace.variances.shape[0]:
            self._warn_of_noise(subspace.variances[:q], self.noise_variance_)
        return FeatureGaussian.of(subspace[:q], self.noise_variance_).subspace

    def _of_moments(self, moments: Moments, solver: Any) -> Subspace:
        paper = self.noise_variance == "paper"
        D = moments.count if paper else dimensions(moments.rows, self.kernel_, self.n_features_in_, self.center)
        return self._with_noise(subspace_of_moments(moments, self._most, self.center, solver), D)

    @property
    def _most(self) -> int | None:
        return None if self._needs_all else self.n_components  # type: ignore[return-value]

    @property
    def _needs_all(self) -> bool:
        """Whether all eigenvalues are needed: to compare them with the noise, or for a share."""
        return not isinstance(self.n_components, Integral)

    def _resolved_solver(self, dimensions: float) -> Any:
        """Return the solver; ``"em"`` has the parameters of this model."""
        given = EM() if isinstance(self.solver, str) and self.solver == "em" else self.solver
        if not isinstance(given, EM):
            return self.solver
        if isinstance(self.noise_variance, str) and self._needs_all:
            raise ValueError(
                "solver='em' finds a given number of components and no others. Give n_components as an integer."
            )
        rho = None if isinstance(self.noise_variance, str) else float(self.noise_variance)
        return EM(rho, dimensions, self.max_iter, self.tol, given.init)

    def _set_iterations(self, solver: Any, subspace: Subspace) -> None:
        """Set ``n_iter_`` and, for EM, ``log_likelihoods_``; warn if EM has not converged."""
        report, values = subspace.report, getattr(solver, "log_likelihoods", None)
        self.__dict__.pop("log_likelihoods_", None)
        self.n_iter_ = max(report.passes, 1)
        if values is None:
            return
        self.log_likelihoods_ = np.array(values)
        self.n_iter_ = max(len(values) - 1, 1)
        at_end = subspace.variances.shape[0] > 0 and self.n_iter_ == self.max_iter
        if at_end and (report.note or report.residual > self.tol):
            warn(
                f"solver='em' has not converged in max_iter={self.max_iter} iterations"
                f"{' (' + report.note + ')' if report.note else ''}. Raise max_iter or tol, or use another solver, "
                "which needs few passes.",
                ConvergenceWarning,
            )

    def _wanted(self, subspace: Subspace) -> int:
        """Return the number of components, before those within the noise are dropped."""
        if isinstance(self.n_components, Integral):
            return min(int(self.n_components), subspace.variances.shape[0])
        if self.n_components is None and not isinstance(self.noise_variance, str):
            return int(namespace(subspace.variances).count_nonzero(subspace.variances > self.noise_variance))
        return subspace.holding(SHARE if self.n_components is None else self.n_components)

    def _noise(self, subspace: Subspace, q: int, dimensions: float) -> float:
        if isinstance(self.noise_variance, str):
            return noise_variance(subspace, q, dimensions)
        return float(self.noise_variance)

    def _warn_of_noise(self, lam: Array, rho: float) -> None:
        """Warn if the noise variance is 0 or too large, or a component has hardly more variance than the noise."""
        q, above = lam.shape[0], int(namespace(lam).count_nonzero(lam > rho))
        if rho == 0 and self.noise_variance != 0:
            message = (
                "The components hold all variance: the noise variance is 0, and densities are limits for ρ → 0. Use "
                "fewer components, or give noise_variance a number."
            )
        elif above == 0:
            message = (
                f"The noise variance {rho:.3g} is not below the largest variance in feature space: no component is "
                "left. Lower noise_variance; explained_variance_ of KernelPCA shows the variances."
            )
        elif above < q:
            message = (
                f"{q - above} of {q} components have no more variance than the noise, {rho:.3g}, and are dropped. "
                "Lower n_components or noise_variance."
            )
        elif self.n_components is not None and lam[-1] < FLAT * rho:
            message = (
                f"The last component has hardly more variance ({float(lam[-1]):.3g}) than the noise ({rho:.3g}): the "
                "spectrum is flat there, and its direction is arbitrary. Lower n_components."
            )
        else:
            return
        warn(message, NoiseWarning)

    @property
    def density_(self) -> FeatureGaussian:
        """The density N(φ̄, U(Λ − ρ)Uᵀ + ρI)."""
        kept = self.__dict__.get("_density")
        if kept is not None and kept.subspace is self.subspace_:
            return kept
        return FeatureGaussian(self.subspace_, self.noise_variance_)

    @property
    def loadings_(self) -> Array:
        """Q = V√(I − ρΛ⁻¹) of the loading matrix W = ΦJQ (Zhou eq. 8 and 9), a row for each sample: (n_samples, q).

        Only for exact models of samples without weights. ``solver=EM(init=Q)`` of :mod:`mercer.eigen` starts from it.
        """
        subspace = self.subspace_
        n, xp = subspace.Z.shape[0], namespace(subspace.axes.B)
        V = subspace.axes.B * xp.sqrt(n * subspace.variances)
        lengths = xp.sum(V * V, axis=0)
        if subspace.moments is not None or not xp.all(abs(lengths - 1) < ORTHONORMAL):
            raise ValueError(
                "loadings_ has a row for each training sample, and this model has other anchors, or sample weights. "
                "Fit with solver='exact' and without sample_weight."
            )
        return V * xp.sqrt(xp.clip(1 - self.noise_variance_ / subspace.variances, 0, None))

    @property
    def posterior_variance_(self) -> Array:
        """Var[h | x] = ρ/λ, the variance of each latent variable given a sample."""
        return self.density_.posterior_variance

    @rowwise
    def transform(self, X: Any) -> Array:
        """Return the posterior mean of the latent variables, E[h | x] = y√(1 − ρ/λ)/√λ.

        Their variance is ``posterior_variance_`` for every sample; over the training samples the second moments of the
        result and ``posterior_variance_`` sum to 1. Parameters and shapes are those of :meth:`KernelPCA.transform`.
        """
        return super().transform(X)

    def inverse_transform(self, H: Any) -> Array:
        """Return samples whose images in feature space are close to E[φ | h] = φ̄ + U√(Λ − ρ) h.

        The latent variables are as returned by ``transform``, or drawn from N(0, I); shapes are those of
        :meth:`KernelPCA.inverse_transform`.
        """
        return super().inverse_transform(H)

    def features(self, H: Any) -> Expansion:
        """Return E[φ | h] = φ̄ + U√(Λ − ρ) h for each row h of H, as an ``Expansion`` on the anchors."""
        return self.density_.features(self._check_coordinates(H, "H", "features"))

    @rowwise
    def mahalanobis(self, X: Any) -> Array:
        """Return (φ(x) − φ̄)ᵀΣ⁻¹(φ(x) − φ̄) = Σ y²/λ + r²/ρ of each sample (Zhou eq. 12): (n_samples,)."""
        X = self._rows(X, "mahalanobis")
        if self.noise_variance_ == 0:
            raise ValueError(
                "At noise_variance_ = 0 the Mahalanobis distance is infinite. The limit of ρ times the distance "
                "is r², see reconstruction_error. For a finite distance, set noise_variance to a number above 0."
            )
        return self._finite(self.density_.mahalanobis(X), X)

    @rowwise
    def score_samples(self, X: Any) -> Array:
        """Return −½L̂ of each sample (Zhou eq. 16), its log density in feature space up to a constant: (n_samples,).

        L̂ = Σ y²/λ + r²/ρ + Σ log(λ/ρ). The constant, −(f/2) log(2πρ) in f dimensions, is the same for models with the
        same kernel and the same ρ only. At ρ = 0 the result is −r², the limit of −ρL̂, which can be compared between
        samples of one model only.
        """
        X = self._rows(X, "score_samples")
        energy = self._finite(self.density_.energy(X), X)
        return -energy if self.noise_variance_ == 0 else -energy / 2

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of ``score_samples``, to be compared only at the same kernel and noise variance."""
        return mean(self.score_samples(X))

    def score_path(self, X: Any) -> Array:
        """Return ``score`` with the first 0, 1, …, n_components_ axes at the same ρ: (n_components_ + 1,).

        These scores can be compared with each other. On the training samples more components are always better: use
        held-out samples, as :func:`mercer.select.n_components` does by cross-validation.
        """
        X = self._rows(X, "score_path")
        if self.noise_variance_ == 0:
            raise ValueError("score_path needs a noise variance above 0, and noise_variance_ is 0. Set noise_variance.")
        energies = self._finite(self.density_.energies(X), X)
        return -namespace(energies).mean(energies, axis=0) / 2

    def sample(self, n_samples: int = 1) -> tuple[Array, None]:
        """Draw samples, the pre-images of vectors drawn from the density in feature space: (n_samples, n_features).

        The second result is None, in the place of the component labels of scikit-learn's mixtures.
        """
        H, rng = self._prior(n_samples)
        return self._drawn(H, rng), None

    def sample_features(self, n_samples: int = 1) -> Expansion:
        """Draw vectors of the feature space, as an ``Expansion`` on the anchors.

        Their noise has variance ρ in every direction in the span of the anchors, not only along the axes: the
        covariance of their kernel vectors is De Plaen & Suykens' BBᵀ. At ρ = 0 they lie in the subspace.
        """
        H, rng = self._prior(n_samples)
        return self._kept_density().sample_given(H, rng)

    def sample_given(self, H: Any) -> Array:
        """Draw a sample for each row h of H: the pre-image of a vector drawn from φ | h, including the noise."""
        return self._drawn(self._check_coordinates(H, "H", "sample_given"), generator(self.random_state))

    def sample_posterior(self, x: Any, n_samples: int = 1) -> Array:
        """Draw posterior samples for one sample x, the pre-images of h | x ~ N(E[h | x], ρ/λ): (n_samples, n_features).

        The differences between them show how uncertain the model is about the sample.
        """
        validation.check_unmasked(x)
        H, rng = self._prior(n_samples)
        xp = namespace(x)
        mean = self.transform(xp.reshape(x, (1, -1)))
        spread = asarray_like(H, mean) * xp.sqrt(self.posterior_variance_)
        return self.inverse_transform(cast(mean + spread, mean.dtype))

    @available_if(lambda self: self.kernel_.n_features(self.n_features_in_) is not None)
    def get_covariance(self) -> Array:
        """Return the matrix WWᵀ + ρI in the explicit features ``kernel_.features``, for kernels that have them."""
        return self.density_.covariance()

    def _project(self, X: Array) -> Array:
        return self.density_.posterior_mean(X)

    def _lift(self, Y: Array) -> Expansion:
        return self.density_.features(Y)

    def _training_coordinates(self, w: Array | None) -> Array | None:
        Y = super()._training_coordinates(w)
        return None if Y is None else self.density_.latent(Y)

    def _prior(self, n_samples: int) -> tuple[np.ndarray, np.random.Generator]:
        """Return draws of h ~ N(0, I), and the generator that they came from."""
        check_is_fitted(self)
        check_count("n_samples", n_samples)
        rng = generator(self.random_state)
        return rng.standard_normal((n_samples, self.n_components_)), rng

    def _drawn(self, H: Array, rng: np.random.Generator) -> Array:
        """Return the pre-images of draws from φ | h, in batches."""
        nearest, density = self._preimages(), self._kept_density()
        tiles = row_tiles(H.shape[0], ALIVE * self.subspace_.Z.shape[0])
        return stacked([nearest(density.sample_given(H[rows, :], rng)).X for rows in tiles])

    def _kept_density(self) -> FeatureGaussian:
        """Return the density and keep it for the next samples, because the basis of its noise takes time to compute."""
        self._density = self.density_
        return self._density

    @property
    def _rho(self) -> float:
        return self.noise_variance_
