"""A page about a fitted model and a table: what it is, what it holds, which rows are strange and why."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...models.pipelines import names as names_of
from ...models.pipelines import parts
from . import words
from .page import Section, Table, drawn, page, write

MARK = "mercer report"
ROWS = 2000  # that pictures and sums are made of: a random part of larger tables
COLUMNS = 20  # that tables show
OUTLIERS = 8
COMPONENTS = 10
REASONS = 3  # variables named for a strange row
ROUNDING = 1e-12  # of a mean, beside the standard deviation
POOR = 0.5  # share of the variance below which a reader should be warned


def report(model: Any, X: Any, path: Any, *, names: Any = None, units: Any = None, random_state: int = 0) -> None:
    """Write one self-contained HTML page about a fitted model and rows.

    Parameters
    ----------
    model : estimator
        A fitted model of mercer, or a pipeline that ends with one.
    X : array-like of shape (n_samples, n_features)
        Rows, most often those of ``fit``.
    path : str or path
        The file to write.
    names : sequence of str, default=None
        Names of the columns, where X is no data frame.
    units : array-like of shape (n_samples, n_features), default=None
        The same rows in the units that a reader knows, where X were scaled: the table of the data shows them.
    random_state : int, default=0
        Which rows of a large table are drawn.

    Examples
    --------
    >>> import os, tempfile, mercer
    >>> X, _ = mercer.datasets.moons(n=60)
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> mercer.report(mercer.KernelPCA(3).fit(X), X, path, names=["east", "north"])
    >>> os.path.getsize(path) > 10_000
    True
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # rows are arrays from here on
        title, lead, sections = contents(model, X, names, units, random_state)
    write(path, page(title, lead, sections, MARK))


def contents(model: Any, X: Any, names: Any, units: Any, random_state: int) -> tuple[str, list[str], list[Section]]:
    """The page's title, lead and sections."""
    columns = names_of(model, X, np.shape(X)[1]) if names is None else [str(name) for name in names]
    n = np.shape(X)[0]
    chosen = np.sort(np.random.default_rng(random_state).choice(n, min(n, ROWS), replace=False))
    rows = np.asarray(X, float)[chosen]
    about = words.model(model)
    part = "" if n <= ROWS else f" Pictures and sums are of {ROWS} rows by lot."
    lead = [f"{about[0]} It was given {n} rows of {rows.shape[1]} columns.{part}"]
    shown = None if units is None else np.asarray(units, float)[chosen]
    sections = [_data(rows, shown, columns, model), Section("The model", about[1:])]
    for make in (_spectrum, _charts, _clusters, _components, _reconstruction, _strange):
        sections += make(model, rows, chosen, columns)
    return f"Report: {words.name(model)}", lead, [*sections, _again(model)]


def _data(X: Any, shown: Any, columns: list[str], model: Any) -> Section:
    own = X if shown is None else shown
    statistics = zip(columns, own.mean(axis=0), own.std(axis=0), own.min(axis=0), own.max(axis=0), strict=True)
    rows = [(name, *(_figure(value, sd) for value in (mean, sd, *ends))) for name, mean, sd, *ends in statistics]
    more = f"{len(columns) - COLUMNS} more columns are left out." if len(columns) > COLUMNS else ""
    table = Table(("column", "mean", "sd", "least", "most"), rows[:COLUMNS], more)
    title = "The data, as the model is given them" if shown is None else "The data"
    text = [] if shown is None else ["In their own units; the model is given columns with mean 0 and variance 1."]
    return Section(title, text, notes=words.warnings(model, X, columns), tables=[table])


def _figure(value: float, sd: float) -> str:
    """Four digits; what is rounding beside the standard deviation is 0."""
    return "0" if abs(value) < ROUNDING * sd else f"{value:.4g}"


def _spectrum(model: Any, X: Any, chosen: Any, columns: list[str]) -> Iterator[Section]:
    from ... import plots

    last = parts(model)[1]
    if not hasattr(last, "explained_variance_ratio_") or not last.n_components_:
        return
    held = np.cumsum(last.explained_variance_ratio_)
    with drawn("spectrum") as figures:
        plots.scree(last)
        plots.kernel_matrix(last, np.asarray(parts(model)[0](X)))
    rows = [
        (f"{j + 1}", f"{last.explained_variance_[j]:.4g}", f"{last.explained_variance_ratio_[j]:.1%}", f"{held[j]:.1%}")
        for j in range(min(COMPONENTS, len(held)))
    ]
    notes = []
    if held[-1] < POOR:
        notes = [
            f"The components hold {held[-1]:.0%} of the variance: more of them, or a wider kernel, would hold more."
        ]
    table = Table(("component", "variance", "share", "together"), rows)
    text = ["Shares are of the whole variance in feature space, also of what no component holds."]
    yield Section("How much each component holds", text, figures, [table], notes=notes)


