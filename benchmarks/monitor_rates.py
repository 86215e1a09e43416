"""What the monitor promises: false alarms at the rate α, and detections in spite of abnormal training rows.

    MERCER_DATA=… python benchmarks/monitor_rates.py [--seeds 5] [--only false-alarms | contaminated]

False alarms: fitted on 500 normal rows, the share of alarms among 2000 further normal rows, for several α. Rows are
drawn (normal, a ring, heavy tails), simulated (three tanks, a new run), or read (normal rows of six tables in a random
order, the second normal run of the Tennessee Eastman process).

Contaminated training: 500 rows, of which a share is abnormal, in six tables; the share is given, estimated (``"auto"``)
or not (0). Detections among abnormal rows and false alarms among normal ones, both not fitted on, at α = 1 %.
"""

import argparse
import warnings

import numpy as np
from anomalies import read
from monitor_te import read as read_te

from mercer import KernelPCAMonitor
from mercer.datasets import three_tanks

ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1)
TRAIN, TEST = 500, 2000
TABLES = ("mammography", "musk", "pendigits", "satimage2", "shuttle", "thyroid")
SHARES = (0.0, 0.02, 0.05, 0.1)
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


def false_alarms(seeds):
    """Print the share of alarms on normal rows for every source and α."""
    found = {}
    for seed in range(seeds):
        for name, (train, test) in sources(seed).items():
            for lags in (0, 2) if "run" in name else (0,):
                scores = KernelPCAMonitor(lags=lags, random_state=seed).fit(train).score_samples(test)
                key = f"{name}, 2 lags" if lags else name
                found.setdefault(key, []).append([np.mean(scores < np.log(alpha)) for alpha in ALPHAS])
    print(f"\nFalse alarms, mean of {seeds} seeds\n")
    print("| rows | " + " | ".join(f"α = {alpha:g}" for alpha in ALPHAS) + " |\n" + "|---" * (len(ALPHAS) + 1) + "|")
    for name, rates in found.items():
        print(f"| {name} | " + " | ".join(f"{rate:.4f}" for rate in np.mean(rates, axis=0)) + " |")


def contaminated(seeds):
    """Print detections and false alarms after training with abnormal rows."""
    found = {}
    for seed in range(seeds):
        for name in TABLES:
            X, y = read(name)
            rng = np.random.default_rng(seed)
            normal, abnormal = rng.permutation(X[y == 0]), rng.permutation(X[y == 1])
            for share in SHARES:
                bad = min(round(share * TRAIN), len(abnormal) // 2)
                train = rng.permutation(np.vstack([normal[: TRAIN - bad], abnormal[:bad]]))
                fresh, faulty = normal[TRAIN : TRAIN + TEST], abnormal[bad : bad + ABNORMAL]
                for said in ("given", "auto", "0"):
                    given = {"given": bad / TRAIN, "auto": "auto", "0": 0.0}[said]
                    monitor = KernelPCAMonitor(contamination=given, random_state=seed).fit(train)
                    rates = np.mean(monitor.predict(faulty) < 0), np.mean(monitor.predict(fresh) < 0)
                    found.setdefault((share, said), []).append((*rates, monitor.contamination_))
    print(f"\nContaminated training, mean of {len(TABLES)} tables and {seeds} seeds\n")
    print("| abnormal training rows | contamination | left out | detections | false alarms |\n|---|---|---|---|---|")
    for (share, said), rows in found.items():
        detected, false, left = np.mean(rows, axis=0)
        print(f"| {share:.0%} | {said} | {left:.1%} | {detected:.3f} | {false:.4f} |")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", choices=("false-alarms", "contaminated"), default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.only != "contaminated":
        false_alarms(options.seeds)
    if options.only != "false-alarms":
        contaminated(options.seeds)


if __name__ == "__main__":
    main()
