"""How the rules of the default monitor for tables are chosen: every table by a rule that the other tables chose.

    MERCER_DATA=… python benchmarks/monitor_rules.py [--seeds 2] [--rows 1000] [--only wine glass] [--keep file.json]

The grid is scaling × kernel × width × share of the variance, judged by SPE in both protocols of ``anomalies.py``, on
other draws than those of its tables. A rule's figure is the mean of AUROC and AP over both protocols. For each table
the rule that is best on all *other* tables is taken: the mean of these is what a user's table can expect of rules
chosen in this way. Rules within one standard error of the best, by paired differences over tables, are ties: these are
printed, and the best ten.
"""

import argparse
import json
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from anomalies import PROTOCOLS, names, quality, read, split
from sklearn.preprocessing import StandardScaler

from mercer import KernelPCA, KernelPCAMonitor
from mercer.eigen import Landmarks
from mercer.kernels import RBF, RationalQuadratic
from mercer.kernels.width import median_sqdist
from mercer.models.monitor.default import InnerScaler
from mercer.models.monitor.trimming import MARGIN, MOST_LEFT_OUT, isolation, nearest

SCALERS = {"standard": StandardScaler, "inner": InnerScaler}
KERNELS = {"rbf": RBF, "rational quadratic": RationalQuadratic}
WIDTHS = (0.3, 1.0, 2.0, 4.0, 8.0, 16.0)
SHARES = (0.9, 0.95, 0.98, 0.995, 1.0)
DEFAULT = ("inner", "rational quadratic", 4.0, 0.98)
MOST_SHOWN = 10
LANDMARKS = KernelPCAMonitor().n_landmarks
FIRST_SEED = 100  # other draws than those of the published tables


def figures(name, seed, rows, protocol):
    """Rule ↦ (AUROC, AP)."""
    X, y = read(name)
    train, test, labels = split(X, y, seed, rows, protocol)
    if protocol == "contaminated":
        train = trimmed(train, min(float(y.mean()), 0.49), seed)
    found = {}
    for scaling, scaler in SCALERS.items():
        scale = scaler().fit(train)
        a, b = scale.transform(train), scale.transform(test)
        median = median_sqdist(a) or 1.0
        for kernel in KERNELS:
            for width in WIDTHS:
                for share, spe in spes(a, b, KERNELS[kernel](gamma=width / median), seed).items():
                    found[scaling, kernel, width, share] = quality(labels, spe)
    return found


def trimmed(X, share, seed):
    """The rows that the monitor keeps for its axes."""
    isolated = isolation(InnerScaler().fit_transform(X), share, np.random.default_rng(seed))
    return X[nearest(isolated, min(MARGIN * share, MOST_LEFT_OUT))]


def spes(train, test, kernel, seed):
    """Share of the variance ↦ SPE of the test rows, all from one decomposition."""
    solver = "exact" if len(train) <= LANDMARKS else Landmarks(n=LANDMARKS)
    subspace = KernelPCA(None, kernel=kernel, solver=solver, random_state=seed).fit(train).subspace_
    Y, r2 = subspace.split(test)
    held = np.cumsum(subspace.variances) / subspace.total_variance
    found = {}
    for share in SHARES:
        q = len(held) if share == 1 else min(np.searchsorted(held, share) + 1, len(held))
        found[share] = r2 + np.sum(Y[:, q:] ** 2, axis=1)
    return found


def measure(name, seeds, rows):
    """[protocol, table, rule, AUROC, AP] of every rule, means over seeds."""
    found = []
    for protocol in PROTOCOLS:
        runs = [figures(name, FIRST_SEED + seed, rows, protocol) for seed in range(seeds)]
        means = {rule: np.mean([run[rule] for run in runs], axis=0) for rule in runs[0]}
        found += [[protocol, name, rule, *values] for rule, values in means.items()]
    return found


def report(found):
    """Print the rules in the order of their figures over both protocols, and what leaving one table out gives."""
    means = by_rule(found)
    overall = {rule: values.mean(axis=(1, 2)) for rule, values in means.items()}  # per table
    order = sorted(overall, key=lambda rule: -overall[rule].mean())
    best, n = order[0], len(overall[order[0]])
    print(f"\n{n} tables; AUROC / AP, fitted on normal rows and on contaminated ones\n")
    print("| scaling | kernel | γ · median | share | normal | contaminated | behind the best |\n" + "|---" * 7 + "|")
    for rule in order:
        behind = overall[best] - overall[rule]
        error = behind.std(ddof=1) / np.sqrt(n)
        if rule == DEFAULT or behind.mean() <= error or rule in order[:MOST_SHOWN]:
            pairs = ["{:.3f} / {:.3f}".format(*pair) for pair in means[rule].mean(axis=0)]
            row = [*map(str, rule), *pairs, f"{behind.mean():.4f} ± {error:.4f}"]
            print("| " + " | ".join(row) + " |")
    picked = [max(overall, key=lambda rule: np.delete(overall[rule], i).mean()) for i in range(n)]
    left = np.mean([means[rule][i] for i, rule in enumerate(picked)], axis=0)
    print("\nLeave one table out: " + ", ".join("{:.3f} / {:.3f}".format(*pair) for pair in left) + "; chosen:")
    for rule, times in Counter(picked).most_common():
        print(f"  {times} × {rule}")


def by_rule(found):
    """Rule ↦ figures of shape (tables, protocols, 2)."""
    table = {}
    for protocol, name, rule, *values in found:
        table.setdefault(tuple(rule), {}).setdefault(name, {})[protocol] = values
    return {
        rule: np.array([[row[protocol] for protocol in PROTOCOLS] for row in rows.values()])
        for rule, rows in table.items()
    }


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--keep", type=Path, default=None, help="a file of figures, which are not measured again")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = json.loads(options.keep.read_text()) if options.keep and options.keep.exists() else []
    tables = options.only or names()
    for name in tables:
        if name not in {row[1] for row in kept}:
            kept += measure(name, options.seeds, options.rows)
            if options.keep:
                options.keep.write_text(json.dumps(kept))
    report([row for row in kept if row[1] in tables])


if __name__ == "__main__":
    main()
