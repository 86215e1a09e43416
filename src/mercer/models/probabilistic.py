"""Probabilistic kernel principal component analysis: likelihood, uncertainty, generation."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from .._core.arrays import asarray_like, cast, is_foreign, library, namespace
from .._core.dask import rowwise
from .._core.registry import KERNELS, PREIMAGES, SOLVERS, register
from .._core.sklearn import HasMethods, Interval, Named, RealNotInt, StrOptions
from .._core.tiles import row_tiles
from ..preimage.batches import ALIVE
from ..rkhs import EM, FeatureGaussian, noise_variance, primal, principal_subspace
from ..rkhs.gaussian import spanned_dimensions
from . import diagnostics, validation
from .base import KernelTransformer

SHARE = 0.95  # of the variance: what the components hold where nobody says how many
FLAT = 1.05  # times the noise: a component with no more variance than this is an arbitrary one


@register("probabilistic")
class ProbabilisticKernelPCA(KernelTransformer):
    """A Gaussian in the feature space of a kernel, N(φ̄, WWᵀ + ρI), with q latent variables.

    φ(x) = φ̄ + Wh + ε, h ~ N(0, I), ε ~ N(0, ρI). The most likely W is U(Λ − ρ)^½ on the principal axes U with variances
    Λ: kernel PCA is the limit ρ → 0 (Zhou 2003; De Plaen & Suykens 2023; Tipping & Bishop 1999). With y the coordinates
    of a row and r² its squared distance to the subspace, all that the density says is Σ y²/λ + r²/ρ and Σ log(λ/ρ).

    Parameters
    ----------
    n_components : int, float or None, default=None
        How many latent variables q; a number in (0, 1) asks for that share of the variance. None: all axes whose
        variance is above a ``noise_variance`` that is given, or as many as hold 95 % of the variance where it is
        estimated. Axes with no more variance than the noise are left out: ``n_components_`` says how many there are.
    noise_variance : {"mle", "paper"} or float, default="mle"
        ρ, in the units of the kernel. ``"mle"``, the maximum-likelihood estimate: the variance that the axes leave,
        shared by D − q dimensions, D the dimension that the rows span (the columns of a linear kernel, distinct rows −
        1 for an RBF), so that neither copies of all rows nor a factor on ``sample_weight`` change it. ``"paper"``: by
        N − q dimensions, N the sum of the weights (Zhou; De Plaen & Suykens). A number, or 0 for the limit.
    kernel : str, Kernel or callable, default="rbf"
        A name, a kernel of :mod:`mercer.kernels` such as ``RBF(gamma=0.1)``, scikit-learn's Gaussian-process kernel, a
        function K(X, Y), or ``"precomputed"``.
    center : bool, default=True
        Whether φ̄ is the mean in feature space, or the origin.
    solver : {"auto", "exact", "davidson", "lanczos", "randomized", "landmarks", "em"} or a solver, default="auto"
        How the axes are found: as in ``KernelPCA``, or by Zhou's expectation–maximisation, for comparison: it is the
        slowest. ``solver_`` tells what was done.
    preimage : {"auto", "fixed_point", "gradient", "distances", "smoother", "learned"} or a method, default="auto"
        How rows are found for vectors of the feature space: a name or an instance from :mod:`mercer.preimage`.
    max_iter : int, default=1000
        Most iterations of ``solver="em"``.
    tol : float, default=1e-6
        Residual of the eigenpairs, relative to the largest variance, at which ``solver="em"`` ends.
    random_state : int, RandomState or None, default=None
        For samples, and for the solvers that draw random vectors.

    Attributes
    ----------
    noise_variance_ : float
        ρ.
    n_components_ : int
        The number of latent variables.
    posterior_variance_ : ndarray of shape (n_components_,)
        ρ/λ, the variance of each latent variable given a row, whichever row it is.
    explained_variance_ : ndarray of shape (n_components_,)
        λ, the variances along the axes.
    density_ : FeatureGaussian
        The density, for work with vectors of the feature space.
    log_likelihoods_ : ndarray of shape (n_iter_ + 1,)
        With ``solver="em"``: the mean log-likelihood of a row before each step and after the finish, up to a constant.
    n_iter_ : int
        Iterations of ``solver="em"``; passes over the kernel matrix of the others.
    kernel_, subspace_, anchors_, solver_, total_variance_, explained_variance_ratio_, eigenvalues_
        As in ``KernelPCA``.

    Notes
    -----
    A feature space may have infinitely many dimensions f, and log N(φ(x)) = −½L̂ − (f/2) log(2πρ) is then infinite.
    ``score_samples`` leaves that constant out. It is the same for all models with the same kernel and the same ρ:
    scores may be compared between rows, numbers of components, classes and mixtures only where both are shared, and
    never between kernels or noise variances (nor between the models of ``noise_variance="mle"``, which each find
    their own: give a number). ``score_samples`` is no density of x in the space of the rows either.

    Examples
    --------
    >>> from mercer import ProbabilisticKernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters(0)
    >>> model = ProbabilisticKernelPCA(2, kernel=RBF(gamma=10.0), random_state=0).fit(X)
    >>> H = model.transform(X)
    >>> H.shape, model.sample(5)[0].shape
    ((90, 2), (5, 2))
    >>> bool(model.score_samples([[3.0, 3.0]])[0] < model.score_samples(X).min())
    True
    """

    _portable = True
    _parameter_constraints: dict = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "noise_variance": [StrOptions({"mle", "paper"}), Interval(Real, 0, None, closed="left")],
        "kernel": [Named(KERNELS), callable],
        "center": ["boolean"],
        "solver": [Named(SOLVERS, "auto", "em"), callable],
        "preimage": [Named(PREIMAGES, "auto"), HasMethods("bind")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        noise_variance="mle",
        kernel="rbf",
        center=True,
        solver="auto",
        preimage="auto",
        max_iter=1000,
        tol=1e-6,
        random_state=None,
    ):
        self.n_components = n_components
        self.noise_variance = noise_variance
        self.kernel = kernel
        self.center = center
        self.solver = solver
        self.preimage = preimage
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _find(self, kernel, X, gram, weights, rng):
        self._check_size(kernel, X)
        D = self.n_rows_ if self.noise_variance == "paper" else spanned_dimensions(kernel, X, self.center)
        solver, q = self._resolved_solver(D), None if self._needs_all else self.n_components
        if isinstance(solver, EM) and is_foreign(X):
            raise ValueError(
                f"solver='em' works on NumPy arrays, and these rows are of {library(X)}. Use another solver, which "
                "finds the same components in less time, or give the rows as a NumPy array."
            )
        subspace = principal_subspace(
            kernel, X, q, gram=gram, weights=weights, center=self.center, solver=solver, rng=rng
        )
        validation.check_indefinite("clip", subspace.report)
        diagnostics.warn_of_spectrum(subspace.variances, subspace.total_variance, X.shape[0])
        self._tell_iterations(solver, subspace)
        q = self._wanted(subspace)
        self.noise_variance_ = self._noise(subspace, q, D)
        if subspace.variances.shape[0]:
            self._warn_of_noise(subspace.variances[:q], self.noise_variance_)
        return FeatureGaussian.of(subspace[:q], self.noise_variance_).subspace

    @property
    def _needs_all(self):
        """Whether the whole spectrum is asked for: to count what is above the noise, or a share."""
        return not isinstance(self.n_components, Integral)

    def _check_size(self, kernel, X):
        """Refuse the whole spectrum of a large matrix unless it is meant."""
        meant = not isinstance(self.solver, str) or self.solver == "landmarks"
        if meant or not self._needs_all or primal(kernel, X, self.solver):
            return
        validation.check_all_components(self.n_components, X.shape[0])

    def _resolved_solver(self, dimensions: float) -> Any:
        """Return the solver, with its own settings where it is Zhou's."""
        if not isinstance(self.solver, str) or self.solver != "em":
            return self.solver
        if isinstance(self.noise_variance, str) and self._needs_all:
            raise ValueError(
                "solver='em' finds as many components as it is told to, and nothing of the others. Give n_components "
                "as an integer."
            )
        rho = None if isinstance(self.noise_variance, str) else float(self.noise_variance)
        return EM(rho, dimensions, self.max_iter, self.tol)

    def _tell_iterations(self, solver, subspace):
        report = subspace.report
        self.__dict__.pop("log_likelihoods_", None)
        self.n_iter_ = max(report.passes, 1)
        if not isinstance(solver, EM):
            return
        self.log_likelihoods_ = np.array(solver.log_likelihoods)
        self.n_iter_ = max(len(self.log_likelihoods_) - 1, 1)
        if (
            subspace.variances.shape[0]
            and self.n_iter_ == self.max_iter
            and (report.note or report.residual > self.tol)
        ):
            warnings.warn(
                f"solver='em' has not converged in max_iter={self.max_iter} iterations"
                f"{' (' + report.note + ')' if report.note else ''}. Raise max_iter or tol, or use another solver, "
                "which needs a few passes only.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _wanted(self, subspace):
        """The number of components asked for, before those within the noise are left out."""
        if isinstance(self.n_components, Integral):
            return min(self.n_components, subspace.variances.shape[0])
        if self.n_components is None and not isinstance(self.noise_variance, str):
            return int(namespace(subspace.variances).count_nonzero(subspace.variances > self.noise_variance))
        return subspace.holding(SHARE if self.n_components is None else self.n_components)

    def _noise(self, subspace, q, dimensions):
        if not isinstance(self.noise_variance, str):
            return float(self.noise_variance)
        return noise_variance(subspace, q, dimensions)

    def _warn_of_noise(self, lam, rho):
        """Warn of noise that is all or nothing, of components within it, and of those that hardly rise above it."""
        q, above = lam.shape[0], int(namespace(lam).count_nonzero(lam > rho))
        if rho == 0 and self.noise_variance != 0:
            message = (
                "The components hold all variance: the noise variance is 0, and densities are their limits. Use fewer "
                "components, or give noise_variance a number."
            )
        elif above == 0:
            message = (
                f"The noise variance {rho:.3g} is not below the largest variance in feature space: no component is "
                "left. Lower noise_variance; explained_variance_ of KernelPCA tells what variances there are."
            )
        elif above < q:
            message = (
                f"{q - above} of {q} components have no more variance than the noise, {rho:.3g}, and are "
                "left out. Lower n_components or noise_variance."
            )
        elif self.n_components is not None and lam[-1] < FLAT * rho:
            message = (
                f"The last component has hardly more variance ({float(lam[-1]):.3g}) than the noise ({rho:.3g}): the "
                "spectrum is flat there, and its direction is arbitrary. Lower n_components."
            )
        else:
            return
        warnings.warn(message, stacklevel=5)

    @property
    def density_(self):
        """The density N(φ̄, U(Λ − ρ)Uᵀ + ρI)."""
        kept = self.__dict__.get("_density")
        if kept is not None and kept.subspace is self.subspace_:
            return kept
        return FeatureGaussian(self.subspace_, self.noise_variance_)

    @property
    def posterior_variance_(self):
        """Var[h | x] = ρ/λ: the part of each latent variable that no row tells."""
        return self.density_.posterior_variance

    @rowwise
    def transform(self, X):
        """Return the posterior mean of the latent variables, E[h | x] = (1 − ρ/λ)^½ λ^{−½} y.

        Their variance is ``posterior_variance_`` for every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; for ``kernel="precomputed"`` the matrix k(x, training rows).

        Returns
        -------
        H : ndarray of shape (n_samples, n_components_)
            Latent variables: over the training rows their second moments and ``posterior_variance_`` add up to 1.
        """
        return super().transform(X)

    def inverse_transform(self, H):
        """Return rows whose images are near E[φ | h] = φ̄ + U(Λ − ρ)^½ h.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_components_)
            Latent variables, as ``transform`` gives them, or drawn from N(0, I).

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows in the space of the data.
        """
        return super().inverse_transform(H)

    def features(self, H):
        """Return E[φ | h] = φ̄ + U(Λ − ρ)^½ h for each row h of H, as an ``Expansion`` on the anchors."""
        return self.density_.features(self._latent(H))

    @rowwise
    def mahalanobis(self, X):
        """Return (φ(x) − φ̄)ᵀΣ⁻¹(φ(x) − φ̄) = Σ y²/λ + r²/ρ of each row (Zhou eq. 12): (n_samples,)."""
        check_is_fitted(self)
        if self.noise_variance_ == 0:
            raise ValueError(
                "At noise_variance_ = 0 the Mahalanobis distance is infinite. Its limit, ρL → r², is "
                "reconstruction_error; for a finite one, give noise_variance a number above 0."
            )
        X = self._rows(X, "mahalanobis")
        return self._finite(self.density_.mahalanobis(X), X)

    @rowwise
    def score_samples(self, X):
        """Return −½L̂ of each row (Zhou eq. 16), its log density in feature space up to a constant: (n_samples,).

        L̂ = Σ y²/λ + r²/ρ + Σ log(λ/ρ). The constant, −(f/2) log(2πρ) in f dimensions, is shared by models with the same
        kernel and the same ρ, and by no others: only their scores may be compared. At ρ = 0 it is −r², which L̂ tends
        to when it is multiplied by ρ, and nothing but rows of one model may be compared.
        """
        check_is_fitted(self)
        X = self._rows(X, "score_samples")
        energy = self._finite(self.density_.energy(X), X)
        return -energy if self.noise_variance_ == 0 else -energy / 2

    def score(self, X, y=None):
        """Return the mean of ``score_samples``: comparable at one kernel and one ``noise_variance``, a number."""
        scores = self.score_samples(X)
        return float(namespace(scores).mean(scores))

    def score_path(self, X):
        """Return ``score`` for the first 0, 1, …, n_components_ axes at the same ρ: (n_components_ + 1,).

        One decomposition serves them all, and they may be compared. On the rows of ``fit`` more is always better, so
        that rows which the model has not seen should choose; :func:`mercer.select.n_components` does so in folds.
        """
        check_is_fitted(self)
        if self.noise_variance_ == 0:
            raise ValueError("Likelihoods are compared at one ρ above 0, and noise_variance_ is 0. Give it a number.")
        X = self._rows(X, "score_path")
        energies = self._finite(self.density_.energies(X), X)
        return -namespace(energies).mean(energies, axis=0) / 2

    def sample(self, n_samples=1):
        """Draw rows: pre-images of vectors that are drawn from the density.

        Parameters
        ----------
        n_samples : int, default=1
            How many.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows in the space of the data.
        y : None
            In the place where scikit-learn's mixtures tell the component.
        """
        H, rng = self._prior(n_samples)
        return self._drawn(H, rng), None

    def sample_features(self, n_samples=1):
        """Draw vectors of the feature space, as an ``Expansion`` on the anchors.

        Their noise has variance ρ in every direction that the anchors span, not only along the axes: the covariance of
        their kernel vectors is De Plaen & Suykens' BBᵀ. At ρ = 0 they lie in the subspace.
        """
        H, rng = self._prior(n_samples)
        return self._kept_density().sample_given(H, rng)

    def sample_given(self, H):
        """Draw a row for each row h of H: the pre-image of a vector that is drawn from φ | h, noise and all."""
        return self._drawn(self._latent(H), self._rng())

    def sample_posterior(self, x, n_samples=1):
        """Draw rows that the model takes for the given one: pre-images of h | x ~ N(E[h | x], ρ/λ).

        What varies between them is what the model does not know of the row; what does not, it is sure of.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            One row.
        n_samples : int, default=1
            How many.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows in the space of the data.
        """
        H, rng = self._prior(n_samples)
        xp = namespace(x)
        mean = self.transform(xp.reshape(x, (1, -1)))
        spread = asarray_like(H, mean) * xp.sqrt(self.posterior_variance_)
        return self.inverse_transform(cast(mean + spread, mean.dtype))

    @available_if(lambda self: self.kernel_.n_features(self.n_features_in_) is not None)
    def get_covariance(self):
        """Return WWᵀ + ρI as a matrix, in the explicit features ``kernel_.features`` of a kernel that has some."""
        return self.density_.covariance()

    def _project(self, X):
        return self.density_.posterior_mean(X)

    def _lift(self, Y):
        return self.density_.features(Y)

    def _training_coordinates(self, w):
        Y = super()._training_coordinates(w)
        return None if Y is None else self.density_.latent(Y)

    def _latent(self, H):
        check_is_fitted(self)
        H = check_array(H, dtype=validation.dtypes(H), input_name="H", ensure_min_features=0)
        validation.check_home(self, "features", H, self.subspace_.axes.B)
        if H.shape[1] != self.n_components_:
            raise ValueError(f"H has {H.shape[1]} columns, and this model has {self.n_components_} latent variables.")
        return H

    def _rng(self):
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31))

    def _prior(self, n_samples):
        """Draws of h ~ N(0, I), and the generator that they came from."""
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be an integer ≥ 1, and {n_samples!r} was given.")
        rng = self._rng()
        return rng.standard_normal((n_samples, self.n_components_)), rng

    def _drawn(self, H, rng):
        """Pre-images of draws from φ | h, some rows at a time."""
        nearest, density = self._preimages(), self._kept_density()
        tiles = row_tiles(H.shape[0], ALIVE * self.subspace_.Z.shape[0])
        return namespace(self.subspace_.axes.B).concat(
            [nearest(density.sample_given(H[rows, :], rng)).X for rows in tiles]
        )

    def _kept_density(self):
        """The density, kept for the next samples: its basis of the noise takes time to make."""
        self._density = self.density_
        return self._density

    @property
    def _rho(self):
        return self.noise_variance_

    def _with_subspaces(self, subspaces):
        small = super()._with_subspaces(subspaces)
        small.__dict__.pop("_density", None)  # it holds the anchors of this one
        return small

    def __getstate__(self):
        state = super().__getstate__()
        state.pop("_density", None)
        return state
