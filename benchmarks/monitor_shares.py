"""How the bound of the share of abnormal training rows is chosen, and how often it is wrong for normal rows.

    MERCER_DATA=… python benchmarks/monitor_shares.py [--seeds 2] [--again]

500 rows, of which 0, 2, 5 or 10 % are abnormal: of the tables of ``anomalies.py``, and of ten distributions with
abnormal rows that are scattered, in one cluster, or shifted. Candidates: the power of the isolation whose tail is taken
to fall exponentially, the quantile that with the median gives its slope, and the standard errors in hand. The loss is
the mean absolute error in percent, where an estimate that is too large counts twice. For each table or distribution the
candidate that is best on all *others* is taken.

Normal rows of the ten distributions: the mean bound, and how often it is so large that there is a warning.
"""

import warnings
from collections import Counter
from itertools import product

import numpy as np
from anomalies import DIGITS, RARE, error, line, names, read
from results import Results, options

from mercer.models.monitor import trimming
from mercer.models.monitor.checks import SUSPECT
from mercer.models.monitor.default import InnerScaler

ROWS, SHARES, TOO_LARGE = 500, (0.0, 0.02, 0.05, 0.1), 2.0
POWERS, BODIES, SURE = (1.0, 0.5, 1 / 3), (0.75, 0.8, 0.85, 0.9), (2.0, 3.0)
CANDIDATES = tuple(product(POWERS, BODIES, SURE))
DEFAULT = (trimming.POWER, trimming.BODY, trimming.SURE)
SIZES, CLEAN = (60, 200, 500, 1500), 10  # rows of normal tables, and how many of them a seed has
MOST_SHOWN = 6
DRAWS = {
    "normal, 2 columns": lambda rng, n: rng.normal(size=(n, 2)),
    "normal, 10 columns": lambda rng, n: rng.normal(size=(n, 10)),
    "five factors": lambda rng, n: rng.normal(size=(n, 5)) @ mixing(30) + 0.3 * rng.normal(size=(n, 30)),
    "uniform": lambda rng, n: rng.uniform(size=(n, 5)),
    "Student t₃": lambda rng, n: rng.standard_t(3, size=(n, 5)),
    "lognormal": lambda rng, n: np.exp(rng.normal(size=(n, 4))),
    "four clusters": lambda rng, n: 4 * mixing(6)[rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])] + rng.normal(size=(n, 6)),
    "ring": lambda rng, n: on_circle(rng.uniform(0, 2 * np.pi, n)) + 0.1 * rng.normal(size=(n, 2)),
    "exponential": lambda rng, n: rng.exponential(size=(n, 8)),
    "counts": lambda rng, n: rng.poisson(2, size=(n, 6)).astype(float),
}


def mixing(d):
    return np.random.default_rng(7).normal(size=(5, d))


def on_circle(angle):
    return np.column_stack([np.cos(angle), np.sin(angle)])


def abnormal(rng, X, n):
    """Rows scattered over 1.2 times the range of X, in one cluster, and shifted by half of the range."""
    low, high = np.percentile(X, [1, 99], axis=0)
    middle, span = (low + high) / 2, high - low
    away = rng.normal(size=X.shape[1])
    yield middle + 1.2 * span * rng.uniform(-1, 1, size=(n, X.shape[1]))
    yield middle + 0.9 * span * away / np.abs(away).max() + 0.05 * span * rng.normal(size=(n, X.shape[1]))
    yield X[rng.choice(len(X), n)] + span / 2 * np.sign(away)


def drawn(name, seed):
    """(share, rows) of a distribution."""
    rng = np.random.default_rng(seed)
    for share in SHARES:
        X, bad = DRAWS[name](rng, ROWS), round(share * ROWS)
        for rows in abnormal(rng, X, bad):
            yield share, np.vstack([X[bad:], rows])


def tabled(name, seed):
    """(share, rows) of a table, where it has enough abnormal rows."""
    X, y = read(name)
    rng = np.random.default_rng(seed)
    good, bad = rng.permutation(X[y == 0])[:ROWS], rng.permutation(X[y == 1])
    for share in SHARES:
        n = round(share * len(good))
        if n <= max(len(bad) - RARE, len(bad) // 2):
            yield share, np.vstack([good[n:], bad[:n]])


def loss(cases):
    """The loss of each candidate in percent."""
    over = np.array([np.subtract(bounds(X), share) for share, X in cases])
    return [round(100 * value, 3) for value in np.where(over > 0, TOO_LARGE * over, -over).mean(axis=0).tolist()]


def bounds(X):
    """The bound of every candidate."""
    isolated = trimming.isolation(InnerScaler().fit_transform(X), trimming.SUPPOSED, np.random.default_rng(0))
    return [min(trimming.bound(isolated, *candidate), trimming.SUPPOSED) for candidate in CANDIDATES]


def losses(results, seeds):
    """Candidate ↦ the loss of each table or distribution."""
    sources = dict.fromkeys(names(), tabled) | dict.fromkeys(DRAWS, drawn)
    found = [
        [results.once(lambda: loss(source(name, seed)), name, seed) for seed in range(seeds)]  # noqa: B023
        for name, source in sources.items()
    ]
    return dict(zip(CANDIDATES, np.mean(found, axis=1).T, strict=True))


def choice(found):
    """Yield the lines of the table of candidates, and what leaving one out chooses."""
    order = sorted(found, key=lambda candidate: found[candidate].mean())
    n = len(found[order[0]])
    yield from ("| power | quantile | standard errors | loss | behind the best |", "|---" * 5 + "|")
    for candidate in dict.fromkeys([*order[:MOST_SHOWN], DEFAULT]):
        behind = found[candidate] - found[order[0]]
        cells = (*(f"{value:.3g}" for value in candidate[1:]), f"{found[candidate].mean():.2f}")
        yield line(f"{candidate[0]:.2g}", [*cells, f"{behind.mean():.2f} ± {error(behind):.2f}"])
    picked = [min(found, key=lambda c: np.delete(found[c], i).mean()) for i in range(n)]
    left = np.mean([found[candidate][i] for i, candidate in enumerate(picked)])
    chosen = ", ".join(f"{times} × ({p:.2g}, {b:g}, {s:g})" for (p, b, s), times in Counter(picked).most_common())
    yield from ("", f"Leaving one table or distribution out: {left:.2f}; chosen {chosen}.")


def clean(results, seeds):
    """Yield the lines of the table of normal rows."""
    yield from ("| normal rows | mean bound | largest | warnings |", "|---" * 4 + "|")
    for n in SIZES:
        found = [results.once(lambda: alone(name, n, CLEAN * seeds), "normal", name, n) for name in DRAWS]  # noqa: B023
        mean, largest, warned = np.array(found).T
        yield line(f"{n}", [f"{mean.mean():.2%}", f"{largest.max():.1%}", f"{warned.mean():.1%}"])


def alone(name, n, repeats):
    """The mean and the largest bound of normal rows, and the share of the tables that raise a warning."""
    rng = np.random.default_rng(n)
    found = [trimming.suspects(InnerScaler().fit_transform(DRAWS[name](rng, n)), rng) for _ in range(repeats)]
    return [round(float(value), DIGITS) for value in (np.mean(found), max(found), np.mean(np.array(found) > SUSPECT))]


def main():
    """Measure what the file of results does not have, and write the tables."""
    given = options(__doc__, seeds=(2, 1))
    warnings.simplefilter("ignore")
    results = Results("monitor-shares", given.again)
    lines = [*choice(losses(results, given.seeds)), "", *clean(results, given.seeds)]
    results.publish("monitoring.md", lines)


if __name__ == "__main__":
    main()
