"""A detector of abnormal rows by the two charts of process monitoring."""

from copy import copy
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._core.dask import is_lazy, rowwise, take
from ..._core.registry import register
from ..._core.sklearn import HasMethods, Interval, StrOptions
from ...kernels import Precomputed
from .. import validation
from ..pipelines import parts
from . import charts, checks, limits
from .calibration import held_out, left_out, t2_and_spe
from .contributions import contributions
from .default import MOST_ROWS, fit_default

HELD_OUT_ROWS = 10_000  # that limits are set by
LIMITS = ("holdout", "loo", "f-chi2", "quantile")


@register("monitor", file="monitor.KernelPCAMonitor")
class KernelPCAMonitor(OutlierMixin, BaseEstimator):
    """Tell abnormal rows by T² inside the principal subspace and SPE, the squared distance to it.

    T² = Σ y²/λ grows where a row is far from the mean along the axes; SPE = r² grows where it leaves the subspace. Each
    has a limit, and together they give false alarms at the rate ``alpha``.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A kernel PCA, or a pipeline that ends with one: any model of mercer that has a ``subspace_``. None for one made
        for raw tables: columns scaled by their inner 90 %, an RBF with γ = 0.1 / median squared distance, axes from
        the rows that are at least a third as dense as the median row, components for 98 % of the variance, 500
        landmarks beyond 1000 rows, and 50 000 rows by lot where there are more.
    alpha : float, default=0.01
        The share of normal rows that raise an alarm, in one chart or both.
    limits : {"holdout", "loo", "f-chi2", "quantile"}, default="holdout"
        Where the limits come from. ``"holdout"``: rows that the model has not seen, in five folds of blocks of
        consecutive rows, until there are 10 000. ``"loo"``: each row by the model of all others (a ``KernelPCA``, up
        to some thousand rows). ``"f-chi2"``: the F and g·χ² laws from the training rows. ``"quantile"``: quantiles
        of the training rows; like the laws it is optimistic, because the model has seen them.
    random_state : int, RandomState or None, default=None
        For the folds, and the default estimator's landmarks.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    limits_ : Limits
        The limits ``t2`` and ``spe``.
    calibration_ : ndarray of shape (n_calibration, 2)
        T² and SPE of the rows that the limits were set by, in their order.
    offset_ : float
        −1: a score below it is an alarm.

    Examples
    --------
    >>> from mercer import KernelPCAMonitor
    >>> from mercer.datasets import TANK_SENSORS, three_tanks
    >>> normal, _ = three_tanks(n=600)
    >>> monitor = KernelPCAMonitor(random_state=0).fit(normal)
    >>> X, y = three_tanks(1, n=100, fault="sensor", sensor=2)
    >>> bool((monitor.predict(X)[y == 1] == -1).mean() > 0.9)
    True
    >>> TANK_SENSORS[monitor.contributions(X[y == 1]).mean(axis=0).argmax()]
    'level 3'
    """

    _doc_link_module = "mercer"
    _parameter_constraints: dict = {
        "estimator": [HasMethods("fit"), None],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "limits": [StrOptions(set(LIMITS))],
        "random_state": ["random_state"],
    }

    def __init__(self, estimator=None, *, alpha=0.01, limits="holdout", random_state=None):
        self.estimator = estimator
        self.alpha = alpha
        self.limits = limits
        self.random_state = random_state

    def fit(self, X, y=None):
        """Fit the model and set the limits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of normal operation; a few abnormal ones among them do little harm.
        y : None
            Not used; present by convention.

        Returns
        -------
        self : object
            The fitted monitor.
        """
        with validation.unchanged_on_error(self):
            self._validate_params()
            if is_lazy(X):
                self._fit_lazy(validation.check_lazy_rows(self, X)[0])
            else:
                self._fit(self._rows(X, fit=True))
        return self

    def _fit_lazy(self, X):
        """Fit to a Dask array: the last rows are held out for the limits; no estimator given, rows by lot serve it."""
        rng, n = np.random.default_rng(check_random_state(self.random_state).randint(2**31)), X.shape[0]
        if self.estimator is None:
            self._fit(take(X, np.sort(rng.choice(n, min(n, MOST_ROWS), replace=False))))
            return
        if isinstance(self.estimator, Pipeline) or self.limits == "loo":
            raise ValueError(
                "A monitor of a Dask array takes a model alone, not a pipeline, and its limits from held-out rows. "
                "Scale the Dask array first, and leave limits at 'holdout'."
            )
        held = max(1, min(HELD_OUT_ROWS, n // 5))  # a fifth, as in the folds
        self.estimator_ = clone(self.estimator).fit(X[: n - held])
        self.calibration_ = np.column_stack(t2_and_spe(self.estimator_, take(X, slice(n - held, n))))
        self.limits_ = self._limits(self.calibration_, self.alpha)
        self.offset_ = -1.0

    def _fit(self, X):
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        checks.warn_of_constants(X, getattr(self, "feature_names_in_", None))
        self.estimator_, seen, again = self._recipe(X, rng)
        _, model = parts(self.estimator_)
        if not hasattr(model, "subspace_"):
            raise ValueError(f"The estimator must end with a model of mercer, and {type(model).__name__} is none.")
        if isinstance(model.subspace_.kernel, Precomputed):
            raise ValueError("A monitor needs rows, and this estimator has a precomputed kernel.")
        subspace = model.subspace_
        checks.warn_of_few_rows(model, len(X))
        if self.limits == "holdout":
            values = held_out(again, X, len(subspace.variances), rng)
        elif self.limits == "loo":
            values = left_out(self.estimator_, X, seen)
        else:
            values = t2_and_spe(self.estimator_, X)
        self.calibration_ = np.column_stack(values)
        self.limits_ = self._limits(self.calibration_, self.alpha)
        self.offset_ = -1.0

    def _recipe(self, X, rng):
        """The fitted estimator, the rows that it saw, and a function that fits it again on other rows."""
        if self.estimator is None:
            fitted, seen = fit_default(X, rng)
            gamma, q = fitted[-1].kernel_.gamma, max(1, fitted[-1].n_components_)
            return fitted, seen, lambda rows: fit_default(rows, rng, gamma=gamma, q=q)[0]
        fit = lambda rows: clone(self.estimator).fit(rows, None)  # noqa: E731
        return fit(X), np.ones(len(X), bool), fit

    def _limits(self, calibration, alpha):
        """The limits at a rate ``alpha`` from the values of T² and SPE in the columns of ``calibration``."""
        subspace, (t2, spe) = parts(self.estimator_)[1].subspace_, calibration.T
        if self.limits == "f-chi2":
            found = limits.classical(t2, spe, alpha, len(subspace.variances), len(calibration))
        else:
            found = limits.empirical(t2, spe, alpha)
        return limits.above_rounding(found, subspace.total_variance)

    def statistics(self, X):
        """Return T² and SPE of each row, from one evaluation of the kernel: two arrays of shape (n_samples,)."""
        check_is_fitted(self)
        return t2_and_spe(self.estimator_, self._rows(X))

    @rowwise
    def t2(self, X):
        """Return T² = Σ y²/λ of each row: how far it is from the mean along the axes."""
        return self.statistics(X)[0]

    @rowwise
    def spe(self, X):
        """Return SPE = r² of each row: its squared distance to the subspace."""
        return self.statistics(X)[1]

    @rowwise
    def score_samples(self, X):
        """Return −max(T²/limit, SPE/limit) of each row: the lower, the more abnormal; below −1 is an alarm."""
        t2, spe = self.statistics(X)
        return -np.maximum(t2 / self.limits_.t2, spe / self.limits_.spe)

    @rowwise
    def decision_function(self, X):
        """Return ``score_samples(X) − offset_``: negative for alarms."""
        return self.score_samples(X) - self.offset_

    @rowwise
    def predict(self, X):
        """Return −1 for rows beyond a limit, 1 for all others."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def contributions(self, X, of="spe"):
        """Return how much each input variable contributes to a statistic of each row.

        The gradient is integrated from the denoised row to the row, so that contributions sum to the difference of
        the statistic between the two. The kernel must be differentiable.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, most often those of an alarm.
        of : {"spe", "t2"}, default="spe"
            The statistic.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features)
            The largest names the variable to look at first.
        """
        check_is_fitted(self)
        if of not in {"spe", "t2"}:
            raise ValueError(f"of must be 'spe' or 't2', and {of!r} was given.")
        return contributions(self.estimator_, self._rows(X), of)

    def chart(self, X, *, smoothing=0.2, run=1):
        """Return the charts of rows in time: smoothed T² and SPE, limits for them, and alarms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order of time; a frame with a time index is looked at for gaps.
        smoothing : float in (0, 1], default=0.2
            The weight of the newest row in the exponential average; 1 for no smoothing. Limits are set anew, by the
            calibration rows smoothed alike: smaller values find smaller, lasting faults.
        run : int, default=1
            Rows in a row that must be beyond a limit before there is an alarm.

        Returns
        -------
        chart : Chart
            ``t2``, ``spe``, ``limits``, ``beyond``, ``alarms``, and ``delay(start)``.
        """
        check_is_fitted(self)
        checks.check_chart(smoothing, run)
        gaps = charts.gaps_of(X)
        before, now = charts.smoothed(self.calibration_, smoothing).T, self.statistics(X)
        # a smoothed T² follows no F law: quantiles, or where there are few rows the tail of g·χ²
        found = self.limits_ if smoothing == 1 else limits.empirical(before[0], before[1], self.alpha)
        found = limits.above_rounding(found, parts(self.estimator_)[1].subspace_.total_variance)
        return charts.chart(now[0], now[1], found, smoothing, run, gaps)

    def plot(self, X, of="spe", ax=None):
        """Draw T² (``of="t2"``) or SPE of rows in their order, with its limit: :func:`mercer.plots.chart`."""
        from ...plots import chart

        return chart(self, X, of, ax)

    def _subspaces(self):
        """The subspaces of the model, for :func:`mercer.compress`."""
        return parts(self.estimator_)[1]._subspaces()

    def _with_subspaces(self, subspaces):
        """A copy of the monitor on other subspaces, with the limits that it has."""
        small = copy(self)
        model = parts(self.estimator_)[1]._with_subspaces(subspaces)
        pipeline = isinstance(self.estimator_, Pipeline)
        steps = [*self.estimator_.steps[:-1], (self.estimator_.steps[-1][0], model)] if pipeline else []
        small.estimator_ = Pipeline(steps) if pipeline else model
        return small

    @property
    def _rho(self):
        return parts(self.estimator_)[1]._rho

    def _rows(self, X, fit=False):
        validation.check_unmasked(X)
        try:
            return validate_data(self, X, reset=fit, dtype=validation.DTYPES, ensure_min_samples=2 if fit else 1)
        except ValueError as error:
            where = validation.missing_where(X) if "NaN" in str(error) else ""
            raise ValueError(f"{error}{where}") from None
