"""Monitoring a simulated process: false alarms, delays to detection, and the sensor named by contributions.

    python benchmarks/process.py [--runs 10] [--rows 1000]

Three tanks with level control and eight noisy sensors (``mercer.datasets.three_tanks``). Each run fits a monitor on
``rows`` rows of normal operation and watches fresh ones: normal, and with three faults that begin in the middle: a leak
(a step), a pipe that clogs slowly (a drift), and a sensor that reads wrongly by three to eight standard deviations.
"""

import argparse

import numpy as np

from mercer import KernelPCAMonitor
from mercer.datasets import TANK_SENSORS, three_tanks

LIMITS = ("holdout", "loo", "quantile", "f-chi2")
SMOOTHINGS = (1.0, 0.2, 0.05)
FRESH, WATCHED = 2000, 600
SIZES = (3.0, 5.0, 8.0)
LAGS = (0, 2)
STATISTICS = ("joint", "spe", "t2")


def monitors(run, rows):
    """A monitor for every way of setting limits."""
    normal = three_tanks(run, n=rows)[0]
    return {name: KernelPCAMonitor(limits=name, random_state=run).fit(normal) for name in LIMITS}


def false_alarms(monitor, run):
    """The share of fresh normal rows beyond a limit, without and with smoothing."""
    fresh = three_tanks(10_000 + run, n=FRESH)[0]
    return [monitor.chart(fresh, smoothing=smoothing).false_alarm_rate() for smoothing in SMOOTHINGS]


def delays(monitor, run):
    """Fault ↦ rows to the first alarm (three rows in a row beyond a limit), for every smoothing."""
    found = {}
    for fault in ("step", "drift", "sensor"):
        X, _ = three_tanks(20_000 + run, n=WATCHED, fault=fault, sensor=run % len(TANK_SENSORS))
        charts = [monitor.chart(X, smoothing=smoothing, run=3) for smoothing in SMOOTHINGS]
        found[fault] = [np.nan if (delay := c.delay(WATCHED // 2)) is None else delay for c in charts]
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
    return np.mean(shares, axis=0)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args()
    rates, late = {name: [] for name in LIMITS}, []
    right = {(lags, size): [] for lags in LAGS for size in SIZES}
    for run in range(options.runs):
        fitted = monitors(run, options.rows)
        for name, monitor in fitted.items():
            rates[name].append(false_alarms(monitor, run))
        late.append(delays(fitted["holdout"], run))
        normal = three_tanks(run, n=options.rows)[0]
        for lags, size in right:
            monitor = KernelPCAMonitor(lags=lags, random_state=run).fit(normal)
            right[lags, size].append(blamed(monitor, run, size))
    columns = " | ".join(f"smoothing {s:g}" for s in SMOOTHINGS)
    print(f"False alarms on fresh rows, alpha = 0.01, mean of {options.runs} runs, {options.rows} rows to calibrate\n")
    print(f"| limits | {columns} |\n" + "|---" * (len(SMOOTHINGS) + 1) + "|")
    for name, values in rates.items():
        print(f"| {name} | " + " | ".join(f"{rate:.4f}" for rate in np.mean(values, axis=0)) + " |")
    print("\nRows to the first alarm, median (share of runs with one)\n")
    print(f"| fault | {columns} |\n" + "|---" * (len(SMOOTHINGS) + 1) + "|")
    for fault in ("step", "drift", "sensor"):
        values = np.array([row[fault] for row in late])
        cells = [f"{np.nanmedian(v):.0f} ({np.mean(~np.isnan(v)):.0%})" for v in values.T]
        print(f"| {fault} | " + " | ".join(cells) + " |")
    print("\nThe failed sensor has the largest contribution, share of alarms\n")
    print("| lags | error, sd | joint | SPE | T² |\n|---|---|---|---|---|")
    for (lags, size), values in right.items():
        print(f"| {lags} | {size:g} | " + " | ".join(f"{share:.1%}" for share in np.mean(values, axis=0)) + " |")


if __name__ == "__main__":
    main()
