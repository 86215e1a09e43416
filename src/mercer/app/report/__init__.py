"""Self-contained HTML pages: the report about a model, and the parts that the demo uses too."""

import warnings
from typing import Any

from .page import Figure, Section, Table, page, write

MARK = "mercer report"

__all__ = ["Figure", "Section", "Table", "page", "report"]


def report(model: Any, X: Any, path: Any, *, names: Any = None, units: Any = None, random_state: int = 0) -> None:
    """Write a self-contained HTML page about a fitted model and rows.

    Parameters
    ----------
    model : estimator
        A fitted model of mercer, or a pipeline that ends with one.
    X : array-like of shape (n_samples, n_features)
        The rows to describe, usually those of ``fit``.
    path : str or path
        The file to write.
    names : sequence of str, default=None
        Names of the columns, if X is not a data frame.
    units : array-like of shape (n_samples, n_features), default=None
        The same rows in their original units, if X is scaled; used for the table of the data.
    random_state : int, default=0
        Seed for the random subset of rows that is used if there are more than 2000.

    Examples
    --------
    >>> import os, tempfile, mercer
    >>> X, _ = mercer.datasets.moons(n=60)
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> mercer.report(mercer.KernelPCA(3).fit(X), X, path, names=["east", "north"])
    >>> os.path.getsize(path) > 10_000
    True
    """
    from .sections import contents  # needs matplotlib

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # rows are arrays here
        title, lead, sections = contents(model, X, names, units, random_state)
    write(path, page(title, lead, sections, MARK))
