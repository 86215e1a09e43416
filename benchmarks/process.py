"""Monitoring a simulated process: false alarms, delays to detection, and the sensor named by contributions.

    python benchmarks/process.py [--runs 10] [--rows 1000] [--again]

Three tanks with level control and eight noisy sensors (``mercer.datasets.three_tanks``). Each run fits a monitor on
``rows`` rows of normal operation and watches fresh ones: normal, and with three faults that begin in the middle: a leak
(a step), a pipe that clogs slowly (a drift), and a sensor that reads wrongly by three to eight standard deviations.
"""

import warnings

import numpy as np
from anomalies import DIGITS, error, line
from results import Results, options

from mercer import KernelPCAMonitor
from mercer.datasets import TANK_SENSORS, three_tanks

LIMITS = ("holdout", "loo", "quantile", "f-chi2")
SMOOTHINGS = (1.0, 0.2, 0.05)
FAULTS = {"step": "a leak", "drift": "a pipe that clogs", "sensor": "a sensor"}
FRESH, WATCHED = 2000, 600
SIZES = (3.0, 5.0, 8.0)
LAGS = (0, 2)
STATISTICS = {"joint": "joint", "spe": "SPE", "t2": "T²"}


def fitted(run, rows, **settings):
    return KernelPCAMonitor(random_state=run, **settings).fit(three_tanks(run, n=rows)[0])


def false_alarms(monitor, run):
    """The share of fresh normal rows beyond a limit, for every smoothing."""
    fresh = three_tanks(10_000 + run, n=FRESH)[0]
    return [round(monitor.chart(fresh, smoothing=smoothing).false_alarm_rate(), DIGITS) for smoothing in SMOOTHINGS]


def delays(monitor, run):
    """Fault ↦ rows to the first alarm (three rows in a row beyond a limit) or None, for every smoothing."""
    found = {}
    for fault in FAULTS:
        X, _ = three_tanks(20_000 + run, n=WATCHED, fault=fault, sensor=run % len(TANK_SENSORS))
        charts = [monitor.chart(X, smoothing=smoothing, run=3) for smoothing in SMOOTHINGS]
        found[fault] = [chart.delay(WATCHED // 2) for chart in charts]
    return found


def blamed(monitor, run, size):
    """Shares of alarms after a sensor failure whose largest contribution is the sensor's, for each statistic."""
    shares = []
    for sensor in range(len(TANK_SENSORS)):
        X, y = three_tanks(30_000 + 100 * run + sensor, n=100, fault="sensor", sensor=sensor, size=size)
        alarms = (y == 1) & (monitor.predict(X) == -1)
        if alarms.any():
            named = [monitor.contributions(X, of)[alarms].argmax(axis=1) for of in STATISTICS]
            shares.append([np.mean(first == sensor) for first in named])
    return np.mean(shares, axis=0).round(DIGITS).tolist()


def measured(results, run, rows):
    """False alarms for each kind of limits, delays for each fault, and shares for each number of lags and size."""
    once = results.once
    rates = {
        kind: once(lambda: false_alarms(fitted(run, rows, limits=kind), run), "false alarms", kind, run)  # noqa: B023
        for kind in LIMITS
    }
    late = once(lambda: delays(fitted(run, rows), run), "delays", run)
    right = {}
    for lags in LAGS:
        sizes = once(lambda: [blamed(m, run, s) for m in [fitted(run, rows, lags=lags)] for s in SIZES], lags, run)  # noqa: B023
        right |= {(lags, size): shares for size, shares in zip(SIZES, sizes, strict=True)}
    return rates, late, right


def tables(found):
    """Yield the lines of three tables."""
    rates, late, right = zip(*found, strict=True)
    columns = [f"smoothing {smoothing:g}" for smoothing in SMOOTHINGS]
    yield from ("Alarms on fresh normal rows, α = 1 %:", "", head("limits", columns))
    for kind in LIMITS:
        values = np.array([row[kind] for row in rates])
        yield line(
            f'`"{kind}"`', (f"{mean:.2%} ± {error(v):.2%}" for mean, v in zip(values.mean(0), values.T, strict=True))
        )
    yield from (
        "",
        "Rows from the fault to the alarm, three rows in a row; medians, and the share of runs with one:",
        "",
    )
    yield head("fault", columns)
    for fault, name in FAULTS.items():
        values = np.array([row[fault] for row in late], float).T
        yield line(name, (f"{np.nanmedian(v):.0f} ({np.mean(~np.isnan(v)):.0%})" for v in values))
    yield from ("", "Alarms in which the sensor that failed has the largest contribution:", "")
    yield head("lags", ["error, sd", *STATISTICS.values()])
    for lags, size in right[0]:
        values = np.array([row[lags, size] for row in right])
        shares = [f"{mean:.1%} ± {error(v):.1%}" for mean, v in zip(values.mean(0), values.T, strict=True)]
        yield line(f"{lags}", [f"{size:g}", *shares])


def head(first, columns):
    return line(first, columns) + "\n" + "|---" * (len(columns) + 1) + "|"


def main():
    """Measure what the file of results does not have, and write the tables."""
    given = options(__doc__, runs=(10, 2), rows=(1000, 500))
    warnings.simplefilter("ignore")
    results = Results("process", given.again)
    found = [measured(results, run, given.rows) for run in range(given.runs)]
    results.publish("monitoring.md", list(tables(found)))


if __name__ == "__main__":
    main()
