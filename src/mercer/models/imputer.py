"""Imputation of missing values by kernel PCA."""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.registry import KERNELS, stored
from .._core.sklearn import Named, StrOptions
from .._core.tiles import row_tiles
from ..kernels import RBF, as_kernel
from ..kernels.width import median_sqdist
from ..preimage.imputation import average, completions, hide, nearest
from ..rkhs.landmarks import Landmarks
from . import validation
from .kernel_pca import KernelPCA
from .parameters import AT_LEAST_1, KernelLike, constraints, generator

WIDTHS = (0.3, 1.0, 3.0)  # γ times the median squared distance, compared if no kernel is given
SHARES = (0.8, 0.9, 0.97)  # of the variance, compared if no number of components is given
TRIAL_ROWS = 400  # samples of a comparison
TRIAL_ITER = 20  # iterations in a comparison
TRIAL_STARTS = 5  # starting values of a sample in a comparison
STANDARD_ERRORS = 1  # by which a setting must be better than the usual one
ROUNDS = 3  # of fits, if most training samples are incomplete
FEW = 1000  # samples up to which no landmarks are needed
LANDMARKS = 500
USUAL = 0.95  # quantile of r² of the training samples that sets the scale of the weights
DONORS = 1000  # samples at most whose values serve as starting values
TEMPORARIES = 4  # copies of a sample and its starting values in memory at once