def _charts(model: Any, X: Any, chosen: Any, columns: list[str]) -> Iterator[Section]:
    from ... import plots

    if not hasattr(model, "limits_"):
        return
    with drawn("charts") as figures:
        plots.chart(model, X, "t2")
        plots.chart(model, X, "spe")
    beyond = np.mean(model.predict(X) == -1)
    text = [f"{beyond:.1%} of the rows are beyond a limit; {model.alpha:.1%} are expected of normal ones."]
    yield Section("Charts", text, figures)


def _clusters(model: Any, X: Any, chosen: Any, columns: list[str]) -> Iterator[Section]:
    from ... import plots

    if not hasattr(model, "predict_proba"):
        return
    P = model.predict_proba(X)
    labels = getattr(model, "classes_", np.arange(P.shape[1]))
    rows = [
        (str(label), f"{np.mean(P.argmax(axis=1) == j):.1%}", f"{P[P.argmax(axis=1) == j, j].mean():.2f}")
        for j, label in enumerate(labels)
        if np.any(P.argmax(axis=1) == j)
    ]
    with drawn("clusters") as figures:
        if X.shape[1] == 2:
            plots.responsibilities(model, X)
    yield Section("Where rows belong", (), figures, [Table(("to", "rows", "mean probability"), rows)])


def _components(model: Any, X: Any, chosen: Any, columns: list[str]) -> Iterator[Section]:
    from ... import plots
    from ...select.importance import importance

    last = parts(model)[1]
    if not hasattr(model, "transform") or last.n_components_ < 1:
        return
    with drawn("components") as figures:
        if last.n_components_ > 1:
            plots.scores(model.transform(X))
        if X.shape[1] == 2:
            for j in range(min(2, last.n_components_)):
                plots.contours(model if model is last else _Shown(model), X, j)
    tables = []
    if last.kernel_.differentiable and not hasattr(X, "toarray"):
        shares = importance(model, X).shares[:COMPONENTS]
        order = [np.argsort(-row)[:REASONS] for row in shares]
        rows = [
            (f"{j + 1}", ", ".join(f"{columns[i]} ({row[i]:.0%})" for i in best))
            for j, (row, best) in enumerate(zip(shares, order, strict=True))
        ]
        tables = [Table(("component", "driven most by"), rows)]
    yield Section("What the components see", (), figures, tables)


class _Shown:
    """A pipeline with what a map asks of a model."""

    def __init__(self, pipeline: Any):
        self.transform = pipeline.transform
        self.explained_variance_ratio_ = pipeline[-1].explained_variance_ratio_


def _reconstruction(model: Any, X: Any, chosen: Any, columns: list[str]) -> Iterator[Section]:
    from ... import plots

    if not hasattr(model, "inverse_transform") or not hasattr(model, "transform"):
        return
    back = model.inverse_transform(model.transform(X))
    spread = X.var(axis=0)
    kept = 1 - np.mean((X - back) ** 2, axis=0) / np.where(spread > 0, spread, 1)
    order = np.argsort(kept)
    rows = [(columns[j], f"{kept[j]:.0%}") for j in order[:COLUMNS] if spread[j] > 0]
    with drawn("reconstruction") as figures:
        plots.residuals(parts(model)[1], np.asarray(parts(model)[0](X)))
    text = [
        f"Back from the components, rows keep {np.average(kept, weights=spread):.0%} of the variance of the data "
        "in the units of the columns. Columns that lose most stand first."
    ]
    yield Section("There and back", text, figures, [Table(("column", "variance kept"), rows)])


def _strange(model: Any, X: Any, chosen: Any, columns: list[str]) -> Iterator[Section]:
    from ...models.monitor.contributions import contributions

    estimator = getattr(model, "estimator_", model)
    last = parts(estimator)[1]
    if not hasattr(last, "reconstruction_error"):
        return
    prepared = np.asarray(parts(estimator)[0](X))
    r2 = last.reconstruction_error(prepared)
    worst = np.argsort(-r2)[:OUTLIERS]
    typical = np.median(r2)
    reasons = [""] * len(worst)
    if last.kernel_.differentiable and prepared.shape[1] == X.shape[1]:
        shares = contributions(estimator, X[worst], "spe")
        reasons = [", ".join(columns[j] for j in np.argsort(-row)[:REASONS]) for row in shares]
    times = r2[worst] / typical if typical > 0 else r2[worst]
    rows = [(f"{chosen[i]}", f"{t:.1f}×", why) for i, t, why in zip(worst, times, reasons, strict=True)]
    text = [
        "Rows that are farthest from the components, how much farther than the median row, and what makes "
        "them so. Rows are counted from 0."
    ]
    yield Section("Strange rows", text, tables=[Table(("row", "squared distance", "because of"), rows)])


def _again(model: Any) -> Section:
    text = ["The same again, in Python and from the command line:"]
    return Section("How to make this page", text, code=words.code(model))
