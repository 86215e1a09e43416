"""Charts of alarms and choices: statistics over time, contributions, importance, scores of candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from .style import INK, WIDTH, axes, colour, names_of, plain

WIDE = 1.2 * WIDTH
CALIBRATION_PARTS = 8  # equal groups of samples, by their probability
MOST_BARS = 12  # variables that a chart of bars shows
STATISTICS = {"t2": "T²", "spe": "SPE"}


def chart(monitor: Any, X: Any, of: str = "spe", ax: Axes | None = None) -> Axes:
    """Draw T² or SPE of rows in their order, with its limit; rows beyond it are highlighted.

    Parameters
    ----------
    monitor : KernelPCAMonitor
        A fitted monitor.
    X : array-like of shape (n_samples, n_features)
        Rows in the order of time.
    of : {"spe", "t2"}, default="spe"
        The statistic.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import KernelPCAMonitor, datasets, plots
    >>> monitor = KernelPCAMonitor(random_state=0).fit(datasets.three_tanks(n=500)[0])
    >>> X, _ = datasets.three_tanks(1, n=200, fault="sensor", start=100)
    >>> plots.chart(monitor, X).get_title()
    'SPE: 100 of 200 rows beyond the limit'
    """
    return timeline(getattr(monitor, of)(X), getattr(monitor.limits_, of), of, ax)


def timeline(values: Any, limit: float, of: str = "spe", ax: Axes | None = None) -> Axes:
    """Draw values of T² or SPE in their order, with a limit; those beyond it are highlighted.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        The statistic of each row.
    limit : float
        Its limit.
    of : {"spe", "t2"}, default="spe"
        The statistic.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import plots
    >>> plots.timeline([0.2, 0.4, 3.0], limit=1.0, of="t2").get_title()
    'T²: 1 of 3 rows beyond the limit'
    """
    values = np.asarray(values)
    index, beyond = np.arange(len(values)), values > limit
    ax = axes(ax, 2.6, WIDE)
    ax.plot(index, values, color=colour(0), linewidth=0.7)
    ax.scatter(index[beyond], values[beyond], s=9, color=colour(1), linewidth=0, zorder=3)
    ax.axhline(limit, color=INK, linewidth=0.8, linestyle="--")
    ax.set(
        xlabel="row",
        title=f"{STATISTICS[of]}: {beyond.sum()} of {len(values)} rows beyond the limit",
        xlim=(0, len(values)),
    )
    ax.set_ylim(bottom=0)
    return ax


def alarms(chart: Any, start: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw T² and SPE of a chart as multiples of their limits; rows with an alarm have the colour of its cause.

    Parameters
    ----------
    chart : Chart
        The result of :meth:`mercer.KernelPCAMonitor.chart`.
    start : int, default=None
        The row where a fault began, if it is known; the title then gives the delay to the first alarm.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import KernelPCAMonitor, datasets, plots
    >>> monitor = KernelPCAMonitor(random_state=0).fit(datasets.three_tanks(n=500)[0])
    >>> X, _ = datasets.three_tanks(1, n=200, fault="sensor", start=100)
    >>> plots.alarms(monitor.chart(X, run=3), start=100).get_title()
    'alarm at row 102 by SPE, 2 rows after the fault'
    """
    ax = axes(ax, 2.6, WIDE)
    row, cause = np.arange(len(chart.t2)), chart.cause
    for i, (of, name) in enumerate(STATISTICS.items()):
        limit = getattr(chart.limits, of)
        if np.isfinite(limit):  # of a statistic that counts
            ratio = getattr(chart, of) / (limit or 1.0)
            ax.plot(row, ratio, color=colour(i), linewidth=0.7, alpha=0.8, label=f"{name} / limit")
            marked = chart.alarms & (cause == of)
            ax.scatter(row[marked], ratio[marked], s=9, color=colour(i), linewidth=0, zorder=3)
    ax.axhline(1, color=INK, linewidth=0.8, linestyle="--")
    if start is not None:
        ax.axvline(start, color=INK, linewidth=0.8, linestyle=":")
    ax.set(xlabel="row", title=_first_alarm(chart, start), xlim=(0, len(row)), yscale="log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, frameon=False)
    return ax


def _first_alarm(chart: Any, start: int | None) -> str:
    delay = chart.delay(start or 0)
    if delay is None:
        return "no alarm" if start is None else "no alarm after the fault"
    first = (start or 0) + delay
    after = "" if start is None else f", {delay} row{'' if delay == 1 else 's'} after the fault"
    return f"alarm at row {first} by {STATISTICS.get(chart.cause[first], 'earlier rows')}{after}"


def choice(table: Any, best: int, what: str, unit: str, ax: Axes | None = None) -> Axes:
    """Draw the score of each number of components or clusters, with a circle around the chosen one.

    Parameters
    ----------
    table : dict of int to float
        The score of each number.
    best : int
        The one that was chosen.
    what : str
        Name of the numbers, for the axis.
    unit : str
        Name of the score, for the axis.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import plots
    >>> plots.choice({1: 9.0, 2: 4.0, 3: 5.0}, best=2, what="clusters", unit="BIC").get_title()
    '2 clusters'
    """
    ax = axes(ax, 2.6)
    ax.plot(list(table), list(table.values()), "o-", color=colour(0), markersize=3.5, linewidth=1.2)
    chosen = [best] if best in table else []
    ax.scatter(chosen, [table[q] for q in chosen], s=70, facecolor="none", edgecolor=colour(1), linewidth=1.4, zorder=3)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel=what, ylabel=unit, title=f"{best} {what}")
    return ax


