"""Sparse kernel principal component analysis."""

from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array
from .._core.batches import is_source
from .._core.dask import is_lazy, take
from .._core.fields import Count, NotNegative, Numbers
from .._core.registry import register
from .._core.sklearn import StrOptions, num_samples
from .._core.warn import ComponentsWarning, IndefiniteKernelWarning, warn
from ..kernels import Kernel, Precomputed, as_kernel
from ..linalg.eigenpairs import Report
from ..linalg.operators import Dense, Gram
from ..linalg.signs import signs
from ..rkhs import Subspace, principal_subspace
from ..rkhs.sparse.centred import Centred
from ..rkhs.sparse.likelihood import Likelihood, choose_candidates, row_numbers
from ..rkhs.sparse.weights import ALGORITHMS, check_noise, fit_number, fit_weights
from . import diagnostics, validation
from .base import KernelTransformer
from .parameters import AT_LEAST_1, POSITIVE, KernelLike, constraints

DEFAULT_NOISE = 0.05  # relative to the largest noise variance that keeps an anchor
ALL_ROWS = 3_000  # number of samples up to which every sample is a candidate
SOME_ROWS = 1_000  # number of candidates among more samples


@register("sparse")
@dataclass(eq=False, repr=False)
class SparseKernelPCA(KernelTransformer):
    """Kernel PCA on few samples, selected by maximum likelihood (Tipping 2001).

    The model is a Gaussian in feature space with mean 0 and covariance C = ρI + Σᵢ wᵢφ(xᵢ)φ(xᵢ)ᵀ. For a given noise
    variance ρ the likelihood is largest with most weights equal to 0: the samples of positive weight are the anchors,
    and the axes are those of ΦWΦᵀ. A smaller ρ keeps more anchors. The data are not centred, because the mean would
    need all samples.

    Only the kernel matrix of the candidates, one product over all samples, and the mean of k(x, x) are computed.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a number in (0, 1) keeps that share of the variance, None keeps as many components as
        there are anchors, which is the maximum.
    noise_variance : float or None, default=None
        ρ, the noise variance in every direction of the feature space. None: 5 % of the largest one that keeps an
        anchor, unless ``n_anchors`` is given.
    n_anchors : int or None, default=None
        Number of anchors. ``fit`` searches for the smallest noise variance that leaves this number; if there is none,
        it removes the least important anchors, which increases ``kkt_``. Only with ``solver="newton"``.
    kernel, preimage : see :class:`KernelPCA`
        The same parameters.
    center : bool, default=False
        Whether to subtract the mean in feature space (Tipping's footnote). The exact mean would need all samples, so it
        is approximated on the anchors; ``solver_`` reports the error.
    solver : {"newton", "fast", "em"}, default="newton"
        How the weights are found: by adding anchors and Newton steps, which end at a certified maximum; by Tipping's
        fast update (eq. 14); or by expectation maximisation (eq. 13). The last two are meant for comparison: they need
        thousands of iterations, and leave superfluous weights if they are stopped early.
    candidates : int, array-like of int or None, default=None
        The samples that may become anchors: their row numbers, or the number of samples to select by pivoted Cholesky.
        None: all samples if there are at most 3000, otherwise 1000, or 2·``n_anchors`` if that is more. Equal samples
        count as one candidate.
    max_iter : int, default=1000
        Maximum number of iterations: rounds of additions and Newton steps, or updates.
    tol : float, default=1e-6
        The fit has converged when ``kkt_`` is at most this.
    random_state : int, RandomState instance or None, default=None
        Seed for the selection of candidates.

    Attributes
    ----------
    support_ : ndarray of shape (n_anchors,)
        Row numbers of the anchors, in increasing order.
    weights_ : ndarray of shape (n_anchors,)
        The weights w of the anchors.
    noise_variance_ : float
        ρ.
    log_likelihood_ : float
        The log-likelihood without the term −½nD log ρ, where D is the dimension of the feature space.
    log_likelihoods_ : ndarray of shape (n_iter_ + 1,)
        The same before the first iteration and after each one, at the last noise variance tried. It never decreases.
    kkt_ : float
        Violation of the optimality conditions. At a maximum, the two terms R and S of the derivative of the likelihood
        with respect to a weight w are equal if w > 0, and R ≤ S if w = 0. The value is the largest |R/S − 1| for w > 0,
        or R/S − 1 for w = 0.
    n_iter_ : int
        Number of iterations.
    n_candidates_ : int
        Number of distinct samples that could become anchors.
    explained_variance_ : ndarray of shape (n_components_,)
        The mean of y² over the training samples, for each component.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        The same divided by ``total_variance_``; 1 minus their sum is the mean relative ``reconstruction_error``.
    eigenvalues_ : ndarray of shape (n_components_,)
        n·(Λ̃ + ρ), with Λ̃ the eigenvalues of ΦWΦᵀ: the variance along the axes according to the model.
    total_variance_ : float
        The mean of ‖φ(x) − mean‖² over the training samples; with ``center=False`` the mean of k(x, x).
    subspace_ : Subspace
        The axes, with the eigenvalues Λ̃ of ΦWΦᵀ.
    n_components_, kernel_, anchors_, solver_
        As in :class:`KernelPCA`; ``anchors_`` is ``X[support_]``.

    Examples
    --------
    >>> from mercer import SparseKernelPCA, datasets
    >>> from mercer.kernels import RBF
    >>> X = datasets.three_clusters()
    >>> sparse = SparseKernelPCA(noise_variance=0.0625, kernel=RBF(gamma=16.0)).fit(X)
    >>> len(sparse.support_), sparse.transform(X).shape
    (8, (90, 8))
    >>> sparse.anchors_[:3].round(2)  # rows of X: the representing vectors
    array([[-0.55, -0.18],
           [-0.48, -0.16],
           [-0.57, -0.21]])
    """

    n_components: int | float | None = None
    _: KW_ONLY
    noise_variance: float | None = None
    n_anchors: int | None = None
    kernel: KernelLike = "rbf"
    center: bool = False
    solver: str = "newton"
    candidates: int | ArrayLike | None = None
    preimage: Any = "auto"
    max_iter: int = 1000
    tol: float = 1e-6
    random_state: Any = None

    n_candidates_: Count = field(init=False)
    support_: Annotated[np.ndarray, Numbers("m", kinds="iu")] = field(init=False)
    weights_: Annotated[np.ndarray, Numbers("m")] = field(init=False)
    noise_variance_: NotNegative = field(init=False)
    kkt_: float = field(init=False)
    n_iter_: Count = field(init=False)
    log_likelihood_: float = field(init=False)
    log_likelihoods_: Annotated[np.ndarray, Numbers("t")] = field(init=False)
    _along: Annotated[np.ndarray, Numbers("q")] = field(init=False)

    indefinite = None  # the positive part of a kernel is expanded on all rows, and is not sparse
    _parameter_constraints = constraints(
        *("n_components", "kernel", "center", "preimage", "max_iter", "random_state"),
        noise_variance=[POSITIVE, None],
        n_anchors=[AT_LEAST_1, None],
        solver=[StrOptions(set(ALGORITHMS))],
        candidates=[AT_LEAST_1, "array-like", None],
        tol=[POSITIVE],
    )

    def _training_coordinates(self, w: Array | None) -> None:
        return None

    def _find(self, kernel: Kernel, X: Any, gram: Dense | None, weights: Any, rng: np.random.Generator) -> Subspace:
        self._check_asked()
        if self.center and is_lazy(X):
            raise ValueError("center=True needs the samples in memory, and a Dask array was given. Use center=False.")
        centred = Centred.of(kernel, X, weights) if self.center else None
        data = Likelihood.of(centred or kernel, X, self._candidates(kernel, X, gram, weights, rng), weights)
        if data.negative_mass > validation.NEGLIGIBLE_MASS:
            warn(
                f"The kernel matrix is indefinite: negative eigenvalues hold {data.negative_mass:.1%} of the mass of "
                "its spectrum. They are ignored.",
                IndefiniteKernelWarning,
            )
        fit = self._weights(data)
        active, w = fit.covariance.active, fit.covariance.w
        self.n_candidates_, self.support_, self.weights_ = len(data.rows), data.rows[active], w
        self.noise_variance_, self.kkt_, self.n_iter_ = fit.covariance.rho, fit.kkt, fit.n_iter
        self.log_likelihoods_ = np.array(fit.values)
        q = int(self.n_components) if isinstance(self.n_components, Integral) else None
        own = None if gram is None else Dense(gram.block(self.support_))
        anchors, self._data = take(X, self.support_), data
        s, left = (None, 0.0) if centred is None else centred.on_anchors(anchors)
        settings: dict[str, Any] = {"mean": s, "center": self.center, "solver": "exact"}
        subspace = principal_subspace(kernel, anchors, q, gram=own, weights=w, **settings)
        along, turn = _about_mean(subspace, X, weights) if self.center else _about_origin(subspace, data, active, X)
        self._along, trace = along, data.trace + left
        diagnostics.warn_of_spectrum(along, trace, X.shape[0])
        total = trace if kernel.definite else max(trace, float(along.sum()))  # k(x, x) may be smaller
        axes, offset = (
            subspace.axes @ np.diag(turn).astype(subspace.axes.B.dtype),
            subspace.offset * turn.astype(subspace.offset.dtype),
        )
        report = _with_mean(subspace.report, left, centred)
        return self._cut(replace(subspace, axes=axes, offset=offset, total_variance=total, report=report))

    def _fit(self, X: Any, sample_weight: Any) -> None:
        if is_source(X):
            validation.check_in_memory(X)
        n = num_samples(X)
        counted = None  # all samples
        if sample_weight is not None and not is_lazy(X):
            counted = validation.check_weights(sample_weight, X)[1]
        self._given = n, counted  # samples of weight 0 are ignored by the model, but counted in row numbers
        super()._fit(X, sample_weight)
        del self._given
        if counted is not None:
            self._data = replace(self._data, rows=counted[self._data.rows])
        self.support_ = self.support_ if counted is None else counted[self.support_]
        self.log_likelihoods_ = self.n_rows_ * self.log_likelihoods_
        self.log_likelihood_ = float(self.log_likelihoods_[-1])

    def _check_asked(self) -> None:
        """Raise an error for parameters that exclude each other."""
        if self.n_anchors is None:
            return
        if self.noise_variance is not None:
            raise ValueError(
                f"noise_variance={self.noise_variance!r} and n_anchors={self.n_anchors!r} were both given, and each "
                "determines the other. Give one of them."
            )
        if self.solver != "newton":
            raise ValueError(
                f"n_anchors={self.n_anchors!r} needs solver='newton', and solver={self.solver!r} was given, which "
                "leaves superfluous weights. Give noise_variance instead."
            )

    def _candidates(self, kernel: Kernel, X: Any, gram: Dense | None, weights: Any, rng: Any) -> np.ndarray:
        """Return the row numbers, among samples of positive weight, that may become anchors."""
        n, asked = X.shape[0], self.candidates
        if asked is None:
            asked = n if n <= ALL_ROWS else max(SOME_ROWS, 2 * (self.n_anchors or 0))
        if isinstance(asked, Integral):
            return choose_candidates(Gram(kernel, X) if gram is None else gram, int(asked), rng, weights)
        n_given, counted = self._given
        asked = np.unique(row_numbers(asked, n_given))
        chosen = asked if counted is None else np.flatnonzero(np.isin(counted, asked))
        if len(chosen) == 0:
            raise ValueError("All candidates have the sample weight 0: at least one must have a positive weight.")
        return chosen

    def _weights(self, data: Likelihood) -> Any:
        """Return the fit for the given noise variance, or for the one that leaves ``n_anchors``."""
        largest = data.largest_noise
        if largest == 0:
            return fit_weights(data, self.noise_variance or 1.0, "newton", self.max_iter, self.tol)
        if self.n_anchors is not None:
            fit = fit_number(data, self.n_anchors, self.max_iter, self.tol)
        else:
            rho = DEFAULT_NOISE * largest if self.noise_variance is None else float(self.noise_variance)
            check_noise(rho, largest)
            fit = fit_weights(data, rho, self.solver, self.max_iter, self.tol)
        _warn_of_fit(fit, self.n_anchors, self.solver)
        return fit

    def log_likelihood(self, w: ArrayLike, noise_variance: float | None = None) -> float:
        """Return the log-likelihood (eq. 5) of the training samples for given weights, as in ``log_likelihood_``.

        Parameters
        ----------
        w : array-like of shape (n_samples,)
            A weight ≥ 0 for each training sample; only candidates may have one.
        noise_variance : float or None, default=None
            ρ; None is ``noise_variance_``.

        Returns
        -------
        value : float
            The value without the term −½nD log ρ. It needs arrays from ``fit`` that are not saved in files.
        """
        check_is_fitted(self)
        if not hasattr(self, "_data"):
            raise ValueError("log_likelihood needs the training samples, which a saved model does not have. Fit again.")
        data, w = self._data, np.asarray(w, float)
        rho = self.noise_variance_ if noise_variance is None else float(noise_variance)
        n = int(data.rows.max(initial=-1)) + 1
        if w.ndim != 1 or len(w) < n or np.any(w < 0) or rho <= 0:
            raise ValueError(
                "log_likelihood needs one weight ≥ 0 for each training sample and a noise variance above 0; weights "
                f"of shape {w.shape} and {rho:g} were given."
            )
        others = np.setdiff1d(np.flatnonzero(w), data.rows)
        if len(others):
            raise ValueError(f"Sample {others[0]} has a weight and is not a candidate, or equals another sample.")
        return self.n_rows_ * data.at(rho, w[data.rows]).value

    def _cut(self, subspace: Subspace) -> Subspace:
        """Return the first components, as many as hold the requested share of the variance."""
        if isinstance(self.n_components, Integral) or self.n_components is None:
            return subspace
        held = np.cumsum(self._along) / subspace.total_variance
        return subspace[: int(np.searchsorted(held, self.n_components)) + 1]

    @property
    def _keeps_rows(self) -> bool:
        """Return True for a precomputed matrix; of samples only a copied selection is kept."""
        return isinstance(as_kernel(self.kernel), Precomputed)

    @property
    def explained_variance_(self) -> np.ndarray:
        """The mean of y² over the training samples: the variance along each axis."""
        return self._along[: self.n_components_]

    @property
    def explained_variance_ratio_(self) -> np.ndarray:
        """mean y² / mean k(x, x); the sum is 1 − mean r² / mean k(x, x)."""
        return self.explained_variance_ / self.total_variance_

    @property
    def eigenvalues_(self) -> np.ndarray:
        """n·(Λ̃ + ρ), the eigenvalues of the model's covariance C (Tipping eq. 16) times the number of samples."""
        return self.n_rows_ * (self.subspace_.variances + self.noise_variance_)


