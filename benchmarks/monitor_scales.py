"""How much of a column's range defines its scale in a monitor: percent left out at each end, on tables of two families.

    MERCER_DATA=… python benchmarks/monitor_scales.py [--again]

*Anomalies*: the public tables of ``anomalies.py``, fitted on normal rows. *Classes*: other tables, in which one of the
two largest classes is normal and rows of all others, a tenth as many, are abnormal. AUROC and average precision, means
over tables, and differences from 5 % with standard errors over tables. The peer is the distance to the fifth neighbour
in standardized columns.
"""

import warnings

import numpy as np
from anomalies import names, quality, read, split
from results import Results, options
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler
from widths import tables

from mercer import KernelPCAMonitor
from mercer.models.monitor import fitting

PERCENTS = (5.0, 2.5, 1.0, 0.5)
PEER = "5th neighbour"
SEEDS = (11, 12)  # other draws than those of anomalies.py
ROWS, TEST, LEAST = 500, 1500, 40  # rows of a class


def main():
    """Measure what the file of results does not have, and write the table."""
    results = Results("monitor-scales", options(__doc__).again)
    warnings.simplefilter("ignore")
    found = {}
    for family, name, parts in cases():
        row = [results.once(lambda: with_percent(percent, *parts), name, percent) for percent in PERCENTS]  # noqa: B023
        row.append(results.once(lambda: neighbours(*parts), name, PEER))  # noqa: B023
        found.setdefault(family, []).append(row)
    results.publish("monitoring.md", list(lines(found)))


def cases():
    """Yield families, names, and parts: rows to fit on, rows to score, and their labels."""
    for name in names():
        for seed in SEEDS:
            yield "anomalies", f"{name} {seed}", split(*read(name), seed, 2 * ROWS, "normal")
    for name, X, y in tables():
        if name.startswith("ad_"):
            continue
        rng = np.random.default_rng(0)
        classes, counts = np.unique(y, return_counts=True)
        for normal in classes[np.argsort(-counts, kind="stable")][:2]:
            own, others = (rng.permutation(np.flatnonzero(kind)) for kind in (y == normal, y != normal))
            half = min(ROWS, len(own) // 2)
            if half >= LEAST:
                new = own[half : half + TEST]
                test = np.append(new, others[: max(10, len(new) // 10)])
                yield "classes", f"{name} {normal}", (X[own[:half]], X[test], (y[test] != normal).astype(int))


def with_percent(percent, train, test, labels):
    """AUROC and AP of a monitor that leaves out so many percent at each end."""
    fitting.OUTER = percent
    monitor = KernelPCAMonitor(in_time=False, random_state=0).fit(train)
    return [float(value) for value in quality(labels, -monitor.score_samples(test))]


def neighbours(train, test, labels):
    """AUROC and AP of the distance to the fifth neighbour."""
    scaler = StandardScaler().fit(train)
    found = NearestNeighbors(n_neighbors=5).fit(scaler.transform(train)).kneighbors(scaler.transform(test))[0]
    return [float(value) for value in quality(labels, found[:, -1])]


def lines(found):
    """Yield a row for each percentage and one for the peer."""
    heads = [f"{family} ({len(rows)}) | less 5 %" for family, rows in found.items()]
    yield f"| left out at each end | {' | '.join(heads)} |"
    yield "|---" * (1 + 2 * len(heads)) + "|"
    for i, name in enumerate([*(f"{percent:g} %" for percent in PERCENTS), PEER]):
        cells = []
        for rows in map(np.array, found.values()):
            gain = rows[:, i] - rows[:, 0]
            se = gain.std(axis=0, ddof=1) / len(gain) ** 0.5
            cells.append("{:.3f} / {:.3f}".format(*rows[:, i].mean(axis=0)))
            cells.append(" / ".join(f"{g:+.3f} ± {s:.3f}" for g, s in zip(gain.mean(axis=0), se, strict=True)))
        yield f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
