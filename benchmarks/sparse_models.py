"""Sparse kernel PCA: seconds of a fit, beside what the fast update (14) takes, and the figures on the Pima data.

    MERCER_DATA=… python benchmarks/sparse_models.py [--limit 60] [--only pima]

Rows are ten narrow clusters in five columns, the kernel is exp(−d²/2). Seconds are those of a whole ``fit``, the Gram
matrix included. The fast update is run on the same likelihood, whose making is not counted, until its log-likelihood is
within 0.001 of Newton's or the limit of CPU seconds is reached: a ratio with ">" is what had been spent by then. Ratios
are of CPU seconds, so that they do not depend on the load.
"""

import argparse
from time import perf_counter, process_time

import numpy as np
from data import clusters, folder
from sklearn.svm import SVC

from mercer import KernelPCA, SparseKernelPCA
from mercer._core.blas import single_blas
from mercer.kernels import RBF
from mercer.linalg.operators import Gram
from mercer.rkhs.sparse.likelihood import Likelihood, choose_candidates

KERNEL = RBF(0.5)
CASES = [  # rows, candidates, noise variance, bar in seconds
    (1_000, 1_000, 0.0112, 1.0),
    (1_000, 1_000, 0.0033, 5.0),
    (3_000, 3_000, 0.0103, 5.0),
    (20_000, 1_000, 0.0127, 5.0),
    (100_000, 1_000, 0.0127, 20.0),
]
NEAR = 1e-3  # of the log-likelihood of all rows: as high as Newton's
ANCHORS, MOST = 40, 25  # of the paper's figure 4
SEED = 0


def timed(work):
    wall, cpu = perf_counter(), process_time()
    result = work()
    return result, perf_counter() - wall, process_time() - cpu


def fast_seconds(X, candidates, rho, goal, limit):
    """CPU seconds until (14) is as high as ``goal``, and whether it came so far."""
    rng = np.random.default_rng(np.random.RandomState(SEED).randint(2**31))  # the candidates of the model
    data = Likelihood.of(KERNEL, X, choose_candidates(Gram(KERNEL, X), candidates, rng))
    start = process_time()
    with single_blas:
        C = data.at(rho, data.shares)
        while len(X) * C.value < goal - NEAR and process_time() - start < limit:
            C = C.moved(C.fast())
    return process_time() - start, len(X) * C.value >= goal - NEAR


def speed(limit):
    """Print a line for each case."""
    SparseKernelPCA(kernel=KERNEL).fit(clusters(300, 5))  # late imports, first threads
    heads = {"rows": 8, "candidates": 12, "anchors": 9, "seconds": 9, "CPU": 7, "bar": 6, "kkt": 9, "ratio to (14)": 15}
    print("".join(f"{head:>{width}}" for head, width in heads.items()))
    for n, m, rho, bar in CASES:
        X = clusters(n, 5)
        model = SparseKernelPCA(kernel=KERNEL, noise_variance=rho, candidates=m, random_state=SEED)
        model, wall, cpu = timed(lambda: model.fit(X))  # noqa: B023
        fast, reached = fast_seconds(X, m, rho, model.log_likelihood_, limit)
        ratio = f"{'' if reached else '> '}{fast / cpu:.0f}"
        print(
            f"{n:>8}{m:>12}{len(model.support_):>9}{wall:>9.2f}{cpu:>7.2f}{bar:>6g}{model.kkt_:>9.0e}{ratio:>15}",
            flush=True,
        )


def number():
    """Print the seconds of a search for the noise variance."""
    print(f"\n{'rows':>8}{'n_anchors':>11}{'found':>7}{'seconds':>9}{'CPU':>7}{'noise':>9}{'kkt':>9}")
    for n, asked in [(1_000, 35), (1_000, 170), (3_000, 40), (20_000, 40)]:
        X = clusters(n, 5)
        model = SparseKernelPCA(kernel=KERNEL, n_anchors=asked, random_state=SEED)
        model, wall, cpu = timed(lambda: model.fit(X))  # noqa: B023
        found, rho = len(model.support_), model.noise_variance_
        print(f"{n:>8}{asked:>11}{found:>7}{wall:>9.2f}{cpu:>7.2f}{rho:>9.2g}{model.kkt_:>9.0e}", flush=True)


def pima():
    """Print figure 4: reconstruction error and test errors of a linear classifier, for sparse and full models."""
    with np.load(folder() / "pima.npz", allow_pickle=False) as arrays:
        train, y, test, y_test = (arrays[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    mean, scale = train.mean(axis=0), train.std(axis=0)
    train, test = (train - mean) / scale, (test - mean) / scale
    kernel = RBF.from_radius(10)
    sparse = SparseKernelPCA(n_anchors=ANCHORS, kernel=kernel).fit(train)
    full = KernelPCA(center=False, kernel=kernel, solver="exact").fit(train)
    print(f"\nPima: {len(sparse.support_)} of {len(train)} rows, noise variance {sparse.noise_variance_:.3g}")
    rms = {m: [np.sqrt(np.mean(m.subspace_[:q].split(train)[1])) for q in range(1, MOST + 1)] for m in (sparse, full)}
    errors = {m: [_errors(m, q, train, y, test, y_test) for q in range(1, MOST + 1)] for m in (sparse, full)}
    print(f"{'q':>4}{'RMS sparse':>12}{'full':>8}{'ratio':>8}{'errors sparse':>15}{'full':>6}")
    for q in (1, 2, 5, 10, 15, 20, 25):
        a, b = rms[sparse][q - 1], rms[full][q - 1]
        print(f"{q:>4}{a:>12.4f}{b:>8.4f}{a / b:>8.3f}{errors[sparse][q - 1]:>15}{errors[full][q - 1]:>6}")
    print(f"errors on average over q = 1 … {MOST}: {np.mean(errors[sparse]):.2f} and {np.mean(errors[full]):.2f}")


def _errors(model, q, train, y, test, y_test):
    svm = SVC(kernel="linear").fit(model.transform(train)[:, :q], y)
    return int(np.sum(svm.predict(model.transform(test)[:, :q]) != y_test))


def main():
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=60, help="CPU seconds for the fast update, in each case")
    parser.add_argument("--only", choices=["speed", "number", "pima"])
    options = parser.parse_args()
    tables = {"speed": lambda: speed(options.limit), "number": number, "pima": pima}
    for name, table in tables.items():
        if options.only in {None, name}:
            table()


if __name__ == "__main__":
    main()
