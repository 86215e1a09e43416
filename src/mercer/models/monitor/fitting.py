"""The fit of a monitor: the kind of rows, the rows to leave out, the model, and its calibration."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from ..._core.arrays import is_objects, row_keys
from ..._core.dask import take
from ..._core.fields import Count, Maybe, Names, NotNegative, Numbers
from ...kernels import Precomputed, as_kernel
from ..kernel_parameter import takes_objects
from ..pipelines import parts
from . import checks, rules, tails
from .calibration import FOLDS, TENTHS, held_out, left_out, t2_and_spe
from .default import INNER, MOST_ROWS, OUTER, InnerScaler, fit_default
from .lags import ages, as_runs, lagged
from .limits import Limits
from .training import TrainingRows, training_rows
from .trimming import MARGIN, MOST_LEFT_OUT, SUPPOSED, isolation, nearest, shown, suspects

HELD_OUT_ROWS = 10_000  # at most, of a Dask array, from which the limits are computed

Fit = Callable[[np.ndarray], Any]  # from rows to a fitted estimator


class Fitting:
    """The steps of ``fit``, on validated rows."""

    estimator: Any
    alpha: float
    limits: str
    in_time: bool | str
    lags: int
    contamination: Any
    n_landmarks: int
    n_features_in_: Count
    feature_names_in_: Maybe[Names]
    estimator_: BaseEstimator
    rules_: rules.Rules | None = None
    in_time_: bool = False
    serial_share_: float = 0.0
    contamination_: float = 0.0
    suspect_share_: float = 0.0
    mean_: Maybe[Annotated[np.ndarray, Numbers("d")]]
    calibration_: Annotated[np.ndarray, Numbers("n", 2)]
    n_effective_: Maybe[NotNegative]
    offset_: float
    limits_: Limits
    tails_: Maybe[tails.Tails]
    training_: TrainingRows | None = None
    compression_: Maybe[Any]

    def _check_parts(self) -> None:
        """Raise an error if the estimator of a monitor from a file has no axes, or takes other columns."""
        if not hasattr(parts(self.estimator_)[1], "subspace_"):
            raise ValueError(f"estimator_ is a {type(self.estimator_).__name__} without components")
        taken, given = self.estimator_.n_features_in_, self.n_features_in_ * (self.lags + 1)
        if taken != given:
            raise ValueError(f"estimator_ takes {taken} columns, and its rows have {given}")

    def _fit_lazy(self, X: Any, rng: np.random.Generator, groups: Any) -> None:
        """Fit on a Dask array: hold out the last rows for the limits; the default estimator uses a random subset."""
        n = X.shape[0]
        if self.lags or groups is not None:
            raise ValueError("lags and groups need rows in memory, and a Dask array was given. Use a NumPy array.")
        if self.estimator is None:
            rows = take(X, np.sort(rng.choice(n, min(n, MOST_ROWS), replace=False)))
            self._fit(rows, as_runs(None, len(rows)), rng)
            return
        if isinstance(self.estimator, Pipeline) or self.limits != "holdout" or self.contamination != 0:
            raise ValueError(
                "On a Dask array a monitor supports neither pipelines, nor limits other than 'holdout', nor "
                "contamination. Scale the Dask array first, and leave limits and contamination at their defaults."
            )
        held = max(1, min(HELD_OUT_ROWS, n // 5))  # a fifth, as in the folds
        rows = take(X, slice(n - held, n))
        self._decide(rows, as_runs(None, held))
        self.rules_, self.training_, self.mean_ = None, None, rows.mean(axis=0)
        self.contamination_ = self.suspect_share_ = 0.0
        self.estimator_ = clone(self.estimator).fit(X[: n - held])
        self._calibrate(np.column_stack(t2_and_spe(self.estimator_, rows)))

    def _fit(self, X: np.ndarray, runs: np.ndarray, rng: np.random.Generator) -> None:
        if is_objects(X):
            checks.check_objects(self.lags, self.contamination)
        else:
            checks.warn_of_constants(X, getattr(self, "feature_names_in_", None))
        self._decide(X, runs)
        rows = lagged(X, self.lags, runs)[ages(runs) >= self.lags]
        checks.check_enough(rows, self.lags)
        if not self.in_time_:
            rows = shuffled(rows, rng)
        for_axes, for_limits, normal = self._kept(rows, rng)
        self.__dict__.pop("mean_", None)
        if not is_objects(rows):
            self.mean_ = rows[for_axes].mean(axis=0)
        self.estimator_, again = self._recipe(rows[for_axes], rng)
        _, model = parts(self.estimator_)
        if not hasattr(model, "subspace_"):
            raise ValueError(f"The estimator must end with a model of mercer, and it ends with {type(model).__name__}.")
        if isinstance(model.subspace_.kernel, Precomputed):
            raise ValueError("A monitor needs the rows themselves, and this estimator has a precomputed kernel.")
        checks.warn_of_few_rows(model, len(rows))
        values = self._values(rows, for_axes, for_limits, again)
        self._calibrate(values[~np.isnan(values[:, 0])])
        self.training_ = self._record(rows, values, normal)
        if not self.in_time_:
            return
        checks.warn_of_few_independent(len(self.calibration_), self.n_effective_)
        if self.limits == "holdout" and len(self.calibration_) > TENTHS:
            checks.warn_of_drift(self.tails_.surprise(*self.calibration_.T))

    def _decide(self, X: np.ndarray, runs: np.ndarray) -> None:
        """Decide whether the order of the rows is their order in time."""
        self.serial_share_ = 0.0 if is_objects(X) else rules.serial_share(X, runs)
        correlated = self.serial_share_ > rules.MAJORITY or self.lags > 0
        self.in_time_ = bool(correlated if self.in_time == "auto" else self.in_time)
        if self.lags and not self.in_time_:
            raise ValueError(f"lags={self.lags} needs rows in time, and in_time=False was given.")
        if self.in_time == "auto" and not self.in_time_ and not is_objects(X):
            checks.warn_of_unknown_order(len(X))

    def _kept(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return masks of the rows for the axes, of the rows for the limits, and of the rows called normal."""
        every = np.ones(len(rows), bool)
        if is_objects(rows):
            self.suspect_share_ = self.contamination_ = 0.0
            return every, every, every
        scaled = InnerScaler().fit_transform(np.asarray(rows, float))
        self.suspect_share_ = suspects(scaled, rng)
        if not self.in_time_:
            checks.warn_of_copies(rows)
        auto = self.contamination == "auto"
        self.contamination_ = self.suspect_share_ if auto else float(self.contamination)
        checks.warn_of_abnormal(self.suspect_share_, self.contamination_)
        if self.contamination_ == 0:
            return every, every, every
        isolated = isolation(scaled, SUPPOSED if auto else self.contamination_, rng)  # as in ``suspects``
        for_axes = nearest(isolated, min(MARGIN * self.contamination_, MOST_LEFT_OUT))
        return for_axes, nearest(isolated, shown(isolated, self.contamination_)), nearest(isolated, self.contamination_)

    def _recipe(self, X: np.ndarray, rng: np.random.Generator) -> tuple[Any, Fit]:
        """Return the fitted estimator, and a function that fits the same estimator on other rows."""
        if self.estimator is None:
            self.rules_ = chosen = rules.PROCESS if self.in_time_ else rules.TABLE
            percent = INNER if self.in_time_ or self.contamination != 0 else OUTER
            settings = rng, chosen, self.n_landmarks, percent
            fitted = fit_default(X, *settings)
            return fitted, lambda rows: fit_default(rows, *settings, like=fitted)
        self.rules_ = None
        made = clone(self.estimator)
        if takes_objects(made):  # the rows have lost the names of their columns
            made.set_params(kernel=as_kernel(made.kernel).on(getattr(self, "feature_names_in_", None)))
        fit = lambda rows: clone(made).fit(rows, None)  # noqa: E731
        return fit(X), fit

    def _values(self, rows: np.ndarray, for_axes: np.ndarray, for_limits: np.ndarray, again: Fit) -> np.ndarray:
        """Return T² and SPE of each row for the calibration; NaN for rows that were not held out."""
        values = np.full((len(rows), 2), np.nan)
        seen, unseen = np.flatnonzero(for_axes), np.flatnonzero(for_limits & ~for_axes)
        values[seen] = self._seen_values(rows[seen], again)
        if len(unseen):
            values[unseen] = np.column_stack(t2_and_spe(self.estimator_, rows[unseen]))
        return values

    def _record(self, rows: np.ndarray, values: np.ndarray, normal: np.ndarray) -> TrainingRows | None:
        """Return a record of the training rows if the model cannot score them itself, or if some were left out."""
        narrow = self.rules_ is rules.TABLE and self.limits in {"holdout", "loo"}
        if not narrow and self.contamination_ == 0:
            return None
        verdict = np.where(normal, 1, -1) if self.contamination_ else np.zeros(len(rows), int)
        return training_rows(rows, values if narrow else np.full_like(values, np.nan), verdict)

    def _seen_values(self, X: np.ndarray, again: Fit) -> np.ndarray:
        """Return T² and SPE of the rows that the axes were fitted on, by the method ``limits``: (n, 2)."""
        if self.limits == "holdout":
            q = len(parts(self.estimator_)[1].subspace_.variances)
            folds = TENTHS if self.in_time_ else FOLDS
            if isinstance(self.estimator, Pipeline) and not is_objects(X):
                checks.warn_of_one_fold(X, folds, self.n_features_in_, getattr(self, "feature_names_in_", None))
            return held_out(again, X, q, folds)
        if self.limits == "loo":
            return np.column_stack(left_out(self.estimator_, X))
        return np.column_stack(t2_and_spe(self.estimator_, X))

    def _calibrate(self, calibration: np.ndarray) -> None:
        """Set tail probabilities and limits from T² and SPE, the two columns of ``calibration``."""
        self.calibration_ = calibration
        self.tails_ = self._tails(calibration)
        surprise = self.tails_.surprise(*calibration.T)
        self.n_effective_ = rules.effective(surprise) if self.in_time_ else float(len(calibration))
        self.limits_ = self.tails_.limits(self.alpha)
        self.offset_ = float(np.log(self.alpha))

    def _tails(self, calibration: np.ndarray) -> tails.Tails:
        subspace = parts(self.estimator_)[1].subspace_
        if self.limits == "f-chi2":
            return tails.classical(calibration, self.alpha, len(subspace.variances), subspace.total_variance)
        of_rows = tails.in_time if self.in_time_ else tails.calibrated
        return of_rows(calibration, self._charts, subspace.total_variance)

    @property
    def _charts(self) -> tuple[str, ...]:
        """The statistics that can raise alarms."""
        chosen = getattr(self, "rules_", None)
        return rules.BOTH if chosen is None or self.limits == "f-chi2" else chosen.charts


def shuffled(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return exchangeable rows in a random order that does not depend on their original order."""
    order = np.argsort(np.array(row_keys(rows), object)) if is_objects(rows) else np.lexsort(rows.T[::-1])
    return rows[order][rng.permutation(len(rows))]