@stored("impute.KernelPCAImputer")
@dataclass(eq=False, repr=False)
class KernelPCAImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Impute missing values by alternating projections and pre-images.

    Missing values start at the mean of the column. The sample is projected onto the principal subspace, and the
    pre-image of the projection replaces the missing values, until convergence to a local minimum of the distance r² to
    the subspace among all samples that agree with the known values. There may be several minima: each sample is also
    started from the values of the samples that are closest in the known columns, and the results are averaged with
    weights exp(−r²/ρ), where ρ is the 95 % quantile of r² over the training samples.

    Parameters
    ----------
    n_components : int, float or None, default=None
        As in :class:`KernelPCA`; None chooses between 80, 90 and 97 % of the variance by hiding known values: the
        middle one, unless another is better by more than one standard error.
    kernel : str, Kernel, callable or None, default=None
        As in :class:`KernelPCA`; None for an RBF with γ = 0.3, 1 or 3 / median squared distance, chosen likewise.
    scale : {"columns", "none"}, default="columns"
        Whether to divide columns by their standard deviations first. Use ``"none"`` for columns of the same unit, such
        as the pixels of an image.
    n_starts : int, default=20
        Number of starting values of each sample: the means, and the values of the nearest among 1000 random samples.
    max_iter : int, default=50
        Maximum number of iterations.
    tol : float, default=1e-3
        A sample has converged when it changes by less than this, in standard deviations.
    random_state : int, RandomState instance or None, default=None
        Seed for the random samples.

    Attributes
    ----------
    model_ : KernelPCA
        The model of the completed training samples.
    errors_ : dict of str to float
        The mean squared error of hidden values, relative to the variance of their columns, for each setting compared.
    n_iter_ : int
        The largest number of iterations of a sample in ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCAImputer
    >>> t = np.linspace(0, 6, 200)
    >>> X = np.column_stack([np.cos(t), np.sin(t), t])
    >>> X[20, 0] = np.nan
    >>> filled = KernelPCAImputer(random_state=0).fit_transform(X)
    >>> bool(abs(filled[20, 0] - np.cos(t[20])) < 0.05)
    True
    """

    n_components: int | float | None = None
    _: KW_ONLY
    kernel: KernelLike | None = None
    scale: str = "columns"
    n_starts: int = 20
    max_iter: int = 50
    tol: float = 1e-3
    random_state: Any = None

    _doc_link_module = "mercer"
    _parameter_constraints = constraints(
        *("n_components", "max_iter", "tol", "random_state"),
        kernel=[Named(KERNELS, without=("precomputed",)), callable, None],
        scale=[StrOptions({"columns", "none"})],
        n_starts=[AT_LEAST_1],
    )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model on samples with missing values (NaN); every column needs at least one value."""
        with validation.fitting(self, X):
            X = self._rows(X, fit=True)
            rng = generator(self.random_state)
            _check_columns(X)
            self.mean_ = np.nanmean(X, axis=0, dtype=float)
            spread = np.nanstd(X, axis=0, dtype=float)
            spread = spread if self.scale == "columns" else np.full_like(spread, np.sqrt(np.mean(spread**2)))
            self.scale_ = np.where(spread > 0, spread, 1.0)
            Z = (X - self.mean_) / self.scale_
            self.errors_, settings = self._choose(Z, rng)
            _, self._filler, n_iter = self._find(Z, settings, self.n_starts, self.max_iter, rng)
            self.n_iter_ = max(n_iter, 1)
            self.model_ = self._filler.model
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the samples with their missing values (NaN) filled in; known values are unchanged."""
        check_is_fitted(self)
        X = self._rows(X)
        rows = np.flatnonzero(np.isnan(X).any(axis=1))
        full = X.copy()
        if len(rows):
            filled, _ = self._filler((X[rows] - self.mean_) / self.scale_, self.max_iter, self.tol)
            full[rows] = np.where(np.isnan(X[rows]), filled * self.scale_ + self.mean_, X[rows])
        return full

    def _rows(self, X: Any, fit: bool = False) -> np.ndarray:
        validation.check_unmasked(X)
        return validate_data(self, X, reset=fit, dtype=validation.DTYPES, ensure_all_finite="allow-nan")

    def _choose(self, Z: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, float], tuple]:
        """Return the errors of hidden values for each setting (kernel or factor of γ, components), and the best one."""
        widths = WIDTHS if self.kernel is None else (as_kernel(self.kernel),)
        shares = SHARES if self.n_components is None else (self.n_components,)
        tried = {f"{_described(width)}, {share:g}": (width, share) for width in widths for share in shares}
        usual = (widths[len(widths) // 2], shares[len(shares) // 2])
        trial = Z[np.sort(rng.choice(len(Z), min(len(Z), TRIAL_ROWS), replace=False))]
        hidden = [] if len(tried) == 1 else hide(trial, rng)
        if not hidden:
            return {}, usual
        seed = int(rng.integers(2**31))
        squares = {settings: self._squares(trial, hidden, settings, seed) for settings in tried.values()}
        errors = {name: float(np.mean(squares[settings])) for name, settings in tried.items()}
        best = tried[min(errors, key=errors.__getitem__)]
        gain = squares[usual] - squares[best]
        sure = np.mean(gain) > STANDARD_ERRORS * np.std(gain) / np.sqrt(len(gain))
        return errors, best if sure else usual

    def _squares(self, Z: np.ndarray, hidden: list, settings: tuple, seed: int) -> np.ndarray:
        """Return the squared errors of hidden values; each mask is completed from scratch, as ``fit`` does."""
        found, starts = [], min(self.n_starts, TRIAL_STARTS)
        for mask in hidden:
            shown = np.where(mask, np.nan, Z)
            full = self._find(shown, settings, starts, TRIAL_ITER, np.random.default_rng(seed))[0]
            found.append((full - Z)[mask] ** 2)
        return np.concatenate(found)

    def _find(self, Z: np.ndarray, settings: tuple, n_starts: int, max_iter: int, rng: Any) -> tuple:
        """Return the completed samples, the model of them, and the number of iterations."""
        complete = ~np.isnan(Z).any(axis=1)
        full = np.where(np.isnan(Z), 0.0, Z)
        if 2 * complete.sum() > len(Z):  # enough to fit on
            filler = _Filler.of(full[complete], settings, n_starts, rng)
            full[~complete], n_iter = filler(Z[~complete], max_iter, self.tol)
            return full, filler, n_iter
        for _ in range(ROUNDS):
            filler = _Filler.of(full, settings, n_starts, rng)
            full[~complete], n_iter = filler(Z[~complete], max_iter, self.tol)
        return full, filler, n_iter

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@stored("impute._Filler")
@dataclass(frozen=True, eq=False)
class _Filler:
    """A model of complete samples, samples to start from, how many of them to use, and the scale ρ of r²."""

    model: KernelPCA
    donors: np.ndarray
    n_starts: int
    rho: float

    @classmethod
    def of(cls, rows: np.ndarray, settings: tuple, n_starts: int, rng: np.random.Generator) -> "_Filler":
        """Return the filler fitted on complete samples."""
        width, components = settings
        kernel = RBF(gamma=width / (median_sqdist(rows) or 1.0)) if isinstance(width, Real) else clone(width)
        solver = "auto" if len(rows) <= FEW else Landmarks(n=LANDMARKS)
        model = KernelPCA(components, kernel=kernel, solver=solver, random_state=int(rng.integers(2**31))).fit(rows)
        donors = rows[rng.permutation(len(rows))[:DONORS]]  # in random order, which breaks ties
        return cls(model, donors, n_starts, float(np.quantile(model.subspace_.split(rows)[1], USUAL)))

    def __call__(self, Z: np.ndarray, max_iter: int, tol: float) -> tuple[np.ndarray, int]:
        """Return the samples completed, and the number of iterations."""
        if len(Z) == 0:
            return Z, 0
        tiles = row_tiles(len(Z), len(self.donors) + TEMPORARIES * self.n_starts * Z.shape[1])
        filled, n_iter = zip(*(self._complete(Z[rows], max_iter, tol) for rows in tiles), strict=True)
        return np.concatenate(filled), max(n_iter)

    def _complete(self, Z: np.ndarray, max_iter: int, tol: float) -> tuple[np.ndarray, int]:
        starts = nearest(self.donors, Z, self.n_starts - 1)
        ends, r2, n_iter = completions(self.model.subspace_, Z, starts, max_iter, tol)
        return average(ends, r2, self.rho), n_iter


def _described(width: Any) -> str:
    return f"gamma = {width:g} / median" if isinstance(width, Real) else repr(width)


def _check_columns(X: np.ndarray) -> None:
    empty = np.flatnonzero(np.isnan(X).all(axis=0))
    if len(empty):
        raise ValueError(f"The columns {empty.tolist()} have no value to learn from. Drop them.")
