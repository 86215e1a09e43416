"""Missing values, filled in by what the rest of a row says under a kernel PCA."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.registry import KERNELS, stored
from .._core.sklearn import Interval, Named, RealNotInt, StrOptions
from .._core.tiles import row_tiles
from ..kernels import RBF, as_kernel
from ..kernels.width import median_sqdist
from ..preimage.imputation import average, completions, hide, nearest
from ..rkhs.landmarks import Landmarks
from . import validation
from .kernel_pca import KernelPCA

WIDTHS = (0.3, 1.0, 3.0)  # γ times the median squared distance, compared where no kernel is given
SHARES = (0.8, 0.9, 0.97)  # of the variance, compared where no number of components is given
TRIAL_ROWS = 400  # that a comparison takes
TRIAL_ITER = 20  # alternations in a comparison
TRIAL_STARTS = 5  # values that a row begins from in a comparison
STANDARD_ERRORS = 1  # by which a setting must be better than the usual one
ROUNDS = 3  # of fits, where the rows to fit on are incomplete themselves
FEW = 1000  # rows up to which no landmarks are needed
LANDMARKS = 500
USUAL = 0.95  # of the rows fitted on are no farther from the subspace than ends that count
DONORS = 1000  # rows at most that others begin from
TEMPORARIES = 4  # copies of a row and its starts alive at once


@stored("impute.KernelPCAImputer")
class KernelPCAImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill in missing values by alternating projections and pre-images.

    Missing values begin at the column's mean. The row is projected onto the principal subspace, the pre-image of the
    projection gives new values for what is missing, and so on until they settle: at a point of least distance r² to the
    subspace among all rows that agree with what is known. There may be several. So each row begins from other values
    too, those of the rows that are nearest in what is known, and the ends are averaged with weights exp(−r²/ρ): those
    count that are no farther from the subspace than rows are, ρ being the 95 % quantile of r² of the rows fitted on.

    Parameters
    ----------
    n_components : int, float or None, default=None
        As in :class:`~mercer.KernelPCA`; None to choose among the numbers that hold 80, 90 and 97 % of the variance by
        hiding known values: the middle one, unless another is better by more than a standard error.
    kernel : str, Kernel, callable or None, default=None
        None for an RBF with γ = 0.3, 1 or 3 / median squared distance, chosen alike.
    scale : {"columns", "none"}, default="columns"
        Whether columns are divided by their standard deviations first. ``"none"`` is for columns of one unit, such as
        the pixels of an image.
    n_starts : int, default=20
        Values that each row begins from: the means, and those of the nearest rows, among 1000 by lot.
    max_iter : int, default=50
        Alternations at most.
    tol : float, default=1e-3
        A row has settled when it changes by less, in standard deviations.
    random_state : int, RandomState or None, default=None
        For the rows drawn by lot.

    Attributes
    ----------
    model_ : KernelPCA
        The model of the completed rows.
    errors_ : dict of str to float
        The mean squared error of hidden values for each setting that was compared, in variances of their columns.
    n_iter_ : int
        Alternations of the row that took longest in ``fit``.

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

    _doc_link_module = "mercer"
    _parameter_constraints: dict = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "kernel": [Named(KERNELS, without=("precomputed",)), callable, None],
        "scale": [StrOptions({"columns", "none"})],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel=None,
        scale="columns",
        n_starts=20,
        max_iter=50,
        tol=1e-3,
        random_state=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.scale = scale
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X, y=None):
        """Fit the model on rows with missing values (NaN).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; every column must have at least one value.
        y : None
            Not used; present by convention.

        Returns
        -------
        self : object
            The fitted imputer.
        """
        with validation.unchanged_on_error(self):
            self._validate_params()
            X = self._rows(X, fit=True)
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
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

    def transform(self, X):
        """Return the rows with their missing values filled in; what is known stays as it is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with NaN where values are missing.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Complete rows.
        """
        check_is_fitted(self)
        X = self._rows(X)
        rows = np.flatnonzero(np.isnan(X).any(axis=1))
        full = X.copy()
        if len(rows):
            filled, _ = self._filler((X[rows] - self.mean_) / self.scale_, self.max_iter, self.tol)
            full[rows] = np.where(np.isnan(X[rows]), filled * self.scale_ + self.mean_, X[rows])
        return full

    def _rows(self, X, fit=False):
        validation.check_unmasked(X)
        return validate_data(self, X, reset=fit, dtype=validation.DTYPES, ensure_all_finite="allow-nan")

    def _choose(self, Z, rng):
        """The settings (kernel or factor of γ, components), by the error of known values that are hidden."""
        widths = WIDTHS if self.kernel is None else (as_kernel(self.kernel),)
        shares = SHARES if self.n_components is None else (self.n_components,)
        tried = {f"{_word(width)}, {share:g}": (width, share) for width in widths for share in shares}
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

    def _squares(self, Z, hidden, settings, seed):
        """Squared errors of hidden values, each draw completed from the beginning, as ``fit`` will do."""
        found, starts = [], min(self.n_starts, TRIAL_STARTS)
        for mask in hidden:
            shown = np.where(mask, np.nan, Z)
            full = self._find(shown, settings, starts, TRIAL_ITER, np.random.default_rng(seed))[0]
            found.append((full - Z)[mask] ** 2)
        return np.concatenate(found)

    def _find(self, Z, settings, n_starts, max_iter, rng):
        """The completed rows, the model of them, and the number of alternations."""
        complete = ~np.isnan(Z).any(axis=1)
        full = np.where(np.isnan(Z), 0.0, Z)
        if 2 * complete.sum() > len(Z):  # enough to learn from
            filler = _Filler.of(full[complete], settings, n_starts, rng)
            full[~complete], n_iter = filler(Z[~complete], max_iter, self.tol)
            return full, filler, n_iter
        for _ in range(ROUNDS):
            filler = _Filler.of(full, settings, n_starts, rng)
            full[~complete], n_iter = filler(Z[~complete], max_iter, self.tol)
        return full, filler, n_iter

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@stored("impute._Filler")
@dataclass(frozen=True, eq=False)
class _Filler:
    """A model of complete rows, rows to begin from, how many of them, and ρ, the r² that few rows exceed."""

    model: KernelPCA
    donors: np.ndarray
    n_starts: int
    rho: float

    @classmethod
    def of(cls, rows, settings, n_starts, rng):
        width, components = settings
        kernel = RBF(gamma=width / (median_sqdist(rows) or 1.0)) if isinstance(width, Real) else clone(width)
        solver = "auto" if len(rows) <= FEW else Landmarks(n=LANDMARKS)
        model = KernelPCA(components, kernel=kernel, solver=solver, random_state=int(rng.integers(2**31))).fit(rows)
        donors = rows[rng.permutation(len(rows))[:DONORS]]  # in an order by lot, which decides between equals
        return cls(model, donors, n_starts, float(np.quantile(model.subspace_.split(rows)[1], USUAL)))

    def __call__(self, Z, max_iter, tol):
        """The rows of Z completed, and the number of alternations."""
        if len(Z) == 0:
            return Z, 0
        tiles = row_tiles(len(Z), len(self.donors) + TEMPORARIES * self.n_starts * Z.shape[1])
        filled, n_iter = zip(*(self._complete(Z[rows], max_iter, tol) for rows in tiles), strict=True)
        return np.concatenate(filled), max(n_iter)

    def _complete(self, Z, max_iter, tol):
        starts = nearest(self.donors, Z, self.n_starts - 1)
        ends, r2, n_iter = completions(self.model.subspace_, Z, starts, max_iter, tol)
        return average(ends, r2, self.rho), n_iter


def _word(width):
    return f"gamma = {width:g} / median" if isinstance(width, Real) else repr(width)


def _check_columns(X):
    empty = np.flatnonzero(np.isnan(X).all(axis=0))
    if len(empty):
        raise ValueError(f"The columns {empty.tolist()} have no value: nothing tells what to fill in. Drop them.")
