"""The sections of a report: data, model, spectrum, charts, clusters, components, reconstruction, outliers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import plots
from ...models.monitor.contributions import contributions
from ...models.pipelines import names as names_of
from ...models.pipelines import parts
from ...select.importance import importance
from ..describe import name_of, one_line, sentences
from .page import Section, Table, drawn

ROWS = 2000  # a random subset of larger tables is used
COLUMNS = 20  # shown in tables
OUTLIERS = 8
COMPONENTS = 10
REASONS = 3  # variables named for an unusual row
ROUNDING = 1e-12  # of a mean, relative to the standard deviation
POOR = 0.5  # explained variance below which the page has a warning
UNSCALED = 100  # ratio of standard deviations above which the page has a warning
DUPLICATES = 0.5  # share of duplicate rows above which the page has a warning


@dataclass(frozen=True)
class Subject:
    """What a report describes: a fitted model, rows, their indices in the table, and names of the columns."""

    model: Any
    X: np.ndarray
    index: np.ndarray
    columns: list[str]

    @property
    def last(self) -> Any:
        """The model, or the last step of a pipeline."""
        return parts(self.model)[1]

    @property
    def prepared(self) -> np.ndarray:
        """The rows as the last step sees them."""
        return np.asarray(parts(self.model)[0](self.X))


def contents(model: Any, X: Any, names: Any, units: Any, random_state: int) -> tuple[str, list[str], list[Section]]:
    """Return title, lead and sections of the page."""
    n, d = np.shape(X)
    columns = names_of(model, X, d) if names is None else [str(name) for name in names]
    index = np.sort(np.random.default_rng(random_state).choice(n, min(n, ROWS), replace=False))
    subject = Subject(model, np.asarray(X, float)[index], index, columns)
    kind, *about = sentences(model)
    part = "" if n <= ROWS else f" Figures and statistics use a random subset of {ROWS} rows."
    original = None if units is None else np.asarray(units, float)[index]
    sections = [_data(subject, original), Section("Model", about)]
    for make in (_spectrum, _charts, _clusters, _components, _reconstruction, _outliers):
        section = make(subject)
        sections += [] if section is None else [section]
    lead = [f"{kind} The table has {n} rows and {d} columns.{part}"]
    return f"Report: {name_of(model)}", lead, [*sections, _code(model)]


def _data(subject: Subject, original: np.ndarray | None) -> Section:
    X = subject.X if original is None else original
    columns = zip(subject.columns, X.mean(axis=0), X.std(axis=0), X.min(axis=0), X.max(axis=0), strict=True)
    rows = [(name, *(_number(value, sd) for value in (mean, sd, *ends))) for name, mean, sd, *ends in columns]
    more = f"{len(rows) - COLUMNS} more columns are not shown." if len(rows) > COLUMNS else ""
    table = Table(("column", "mean", "sd", "minimum", "maximum"), rows[:COLUMNS], more)
    text = [] if original is None else ["In the original units; the model uses standardized columns."]
    title = "Data as passed to the model" if original is None else "Data"
    return Section(title, text, notes=_warnings(subject), tables=[table])


def _number(value: float, sd: float) -> str:
    """Return four digits, or 0 for a rounding error."""
    return "0" if abs(value) < ROUNDING * sd else f"{value:.4g}"


def _warnings(subject: Subject) -> list[str]:
    """Return warnings about the data."""
    lines, sd, columns = [], subject.X.std(axis=0), subject.columns
    constant = [columns[j] for j in np.flatnonzero(sd == 0)]
    if constant:
        lines.append(f"Constant columns carry no information: {', '.join(constant[:5])}.")
    varying = sd[sd > 0]
    if len(varying) and subject.model is subject.last and varying.max() > UNSCALED * varying.min():
        wide, narrow = columns[int(sd.argmax())], columns[int(np.where(sd > 0, sd, np.inf).argmin())]
        ratio = f"{varying.max() / varying.min():.0f}"
        lines.append(f"The standard deviations of {wide} and {narrow} differ {ratio}-fold: scale the columns.")
    duplicates = 1 - len(np.unique(subject.X, axis=0)) / len(subject.X)
    if duplicates > DUPLICATES:
        lines.append(f"{duplicates:.0%} of the rows are duplicates of others.")
    return lines


def _spectrum(subject: Subject) -> Section | None:
    last = subject.last
    if not hasattr(last, "explained_variance_ratio_") or not last.n_components_:
        return None
    with drawn("spectrum") as figures:
        plots.scree(last)
        plots.kernel_matrix(last, subject.prepared)
    shares, total = last.explained_variance_ratio_, np.cumsum(last.explained_variance_ratio_)
    rows = [
        (f"{j + 1}", f"{last.explained_variance_[j]:.4g}", f"{shares[j]:.1%}", f"{total[j]:.1%}")
        for j in range(min(COMPONENTS, len(total)))
    ]
    notes = []
    if total[-1] < POOR:
        notes = [
            f"The components explain {total[-1]:.0%} of the variance. More components or a wider kernel explain more."
        ]
    text = ["Shares are relative to the total variance in feature space, not only to that of the computed components."]
    table = Table(("component", "variance", "share", "cumulative"), rows)
    return Section("Explained variance", text, figures, [table], notes=notes)


def _charts(subject: Subject) -> Section | None:
    model, X = subject.model, subject.X
    if not hasattr(model, "limits_"):
        return None
    with drawn("charts") as figures:
        plots.chart(model, X, "t2")
        plots.chart(model, X, "spe")
    alarms = np.mean(model.predict(X) == -1)
    text = [f"{alarms:.1%} of the rows exceed a limit; {model.alpha:.1%} are expected in normal operation."]
    return Section("Control charts", text, figures)


def _clusters(subject: Subject) -> Section | None:
    model, X = subject.model, subject.X
    if not hasattr(model, "predict_proba"):
        return None
    P = model.predict_proba(X)
    best = P.argmax(axis=1)
    rows = [
        (str(label), f"{np.mean(best == j):.1%}", f"{P[best == j, j].mean():.2f}")
        for j, label in enumerate(getattr(model, "classes_", np.arange(P.shape[1])))
        if np.any(best == j)
    ]
    with drawn("clusters") as figures:
        if X.shape[1] == 2:
            plots.responsibilities(model, X)
    return Section("Classes or clusters", (), figures, [Table(("label", "rows", "mean probability"), rows)])


def _components(subject: Subject) -> Section | None:
    model, last, X = subject.model, subject.last, subject.X
    if not hasattr(model, "transform") or last.n_components_ < 1:
        return None
    with drawn("components") as figures:
        if last.n_components_ > 1:
            plots.scores(model.transform(X))
        if X.shape[1] == 2:
            for j in range(min(2, last.n_components_)):
                plots.contours(model if model is last else _Mappable(model), X, j)
    tables = []
    if last.kernel_.differentiable:
        shares = importance(model, X).shares[:COMPONENTS]
        rows = [
            (f"{j + 1}", ", ".join(f"{subject.columns[i]} ({row[i]:.0%})" for i in np.argsort(-row)[:REASONS]))
            for j, row in enumerate(shares)
        ]
        tables = [Table(("component", "most important columns"), rows)]
    return Section("Components", (), figures, tables)


class _Mappable:
    """A pipeline with the attributes that ``plots.contours`` needs."""

    def __init__(self, pipeline: Any):
        self.transform = pipeline.transform
        self.explained_variance_ratio_ = pipeline[-1].explained_variance_ratio_


def _reconstruction(subject: Subject) -> Section | None:
    model, X = subject.model, subject.X
    if not hasattr(model, "inverse_transform") or not hasattr(model, "transform"):
        return None
    back, variance = model.inverse_transform(model.transform(X)), X.var(axis=0)
    kept = 1 - np.mean((X - back) ** 2, axis=0) / np.where(variance > 0, variance, 1)
    rows = [(subject.columns[j], f"{kept[j]:.0%}") for j in np.argsort(kept)[:COLUMNS] if variance[j] > 0]
    with drawn("reconstruction") as figures:
        plots.residuals(subject.last, subject.prepared)
    text = [
        f"Rows reconstructed from the components keep {np.average(kept, weights=variance):.0%} of the variance of the "
        "columns. Columns with the largest loss come first."
    ]
    return Section("Reconstruction", text, figures, [Table(("column", "variance kept"), rows)])


def _outliers(subject: Subject) -> Section | None:
    inner = Subject(getattr(subject.model, "estimator_", subject.model), subject.X, subject.index, subject.columns)
    if not hasattr(inner.last, "reconstruction_error"):
        return None
    prepared = inner.prepared
    r2 = inner.last.reconstruction_error(prepared)
    worst, typical = np.argsort(-r2)[:OUTLIERS], np.median(r2)
    reasons = [""] * len(worst)
    if inner.last.kernel_.differentiable and prepared.shape[1] == inner.X.shape[1]:
        shares = contributions(inner.model, inner.X[worst], "spe")
        reasons = [", ".join(inner.columns[j] for j in np.argsort(-row)[:REASONS]) for row in shares]
    ratios = r2[worst] / typical if typical > 0 else r2[worst]
    rows = [(f"{inner.index[i]}", f"{t:.1f}×", why) for i, t, why in zip(worst, ratios, reasons, strict=True)]
    text = [
        "The rows of largest reconstruction error, its ratio to the median, and the columns that contribute most. Rows "
        "are numbered from 0."
    ]
    return Section("Unusual rows", text, tables=[Table(("row", "error / median", "columns"), rows)])


def _code(model: Any) -> Section:
    code = (
        f"from mercer import {name_of(model)}, report\n"
        "from mercer.kernels import *\n\n"
        f"model = {one_line(parts(model)[1])}.fit(X)\n"
        'report(model, X, "report.html")\n\n'
        "# or, from a table:\n"
        "# mercer fit data.csv -o model.mercer\n"
        "# mercer report model.mercer data.csv -o report.html"
    )
    return Section("How to make this page", ["In Python and from the command line:"], code=code)
