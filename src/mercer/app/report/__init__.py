"""Self-contained HTML pages: the report about a model, and the parts that the demo uses too."""

import warnings
from typing import Any

from ..._core.arrays import is_objects
from ..._core.warn import MercerWarning
from ...models.pipelines import parts
from .page import Figure, Section, Table, page, write

MARK = "mercer report"

__all__ = ["Figure", "Section", "Table", "page", "report"]


def report(
    model: Any,
    X: Any,
    path: Any,
    *,
    y: Any = None,
    color: Any = None,
    names: Any = None,
    units: Any = None,
    random_state: int = 0,
) -> None:
    """Write a self-contained HTML page about a fitted model and rows.

    Parameters
    ----------
    model : estimator
        A fitted model of mercer, or a pipeline that ends with one.
    X : array-like of shape (n_samples, n_features)
        The rows to describe, usually those of ``fit``.
    path : str or path
        The file to write.
    y : array-like of shape (n_samples,), default=None
        Classes of the rows, for held-out accuracy of a classifier and for colours.
    color : array-like of shape (n_samples,), default=None
        Numbers or labels for an additional map of the rows in these colours.
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
    >>> with open(path, encoding="utf-8") as page:
    ...     print(page.read().count("<figure"), "figures")
    6 figures
    """
    name = getattr(color, "name", None) or "color"
    shade = None if color is None else (str(name), color)
    write_report(model, X, path, y=y, color=shade, names=names, units=units, random_state=random_state)


def write_report(model: Any, X: Any, path: Any, **known: Any) -> None:
    """Write a page; ``known`` are the arguments of ``contents`` in sections.py."""
    from .sections import contents  # needs matplotlib

    inner = parts(getattr(model, "estimator_", model))[1]
    if is_objects(getattr(inner, "anchors_", None)):
        raise ValueError("A report describes rows of numbers, and those of this model are objects.")

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # rows are arrays here
        warnings.filterwarnings("ignore", category=MercerWarning)  # of models that are fitted for the page
        title, lead, sections = contents(model, X, **known)
    write(path, page(title, lead, sections, MARK))
