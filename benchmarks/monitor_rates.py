"""What the monitor promises: false alarms at the rate α, and detections in spite of abnormal training rows.

    MERCER_DATA=… python benchmarks/monitor_rates.py false-alarms | contaminated | drift | few [--seeds 5] [--again]

False alarms: fitted on 500 normal rows, the share of alarms among 2000 further normal rows, for several α. Rows are
drawn (normal, a ring, heavy tails), simulated (three tanks, a new run), or read (normal rows of six tables in a random
order, the second normal run of the Tennessee Eastman process).

Contaminated training: 500 rows, of which a share is abnormal, in all tables with at least 70 abnormal rows; the share
is given, estimated (``"auto"``) or not (0). Detections among abnormal rows and false alarms among normal ones, both not
fitted on, at α = 1 %; over all tables, and over those where a monitor fitted on normal rows finds a third of them.
*Known limits*: the share is given, and the limits are those of the normal training rows, as if these were known: what
is then missing is due to the axes.

Drift: how often simulated processes that are steady, and that drift slowly by one or two standard deviations in all
columns, raise the warning of drift.

Few: false alarms on a new run of the same simulated processes, fitted on few rows, how often these are taken for rows
in time, and how often there is a warning of too few rows.
"""

import argparse
import warnings
from itertools import product

import numpy as np
from anomalies import DIGITS, RARE, error, line, names, read
from monitor_te import read as read_te
from results import Results
from scipy.signal import lfilter

from mercer import KernelPCAMonitor
from mercer.datasets import three_tanks
from mercer.models.monitor.training import keys_of

ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1)
TRAIN, TEST = 500, 2000
TABLES = ("mammography", "musk", "pendigits", "satimage2", "shuttle", "thyroid")
SHARES = (0.0, 0.02, 0.05, 0.1)
SHOWN = 1 / 3  # detections after training on normal rows
RAMPS = (0, 1, 2)
LENGTHS = (20, 30, 50, 100, 200, 500, 1000)
KNOWN = "known limits"
BEFORE = 400  # rows of an autoregression before the first one, so that its start is forgotten
ABNORMAL = 200  # abnormal rows that are scored at most


def ring(rng, n):
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=(n, 2))


def sources(seed):
    """Name ↦ (rows to fit on, further normal rows)."""
    rng, n = np.random.default_rng(seed), TRAIN + TEST
    drawn = {
        "normal, 10 columns": rng.normal(size=(n, 10)),
        "ring": ring(rng, n),
        "Student t₃, 5 columns": rng.standard_t(3, size=(n, 5)),
    }
    table = {name: (X[:TRAIN], X[TRAIN:]) for name, X in drawn.items()}
    table["three tanks, a new run"] = three_tanks(seed, n=TRAIN)[0], three_tanks(1000 + seed, n=TEST)[0]
    for name in TABLES:
        X, y = read(name)
        X = rng.permutation(X[y == 0])[:n]
        table[name] = X[:TRAIN], X[TRAIN:]
    te = read_te()
    return table | {"Tennessee Eastman, a new run": (te["X_train"], te["X_test"])}


def false_alarms(results, seeds):
    """Write the share of alarms on normal rows for every source and α."""
    found = {}
    for seed in range(seeds):
        for name, (train, test) in sources(seed).items():
            for lags in (0, 2) if "run" in name else (0,):
                key = f"{name}, 2 lags" if lags else name
                rates = results.once(lambda: alarms(train, test, lags, seed), key, seed)  # noqa: B023
                found.setdefault(key, []).append(rates)
    yield "| rows | " + " | ".join(f"α = {alpha:g}" for alpha in ALPHAS) + " | ± at 0.01 |"
    yield "|---" * (len(ALPHAS) + 2) + "|"
    for name, rates in found.items():
        cells = [f"{rate:.4f}" for rate in np.mean(rates, axis=0)]
        yield line(name, [*cells, f"{error(np.array(rates)[:, ALPHAS.index(0.01)]):.4f}"])


def alarms(train, test, lags, seed):
    scores = KernelPCAMonitor(lags=lags, random_state=seed).fit(train).score_samples(test)
    return [round(float(np.mean(scores < np.log(alpha))), DIGITS) for alpha in ALPHAS]


def contaminated(results, seeds):
    """Write detections and false alarms after training with abnormal rows."""
    found = {}
    for name in names():
        X, y = read(name)
        if np.sum(y == 1) < max(SHARES) * TRAIN + RARE or np.sum(y == 0) < 2 * TRAIN:
            continue
        for seed in range(seeds):
            for share in SHARES:
                *rows, bad = mixed(X, y, share, seed)
                for said, given in {"given": bad / TRAIN, KNOWN: bad / TRAIN, "auto": "auto", "0": 0.0}.items():
                    if said == KNOWN and bad == 0:
                        continue
                    known = X[y == 0] if said == KNOWN else None
                    row = results.once(lambda: detected(*rows, given, seed, known), name, share, said, seed)  # noqa: B023
                    found.setdefault((share, said), {}).setdefault(name, []).append(row)
    means = {key: {name: np.mean(rows, axis=0) for name, rows in tables.items()} for key, tables in found.items()}
    clean = {name: row[0] for name, row in means[0.0, "0"].items()}
    shown = [name for name, detections in clean.items() if detections >= SHOWN]
    yield f"| abnormal training rows | contamination | {heads(len(clean), 'all')} | {heads(len(shown), 'found')} |"
    yield "|---" * 8 + "|"
    for (share, said), tables in means.items():
        cells = [cell for group in (list(clean), shown) for cell in columns(np.array([tables[name] for name in group]))]
        yield line(f"{share:.0%}", [said, *cells])
    yield ""
    yield f"*all*: {', '.join(clean)}; *found*: {', '.join(shown)}."
    yield ""
    detections = {share: np.sum([*found[share, "given"].values()], axis=0)[:, 0] for share in SHARES}  # by seeds
    left = {share: detections[share] / detections[0.0] for share in SHARES[1:]}
    cells = (f"{of.mean():.0%} ± {error(of):.0%} at {share:.0%}" for share, of in left.items())
    yield f"Of the detections of a clean fit, with the share given: {', '.join(cells)} (errors over draws)."


