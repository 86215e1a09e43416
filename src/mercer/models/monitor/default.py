"""The estimator that a monitor takes where none is given: rules for scaling, width and components of raw tables."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._core.registry import stored
from ...kernels import RBF
from ...kernels.width import median_sqdist
from ...rkhs import Expansion
from ...rkhs.landmarks import Landmarks
from ..kernel_pca import KernelPCA

WIDTH = 0.1  # γ times the median squared distance: wide, so that axes follow what columns do together
SHARE = 0.98  # of the variance that the components hold
THIN = 3  # times less dense than the median: such rows do not count for the axes, a table may hold anomalies
REFERENCE = 1000  # rows by which density is judged
FEW = 1000  # rows up to which no landmarks are needed
LANDMARKS = 500
MOST_ROWS = 50_000  # that all this is found on: a hundred for each landmark
INNER = (5, 95)  # percentiles that a column's scale is taken from
NORMAL_RANGE = 3.29  # standard deviations between them for a normal column


@stored("monitor.InnerScaler")
class InnerScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Subtract medians and divide by the range from the 5th to the 95th percentile, as standard deviations.

    A column with no such range, that is nearly always the same, is divided by its standard deviation; a constant one
    by 1.
    """

    def fit(self, X, y=None):
        """Find the scale of each column."""
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        low, self.center_, high = np.percentile(X.astype(float), [INNER[0], 50, INNER[1]], axis=0)
        deviation = X.std(axis=0, dtype=float)
        scale = np.where(high > low, (high - low) / NORMAL_RANGE, deviation)
        self.scale_ = np.where(scale > 0, scale, 1.0)
        return self

    def transform(self, X):
        """Return the columns in their scales."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return ((X - self.center_) / self.scale_).astype(X.dtype)


def fit_default(X, rng, *, gamma=None, q=None):
    """Return the default estimator, fitted on X, and the rows that its axes were found on.

    Columns are scaled by :class:`InnerScaler`; γ = 0.1 / median squared distance; rows a third as dense as the
    median row, or less, do not count; components hold 98 % of the variance; beyond 1000 rows there are 500 landmarks,
    and of more than 50 000 rows as many are taken by lot.
    """
    n = len(X)
    lot = np.arange(n) if n <= MOST_ROWS else np.sort(rng.choice(n, MOST_ROWS, replace=False))
    scaler = InnerScaler().fit(X[lot])
    rows = scaler.transform(X[lot])
    gamma = WIDTH / (median_sqdist(rows) or 1.0) if gamma is None else gamma
    core = dense_enough(rows, RBF(gamma=gamma / WIDTH), rng)
    model = KernelPCA(
        SHARE if q is None else q,
        kernel=RBF(gamma=float(gamma)),
        solver="auto" if n <= FEW else Landmarks(n=LANDMARKS),
        random_state=int(rng.integers(2**31)),
    ).fit(rows, sample_weight=None if core.all() else core.astype(float))
    seen = np.zeros(n, bool)
    seen[lot[core]] = True
    return Pipeline([("scaler", scaler), ("model", model)]), seen


def dense_enough(X, kernel, rng):
    """The rows that are not much less dense than the median row, by the mean of k(x, ·) over some rows: a mask."""
    n = len(X)
    some = X if n <= REFERENCE else X[np.sort(rng.choice(n, REFERENCE, replace=False))]
    density = Expansion(kernel, some, np.full((len(some), 1), 1 / len(some), X.dtype))(X)[:, 0]
    return THIN * density >= np.median(density)
