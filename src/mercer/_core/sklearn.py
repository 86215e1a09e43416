"""The private and moving pieces of scikit-learn that the library uses, with the version and the reason beside each."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

# Private since 1.2, and the only way to the error texts that scikit-learn's own estimators have.
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

# Private helpers behind the public check_X_y; they alone check weights and targets without X.
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y
from sklearn.utils.validation import _num_samples as num_samples

from .registry import Registry
from .tiles import watched

try:  # scikit-learn ≥ 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # older releases have no callbacks: fits are silent

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method):  # type: ignore[no-redef,no-untyped-def]
        """Return the method as it is."""
        return method


CALLBACK_ATTRIBUTES = ("_callback", "_skl_")  # how scikit-learn ≥ 1.9 begins the names of its state during a fit
SPLITTERS = (KFold, StratifiedKFold, ShuffleSplit, StratifiedShuffleSplit)
MOVE_ESTIMATOR = "sklearn.utils._array_api.move_estimator_to"  # private in 1.9, and named in messages only
STEPS = 20  # reports of one pass over the data, at most

__all__ = [
    "CALLBACK_ATTRIBUTES",
    "MOVE_ESTIMATOR",
    "SPLITTERS",
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "Named",
    "RealNotInt",
    "StandardScaler",
    "StrOptions",
    "check_sample_weight",
    "check_y",
    "num_samples",
    "reported",
    "with_callbacks",
]


class Named(StrOptions):
    """The constraint that a parameter is a name in a registry, or one of ``others``; classes entered later count."""

    def __init__(self, registry: Registry, *others: str, without: tuple[str, ...] = ()):
        self.type, self.deprecated, self.hidden = str, set(), False
        self.registry, self.others, self.without = registry, others, without

    @property
    def options(self) -> set[str]:
        """All names."""
        return {*self.others, *self.registry} - {*self.without}

    def is_satisfied_by(self, value: Any) -> bool:
        """Return True if the value is one of the names."""
        return isinstance(value, str) and value not in self.without and (value in self.others or value in self.registry)


@contextmanager
def reported(estimator: Any, X: Any, y: Any = None) -> Iterator[None]:
    """Tell the estimator's callbacks (scikit-learn ≥ 1.9) of each pass over the data that the block makes."""
    if not getattr(estimator, "_skl_callbacks", None):
        yield
        return
    root = estimator._init_callback_context(max_subtasks=None)
    root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def watch(name: str, total: int) -> Iterator[None]:
        """Begin a pass of ``total`` tiles; continue after each of them."""
        steps = min(total, STEPS)
        whole = root.subcontext(task_name=name, max_subtasks=steps)
        whole.call_on_fit_task_begin(estimator=estimator)
        for done in range(1, total + 1):
            yield
            if done * steps // total > (done - 1) * steps // total:
                step = whole.subcontext(task_name="tiles")
                step.call_on_fit_task_begin(estimator=estimator)
                step.call_on_fit_task_end(estimator=estimator)
        whole.call_on_fit_task_end(estimator=estimator)

    with watched(watch):
        yield
    root.call_on_fit_task_end(estimator=estimator, X=X, y=y)
