"""The sections of every report: data, model, map, spectrum, components, reconstruction, unusual rows, code."""

from typing import Any

import numpy as np

from ... import plots
from ..._core.text import plural
from ...models.monitor.contributions import contributions
from ...models.pipelines import names as names_of
from ...models.pipelines import parts
from ...select.importance import importance
from .. import recipes
from ..describe import name_of, sentences
from .kinds import KINDS
from .page import Section, Table, drawn
from .subject import REASONS, Subject

ROWS = 2000  # a random subset of larger tables is used
COLUMNS = 20  # shown in tables
OUTLIERS = 8
COMPONENTS = 10
ROUNDING = 1e-12  # of a mean, relative to the standard deviation
POOR = 0.5  # explained variance below which the page has a warning
UNSCALED = 100  # ratio of standard deviations above which the page has a warning
DUPLICATES = 0.5  # share of duplicate rows above which the page has a warning


def contents(
    model: Any,
    X: Any,
    *,
    names: Any = None,
    units: Any = None,
    y: Any = None,
    color: tuple[str, Any] | None = None,
    filled: Any = None,
    spread: Any = None,
    training: bool | None = None,
    made: str = "",
    random_state: int = 0,
) -> tuple[str, list[str], list[Section]]:
    """Return title, lead and sections of the page."""
    n, d = np.shape(X)
    columns = names_of(model, X, d) if names is None else [str(name) for name in names]
    together = getattr(model, "lags", 0) > 0  # each row needs the rows before it
    index = np.arange(min(n, ROWS))
    if not together:
        index = np.sort(np.random.default_rng(random_state).choice(n, len(index), replace=False))
    training = _is_training(model, X) if training is None else training

    def some(values: Any) -> Any:
        return None if values is None else np.asarray(values)[index]

    subject = Subject(
        model,
        np.asarray(X, float)[index],
        index,
        columns,
        some(y),
        None if color is None else (color[0], some(color[1])),
        some(units),
        some(filled),
        some(spread),
        training,
    )
    kind, *about = sentences(model)
    some_rows = f"the first {ROWS} rows" if together else f"a random subset of {ROWS} rows"
    part = "" if n <= ROWS else f" Figures and statistics use {some_rows}."
    part += " These are the training rows, to which the model was fitted." if training else ""
    sections = [_data(subject, subject.units), Section("Model", about)]
    for make in (_map, _spectrum, *KINDS, _components, _reconstruction, _outliers):
        section = make(subject)
        sections += [] if section is None else [section]
    lead = [f"{kind} The table has {plural(n, 'row')} and {plural(d, 'column')}.{part}"]
    return f"Report: {name_of(model)}", lead, [*sections, _code(model, made)]


def _is_training(model: Any, X: Any) -> bool:
    """Return True if the rows are those that the model keeps."""
    kept = getattr(parts(model)[1], "anchors_", None)
    if kept is None or np.shape(kept) != np.shape(X) or model is not parts(model)[1]:
        return False
    return bool(np.array_equal(np.asarray(kept), np.asarray(X, float)))


def _map(subject: Subject) -> Section | None:
    """The rows on two components, once for each colour."""
    Y, own = subject.coordinates
    if Y.shape[1] < 2:
        return None
    colours = subject.colours()
    with drawn("map") as figures:
        for name, values in colours.items() or {"": None}.items():
            ax = plots.scores(Y, values)
            ax.set_title(f"Rows, coloured by {name}" if name else "Rows")
    text = [] if own else ["The axes are those of a kernel PCA with the same kernel, fitted only for this map."]
    if "novelty" in colours:
        text.append("Novelty is the squared distance of a row to the components.")
    return Section("Map of the rows", text, figures)


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
    linear = _linear_shares(subject.prepared, last.n_components_)
    with drawn("spectrum") as figures:
        plots.scree(last, linear=linear)
        plots.kernel_matrix(last, subject.prepared)
    shares, total = last.explained_variance_ratio_, np.cumsum(last.explained_variance_ratio_)
    rows = [
        (
            f"{j + 1}",
            f"{last.explained_variance_[j]:.4g}",
            f"{shares[j]:.1%}",
            f"{total[j]:.1%}",
            f"{linear[: j + 1].sum():.1%}",
        )
        for j in range(min(COMPONENTS, len(total)))
    ]
    notes = []
    if total[-1] < POOR:
        notes = [
            f"The components explain {total[-1]:.0%} of the variance. More components or a wider kernel explain more."
        ]
    text = [
        "Shares of the training rows, relative to the total variance in feature space. Those of linear PCA are "
        "relative to the total variance of the columns."
    ]
    table = Table(("component", "variance", "share", "cumulative", "linear PCA"), rows)
    return Section("Explained variance", text, figures, [table], notes=notes)


def _linear_shares(X: np.ndarray, q: int) -> np.ndarray:
    """Return the shares of the variance of the columns that the components of linear PCA hold."""
    variances = np.linalg.eigvalsh(np.atleast_2d(np.cov(X.T)))[::-1] if len(X) > 1 else np.zeros(1)
    shares = np.maximum(variances, 0) / (variances.sum() or 1.0)
    return np.pad(shares[:q], (0, max(0, q - len(shares))))


def _components(subject: Subject) -> Section | None:
    model, last, X = subject.model, subject.last, subject.X
    if not hasattr(model, "transform") or last.n_components_ < 1:
        return None
    with drawn("components") as figures:
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
    inner = subject.inner
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


def _code(model: Any, made: str) -> Section:
    code = made or recipes.python(model, None)
    text = "The command and the Python code that make the model again:" if made else "In Python, from rows X:"
    return Section("How to make this model", [text], code=code)
