"""Sparse kernel principal component analysis."""

import warnings
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core.dask import is_lazy, take
from .._core.registry import KERNELS, PREIMAGES, register
from .._core.sklearn import HasMethods, Interval, Named, RealNotInt, StrOptions, num_samples
from ..kernels import Precomputed, as_kernel
from ..linalg.operators import Dense, Gram
from ..rkhs import principal_subspace
from ..rkhs.sparse.likelihood import Likelihood, choose_candidates, row_numbers
from ..rkhs.sparse.weights import ALGORITHMS, check_noise, fit_number, fit_weights
from . import diagnostics, validation
from .base import KernelTransformer

DEFAULT_NOISE = 0.05  # of the largest noise variance that leaves an anchor
ALL_ROWS = 3_000  # up to which every row is a candidate
SOME_ROWS = 1_000  # candidates among more rows


@register("sparse")
class SparseKernelPCA(KernelTransformer):
    """Kernel principal components on few rows, which maximum likelihood chooses (Tipping 2001).

    The rows are taken as draws from a Gaussian in feature space of mean 0 and covariance C = ρI + Σᵢ wᵢφ(xᵢ)φ(xᵢ)ᵀ.
    At a given noise variance ρ the likelihood is largest where most weights are 0: the rows that keep one are the
    anchors, and the axes are those of ΦWΦᵀ. A smaller ρ keeps more anchors. Nothing is centred: the mean would bring
    all rows back.

    Only the kernel matrix of the candidates, one product over all rows, and the mean of k(x, x) are ever formed.

    Parameters
    ----------
    n_components : int, float or None, default=None
        How many components; a number in (0, 1) asks for the fewest that hold that share of the variance; None for as
        many as there are anchors. Never more than that: ``n_components_`` says how many there are.
    noise_variance : float or None, default=None
        ρ, the variance in every direction of feature space that is left to noise. None: 5 % of the largest one that
        leaves an anchor, unless ``n_anchors`` is given.
    n_anchors : int or None, default=None
        How many anchors to keep: the smallest noise variance that leaves so many is searched for. Where their number
        leaps over this one, anchors that are missed least are taken out, and ``kkt_`` tells. Only with
        ``solver="newton"``.
    kernel : str, Kernel or callable, default="rbf"
        A name, a kernel of :mod:`mercer.kernels` such as ``RBF(gamma=0.1)``, scikit-learn's Gaussian-process kernel, a
        function K(X, Y), or ``"precomputed"``.
    solver : {"newton", "fast", "em"}, default="newton"
        How the weights are found: additions and Newton steps, which end at a certified maximum; Tipping's fast update
        (eq. 14); or expectation maximisation (eq. 13). The last two are there to compare: they take thousands of
        iterations, and where they are stopped early, weights are left that the maximum does not have.
    candidates : int, array-like of int or None, default=None
        The rows that may become anchors: their numbers, or how many to choose by pivoted Cholesky. None: all rows up
        to 3000 of them; of more rows 1000, or twice ``n_anchors``. Equal rows count as one candidate.
    preimage : {"auto", "fixed_point", "gradient", "distances", "smoother", "learned"} or a method, default="auto"
        How ``inverse_transform`` and ``denoise`` find rows: a name or an instance from :mod:`mercer.preimage`.
    max_iter : int, default=1000
        Iterations at most: rounds of additions and Newton steps, or updates.
    tol : float, default=1e-6
        The largest ``kkt_`` that counts as converged.
    random_state : int, RandomState or None, default=None
        For the choice of candidates among many rows.

    Attributes
    ----------
    support_ : ndarray of shape (n_anchors,)
        The numbers of the rows that are the anchors, in rising order.
    weights_ : ndarray of shape (n_anchors,)
        Their weights w.
    noise_variance_ : float
        ρ.
    log_likelihood_ : float
        The logarithm of the likelihood, but for −½nD log ρ, where D is the dimension of the feature space.
    log_likelihoods_ : ndarray of shape (n_iter_ + 1,)
        The same before the first iteration and after each, at the last noise variance that was tried: it never falls.
    kkt_ : float
        How far the weights are from a maximum: at one, the likelihood's two terms R and S agree where w > 0, and R ≤ S
        where w = 0; this is the largest violation of R/S.
    n_iter_ : int
        The number of iterations.
    n_candidates_ : int
        The number of different rows that could become anchors.
    n_components_ : int
        The number of components.
    explained_variance_ : ndarray of shape (n_components_,)
        The mean of y² over the training rows, for each component.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        The same as shares of ``total_variance_``: what they lack to 1 is the mean of ``reconstruction_error`` over the
        training rows, as a share.
    eigenvalues_ : ndarray of shape (n_components_,)
        n·(Λ̃ + ρ), with Λ̃ the eigenvalues of ΦWΦᵀ: the model's own view of the variance along its axes.
    total_variance_ : float
        The mean of k(x, x) over the training rows.
    kernel_ : Kernel
        The kernel with its parameters filled in.
    subspace_ : Subspace
        The axes, with the eigenvalues Λ̃ of ΦWΦᵀ.
    anchors_ : ndarray or sparse matrix
        The rows that the axes are written on: ``X[support_]``, or their numbers for a precomputed kernel.
    solver_ : Report
        How the axes were found once the weights were.

    Examples
    --------
    >>> from mercer import SparseKernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters()
    >>> sparse = SparseKernelPCA(noise_variance=0.0625, kernel=RBF(gamma=16.0)).fit(X)
    >>> len(sparse.support_), sparse.transform(X).shape
    (8, (90, 8))
    >>> bool(sparse.kkt_ <= 1e-6)
    True
    """

    center = False
    support_: np.ndarray
    log_likelihoods_: np.ndarray
    _parameter_constraints: dict = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "noise_variance": [Interval(Real, 0, None, closed="neither"), None],
        "n_anchors": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [Named(KERNELS), callable],
        "solver": [StrOptions(set(ALGORITHMS))],
        "candidates": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "preimage": [Named(PREIMAGES, "auto"), HasMethods("bind")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        noise_variance=None,
        n_anchors=None,
        kernel="rbf",
        solver="newton",
        candidates=None,
        preimage="auto",
        max_iter=1000,
        tol=1e-6,
        random_state=None,
    ):
        self.n_components = n_components
        self.noise_variance = noise_variance
        self.n_anchors = n_anchors
        self.kernel = kernel
        self.solver = solver
        self.candidates = candidates
        self.preimage = preimage
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X, sample_weight):
        n = num_samples(X)
        counted = None  # all rows
        if sample_weight is not None and not is_lazy(X):
            counted = validation.check_weights(sample_weight, X)[1]
        self._given = n, counted  # a row of weight 0 is none to the model, and has its number to the caller
        super()._fit(X, sample_weight)
        del self._given
        self.support_ = self.support_ if counted is None else counted[self.support_]
        self.log_likelihoods_ = self.n_rows_ * self.log_likelihoods_
        self.log_likelihood_ = float(self.log_likelihoods_[-1])

    def _training_coordinates(self, w):
        return None

    def _find(self, kernel, X, gram, weights, rng):
        self._check_asked()
        data = Likelihood.of(kernel, X, self._candidates(kernel, X, gram, weights, rng), weights)
        _warn_of_negative_mass(data.negative_mass)
        fit = self._weights(data)
        active, w = fit.covariance.active, fit.covariance.w
        self.n_candidates_, self.support_, self.weights_ = len(data.rows), data.rows[active], w
        self.noise_variance_, self.kkt_, self.n_iter_ = fit.covariance.rho, fit.kkt, fit.n_iter
        self.log_likelihoods_ = np.array(fit.values)
        subspace = principal_subspace(
            kernel,
            take(X, self.support_),
            self.n_components if isinstance(self.n_components, Integral) else None,
            gram=None if gram is None else Dense(gram.block(self.support_)),
            weights=w,
            center=False,
            solver="exact",
        )
        B = subspace.axes.B.astype(float)
        turn = np.diag(data.signs(active, B, X)).astype(subspace.axes.B.dtype)
        self._along = data.variances(active, B)
        diagnostics.warn_of_spectrum(self._along, data.trace, X.shape[0])
        return self._cut(replace(subspace, axes=subspace.axes @ turn, total_variance=data.trace))

    def _check_asked(self):
        if self.n_anchors is None:
            return
        if self.noise_variance is not None:
            raise ValueError(
                f"noise_variance={self.noise_variance!r} and n_anchors={self.n_anchors!r} were both given, and each "
                "follows from the other. Give one of them."
            )
        if self.solver != "newton":
            raise ValueError(
                f"n_anchors={self.n_anchors!r} needs solver='newton', and solver={self.solver!r} was given: it leaves "
                "weights that the maximum does not have. Give noise_variance instead."
            )

    def _candidates(self, kernel, X, gram, weights, rng):
        """The numbers of the rows, among those that count, that may become anchors."""
        n, asked = X.shape[0], self.candidates
        if asked is None:
            asked = n if n <= ALL_ROWS else max(SOME_ROWS, 2 * (self.n_anchors or 0))
        if isinstance(asked, Integral):
            return choose_candidates(Gram(kernel, X) if gram is None else gram, int(asked), rng, weights)
        n_given, counted = self._given
        asked = np.unique(row_numbers(asked, n_given))
        chosen = asked if counted is None else np.flatnonzero(np.isin(counted, asked))
        if len(chosen) == 0:
            raise ValueError("All candidates have the sample weight 0: at least one that counts is needed.")
        return chosen

    def _weights(self, data):
        """The weights of the noise variance that was given, or of the one that leaves so many anchors."""
        largest = data.largest_noise
        if largest == 0:
            return fit_weights(data, self.noise_variance or 1.0, "newton", self.max_iter, self.tol)
        if self.n_anchors is not None:
            fit = fit_number(data, self.n_anchors, self.max_iter, self.tol)
            _warn_of_fewer(len(fit.w), self.n_anchors)
        else:
            rho = DEFAULT_NOISE * largest if self.noise_variance is None else float(self.noise_variance)
            check_noise(rho, largest)
            fit = fit_weights(data, rho, self.solver, self.max_iter, self.tol)
        _warn_unconverged(fit, self.solver)
        return fit

    def _cut(self, subspace):
        """The first components that hold the share of variance asked for, or all."""
        if isinstance(self.n_components, Integral) or self.n_components is None:
            return subspace
        held = np.cumsum(self._along) / subspace.total_variance
        return subspace[: int(np.searchsorted(held, self.n_components)) + 1]

    @property
    def _keeps_rows(self):
        """A matrix is kept as it is; of rows those that were chosen are, which are a copy."""
        return isinstance(as_kernel(self.kernel), Precomputed)

    @property
    def explained_variance_(self):
        """mean y² of the training rows: the variance along each axis."""
        return self._along[: self.n_components_]

    @property
    def explained_variance_ratio_(self):
        """mean y² / mean k(x, x): true shares, which sum to 1 − mean r² / mean k(x, x)."""
        return self.explained_variance_ / self.total_variance_

    @property
    def eigenvalues_(self):
        """n·(Λ̃ + ρ), the eigenvalues of the model's covariance C (Tipping eq. 16) times the number of rows."""
        return self.n_rows_ * (self.subspace_.variances + self.noise_variance_)


def _warn_of_fewer(found, asked):
    if found < asked:
        warnings.warn(
            f"{found} anchors are kept, not the {asked} of n_anchors: at no noise variance that was tried do so many "
            "describe these data better.",
            stacklevel=4,
        )


def _warn_of_negative_mass(mass):
    if mass > validation.NEGLIGIBLE_MASS:
        warnings.warn(
            f"The kernel matrix is indefinite: negative eigenvalues hold {mass:.1%} of the mass of its spectrum. They "
            "are left out.",
            stacklevel=4,
        )


def _warn_unconverged(fit, solver):
    if not fit.converged:
        warnings.warn(
            f"solver={solver!r} has not converged after {fit.n_iter} iterations: kkt_ = {fit.kkt:.2g}. "
            "Increase max_iter" + ("." if solver == "newton" else ", or use solver='newton'."),
            ConvergenceWarning,
            stacklevel=4,
        )
