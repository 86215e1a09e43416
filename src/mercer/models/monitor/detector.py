"""The estimator that detects abnormal rows by T² and SPE, the two statistics of process monitoring."""

from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._core.arrays import is_objects
from ..._core.dask import is_lazy
from ..._core.registry import register
from ..._core.sklearn import HasMethods, Interval, Options, StrOptions
from ...kernels import as_kernel
from ...rkhs.subspace import Subspace
from .. import validation
from ..kernel_parameter import takes_objects
from ..pipelines import parts
from . import charts, checks, tails
from .calibration import t2_and_spe
from .contributions import contributions
from .discoveries import benjamini_hochberg, conformal
from .fitting import Fitting
from .following import FollowingMixin
from .lags import as_runs, by_lag, lagged, of_rows
from .limits import Limits
from .report import MonitorReport

LIMITS = ("holdout", "loo", "f-chi2", "quantile")


@register("monitor", file="monitor.KernelPCAMonitor")
class KernelPCAMonitor(FollowingMixin, Fitting, OutlierMixin, BaseEstimator):
    """Detect abnormal rows by T² inside the principal subspace and SPE, the squared distance to it.

    T² = Σ y²/λ, with the coordinates y of a row and the variances λ of the axes, is large if the row is far from the
    mean along the axes. SPE = r² is large if the row is far from the subspace. Both are converted to tail
    probabilities, which are estimated from rows that the model has not seen. The score of a row is the logarithm of the
    joint tail probability. A share ``alpha`` of normal rows raises alarms.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A kernel PCA, or a pipeline that ends with one: any model of mercer with a ``subspace_``. None: an estimator
        for unscaled tables, chosen by rules that depend on ``in_time``; ``solver_`` describes the choice.
    alpha : float, default=0.01
        The share of normal rows that raise an alarm in T² or SPE.
    limits : {"holdout", "loo", "f-chi2", "quantile"}, default="holdout"
        How the tail probabilities are estimated. ``"holdout"``: from at most about 10,000 rows that the model has not
        seen. They are held out in blocks of consecutive rows, ten for rows in time and five for exchangeable rows,
        which are shuffled before; on a Dask array the last rows are held out. ``"loo"``: from all rows, each under the
        model of all other rows (only for a ``KernelPCA``, and up to some thousand rows). ``"f-chi2"``: by the F and
        g·χ² distributions, fitted to the training rows. ``"quantile"``: from the training rows. The last two are too
        optimistic, because the model has seen these rows.
    in_time : {"auto", True, False}, default="auto"
        True if the order of the rows is their order in time. False if the rows are exchangeable, as in a table: their
        order has no meaning. ``"auto"``: True if more than half of the columns have a significant correlation from one
        row to the next. Fewer than 50 rows may not show it, and get a warning if they are treated as exchangeable.
    lags : int, default=0
        Number of preceding rows that the model sees together with each row. The first rows of a run (see ``groups`` of
        ``fit``) have fewer predecessors and are left out of the fit. When they are scored, the first row of the run
        replaces the missing ones.
    contamination : float in [0, 0.5) or "auto", default=0.0
        The share of the training rows that may be abnormal. This share of the rows, those farthest from their nearest
        neighbours, is called abnormal, and twice as many rows are left out when the axes are fitted. Copies of a row
        are called what most of them are called. Abnormal rows that could also belong to a heavy tail of the normal
        ones are still used for the limits, which would be too tight without them. ``"auto"``: a cautious estimate, at
        most 0.1, of the share of rows that are too isolated to be normal; ``contamination_`` reports it.
    n_landmarks : int, default=400
        Number of landmarks of the default estimator, which are used if there are more rows than this. With fewer
        landmarks rows are scored faster, and slightly fewer faults are detected.
    random_state : int, RandomState or None, default=None
        Seed for the folds and the landmarks of the default estimator.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    limits_ : Limits
        The limits ``t2`` and ``spe``.
    offset_ : float
        log α: scores below it are alarms.
    in_time_ : bool
        Whether the rows were treated as rows in time.
    serial_share_ : float
        The share of the columns that are correlated from one row to the next.
    contamination_ : float
        The share of the training rows that are called abnormal.
    suspect_share_ : float
        The estimated share of the training rows that are more isolated than a heavy tail explains, at most 0.1.
    solver_ : MonitorReport
        The decisions of the fit: the kind of rows and the reason, the rules, the share of rows left out, and the
        effective number of independent rows that determine the limits; also the accuracy of the eigenpairs.
    rules_ : Rules or None
        Kernel, width, components and statistics of the default estimator; None if an estimator was given.
    mean_ : ndarray of shape (n_features * (lags + 1),)
        The mean of the training rows, without those left out.
    calibration_ : ndarray of shape (n_calibration, 2)
        T² and SPE of the rows that determine the limits.
    n_effective_ : float
        The effective number of independent calibration rows; smaller than their number if rows are in time.

    Examples
    --------
    >>> from mercer import KernelPCAMonitor
    >>> from mercer.datasets import TANK_SENSORS, three_tanks
    >>> normal, _ = three_tanks(n=600)
    >>> monitor = KernelPCAMonitor(random_state=0).fit(normal)
    >>> X, y = three_tanks(1, n=100, fault="sensor", sensor=2)
    >>> alarms = monitor.predict(X) == -1
    >>> print(f"{alarms[y == 0].mean():.0%} of normal rows, {alarms[y == 1].mean():.0%} of faulty rows")
    0% of normal rows, 100% of faulty rows
    >>> TANK_SENSORS[monitor.contributions(X[y == 1]).mean(axis=0).argmax()]
    'level 3'
    """

    _doc_link_module = "mercer"
    _parameter_constraints: dict = {
        "estimator": [HasMethods("fit"), None],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "limits": [StrOptions(set(LIMITS))],
        "in_time": [StrOptions({"auto"}), "boolean"],
        "lags": [Interval(Integral, 0, None, closed="left")],
        "contamination": [StrOptions({"auto"}), Options(Real, {0.0}), Interval(Real, 0, 0.5, closed="neither")],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        alpha: float = 0.01,
        limits: str = "holdout",
        in_time: bool | str = "auto",
        lags: int = 0,
        contamination: float | str = 0.0,
        n_landmarks: int = 400,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.alpha = alpha
        self.limits = limits
        self.in_time = in_time
        self.lags = lags
        self.contamination = contamination
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: None = None, *, groups: Any = None) -> "KernelPCAMonitor":
        """Fit the model and set the limits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of normal operation; set ``contamination`` if some may be abnormal.
        y : None
            Not used; present by convention.
        groups : array-like of shape (n_samples,), default=None
            The run of each row, if there are several runs. The rows of a run must be consecutive, and no row is
            combined with predecessors from another run.

        Returns
        -------
        self : object
            The fitted monitor.
        """
        with validation.unchanged_on_error(self):
            self._validate_params()
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            if is_lazy(X):
                self._fit_lazy(validation.check_lazy_rows(self, X)[0], rng, groups)
            else:
                X = self._rows(X, fit=True)
                self._fit(X, as_runs(groups, len(X)), rng)
        return self

    @property
    def solver_(self) -> MonitorReport:
        """The decisions about the rows, and the report on the eigensolver of the model."""
        check_is_fitted(self)
        chosen = getattr(self, "rules_", None)
        return MonitorReport(
            **vars(parts(self.estimator_)[1].solver_),
            kind=self._kind_of_rows(),
            rules="the given estimator" if chosen is None else str(replace(chosen, charts=self._charts)),
            left_out=getattr(self, "contamination_", 0.0),
            suspect=getattr(self, "suspect_share_", 0.0),
            n_calibration=len(self.calibration_),
            n_effective=getattr(self, "n_effective_", float(len(self.calibration_))),
        )

    def _kind_of_rows(self) -> str:
        if not hasattr(self, "tails_"):
            return "unknown kind of rows (the model was saved by an earlier version)"
        share = f"{self.serial_share_:.0%} of the columns are correlated from row to row"
        why = share if self.in_time == "auto" else "as given"
        kind = "rows in time" if self.in_time_ else "exchangeable rows"
        return f"{kind} ({'lags were asked for' if self.lags else why})"

    def statistics(self, X: Any, groups: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return T² and SPE of each row, from one evaluation of the kernel: two arrays of shape (n_samples,).

        With the default estimator for exchangeable rows, training rows have the values that they had when held out.
        """
        check_is_fitted(self)
        t2, spe = self._statistics(self._seen(X, groups)).T
        return t2, spe

    def _statistics(self, rows: np.ndarray) -> np.ndarray:
        values = np.column_stack(t2_and_spe(self.estimator_, rows))
        training = getattr(self, "training_", None)
        return values if training is None else training.known_values(rows, values)

    @of_rows
    def t2(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return T² = Σ y²/λ of each row: how far it is from the mean along the axes."""
        return self.statistics(X, groups)[0]

    @of_rows
    def spe(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return SPE = r² of each row: its squared distance to the subspace."""
        return self.statistics(X, groups)[1]

    @of_rows
    def score_samples(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the log tail probability of each row; lower is more abnormal, and values below log α are alarms.

        The probability follows from the rank of the row among the calibration rows, and beyond the largest of these
        from a fitted distribution. With ``contamination``, the training rows that were left out as abnormal are alarms,
        and the other training rows are not.
        """
        check_is_fitted(self)
        rows = self._seen(X, groups)
        t2, spe = self._statistics(rows).T
        if not hasattr(self, "tails_"):  # a model that an earlier version saved
            return -np.maximum(t2 / self.limits_.t2, spe / self.limits_.spe)
        scores = self.tails_.log_p(t2, spe)
        return scores if self.training_ is None else self.training_.known_scores(rows, scores, self.offset_)

    @of_rows
    def decision_function(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return ``score_samples(X) − offset_``: negative for alarms."""
        return self.score_samples(X, groups) - self.offset_

    @of_rows
    def predict(self, X: Any, groups: Any = None, run: int | tuple[int, int] | None = None) -> np.ndarray:
        """Return −1 for alarms, 1 for all other rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        groups : array-like of shape (n_samples,), default=None
            The run of each row.
        run : int or tuple of two ints, default=None
            A rule for alarms of rows in time. ``(k, m)``: an alarm if at least k of the last m rows are beyond a limit;
            an integer m: if all of the last m rows are. By default every row beyond a limit is an alarm.

        Returns
        -------
        alarms : ndarray of shape (n_samples,)
            −1 or 1.
        """
        beyond = self.decision_function(X, groups) < 0
        rule = checks.as_rule(run)
        return np.where(charts.alarms(beyond, rule, _starts(as_runs(groups, len(beyond)))), -1, 1)

    def p_values(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return a p-value of each row, which is valid in finite samples if the row is exchangeable with held-out rows.

        The smallest possible value is 1/(n + 1) for n calibration rows. For rows in time n is ``n_effective_``, the
        effective number of independent rows. The p-values are not valid with ``limits="quantile"`` and ``"f-chi2"``,
        because the model has seen its calibration rows.
        """
        values = np.column_stack(self.statistics(X, groups))
        kept = [["t2", "spe"].index(chart) for chart in self._charts]
        n = getattr(self, "n_effective_", float(len(self.calibration_)))
        return conformal(self.calibration_[:, kept], values[:, kept], n)

    def discoveries(self, X: Any, rate: float = 0.1, groups: Any = None) -> np.ndarray:
        """Return a mask of the abnormal rows of a batch, of which an expected share of at most ``rate`` is false.

        It is computed by the Benjamini–Hochberg procedure from :meth:`p_values`; its shape is (n_samples,).
        """
        if not (isinstance(rate, Real) and 0 < float(rate) < 1):
            raise ValueError(f"rate must be a number between 0 and 1, and {rate!r} was given.")
        return benjamini_hochberg(self.p_values(X, groups), float(rate))

    def contributions(self, X: Any, of: str | None = None, groups: Any = None, *, by_lags: bool = False) -> np.ndarray:
        """Return how much each input variable contributes to a statistic of each row.

        The gradient of the statistic is integrated from a normal reference row to the given row, so that contributions
        sum to the difference of the statistic between the two. The reference is the denoised row for SPE, and the mean
        of the training rows for the other statistics. The kernel must be differentiable.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, usually those that raise an alarm; with lags, whole runs.
        of : {"joint", "spe", "t2"}, default=None
            The statistic; ``"joint"`` is T²/limit + SPE/limit. None for the statistic that raises alarms: the joint
            one, or SPE if only SPE is used.
        groups : array-like of shape (n_samples,), default=None
            The run of each row.
        by_lags : bool, default=False
            Return the contributions of each lag, instead of the sums over the lags.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features) or (n_samples, lags + 1, n_features)
            The variable with the largest contribution is the one to look at first.
        """
        check_is_fitted(self)
        of = of or ("joint" if np.isfinite(self.limits_.t2) else "spe")
        if of not in {"joint", "spe", "t2"}:
            raise ValueError(f"of must be 'joint', 'spe' or 't2', and {of!r} was given.")
        rows = self._seen(X, groups)
        if is_objects(rows):
            raise ValueError("contributions need rows of numbers, and the rows of this monitor are objects.")
        training = getattr(self, "training_", None)
        checks.warn_of_seen_rows(0 if training is None else int(training.held_out(rows).sum()))
        found = contributions(self.estimator_, rows, of, mean=self._mean(rows), limits=self.limits_)
        found = by_lag(found, self.lags)
        return found if by_lags else found.sum(axis=1)

    def _mean(self, rows: np.ndarray) -> np.ndarray:
        """Return the mean of the training rows, or of the given rows if the model was saved without a mean."""
        return getattr(self, "mean_", rows.mean(axis=0))

    def chart(
        self, X: Any, *, smoothing: float = 0.2, run: int | tuple[int, int] = 1, groups: Any = None
    ) -> charts.Chart:
        """Return the charts of rows in time: smoothed T² and SPE, limits for them, and alarms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order of time; a frame with a time index is checked for gaps.
        smoothing : float in (0, 1], default=0.2
            The weight of the newest row in the exponential average; 1 for no smoothing. Limits are computed from the
            calibration rows with the same smoothing. Smaller values find smaller, lasting faults.
        run : int or tuple of two ints, default=1
            The rule for an alarm, as in :meth:`predict`.
        groups : array-like of shape (n_samples,), default=None
            The run of each row; smoothing and run rules start again in each.

        Returns
        -------
        chart : Chart
            ``t2``, ``spe``, ``limits``, ``beyond``, ``alarms``, ``cause``, and ``delay(start)``.
        """
        check_is_fitted(self)
        checks.check_smoothing(smoothing)
        rule, gaps = checks.as_rule(run), charts.gaps_of(X)
        t2, spe = self.statistics(X, groups)
        starts = np.union1d(gaps, _starts(as_runs(groups, len(t2)))).astype(int)
        return charts.chart(t2, spe, self._smoothed_limits(smoothing), smoothing, rule, starts)

    def _smoothed_limits(self, smoothing: float) -> Limits:
        """Return limits for smoothed charts, from the calibration rows with the same smoothing.

        The distribution of smoothed statistics has no closed form.
        """
        if smoothing == 1:
            return self.limits_
        before, subspace = charts.smoothed(self.calibration_, smoothing), parts(self.estimator_)[1].subspace_
        return tails.in_time(before, self._charts, subspace.total_variance).limits(self.alpha)

    def plot(self, X: Any, of: str = "spe", ax: Any = None) -> Any:
        """Draw T² (``of="t2"``) or SPE of rows in their order, with its limit: :func:`mercer.plots.chart`."""
        from ...plots import chart

        validation.check_in_memory(X)
        return chart(self, X, of, ax)

    def _subspaces(self) -> list[Subspace]:
        """The subspaces of the model, for :func:`mercer.compress`."""
        return parts(self.estimator_)[1]._subspaces()

    def _with_subspaces(self, subspaces: list[Subspace]) -> "KernelPCAMonitor":
        """Return a copy of the monitor with other subspaces and the same limits."""
        small = copy(self)
        model = parts(self.estimator_)[1]._with_subspaces(subspaces)
        pipeline = isinstance(self.estimator_, Pipeline)
        steps = [*self.estimator_.steps[:-1], (self.estimator_.steps[-1][0], model)] if pipeline else []
        small.estimator_ = Pipeline(steps) if pipeline else model
        return small

    @property
    def _rho(self) -> float:
        return parts(self.estimator_)[1]._rho

    def _seen(self, X: Any, groups: Any) -> np.ndarray:
        """Return validated rows with their predecessors, as the model needs them."""
        X = self._rows(X)
        return lagged(X, self.lags, as_runs(groups, len(X)))

    def _rows(self, X: Any, fit: bool = False) -> np.ndarray:
        validation.check_unmasked(X)
        if takes_objects(self.estimator):
            return validation.check_rows(self, X, as_kernel(self.estimator.kernel), fit=fit)
        try:
            X = validate_data(self, X, reset=fit, dtype=validation.DTYPES, ensure_min_samples=2 if fit else 1)
            validation.check_cells(X, getattr(self, "feature_names_in_", None))
            return X
        except ValueError as error:
            cells = "NaN" in str(error) or "infinity" in str(error)
            raise ValueError(f"{error}{validation.missing_where(X) if cells else ''}") from None


def _starts(runs: np.ndarray) -> np.ndarray:
    """Return the number of the first row of each run, except for the first run."""
    return np.flatnonzero(runs[1:] != runs[:-1]) + 1
