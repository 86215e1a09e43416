"""Monitors in a graph: T², SPE and their tail probabilities. The graph treats every row as new."""

from typing import Any

import numpy as np

from ...models.monitor import KernelPCAMonitor
from . import namespace as xp
from .densities import split
from .graph import Tensor, cast
from .models import METHODS
from .pipelines import steps_of


def _statistics(monitor: KernelPCAMonitor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return T² = Σ y²/λ and SPE = r² of each row."""
    if getattr(monitor, "lags", 0):
        raise ValueError(
            f"A monitor with lags={monitor.lags} looks at rows before each row, which a graph that takes all rows "
            "alike cannot. Use lags=0."
        )
    steps, model = steps_of(monitor.estimator_)
    for step in steps:
        x = step(x)
    Y, r2 = split(model.subspace_, x)
    return xp.sum(Y * Y * (1 / model.subspace_.variances), axis=1), r2


def _score(monitor: KernelPCAMonitor, x: Tensor) -> Tensor:
    """Return the joint log tail probability of both charts."""
    t2, spe = _statistics(monitor, x)
    tails = getattr(monitor, "tails_", None)
    if tails is None:  # of a file that an earlier version wrote
        return -xp.maximum(t2 / monitor.limits_.t2, spe / monitor.limits_.spe)
    log_p = _log_tail(tails.spe, xp.maximum(spe, tails.floor))
    if tails.t2 is not None:
        log_p = xp.minimum(log_p, _log_tail(tails.t2, t2))
    return _log_tail(tails.joint, -log_p)


def _log_tail(tail: Any, v: Tensor) -> Tensor:
    """Return log P(V ≥ v): linear between the knots, a generalised Pareto law beyond the last of them."""
    knots, log_p = np.asarray(tail.knots, float), np.asarray(tail.log_p, float)
    excess = xp.maximum(v - knots[-1], 0.0) / tail.scale
    beyond = xp.log(excess * tail.shape + 1.0) / tail.shape if tail.shape > 0 else excess
    if len(knots) == 1:
        return float(log_p[0]) - beyond
    place = xp.sum(cast(v[:, None] >= knots, np.int64), axis=1)
    place = xp.clip(place, 1, len(knots) - 1) - 1
    start, height, slope = (_at(x, place) for x in (knots[:-1], log_p[:-1], np.diff(log_p) / np.diff(knots)))
    return height + slope * (xp.clip(v, float(knots[0]), float(knots[-1])) - start) - beyond


def _at(values: np.ndarray, place: Tensor) -> Tensor:
    return xp.take(Tensor(place.graph, values), place, axis=0)


def _alarm(monitor: KernelPCAMonitor, x: Tensor) -> Tensor:
    return xp.where(_score(monitor, x) < monitor.offset_, np.int64(-1), np.int64(1))


METHODS[KernelPCAMonitor] = {
    "predict": _alarm,
    "score_samples": _score,
    "t2": lambda monitor, x: _statistics(monitor, x)[0],
    "spe": lambda monitor, x: _statistics(monitor, x)[1],
}
