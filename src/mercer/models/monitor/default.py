"""The default estimator of a monitor, for unscaled tables: scaling, kernel width and number of components."""

import warnings
from typing import Annotated, Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._core.fields import Count, Maybe, Names, Numbers
from ..._core.registry import stored
from ..._core.warn import ColumnScaleWarning, LandmarkWarning, RepeatedRowsWarning
from ...kernels.width import median_sqdist
from ...rkhs.landmarks import Landmarks
from ..kernel_pca import KernelPCA
from .rules import Rules

MOST_ROWS = 50_000  # that the scaler and the model are fitted on: more than a hundred for each landmark
INNER = 5.0  # percent of the values at each end that do not define the scale of a column …
OUTER = 2.5  # … and in a table whose rows are all normal


@stored("monitor.InnerScaler")
class InnerScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Subtract the median and divide by the range of the inner values, without ``percent`` of them at each end.

    At least one value at each end does not count, but at most 5 %. The range is divided by that of a normal
    distribution: the divisor of a normally distributed column is its standard deviation. A column whose range is 0,
    because most of its values are equal, is divided by its standard deviation, and a constant column by 1.
    """

    n_features_in_: Count
    feature_names_in_: Maybe[Names]
    center_: Annotated[np.ndarray, Numbers("n_features_in_")]
    scale_: Annotated[np.ndarray, Numbers("n_features_in_")]

    def __init__(self, percent: float = INNER) -> None:
        self.percent = percent

    def fit(self, X: Any, y: None = None) -> "InnerScaler":
        """Find the scale of each column."""
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        p = min(max(self.percent, 100 / max(1, len(X) - 1)), INNER)
        low, self.center_, high = np.percentile(X.astype(float), [p, 50, 100 - p], axis=0)
        deviation = X.std(axis=0, dtype=float)
        scale = np.where(high > low, (high - low) / (2 * ndtri(1 - p / 100)), deviation)
        self.scale_ = np.where(scale > 0, scale, 1.0)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the scaled columns."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return ((X - self.center_) / self.scale_).astype(X.dtype)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return scaled columns in their own units."""
        check_is_fitted(self)
        return np.asarray(X) * self.scale_ + self.center_


def fit_default(
    X: np.ndarray,
    rng: np.random.Generator,
    rules: Rules,
    n_landmarks: int,
    percent: float = OUTER,
    like: Pipeline | None = None,
) -> Pipeline:
    """Return a pipeline of a scaler and a kernel PCA, chosen by the ``rules`` and fitted on X.

    Landmarks are used if there are more rows than ``n_landmarks``. A random subset of at most 50,000 rows is used.
    The width, the number of components, and the scales of columns that are constant in X are those of the pipeline
    ``like``, if it is given: T² and SPE are then comparable, even if a column varies only in rows that X does not have.
    """
    n = len(X)
    rows = X if n <= MOST_ROWS else X[np.sort(rng.choice(n, MOST_ROWS, replace=False))]
    scaler = InnerScaler(percent).fit(rows)
    if like is not None:
        scaler.scale_ = np.where(np.ptp(rows, axis=0) > 0, scaler.scale_, like[0].scale_)
    rows = scaler.transform(rows)
    gamma = rules.width / (median_sqdist(rows) or 1.0) if like is None else like[-1].kernel_.gamma
    model = KernelPCA(
        rules.share if like is None else max(1, like[-1].n_components_),
        kernel=rules.kernel_of(float(gamma)),
        solver="auto" if n <= n_landmarks else Landmarks(n=n_landmarks),
        random_state=int(rng.integers(2**31)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LandmarkWarning)  # SPE includes the part outside the span of the landmarks
        warnings.simplefilter("ignore", RepeatedRowsWarning)  # a monitor takes no weights, and has a warning of its own
        warnings.simplefilter("ignore", ColumnScaleWarning)  # columns are scaled, and a wild cell changes nothing
        model.fit(rows)
    return Pipeline([("scaler", scaler), ("model", model)])
