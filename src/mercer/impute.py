"""Missing values, filled in by what the rest of a row says under a kernel PCA."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _checks
from .kernels import NAMES, RBF, Radial, as_kernel
from .kernels.width import median_sqdist
from .landmarks import Landmarks
from .models.kernel_pca import KernelPCA
from .preimage import FixedPoint, as_preimage
from .select.preimages import Choice
from .tiles import row_tiles

WIDTHS = (0.3, 1.0, 3.0)  # γ times the median squared distance, compared where no kernel is given
SHARES = (0.8, 0.9, 0.95)  # of the variance, compared where no number of components is given
HIDDEN = 0.1  # of the known values, which are hidden to compare
TRIAL_ROWS = 400  # that a comparison takes
ROUNDS = 3  # of fits, where the rows to fit on are incomplete themselves
FEW = 1000  # rows up to which no landmarks are needed
LANDMARKS = 500
TEMPORARIES = 4  # arrays of the size (rows, anchors) alive at once in a pre-image


class KernelPCAImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill in missing values by alternating projections and pre-images.

    Missing values begin at the column's mean. The row is projected onto the principal subspace, the pre-image of the
    projection gives new values for what is missing, and so on until they settle: at a point of least distance r² to the
    subspace among all rows that agree with what is known. There may be several. So each row begins from other values
    too, and the ends are averaged with weights exp(−r²/ρ), ρ the mean r² of the rows fitted on.

    Parameters
    ----------
    n_components : int, float or None, default=None
        As in :class:`~mercer.KernelPCA`; None to choose among the numbers that hold 80, 90 and 95 % of the variance by
        hiding known values.
    kernel : str, Kernel, callable or None, default=None
        None for an RBF with γ = 0.3, 1 or 3 / median squared distance, chosen alike.
    scale : {"columns", "none"}, default="columns"
        Whether columns are divided by their standard deviations first. ``"none"`` is for columns of one unit, such as
        the pixels of an image.
    n_starts : int, default=5
        Values that each row begins from: the means, and those of rows drawn by lot.
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
    choice_ : Choice or None
        What was compared, with the error of hidden values, where something was to be chosen.
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
        "n_components": [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 1, closed="neither"), None],
        "kernel": [StrOptions(set(NAMES) - {"precomputed"}), callable, None],
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
        n_starts=5,
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
        with _checks.unchanged_on_error(self):
            self._validate_params()
            X = self._rows(X, fit=True)
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            _check_columns(X)
            self.mean_ = np.nanmean(X, axis=0, dtype=float)
            spread = np.nanstd(X, axis=0, dtype=float)
            spread = spread if self.scale == "columns" else np.full_like(spread, np.sqrt(np.mean(spread**2)))
            self.scale_ = np.where(spread > 0, spread, 1.0)
            Z = (X - self.mean_) / self.scale_
            self.choice_, settings = self._choose(Z, rng)
            self.model_, self.donors_, self.rho_, self.n_iter_ = self._find(Z, settings, rng)
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
            filled, _ = self._fill((X[rows] - self.mean_) / self.scale_, self.model_, self.donors_, self.rho_)
            full[rows] = np.where(np.isnan(X[rows]), filled * self.scale_ + self.mean_, X[rows])
        return full

    def _rows(self, X, fit=False):
        _checks.check_unmasked(X)
        return validate_data(self, X, reset=fit, dtype=_checks.DTYPES, ensure_all_finite="allow-nan")

    def _choose(self, Z, rng):
        """The settings (kernel or factor of γ, components), by the error of known values that are hidden."""
        widths = WIDTHS if self.kernel is None else (as_kernel(self.kernel),)
        shares = SHARES if self.n_components is None else (self.n_components,)
        tried = {f"{_word(width)}, {share:g}": (width, share) for width in widths for share in shares}
        if len(tried) == 1:
            return None, next(iter(tried.values()))
        trial = Z[np.sort(rng.choice(len(Z), min(len(Z), TRIAL_ROWS), replace=False))]
        hidden = ~np.isnan(trial) & (rng.random(trial.shape) < HIDDEN)
        shown = np.where(hidden, np.nan, trial)
        hidden &= ~np.isnan(shown).all(axis=0)  # a column must keep a value
        shown = np.where(hidden, np.nan, trial)
        if not hidden.any():
            return None, (widths[len(widths) // 2], shares[len(shares) // 2])
        seed = int(rng.integers(2**31))
        table = {name: self._error(trial, shown, hidden, settings, seed) for name, settings in tried.items()}
        best = min(table, key=table.__getitem__)
        return Choice(table, best, None), tried[best]

    def _error(self, Z, shown, hidden, settings, seed):
        """The mean squared error of hidden values, in variances of their columns."""
        model, donors, rho, _ = self._find(shown, settings, np.random.default_rng(seed))
        rows = hidden.any(axis=1)
        filled, _ = self._fill(shown[rows], model, donors, rho)
        return float(np.mean((filled - Z[rows])[hidden[rows]] ** 2))

    def _find(self, Z, settings, rng):
        """The model of the completed rows, rows to begin from, ρ, and the number of alternations."""
        missing = np.isnan(Z)
        complete = ~missing.any(axis=1)
        full = np.where(missing, 0.0, Z)
        enough = 2 * complete.sum() > len(Z)
        rounds, n_iter = 1 if enough else ROUNDS, 0
        for _ in range(rounds):
            rows = full[complete] if enough else full
            model = _model(rows, settings, rng)
            rho = float(np.mean(model.subspace_.split(rows)[1]))
            donors = rows[np.sort(rng.choice(len(rows), min(len(rows), self.n_starts - 1), replace=False))]
            if enough:
                break
            filled, n_iter = self._fill(Z[~complete], model, donors, rho)
            full[~complete] = filled
        return model, donors, rho, n_iter

    def _fill(self, Z, model, donors, rho):
        """Rows completed from every start, averaged; and the number of alternations."""
        missing = np.isnan(Z)
        starts = [np.where(missing, 0.0, Z), *(np.where(missing, donor, Z) for donor in donors)]
        ends, counts = zip(*(settle(model.subspace_, start, missing, self.max_iter, self.tol) for start in starts))
        r2 = np.array([model.subspace_.split(end)[1] for end in ends])
        w = np.exp(-(r2 - r2.min(axis=0)) / max(rho, np.finfo(float).eps))
        return np.einsum("sn,snd->nd", w / w.sum(axis=0), np.array(ends)), max(counts)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def settle(subspace, X, missing, max_iter, tol):
    """Alternate projection and pre-image on the missing entries until no row changes by ``tol``; and how often.

    For radial kernels the pre-image is one step of the fixed point: the projection moves with the row anyway.
    """
    radial = isinstance(subspace.kernel, Radial)
    nearest = (FixedPoint(max_iter=1) if radial else as_preimage("auto", subspace.kernel)).bind(subspace)
    X, going, n_iter = X.copy(), np.flatnonzero(missing.any(axis=1)), 0
    while len(going) and n_iter < max_iter:
        n_iter += 1
        tiles = [going[rows] for rows in row_tiles(len(going), TEMPORARIES * subspace.Z.shape[0])]
        changes = [_alternate(subspace, nearest, X, missing, rows) for rows in tiles]
        going = going[np.concatenate(changes) > tol]
    return X, n_iter


def _alternate(subspace, nearest, X, missing, rows):
    """Move some rows of X; return by how much, as the root of the mean square over their missing entries."""
    x, gone = X[rows], missing[rows]
    X[rows] = np.where(gone, nearest(subspace.lift(subspace.project(x)), x).X, x)
    return np.sqrt(np.sum((X[rows] - x) ** 2, axis=1) / gone.sum(axis=1))


def _model(rows, settings, rng):
    width, components = settings
    kernel = RBF(gamma=width / (median_sqdist(rows) or 1.0)) if isinstance(width, Real) else clone(width)
    solver = "auto" if len(rows) <= FEW else Landmarks(n=min(LANDMARKS, len(rows)))
    return KernelPCA(components, kernel=kernel, solver=solver, random_state=int(rng.integers(2**31))).fit(rows)


def _word(width):
    return f"gamma = {width:g} / median" if isinstance(width, Real) else repr(width)


def _check_columns(X):
    empty = np.flatnonzero(np.isnan(X).all(axis=0))
    if len(empty):
        raise ValueError(f"The columns {empty.tolist()} have no value at all: nothing tells what to fill in. Drop them.")
