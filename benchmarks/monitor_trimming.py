"""Which training rows a monitor leaves out if a tenth of them is abnormal: the default beside eight other rules.

    MERCER_DATA=… python benchmarks/monitor_trimming.py [--seeds 2] [--again]

A tenth of at most 500 training rows is abnormal, and the share is given. *Made*: the rows of tables with classes are
normal, and abnormal ones are made of them: scattered, in one cluster, shifted (as in ``monitor_shares.py``), with
columns shuffled, or with one cell wrong by four standard deviations. *Classes*: one of the two largest classes is
normal, and rows of the others are abnormal. *Anomalies*: the tables of ``monitor_rates.py contaminated``. Detections
and false alarms at α = 1 % of rows not fitted on, and differences from the default, with standard errors over tables.

Rules for the axes: the default leaves out twice the share of the rows, the most isolated ones. Others: only the share;
the rows with the largest SPE under models of the other folds' rows that the default keeps (a concentration step, as in
the minimum covariance determinant, Rousseeuw & Van Driessen 1999), or two such steps; the mean of both ranks; the most
isolated ones in columns scaled without 10 % of the values at each end. For the limits: as many rows as the default
leaves out, those with the largest held-out SPE; fewer, in excess of the tail by two standard errors instead of one; or
the whole share of them.
"""

import warnings
import zlib

import numpy as np
from anomalies import RARE, error, line, names, read
from monitor_rates import ABNORMAL, TEST, TRAIN, mixed
from monitor_shares import abnormal
from results import Results, options
from scipy.special import ndtri
from scipy.stats import rankdata
from widths import tables

from mercer import KernelPCAMonitor
from mercer.models.monitor import rules, trimming
from mercer.models.monitor.calibration import FOLDS, t2_and_spe
from mercer.models.monitor.default import INNER, InnerScaler, fit_default

SHARE, MOST, LEAST = 0.1, 3000, 150  # rows of a table that are used at most, and training rows at least
WIDE, WRONG, DIGITS = 10, 4, 5
KINDS = ("scattered", "in a cluster", "shifted", "shuffled", "one cell")


class Trimmed(KernelPCAMonitor):
    """A monitor that leaves out other rows."""

    def _kept(self, rows, rng):
        kept = super()._kept(rows, rng)
        return RULES[self.rule](rows, self.contamination_, *kept)


def twice(values, share):
    """The rows without twice the share, those with the largest values."""
    return trimming.nearest(values, trimming.MARGIN * share)


def isolated(rows, share, percent=INNER):
    """The isolation in columns scaled without so many percent of the values at each end."""
    low, middle, high = np.percentile(rows, [percent, 50, 100 - percent], axis=0)
    width = (high - low) / (2 * ndtri(1 - percent / 100))
    scale = np.where(width > 0, width, InnerScaler().fit(rows).scale_)
    return trimming.isolation((rows - middle) / scale, share, np.random.default_rng(0))


def held_out(rows, kept):
    """SPE of each row under a model of the kept rows in the other folds."""
    rng, fold, spe = np.random.default_rng(0), np.arange(len(rows)) % FOLDS, np.empty(len(rows))
    settings = rng, rules.TABLE, KernelPCAMonitor().n_landmarks, INNER
    whole = fit_default(rows[kept], *settings)
    for k in range(FOLDS):
        model = fit_default(rows[kept & (fold != k)], *settings, like=whole)
        spe[fold == k] = t2_and_spe(model, rows[fold == k])[1]
    return spe


def by_share(rows, share, axes, limits, normal):
    return normal, limits, normal


def by_step(rows, share, axes, limits, normal):
    return twice(held_out(rows, axes), share), limits, normal


def by_two_steps(rows, share, axes, limits, normal):
    return by_step(rows, share, *by_step(rows, share, axes, limits, normal))


def by_both_ranks(rows, share, axes, limits, normal):
    ranks = rankdata(held_out(rows, axes)) + rankdata(isolated(rows, share))
    return twice(ranks, share), limits, normal


def by_wide_scales(rows, share, axes, limits, normal):
    values = isolated(rows, share, WIDE)
    limits = trimming.nearest(values, trimming.shown(values, share))
    return twice(values, share), limits, trimming.nearest(values, share)


def limits_by_spe(rows, share, axes, limits, normal):
    return axes, trimming.nearest(held_out(rows, axes), 1 - limits.mean()), normal


def limits_by_spe_surely(rows, share, axes, limits, normal):
    values, likely = isolated(rows, share), trimming.LIKELY
    trimming.LIKELY = trimming.SURE
    shown = trimming.shown(values, share)
    trimming.LIKELY = likely
    return axes, trimming.nearest(held_out(rows, axes), shown), normal


