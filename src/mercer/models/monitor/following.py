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
    """Return True if the model of a monitor uses landmarks and can be updated."""
    model = monitor.estimator[-1] if isinstance(monitor.estimator, Pipeline) else monitor.estimator
    return hasattr(model, "partial_fit") and chooses_basis(getattr(model, "solver", None))


class FollowingMixin:
    """Mixin for a monitor whose estimator is a model on landmarks."""

    @available_if(_follows)
    def partial_fit(self: Any, X: Any, y: None = None, *, groups: Any = None) -> Any:
        """Update the model and the limits with the latest rows of normal operation; the first call is ``fit``.

        Only for an estimator with ``solver="landmarks"``. T² and SPE of the new rows are computed before the model is
        updated, and replace the oldest calibration values, from which the limits follow. ``Landmarks(half_life=…)``
        determines how fast the model forgets earlier rows. Scalers are not updated after the first call.

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
