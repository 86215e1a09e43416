"""Sections about one kind of model: classifier, mixture, monitor, sparse, probabilistic, and imputed cells."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from ... import plots
from .page import Section, Table, drawn
from .subject import REASONS, Subject

FOLDS = 5
LISTED = 8  # rows that are listed
SEEN = "a training row: fit without it to see"  # the model reproduces it, so that contributions show little
MOST_CLASSES = 12  # in a confusion matrix
LEVELS = (0.01, 0.05, 0.1)  # at which p-values are counted
SAMPLES = 300


def classifier(subject: Subject) -> Section | None:
    """Cross-validated accuracy, confusion matrix, calibration, and the rows with the least certain predictions."""
    if not hasattr(subject.model, "classes_"):
        return None
    if subject.y is None:
        text = ["No class labels were given, so accuracy cannot be measured."]
        return Section("Classes", text, tables=[_sizes(subject)])
    folds = min(FOLDS, int(np.unique(subject.y, return_counts=True)[1].min()))
    if folds < 2:
        return Section("Classes", ["A class has a single row, so accuracy cannot be cross-validated."])
    cv = StratifiedKFold(folds, shuffle=True, random_state=0)
    P = cross_val_predict(clone(subject.model), subject.X, subject.y, cv=cv, method="predict_proba")
    labels = np.unique(subject.y)
    found, right = labels[P.argmax(axis=1)], labels[P.argmax(axis=1)] == subject.y
    with drawn("classes") as figures:
        plots.calibration(P.max(axis=1), right)
    sure = np.argsort(P.max(axis=1))[:LISTED]
    unsure = [(f"{subject.index[i]}", str(subject.y[i]), str(found[i]), f"{P[i].max():.2f}") for i in sure]
    tables = [
        *([_confusion(subject.y, found, labels)] if len(labels) <= MOST_CLASSES else []),
        Table(("row", "class", "predicted", "probability"), unsure, "The rows that the classifier is least sure of."),
    ]
    training = float(np.mean(subject.model.predict(subject.X) == subject.y))
    text = [
        f"Held-out accuracy: {right.mean():.1%} in {folds}-fold cross-validation, where each row is predicted by a "
        f"model that was fitted without it (training accuracy: {training:.1%}). The most frequent class has "
        f"{np.unique(subject.y, return_counts=True)[1].max() / len(subject.y):.1%} of the rows.",
    ]
    return Section("Classes on held-out rows", text, figures, tables)


def _confusion(y: np.ndarray, found: np.ndarray, labels: np.ndarray) -> Table:
    counts = confusion_matrix(y, found, labels=labels)
    rows = [(str(label), *map(str, row)) for label, row in zip(labels, counts, strict=True)]
    return Table(("class \\ predicted", *map(str, labels)), rows, "Held-out rows of each class by predicted class.")


def _sizes(subject: Subject) -> Table:
    P = subject.model.predict_proba(subject.X)
    best, names = P.argmax(axis=1), getattr(subject.model, "classes_", np.arange(P.shape[1]))
    rows = [
        (str(name), f"{np.sum(best == j)}", f"{np.mean(best == j):.1%}", f"{P[best == j, j].mean():.2f}")
        for j, name in enumerate(names)
        if np.any(best == j)
    ]
    head = "class" if hasattr(subject.model, "classes_") else "cluster"
    return Table((head, "rows", "share", "mean probability"), rows)


def mixture(subject: Subject) -> Section | None:
    """Sizes and overlap of the clusters, typical rows, and rows between clusters."""
    model, X = subject.model, subject.X
    if not hasattr(model, "predict_proba") or hasattr(model, "classes_"):
        return None
    P, density = model.predict_proba(X), model.score_samples(X)
    best, k = P.argmax(axis=1), P.shape[1]
    with drawn("clusters") as figures:
        if X.shape[1] == 2:
            plots.responsibilities(model, X)
    overlap = [
        (f"{i}", *(f"{P[best == i, j].mean():.2f}" if np.any(best == i) else "–" for j in range(k))) for i in range(k)
    ]
    typical = [(f"{j}", f"{subject.index[_best_of(density, best == j)]}") for j in range(k) if np.any(best == j)]
    between = np.argsort(P.max(axis=1))[:LISTED]
    rows = [(f"{subject.index[i]}", f"{best[i]}", f"{P[i].max():.2f}") for i in between]
    tables = [
        _sizes(subject),
        Table(("cluster", *map(str, range(k))), overlap, "Overlap: mean probability of each cluster over its rows."),
        Table(("cluster", "row of largest density"), typical, "Typical rows."),
        Table(("row", "cluster", "probability"), rows, "The rows whose cluster is least certain."),
    ]
    text = ["Rows are numbered from 0."]
    if (gaussians := len(getattr(subject.last, "parts_", ()))) > k:
        text.append(f"Each cluster is a sum of several Gaussians: the model has {gaussians} for its {k} clusters.")
    return Section("Clusters", text, figures, tables)


def _best_of(density: np.ndarray, mask: np.ndarray) -> int:
    return int(np.flatnonzero(mask)[np.argmax(density[mask])])


def monitor(subject: Subject) -> Section | None:
    """Both charts over time, the alarms with their contributions, and how often p-values fall below some levels."""
    model, X = subject.model, subject.X
    if not hasattr(model, "limits_"):
        return None
    with drawn("charts") as figures:
        plots.chart(model, X, "t2").set_title("T² of each row, in their order")
        plots.chart(model, X, "spe").set_title("SPE of each row, in their order")
    alarms, p = np.flatnonzero(model.predict(X) == -1), np.asarray(model.p_values(X))
    worst = alarms[np.argsort(p[alarms], kind="stable")][:LISTED]
    rows = [(f"{subject.index[i]}", f"{p[i]:.2g}", why) for i, why in zip(worst, _causes(subject, worst), strict=True)]
    levels = [(f"{level:.0%}", f"{np.mean(p <= level):.1%}") for level in LEVELS]
    which = "training rows" if subject.training else "rows"
    text = [
        f"{len(alarms) / len(X):.1%} of the {which} are alarms; {model.alpha:.1%} are expected in normal operation."
    ]
    tables = [
        Table(("level", "rows below it"), levels, f"Calibration: shares of p-values of the {which} below a level.")
    ]
    if len(rows):
        tables.insert(0, Table(("row", "p-value", "columns that contribute most"), rows, "The clearest alarms."))
    return Section("Control charts", text, figures, tables)


def _causes(subject: Subject, rows: np.ndarray) -> list[str]:
    """Return the columns that contribute most to each of some alarms."""
    if not len(rows):
        return []
    length = subject.model.lags + 1
    windows = np.maximum(rows[:, None] - np.arange(length)[::-1], 0)  # each row, after the previous rows of its window
    try:
        runs = np.repeat(np.arange(len(rows)), length)
        shares = subject.model.contributions(subject.X[windows.ravel()], groups=runs)[length - 1 :: length]
    except (ValueError, NotImplementedError):  # a kernel without derivatives
        return [""] * len(rows)
    training = getattr(subject.model, "training_", None)
    seen = np.zeros(len(rows), bool) if training is None else training.held_out(subject.X[rows])
    causes = [", ".join(subject.columns[j] for j in np.argsort(-row)[:REASONS]) for row in shares]
    return [SEEN if known else cause for known, cause in zip(seen, causes, strict=True)]


def sparse(subject: Subject) -> Section | None:
    """The anchors of a sparse model."""
    last = subject.last
    if not hasattr(last, "support_") or not hasattr(last, "weights_"):
        return None
    weights = np.asarray(last.weights_)
    weights = weights[last.support_] if len(weights) > len(last.support_) else weights
    order = np.argsort(-weights)[: 2 * LISTED]
    rows = [(f"{last.support_[i]}", f"{weights[i]:.4g}") for i in order]
    text = [
        f"The components are combinations of {len(last.support_)} training rows, the anchors. Anchors with the largest "
        "weights:"
    ]
    return Section("Anchors", text, tables=[Table(("training row", "weight"), rows)])


def probabilistic(subject: Subject) -> Section | None:
    """The density of the rows, and samples beside the rows."""
    model, last = subject.model, subject.last
    if not hasattr(last, "sample") or not hasattr(model, "transform") or last.n_components_ < 2:
        return None
    rows, density = model.transform(subject.X), last.score_samples(subject.prepared)
    with drawn("density") as figures:
        ax = plots.scores(rows, density)
        ax.set_title("Rows, coloured by log-density")
    drawn_rows, _ = clone_with_seed(last).sample(SAMPLES)
    with drawn("samples") as more:
        first = plots.scores(rows)
        first.set_title("Rows")
        other = plots.scores(last.transform(drawn_rows))
        other.set_title("Samples of the model")
        both = np.vstack([rows[:, :2], last.transform(drawn_rows)[:, :2]])
        for one in (first, other):
            plots.same_limits(one, both)
    text = ["Samples should cover the same region as the rows; both pictures have the same axes."]
    return Section("Density", text, [*figures, *more])


def clone_with_seed(model: Any) -> Any:
    """Return a copy of a fitted model that draws the same samples every time."""
    from copy import copy

    seeded = copy(model)
    seeded.random_state = 0
    return seeded


def filled(subject: Subject) -> Section | None:
    """The cells that were filled in, and their uncertainty."""
    if subject.filled is None or not subject.filled.any():
        return None
    mask, X = subject.filled, subject.X if subject.units is None else subject.units
    rows = [_filled_column(subject, X, int(j)) for j in np.flatnonzero(mask.any(axis=0))]
    sure = () if subject.spread is None else ("uncertainty",)
    head = ("column", "filled", "share", "mean of filled", "mean of others", *sure)
    text = [f"{mask.sum()} empty cells in {mask.any(axis=1).sum()} rows were filled before the fit."]
    return Section("Filled cells", text, tables=[Table(head, rows)])


def _filled_column(subject: Subject, X: np.ndarray, j: int) -> tuple[str, ...]:
    assert subject.filled is not None
    mask = subject.filled[:, j]
    sure = () if subject.spread is None else (f"± {subject.spread[mask, j].mean():.3g}",)
    means = f"{X[mask, j].mean():.4g}", f"{X[~mask, j].mean():.4g}" if not mask.all() else "–"
    return subject.columns[j], f"{mask.sum()}", f"{mask.mean():.1%}", *means, *sure


KINDS: tuple[Callable[[Subject], Section | None], ...] = (classifier, mixture, monitor, sparse, probabilistic, filled)
