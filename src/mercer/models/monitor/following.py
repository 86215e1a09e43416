"""``partial_fit`` of a monitor: the model and the limits follow a process that drifts."""

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from ...rkhs.landmarks import chooses_basis
from .. import validation
from ..pipelines import parts
from .calibration import t2_and_spe


def _follows(monitor: Any) -> bool:
    """Return True if the model of a monitor is on landmarks, and can be updated."""
    model = monitor.estimator[-1] if isinstance(monitor.estimator, Pipeline) else monitor.estimator
    return hasattr(model, "partial_fit") and chooses_basis(getattr(model, "solver", None))


class FollowingMixin:
    """Mixin for a monitor whose estimator is a model on landmarks."""

    @available_if(_follows)
    def partial_fit(self: Any, X: Any, y: None = None, *, groups: Any = None) -> Any:
        """Update the model and the limits with the latest rows of normal operation; the first call is ``fit``.

        The new rows' T² and SPE under the model that has not seen them replace the oldest values that the limits were
        set by; then the model itself is updated. Only for an estimator with ``solver="landmarks"``. How fast earlier
        rows are forgotten is decided by ``Landmarks(half_life=…)``. Scalers keep the values of the first call.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The latest rows, without alarms.
        y : None
            Not used; present by convention.
        groups : array-like of shape (n_samples,), default=None
            The run of each row.

        Returns
        -------
        self : object
            The updated monitor.
        """
        if not hasattr(self, "estimator_"):
            return self.fit(X, groups=groups)
        validation.check_in_memory(X)
        with validation.unchanged_on_error(self):
            rows = self._seen(X, groups)
            latest = np.column_stack(t2_and_spe(self.estimator_, rows))
            self.estimator_ = deepcopy(self.estimator_)
            prepare, model = parts(self.estimator_)
            model.partial_fit(prepare(rows))
            self.mean_ = self.mean_ + (rows.mean(axis=0) - self.mean_) * min(1.0, len(rows) / model.n_rows_)
            self._calibrate(np.vstack([self.calibration_, latest])[-max(len(self.calibration_), len(latest)) :])
        return self