def contributions(monitor: Any, X: Any, of: str | None = None, names: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the contribution of each variable to T², SPE or both, averaged over rows.

    Parameters
    ----------
    monitor : KernelPCAMonitor
        A fitted monitor.
    X : array-like of shape (n_samples, n_features)
        Rows, usually those of an alarm.
    of : {"joint", "spe", "t2"}, default=None
        The statistic; None for the one that raises alarms.
    names : sequence of str, default=None
        Names of the variables; those of the table by default.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import KernelPCAMonitor, datasets, plots
    >>> monitor = KernelPCAMonitor(random_state=0).fit(datasets.three_tanks(n=500)[0])
    >>> X, _ = datasets.three_tanks(1, n=200, fault="sensor", start=100)
    >>> ax = plots.contributions(monitor, X[100:], names=datasets.TANK_SENSORS)
    >>> ax.get_yticklabels()[-1].get_text()
    'level 1'
    """
    values = np.asarray(monitor.contributions(X, of=of)).mean(axis=0)
    ax = _bars(values, names_of(monitor, len(values), names), ax)
    of_what = {"t2": " to T²", "spe": " to SPE"}.get(of or "", "")
    ax.set_title(f"contributions{of_what}")
    return ax


def importance(values: Any, names: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the importance of each input variable for a component, as returned by :func:`mercer.importance.importance`.

    Parameters
    ----------
    values : array-like of shape (n_features,)
        The shares.
    names : sequence of str, default=None
        Names of the variables; those of the table by default.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import plots
    >>> ax = plots.importance([0.2, 0.8], ["width", "length"])
    >>> ax.get_yticklabels()[-1].get_text()
    'length'
    """
    values = np.asarray(values, float)
    ax = _bars(values, names_of(None, len(values), names), ax)
    ax.set_title("importance")
    return ax


def calibration(confidence: Any, right: Any, ax: Axes | None = None) -> Axes:
    """Draw the share of right predictions against the probability given by the classifier.

    Parameters
    ----------
    confidence : array-like of shape (n_samples,)
        The probability of the predicted class of held-out samples.
    right : array-like of shape (n_samples,)
        Whether the prediction is right.
    ax : matplotlib axes, default=None
        Axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib axes
        The axes, for example to set titles and limits.

    Examples
    --------
    >>> from mercer import plots
    >>> plots.calibration([0.6, 0.9, 1.0], [False, True, True]).get_title()
    'Calibration on held-out rows'
    """
    confidence, right = np.asarray(confidence, float), np.asarray(right, float)
    parts = [part for part in np.array_split(np.argsort(confidence), CALIBRATION_PARTS) if len(part)]
    points = np.array([(confidence[part].mean(), right[part].mean()) for part in parts])
    low = min(float(points.min()), 1.0 - 1e-3)
    ax = axes(ax)
    ax.plot([low, 1], [low, 1], "--", color=INK, linewidth=0.8)
    ax.plot(points[:, 0], points[:, 1], "o-", color=colour(0), markersize=4, linewidth=1.2)
    ax.set(xlabel="mean probability", ylabel="share that is right", title="Calibration on held-out rows")
    return ax


def same_limits(ax: Axes, points: Any) -> None:
    """Set the limits of a picture to those of some points, so that pictures can be compared.

    Parameters
    ----------
    ax : matplotlib axes
        The picture.
    points : array-like of shape (n_samples, 2)
        The points of all pictures that are compared.

    Examples
    --------
    >>> from mercer import plots
    >>> ax = plots.scores([[0, 0], [1, 1]])
    >>> plots.same_limits(ax, [[0, 0], [2, 2]])
    >>> [round(float(limit), 2) for limit in ax.get_xlim()]
    [-0.1, 2.1]
    """
    (left, bottom), (right, top) = np.min(points, axis=0), np.max(points, axis=0)
    pad = 0.05 * max(right - left, top - bottom)
    ax.set_aspect("auto")
    ax.set(xlim=(left - pad, right + pad), ylim=(bottom - pad, top + pad))


def _bars(values: Any, names: list[str], ax: Axes | None) -> Axes:
    """Draw the largest values as bars with the names of their variables."""
    order = np.argsort(-np.abs(values))[:MOST_BARS][::-1]
    ax = axes(ax, 0.5 + 0.24 * len(order))
    ax.barh(np.arange(len(order)), values[order], color=colour(0), alpha=0.85)
    ax.set_yticks(np.arange(len(order)), [_short(names[j]) for j in order])
    return ax


def _short(name: str, most: int = 24) -> str:
    return plain(name if len(name) <= most else name[: most - 1] + "…")
