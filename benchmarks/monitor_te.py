"""The Tennessee Eastman process: faults found, false alarms and delays, of the default monitor and of other detectors.

    MERCER_DATA=… make bench-peers
    MERCER_DATA=… python benchmarks/monitor_te.py [--seeds 5] [--again]

Fitted on the normal run ``X_train``. Detection is the share of rows after the onset of a fault (row 160) that are
detected: once with the threshold at which 1 % of the rows of the second normal run ``X_test`` are false alarms, set in
the same way for all methods, and once at the method's own limits for α = 1 %, with the false alarms on ``X_test``.
Delays are rows from the onset to the first of three alarms in a row, at the method's own limits. Means leave faults 3
and 9 out, as published ones do: they hardly show in any variable.
"""

import warnings

import numpy as np
from anomalies import DIGITS, error, line, pyod
from data import folder
from results import Results, options
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from mercer import KernelPCA, KernelPCAMonitor
from mercer.models.monitor.charts import alarms
from mercer.models.monitor.rules import PROCESS

ONSET, ALPHA, RUN = 160, 0.01, (3, 3)
FAULTS = range(1, 11)
HIDDEN = (3, 9)
KEPT = [fault not in HIDDEN for fault in FAULTS]


def read():
    with np.load(folder() / "te.npz", allow_pickle=False) as arrays:
        return {name: arrays[name].astype(float) for name in arrays.files}


def lagged(X, lags):
    """Rows with their predecessors, the first row standing in for those that are missing."""
    return np.hstack([X[np.maximum(np.arange(len(X)) - lag, 0)] for lag in range(lags + 1)])


def monitor(lags, seed, estimator=None):
    def fit(X):
        fitted = KernelPCAMonitor(estimator, lags=lags, in_time=True, alpha=ALPHA, random_state=seed).fit(X)
        return lambda x: -fitted.score_samples(x), -fitted.offset_

    return fit


def linear(share):
    return make_pipeline(StandardScaler(), KernelPCA(share, kernel="linear"))


def textbook(lags, share):
    """Linear PCA with the F and g·χ² limits: a row's score is the larger of T²/limit and SPE/limit."""

    def fit(X):
        fitted = KernelPCAMonitor(linear(share), limits="f-chi2", alpha=ALPHA, in_time=True).fit(lagged(X, lags)[lags:])

        def ratio(x):
            t2, spe = fitted.statistics(lagged(x, lags))
            return np.maximum(t2 / fitted.limits_.t2, spe / fitted.limits_.spe)

        return ratio, 1.0

    return fit


def peer(fit):
    """A detector without limits of its own: the quantile of its training scores."""

    def with_limit(X):
        score = fit(X)
        return score, float(np.quantile(score(X), 1 - ALPHA))

    return with_limit


def sklearn(model):
    def fit(X):
        fitted = make_pipeline(StandardScaler(), model).fit(X)
        return lambda x: -fitted.score_samples(x)

    return peer(fit)


def methods(seed):
    """Name ↦ a function from the normal run to a score (the higher, the more abnormal) and its limit."""
    share = PROCESS.share
    table = {}
    for lags in (0, 2):
        table[f"mercer, {lags} lags"] = monitor(lags, seed)
        table[f"mercer, linear kernel, {lags} lags"] = monitor(lags, seed, linear(share))
        table[f"linear PCA 90 %, {lags} lags"] = textbook(lags, 0.9)
        table[f"linear PCA {share:.1%}, {lags} lags"] = textbook(lags, share)
    table |= {name: peer(fit) for name, fit in pyod(seed).items() if "ECOD" not in name}
    return table | {
        "OneClassSVM": sklearn(OneClassSVM()),
        "IsolationForest": sklearn(IsolationForest(random_state=seed)),
    }


def figures(fit, runs):
    """False alarms at the own limit, and per fault: detection at 1 % false alarms, at the own limit, delay or None."""
    score, limit = fit(runs["X_train"])
    new = score(runs["X_test"])
    threshold, found = np.quantile(new, 1 - ALPHA), []
    for fault in FAULTS:
        values = score(runs[f"fault_{fault:02d}"])[ONSET:]
        first = np.flatnonzero(alarms(values > limit, RUN))
        shares = (round(float(np.mean(values > t)), DIGITS) for t in (threshold, limit))
        found.append([*shares, int(first[0]) if len(first) else None])
    return [round(float(np.mean(new > limit)), DIGITS), found]


def main():
    """Measure what the file of results does not have, and write the tables."""
    given = options(__doc__, seeds=(5, 1))
    warnings.simplefilter("ignore")
    runs, results, found = read(), Results("monitor-te", given.again), {}
    for seed in range(given.seeds):
        for name, fit in methods(seed).items():
            found.setdefault(name, []).append(results.once(lambda: figures(fit, runs), name, seed))  # noqa: B023
    results.publish("monitoring.md", [*by_fault(found), "", *at_own_limits(found)])


def by_fault(found):
    """Yield the lines of the table at equal false alarms."""
    yield "| method | " + " | ".join(str(fault) for fault in FAULTS) + " | mean without 3, 9 |"
    yield "|---" * (len(FAULTS) + 2) + "|"
    for name, rows in found.items():
        values = np.array([faults for _, faults in rows], float)[:, :, 0]
        means = values[:, KEPT].mean(axis=1)
        cells = [f"{value:.3f}" for value in values.mean(axis=0)]
        yield line(name, [*cells, f"**{means.mean():.3f}** ± {error(means):.3f}"])


def at_own_limits(found):
    """Yield the lines of the table at the method's own limits."""
    yield from ("At the methods' own limits for α = 1 %:", "")
    yield "| method | false alarms | over seeds | detection | median delay, rows |\n|---|---|---|---|---|"
    for name, rows in found.items():
        rates = np.array([rate for rate, _ in rows])
        values = np.array([faults for _, faults in rows], float)[:, KEPT]
        spread, delay = f"{rates.min():.2%} – {rates.max():.2%}", np.nanmedian(np.nanmean(values[:, :, 2], axis=0))
        yield line(name, [f"{rates.mean():.2%}", spread, f"{values[:, :, 1].mean():.3f}", f"{delay:.0f}"])


if __name__ == "__main__":
    main()