def limits_by_all_of_the_share(rows, share, axes, limits, normal):
    return axes, trimming.nearest(held_out(rows, axes), share), normal


RULES = {
    "default": lambda rows, share, *kept: kept,
    "axes: the share, not twice": by_share,
    "axes: held-out SPE": by_step,
    "axes: held-out SPE, two steps": by_two_steps,
    "axes: mean rank of both": by_both_ranks,
    "axes and limits: scales without 10 %": by_wide_scales,
    "limits: held-out SPE": limits_by_spe,
    "limits: held-out SPE, two standard errors": limits_by_spe_surely,
    "limits: held-out SPE, the whole share": limits_by_all_of_the_share,
}


def made(X, rng):
    """Yield normal rows, and abnormal rows of each kind."""
    n = ABNORMAL + TRAIN
    some = X[rng.choice(len(X), n)]
    wrong, cells = some.copy(), (np.arange(n), rng.integers(X.shape[1], size=n))
    wrong[cells] += WRONG * X.std(axis=0)[cells[1]] * rng.choice([-1, 1], n)
    shuffled = rng.permuted(some, axis=0)
    for rows in (*abnormal(rng, some, n), shuffled, wrong):
        yield X, rows


def classes(X, y):
    """Yield normal rows of each of the two largest classes, and the rows of all others."""
    found, counts = np.unique(y, return_counts=True)
    for normal in found[np.argsort(-counts, kind="stable")][:2]:
        yield X[y == normal], X[y != normal]


def cases(seeds):
    """Yield families, tables, keys, and parts: rows to fit on, further normal rows, abnormal rows, and the share."""
    for name, X, y in tables():
        if name.startswith("ad_") or len(X) < 2 * LEAST:
            continue
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        for kind, rows in zip(KINDS, made(rng.permutation(X)[:MOST], rng), strict=True):
            yield "made", name, kind, parts(rng, *rows)
        for kind, rows in enumerate(classes(X, y)):
            if len(rows[0]) >= 2 * LEAST:
                yield "classes", name, kind, parts(rng, *rows)
    for name in names():
        X, y = read(name)
        if np.sum(y == 1) >= SHARE * TRAIN + RARE and np.sum(y == 0) >= 2 * TRAIN:
            for seed in range(seeds):
                *rows, bad = mixed(X, y, SHARE, seed)
                yield "anomalies", name, seed, (*rows, bad / TRAIN)


def parts(rng, normal, other):
    normal, other = rng.permutation(normal), rng.permutation(other)
    n = min(TRAIN, len(normal) // 2)
    bad = round(SHARE * n)
    train = rng.permutation(np.vstack([normal[: n - bad], other[:bad]]))
    return train, normal[n : n + TEST], other[bad : bad + ABNORMAL], bad / n


def detected(rule, train, fresh, faulty, share):
    """Detections and false alarms."""
    monitor = Trimmed(contamination=share, in_time=False, random_state=0)
    monitor.rule = rule
    monitor.fit(train)
    return [round(float(np.mean(monitor.predict(rows) < 0)), DIGITS) for rows in (faulty, fresh)]


def lines(found):
    """Yield a row for each rule."""
    heads = [f"{family} ({len(rows)}): detections | false alarms" for family, rows in found.items()]
    yield f"| rule | {' | '.join(heads)} |"
    yield "|---" * (1 + 2 * len(heads)) + "|"
    groups = [np.array([np.mean(rows, axis=0) for rows in of.values()]) for of in found.values()]  # (tables, rules, 2)
    for i, rule in enumerate(RULES):
        cells = []
        for rows in groups:
            for j, digits in enumerate((3, 4)):
                less = rows[:, i, j] - rows[:, 0, j]
                difference = f" ({less.mean():+.{digits}f} ± {error(less):.{digits}f})" if i else ""
                cells.append(f"{rows[:, i, j].mean():.{digits}f}{difference}")
        yield line(rule, cells)


def main():
    """Measure what the file of results does not have, and write the table."""
    given = options(__doc__, seeds=(2, 1))
    warnings.simplefilter("ignore")
    results, found = Results("monitor-trimming", given.again), {}
    for family, name, key, rows in cases(given.seeds):
        row = [results.once(lambda: detected(rule, *rows), family, name, key, rule) for rule in RULES]  # noqa: B023
        found.setdefault(family, {}).setdefault(name, []).append(row)
    results.publish("monitoring.md", list(lines(found)))


if __name__ == "__main__":
    main()
