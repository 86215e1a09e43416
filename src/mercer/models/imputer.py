"""Imputation of missing values by kernel PCA."""

from dataclasses import KW_ONLY, dataclass, field
from time import monotonic
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.fields import Count, Maybe, Names, Numbers
from .._core.registry import KERNELS, stored
from .._core.sklearn import Named, StrOptions
from .._core.tiles import followed, row_tiles
from .._core.warn import warn
from ..kernels import RBF, Radial, as_kernel
from ..linalg.eigenpairs import Report
from ..preimage.conditional import Conditional
from ..preimage.imputation import average, completions, hide, nearest
from ..rkhs.landmarks import Landmarks
from . import validation
from .kernel_pca import KernelPCA
from .parameters import AT_LEAST_1, POSITIVE, KernelLike, constraints, generator

SHARE = 0.97  # share of the variance that the components hold
ROUNDS = 2  # number of fits on the completed samples
FEW = 1000  # samples up to which no landmarks are needed
LANDMARKS = 500
USUAL = 0.95  # quantile of r² of the training samples that sets the scale of the weights
DONORS = 1000  # largest number of samples whose values serve as starting values
TEMPORARIES = 4  # arrays of the size of all starting values in memory at once
TRIAL_ROWS = 100  # samples of the trial that measures the errors


