"""Progress of long fits through scikit-learn's callbacks, where scikit-learn has them (1.9 and later)."""

from contextlib import contextmanager

from ..tiles import watched

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # an older scikit-learn: fits are silent

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method):
        """Return the method as it is."""
        return method


STEPS = 20  # reports of one pass over the data, at most


@contextmanager
def reported(estimator, X, y=None):
    """Tell the estimator's callbacks of each pass over the data that the block makes."""
    if not getattr(estimator, "_skl_callbacks", None):
        yield
        return
    root = estimator._init_callback_context(max_subtasks=None)
    root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def watch(name, total):
        """Begin a pass of ``total`` tiles; go on after each of them."""
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
