"""The private parts of scikit-learn, and those that differ between versions, with the version and the reason for
each."""

# ruff: noqa: F401 (other modules import these names from here)

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

# Private since 1.2, but necessary for the error messages of scikit-learn's own estimators.
from sklearn.utils._param_validation import HasMethods, Interval, Options, RealNotInt, StrOptions

# Private helpers of the public check_X_y: they check weights and targets without X.
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y
from sklearn.utils.validation import _num_samples as num_samples

from .registry import Registry
from .tiles import watched

Method = TypeVar("Method", bound=Callable)

try:  # scikit-learn ≥ 1.9
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # older releases have no callbacks: fits are silent

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Does nothing."""

    def _with_callbacks(method: Callable) -> Callable:  # type: ignore[no-redef]
        """Return the method unchanged."""
        return method


def with_callbacks(method: Method) -> Method:
    """Decorate a ``fit`` so that callbacks follow it; its signature stays known to type checkers."""
    return _with_callbacks(method)


CALLBACK_ATTRIBUTES = ("_callback", "_skl_")  # prefixes of the attributes that scikit-learn ≥ 1.9 sets during a fit
MOVE_ESTIMATOR = "sklearn.utils._array_api.move_estimator_to"  # private in 1.9, and named in messages only
MOST_REPORTS = 20  # of one pass over the data


class Named(StrOptions):
    """The constraint that a parameter is a name in a registry, also one registered later, or one of ``others``."""

    def __init__(self, registry: Registry, *others: str, without: tuple[str, ...] = ()):
        self.type, self.deprecated, self.hidden = str, set[str](), False
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
    """Report each pass over the data inside the block to the callbacks of the estimator (scikit-learn ≥ 1.9)."""
    if not getattr(estimator, "_skl_callbacks", None):
        yield
        return
    root = estimator._init_callback_context(max_subtasks=None)
    root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def watch(name: str, total: int) -> Iterator[None]:
        """Start a pass of ``total`` tiles, and resume after each of them."""
        steps = min(total, MOST_REPORTS)
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
