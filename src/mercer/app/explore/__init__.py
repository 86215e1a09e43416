"""The explorer: a page to look at a model, move it, and go back to the data."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .desk import SECONDS

if TYPE_CHECKING:
    from .session import Session


def explore(
    model: Any,
    X: Any = None,
    *,
    names: Any = None,
    target: Any = None,
    browser: bool = True,
    report: Callable[[str], object] = print,
) -> Any:
    """Open a page on a fitted model and rows: their map, what makes each row unusual, the way back to data, refits.

    In a notebook, a widget is returned (``pip install 'mercer[notebook]'``). Elsewhere the address of a page on this
    machine is printed, a browser is opened, and the call returns when the page has been closed for a minute or at
    Ctrl-C (``pip install 'mercer[explore]'``).

    Parameters
    ----------
    model : estimator
        A fitted model of mercer of any kind, or a pipeline that ends with one.
    X : array-like of shape (n_samples, n_features), default=None
        Rows to show, most often those of ``fit``; by default the rows that the model keeps.
    names : sequence of str, default=None
        Names of the columns, where X is not a data frame.
    target : array-like of shape (n_samples,), default=None
        A class for each row, to colour by.
    browser : bool, default=True
        Whether to open a browser.
    report : callable, default=print
        Receives the address, the first line that is reported.

    Returns
    -------
    widget : object
        The widget in a notebook, else None.

    Examples
    --------
    >>> import mercer
    >>> X, y = mercer.datasets.rings()
    >>> model = mercer.KernelPCA(4).fit(X)
    >>> mercer.explore(model, X, target=y)  # doctest: +SKIP
    http://127.0.0.1:40123/?token=…
    """
    from .session import Session

    session = Session.of(model, X, names, target)
    if in_notebook():
        from .widget import widget

        return widget(session)
    serve(lambda: session, browser=browser, report=report)
    return None


def serve(
    load: Callable[[], Session],
    *,
    browser: bool = True,
    report: Callable[[str], object] = print,
    seconds: float = SECONDS,
) -> None:
    """Serve the session that ``load()`` makes until its page is closed; the address is the first line reported."""
    try:
        from .server import Explorer, open_browser
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"The explorer needs {error.name}, which is not installed: pip install 'mercer[explore]'", name=error.name
        ) from None
    explorer = Explorer(load, seconds=seconds)
    report(explorer.url)
    explorer.awaits_page = browser and open_browser(explorer.url)
    explorer.run()


def in_notebook() -> bool:
    """Return True inside a Jupyter kernel."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


__all__ = ["explore"]