@stored("impute.KernelPCAImputer")
@dataclass(eq=False, repr=False)
class KernelPCAImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Impute missing values by alternating projections and pre-images.

    Missing values start at their conditional means under one Gaussian, which is fitted by EM. The sample is projected
    onto the principal subspace, and the pre-image of the projection replaces the missing values. This decreases the
    distance r² to the subspace while the known values stay fixed. There may be several minima, so each sample is also
    started from the values of the samples that are closest in the known columns. The results are averaged with weights
    exp(−r²/ρ), where ρ is the 95 % quantile of r² over the training samples. The subspace is fitted on the completed
    samples, twice.

    Parameters
    ----------
    n_components : int, float or None, default=None
        As in :class:`KernelPCA`; None for 97 % of the variance.
    kernel : str, Kernel, callable or None, default=None
        As in :class:`KernelPCA`; None for an RBF with γ = 1/median squared distance.
    scale : {"columns", "none"}, default="columns"
        Whether to divide columns by their standard deviations first. Use ``"none"`` for columns of the same unit, such
        as the pixels of an image.
    n_starts : int, default=6
        Number of starting values of each sample: the conditional means, and the values of the nearest among 1000 random
        samples. Kernels that are not radial use 1, because their pre-images take long.
    max_iter : int, default=5
        Maximum number of iterations; a few are enough, since the starting values are good.
    tol : float, default=1e-3
        A sample has converged when it changes by less than this, in standard deviations.
    time_limit : float or None, default=None
        Seconds after which ``fit`` or ``transform`` stops with a warning; the remaining samples keep their conditional
        means. None for no limit.
    random_state : int, RandomState instance or None, default=None
        Seed for the random samples.

    Attributes
    ----------
    model_ : KernelPCA
        The model of the completed training samples.
    solver_ : Report
        Its report: the solver, its residuals, and the share of variance outside its basis.
    errors_ : dict of str to float
        The mean squared error, relative to the variance of the columns, of conditional means and of this method on
        known values that were hidden; empty if no value could be hidden.
    spread_ratio_ : float
        The errors of hidden values relative to the conditional standard deviations, for :meth:`uncertainty`.
    n_iter_ : int
        The largest number of iterations of a sample in ``fit``.
    ended_early_ : bool
        Whether ``fit`` reached ``time_limit``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCAImputer
    >>> t = np.linspace(0, 6, 200)
    >>> X = np.column_stack([np.cos(t), np.sin(t), t])
    >>> X[20, 0] = np.nan
    >>> imputer = KernelPCAImputer(random_state=0).fit(X)
    >>> print(f"{imputer.transform(X)[20, 0]:.2f} for {np.cos(t[20]):.2f}")
    0.77 for 0.82
    >>> np.argwhere(imputer.uncertainty(X) > 0)
    array([[20,  0]])
    """

    n_components: int | float | None = None
    _: KW_ONLY
    kernel: KernelLike | None = None
    scale: str = "columns"
    n_starts: int = 6
    max_iter: int = 5
    tol: float = 1e-3
    time_limit: float | None = None
    random_state: Any = None

    n_features_in_: Count = field(init=False)
    feature_names_in_: Maybe[Names] = field(init=False)
    mean_: Annotated[np.ndarray, Numbers("n_features_in_")] = field(init=False)
    scale_: Annotated[np.ndarray, Numbers("n_features_in_")] = field(init=False)
    errors_: dict[str, float] = field(init=False)
    model_: KernelPCA = field(init=False)
    n_iter_: Count = field(init=False)
    spread_ratio_: Maybe[float] = field(init=False)
    ended_early_: Maybe[bool] = field(init=False)
    _filler: "_Filler" = field(init=False)

    _doc_link_module = "mercer"
    _parameter_constraints = constraints(
        *("n_components", "max_iter", "tol", "random_state"),
        kernel=[Named(KERNELS, without=("precomputed",)), callable, None],
        scale=[StrOptions({"columns", "none"})],
        n_starts=[AT_LEAST_1],
        time_limit=[POSITIVE, None],
    )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model on samples with missing values (NaN); every column needs at least one value."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit the model and return the same samples with their missing values filled in."""
        X, full = self._fit(X)
        return np.where(np.isnan(X), full * self.scale_ + self.mean_, X).astype(X.dtype)

    def _fit(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the validated samples, and the completed ones in standard units."""
        with validation.fitting(self, X):
            X, clock = self._rows(X, fit=True), _Clock(self.time_limit)
            rng = generator(self.random_state)
            _check_columns(X)
            self.mean_, self.scale_ = self._standards(X)
            Z = (X - self.mean_) / self.scale_
            full, self._filler, n_iter = self._complete(Z, Conditional.of(Z), rng, clock)
            self.model_, self.n_iter_ = self._filler.model, max(n_iter, 1)
            self.errors_, self.spread_ratio_ = self._trial(Z, rng, clock)
            self.ended_early_ = clock.warned
        return X, full

    def _standards(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values to subtract from the columns, 0 if the kernel accepts no negative values, and the
        divisors."""
        mean, spread = np.nanmean(X, axis=0, dtype=float), np.nanstd(X, axis=0, dtype=float)
        spread = spread if self.scale == "columns" else np.full_like(spread, np.sqrt(np.mean(spread**2)))
        if self.kernel is not None and as_kernel(self.kernel).rows == "objects":
            raise ValueError(f"{type(self).__name__} fills numbers, and {as_kernel(self.kernel)!r} takes objects.")
        if self.kernel is not None and as_kernel(self.kernel).nonnegative:
            mean = np.zeros_like(mean)
        return mean, np.where(spread > 0, spread, 1.0)

    def transform(self, X: Any) -> np.ndarray:
        """Return the samples with their missing values (NaN) filled in; known values are unchanged."""
        check_is_fitted(self)
        X = self._rows(X)
        rows = np.flatnonzero(np.isnan(X).any(axis=1))
        full = X.copy()
        if len(rows):
            Z = (X[rows] - self.mean_) / self.scale_
            filled, _ = self._filler(Z, self.max_iter, self.tol, _Clock(self.time_limit))
            full[rows] = np.where(np.isnan(X[rows]), filled * self.scale_ + self.mean_, X[rows])
        return full

    def uncertainty(self, X: Any) -> np.ndarray:
        """Return a standard deviation for each value that ``transform`` fills in, and 0 elsewhere: shape of X.

        It is the conditional standard deviation under the Gaussian, multiplied by ``spread_ratio_``: the ratio of
        actual errors to conditional standard deviations, which ``fit`` measures by hiding known values.
        """
        check_is_fitted(self)
        X = self._rows(X)
        if self._filler.start is None:
            raise ValueError("This model was fitted by an earlier version, without uncertainties. Fit it again.")
        spread = self._filler.start((X - self.mean_) / self.scale_)[1]
        return (spread * self.scale_ * self.spread_ratio_).astype(X.dtype)

    @property
    def solver_(self) -> Report:
        """The report on the solver of the model."""
        return self.model_.solver_

    def _rows(self, X: Any, fit: bool = False) -> np.ndarray:
        validation.check_unmasked(X)
        X = validate_data(self, X, reset=fit, dtype=validation.DTYPES, ensure_all_finite="allow-nan")
        validation.check_cells(X, getattr(self, "feature_names_in_", None))
        return X

    def _complete(
        self, Z: np.ndarray, start: Conditional, rng: np.random.Generator, clock: "_Clock"
    ) -> tuple[np.ndarray, "_Filler", int]:
        """Return the completed samples, the model of them, and the number of iterations."""
        gaps, n_iter = np.isnan(Z).any(axis=1), 0
        full = start(Z)[0]
        last = ROUNDS if gaps.any() else 1
        for number in followed("imputation", range(1, last + 1)):
            filler = self._fitted(full, start, rng, self.n_starts if number == last else 1)
            full[gaps], n_iter = filler(Z[gaps], self.max_iter, self.tol, clock)
            if clock.warned:
                break
        return full, filler, n_iter

    def _fitted(self, full: np.ndarray, start: Conditional, rng: np.random.Generator, n_starts: int) -> "_Filler":
        """Return the filler fitted on complete samples."""
        kernel = RBF(gamma="median") if self.kernel is None else clone(as_kernel(self.kernel))
        full = np.maximum(full, 0) if kernel.nonnegative else full
        solver = "auto" if len(full) <= FEW else Landmarks(n=LANDMARKS)
        q = SHARE if self.n_components is None else self.n_components
        model = KernelPCA(q, kernel=kernel, solver=solver, random_state=int(rng.integers(2**31))).fit(full)
        donors = full[rng.permutation(len(full))[:DONORS]]  # in random order, which breaks ties
        rho = float(np.quantile(model.subspace_.split(full)[1], USUAL))
        return _Filler(model, donors, n_starts if isinstance(kernel, Radial) else 1, rho, start)

    def _trial(self, Z: np.ndarray, rng: np.random.Generator, clock: "_Clock") -> tuple[dict[str, float], float]:
        """Return the errors of hidden values, and their size relative to the conditional standard deviations."""
        trial = Z[np.sort(rng.choice(len(Z), min(len(Z), TRIAL_ROWS), replace=False))]
        trial = trial[:, (~np.isnan(trial)).sum(axis=0) > 1]
        hidden = hide(trial, rng)
        if not hidden.any() or clock.warned:
            return {}, 1.0
        shown = np.where(hidden, np.nan, trial)
        start = Conditional.of(shown)
        means, spread = start(shown)
        full, _, _ = self._complete(shown, start, rng, clock)
        by_means, own = (means - trial)[hidden] ** 2, (full - trial)[hidden] ** 2
        ratio = float(np.sqrt(np.mean(own) / np.mean(spread[hidden] ** 2)))
        return {"conditional means": float(np.mean(by_means)), "kernel PCA": float(np.mean(own))}, ratio

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Clock:
    """The time since the start, against a limit in seconds."""

    def __init__(self, limit: float | None):
        self.limit, self.start, self.warned = limit, monotonic(), False

    def ended(self) -> bool:
        """Return True if the limit is reached, with a warning the first time."""
        if self.limit is None or monotonic() - self.start < self.limit:
            return False
        if not self.warned:
            self.warned = True
            warn(
                f"time_limit={self.limit:g} seconds have passed: the remaining samples are filled with conditional "
                "means. Give more time, or fit on fewer samples.",
                ConvergenceWarning,
            )
        return True


@stored("impute._Filler")
@dataclass(frozen=True, eq=False)
class _Filler:
    """A model of complete samples, samples to start from, how many of them to use, and the scale ρ of r².

    ``start`` gives conditional means; None in models of earlier versions, which started from the means of the columns.
    """

    model: KernelPCA
    donors: Annotated[np.ndarray, Numbers("n", "d")]
    n_starts: int
    rho: float
    start: Conditional | None = None

    def __call__(self, Z: np.ndarray, max_iter: int, tol: float, clock: _Clock) -> tuple[np.ndarray, int]:
        """Return the samples completed, and the number of iterations."""
        if len(Z) == 0:
            return Z, 0
        full = np.where(np.isnan(Z), 0.0, Z) if self.start is None else self.start(Z)[0]
        if self.model.kernel_.nonnegative:
            full = np.maximum(full, 0)
        width, n_iter = len(self.donors) + TEMPORARIES * self.n_starts * Z.shape[1], 0
        for rows in followed("imputed samples", row_tiles(len(Z), width)):
            if clock.ended():
                break
            starts = [full[rows], *nearest(self.donors, Z[rows], self.n_starts - 1)]
            ends, r2, n = completions(self.model.subspace_, Z[rows], starts, max_iter, tol)
            full[rows], n_iter = average(ends, r2, self.rho), max(n, n_iter)
        return full, n_iter


def _check_columns(X: np.ndarray) -> None:
    empty = np.flatnonzero(np.isnan(X).all(axis=0))
    if len(empty):
        raise ValueError(f"The columns {empty.tolist()} have no value to learn from. Drop them.")