def _about_origin(subspace: Subspace, data: Likelihood, active: np.ndarray, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return mean y² along each axis, and the signs of the axes, from the products that the likelihood has."""
    B = subspace.axes.B.astype(float)
    return data.variances(active, B), data.signs(active, B, X)


def _about_mean(subspace: Subspace, X: Any, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for centred axes, from the coordinates of all samples."""
    Y = subspace.project(X).astype(float)
    p = np.full(len(Y), 1 / len(Y)) if weights is None else weights
    return p @ Y**2, signs(Y, p[:, None], X)


def _with_mean(report: Report, left: float, centred: Centred | None) -> Report:
    """Return the report, with the error of the mean on the anchors."""
    if centred is None:
        return report
    share = left / centred.sqnorm if centred.sqnorm > 0 else 0.0
    note = f"the mean is expressed on the anchors, which leaves {share:.1%} of its squared length"
    return replace(report, outside=left, note=note)


def _warn_of_fit(fit: Any, n_anchors: int | None, solver: str) -> None:
    """Warn about fewer anchors than ``n_anchors``, and about weights that have not converged."""
    if n_anchors is not None and len(fit.w) < n_anchors:
        warn(
            f"The model keeps fewer anchors than n_anchors={n_anchors}, namely {len(fit.w)}: no noise variance that "
            "was tried has as many.",
            ComponentsWarning,
        )
    if not fit.converged:
        warn(
            f"solver={solver!r} has not converged after {fit.n_iter} iterations: kkt_ = {fit.kkt:.2g}. "
            "Increase max_iter" + ("." if solver == "newton" else ", or use solver='newton'."),
            ConvergenceWarning,
        )