def heads(n, group):
    return " | ".join(f"{what}, {n} tables ({group})" for what in ("left out", "detections", "false alarms"))


def columns(rows):
    """The share left out, detections and false alarms: means over tables with standard errors."""
    detections, false, left = rows.mean(axis=0)
    return f"{left:.1%}", f"{detections:.3f} ± {error(rows[:, 0]):.3f}", f"{false:.4f} ± {error(rows[:, 1]):.4f}"


def mixed(X, y, share, seed):
    """Rows to fit on, further normal rows, abnormal rows, and how many of these are in the first."""
    rng = np.random.default_rng(seed)
    normal, abnormal = rng.permutation(X[y == 0]), rng.permutation(X[y == 1])
    bad = round(share * TRAIN)
    train = rng.permutation(np.vstack([normal[: TRAIN - bad], abnormal[:bad]]))
    return train, normal[TRAIN : TRAIN + TEST], abnormal[bad : bad + ABNORMAL], bad


class KnownLimits(KernelPCAMonitor):
    """A monitor with the limits of those training rows that are known to be normal."""

    def _kept(self, rows, rng):
        for_axes, _, normal = super()._kept(rows, rng)
        return for_axes, np.isin(keys_of(rows), self.known), normal


def detected(train, fresh, faulty, given, seed, known=None):
    """Detections, false alarms and the share left out; ``known`` are normal rows."""
    monitor = (KernelPCAMonitor if known is None else KnownLimits)(
        contamination=given, in_time=False, random_state=seed
    )
    if known is not None:
        monitor.known = keys_of(known)
    monitor.fit(train)
    row = np.mean(monitor.predict(faulty) < 0), np.mean(monitor.predict(fresh) < 0), monitor.contamination_
    return [round(float(value), DIGITS) for value in row]


def drift(results, seeds):
    """Write how often processes that are steady, or drift, raise the warning of drift."""
    yield from ("| process | rows | " + " | ".join(f"drift of {ramp:g} sd" for ramp in RAMPS) + " |", "|---" * 5 + "|")
    for name, n in product(PROCESSES, (TRAIN, 2 * TRAIN)):
        keys = [[(name, n, ramp, seed) for seed in range(seeds)] for ramp in RAMPS]
        rates = [np.mean([results.once(lambda: warned(*key), *key) for key in row]) for row in keys]  # noqa: B023
        yield line(name, [f"{n}", *(f"{rate:.0%}" for rate in rates)])


def warned(name, n, ramp, seed):
    """Return 1 if rows to which a slow drift of ``ramp`` standard deviations is added raise the warning."""
    X = PROCESSES[name](seed, n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        KernelPCAMonitor(random_state=seed).fit(X + ramp * X.std(axis=0) * np.linspace(0, 1, n)[:, None])
    return int(any("drift" in str(warning.message) for warning in caught))


def few(results, seeds):
    """Write the false alarms of monitors that are fitted on few rows of a process, on new runs of it."""
    yield "| process | rows | taken for rows in time | worth independent | false alarms | warnings |"
    yield "|---" * 6 + "|"
    for name, n in product(PROCESSES, LENGTHS):
        rows = [results.once(lambda: of_new_run(name, n, seed), name, n, seed) for seed in range(seeds)]  # noqa: B023
        worth, false, warned, in_time = np.mean(rows, axis=0)
        alarms = f"{false:.1%} ± {error(np.array(rows)[:, 1]):.1%}"
        yield line(name, [f"{n}", f"{in_time:.0%}", f"{worth:.0f}", alarms, f"{warned:.0%}"])


def of_new_run(name, n, seed):
    """The effective number of training rows, false alarms on a new run, 1 for a warning, and 1 for rows in time."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        monitor = KernelPCAMonitor(random_state=seed).fit(PROCESSES[name](seed, n))
    false = np.mean(monitor.predict(PROCESSES[name](1000 + seed, TEST)) < 0)
    reported = any("worth only" in str(warning.message) or "too few" in str(warning.message) for warning in caught)
    return [round(float(value), DIGITS) for value in (monitor.n_effective_, false, reported, monitor.in_time_)]


def autoregression(seed, n, memory):
    """Four autoregressive sources seen by eight sensors with noise."""
    rng, mixing = np.random.default_rng(seed), np.random.default_rng(5).normal(size=(4, 8))
    steps = np.sqrt(1 - memory**2) * rng.normal(size=(n + BEFORE, 4))
    return lfilter([1], [1, -memory], steps, axis=0)[BEFORE:] @ mixing + 0.3 * rng.normal(size=(n, 8))


PROCESSES = {"three tanks": lambda seed, n: three_tanks(seed, n=n)[0]}
PROCESSES |= {
    f"autoregression, {memory}": lambda seed, n, memory=memory: autoregression(seed, n, memory)
    for memory in (0.5, 0.9, 0.97)
}
TABLES_OF = {"false-alarms": false_alarms, "contaminated": contaminated, "drift": drift, "few": few}


def main():
    """Measure what the file of results does not have, and write a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=TABLES_OF)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="ignore figures that are kept from an earlier run")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(f"monitor-{options.table}", options.again)
    results.publish("monitoring.md", list(TABLES_OF[options.table](results, options.seeds)))


if __name__ == "__main__":
    main()
