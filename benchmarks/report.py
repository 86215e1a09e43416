"""The page: what was measured, on what, and which bars were reached, in Markdown that a terminal shows as well."""

import os
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

import cases

import mercer
from mercer._core import native

THEMES = {
    cases.EXACT: "The leading components of all rows. The peer is scikit-learn's `KernelPCA(eigen_solver='arpack')`, "
    "its best solver, on the same rows in the same precision.",
    cases.SMALL: "For few rows the overhead decides, so the peer is the fastest of scikit-learn's `arpack`, `dense` "
    "and `auto` in this run.",
    cases.KERNELS: "Kernels that scikit-learn's `KernelPCA` lacks: the time of its kernel matrix is included.",
    cases.GIVEN: "`kernel='precomputed'`: the matrix is given, and its computation is not timed.",
    cases.WIDE: "Products of the rows take nearly all of the time.",
    cases.SPARSE: "Sparse rows like those of texts, 100 words each. The peer computes a dense kernel matrix; for "
    "mercer linear and cosine kernels are products of sparse factors.",
    cases.OTHERS: "mlpack's naive kernel PCA, which computes the whole spectrum.",
    cases.REAL: "γ is 1 / the median squared distance.",
    cases.TRANSFORM: "Coordinates of new rows, two for each row of the fitted model. The angle is that between the "
    "first ten coordinates, after which the spectrum has a gap.",
    cases.LANDMARKS: "mercer's `Landmarks(n=m)` against `make_pipeline(Nystroem(n_components=m), PCA(q))` at the same "
    "m, both compared with scikit-learn's exact solution. Trace lost is the share of tr K outside the landmarks' span.",
    cases.LARGE: "Sizes whose kernel matrix does not fit into memory: only mercer, one run; for covtype the time "
    "includes the coordinates of all rows.",
    cases.GROWTH: "The slope of log seconds against log n.",
}

WHY = {
    "exact-20000": "Four fifths of our time are four passes over the matrix, three of them in single precision, whose "
    "loops are near the limit of this processor's arithmetic. Tried without success: groups of four and of one vector "
    "in the exponential, loops unrolled twice.",
    "exact-5000": "Half of the time is spent on the kernel values, half on the factor and the small matrices of the "
    "iteration, which grow more slowly with the rows. Times this short vary by a third from run to run: the table of "
    "growth has another one of the same fit.",
    "few-2000-q50": "Both run ARPACK on the stored matrix, and nearly all of the time are its products with single "
    "vectors. Ours adds a product with a random block, which finds pairs that a single starting vector misses.",
    "wide-2000": "Nineteen of twenty parts of the memory are a copy of the rows, which scikit-learn keeps too, the "
    "rest is the kernel matrix. What is more than theirs is a block of columns and a few rows that warnings look at.",
    "exact-20000-gamma0.02": "As with γ = 1/d.",
    "exact-20000-clusters": "As with one cluster.",
    "exact-5000-gamma0.5": "With such a narrow kernel the rows are nearly orthogonal: for 5000 rows ten components "
    "explain 4 % of the variance, and the factor that initialises and preconditions the iteration 7 % of the trace "
    "(72 % for γ = 1/d). The solver needs nine passes instead of five, and half of its time goes to small matrices.",
    "exact-10000-d256": "A third of the time is the product of all distances in double precision, at the limit of this "
    "processor, a third are seven passes over the stored tiles, and a tenth is the factor. Tried without success: "
    "products of split numbers in single precision (three of them cost more), factors of other ranks, wider blocks.",
    "exact-20000-d256": "As with 10,000 rows.",
    "landmarks-20000-d3": "Both spend their time in products of n × m × m. In three columns 500 landmarks are nearly "
    "dependent, so every tile is orthonormalised before it is summed: a second such product, for an error that is a "
    "fraction of the peer's. Fewer landmarks would be sufficient.",
    "landmarks-covtype": "Two thirds of our time are the sums, a product of n × m × m that both need; a quarter is the "
    "choice of the landmarks, which the peer draws at random, at the cost of a larger error.",
    "landmarks-1000000": "Our time is the product of n × m × m that the moments need, half of which is computed, and "
    "the kernel values.",
    "landmarks-1000000-float32": "As with float64 rows: both compute in single precision.",
    "landmarks-20000-float32": "As with float64 rows. The choice of the landmarks and the decomposition, about half of "
    "our time, do not gain from single precision.",
}

CHART = """\
```{image} images/benchmarks.svg
:alt: How many times as fast as scikit-learn mercer is over the number of rows, one line for each family of cases
```

*Times as fast as scikit-learn, by the number of rows. Dashed: the limit of this machine, at which computing half of the
kernel matrix once would take all of the time. Below the grey line mercer is slower.*"""

METHOD = """\
Peer and mercer run alternately in one process, and the tables have the medians; ratios above 1 are in mercer's favour.
BLAS uses its default number of threads. CPU seconds are summed over all threads. Peak memory is that of one run in a
separate process, without imports and data. The error is the largest relative error of the q leading eigenvalues, and
the angle is the sine of the largest angle between the subspaces of training eigenvectors; both are relative to
scikit-learn's exact solution in float64, which is the peer itself in rows without an error of the peer. If the q-th and
the next eigenvalue nearly coincide, the angle depends on the data more than on the solver."""


def page(results, measured, smoke, limits):
    """The whole page; ``measured`` are the facts about the run."""
    parts = [
        "# Benchmarks",
        CHART,
        measured,
        *(["**A smoke run: tiny sizes, one BLAS thread, numbers that mean nothing.**"] if smoke else []),
        METHOD,
    ]
    for theme, words in THEMES.items():
        rows = [r for r in results if r.case.theme == theme]
        parts += [f"## {theme}", words, *(_section(rows, limits) or ["Not in this run."])]
    parts += ["## What was missed", _summary(results)]
    return "\n\n".join(parts) + "\n"


def facts(command, load, limits):
    """When, how and on which machine the results were measured."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    extension = "with" if native._native is not None else "without"
    ours = f"mercer {mercer.__version__} {extension} its C extension"
    return "\n".join(
        [
            f"* {date.today().isoformat()}, made by `{command}`",
            f"* {processor()}, {os.cpu_count()} cores, load at the start {load:.1f}",
            f"* limits of this machine in the same run: {limits}",
            f"* Python {platform.python_version()}, {versions}, {ours}",
        ]
    )


def processor():
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _summary(results):
    """How many bars were reached, and each case that missed one with the reason, if it is known."""
    marks = [(result, *mark) for result in results for mark in result.marks]
    missed = {}
    for result, bar, reached in marks:
        if not reached:
            missed.setdefault(result.case.name, []).append(f"{bar.text}: got {bar.got(result)}")
    lines = [f"* **{name}**, {'; '.join(bars)}. {WHY.get(name, '')}".rstrip() for name, bars in missed.items()]
    failed = [f"* **failed**: {r.case.name}: {type(r.failed).__name__}: {r.failed}" for r in results if r.failed]
    reached = f"{sum(reached for *_, reached in marks)} of {len(marks)} targets were reached; these were not:"
    return "\n\n".join(filter(None, [reached, "\n".join(lines + failed)]))


def _section(rows, limits):
    ran = [r for r in rows if not (r.skipped or r.failed)]
    left_out = [f"* {r.case.name}: {'skipped, ' + r.skipped if r.skipped else 'failed'}" for r in rows if r not in ran]
    return [*([_table(ran, limits)] if ran else []), *(["\n".join(left_out)] if left_out else [])]


def _table(rows, limits):
    """Columns that are empty in every row are left out."""
    columns = {header: [cell(row) for row in rows] for header, cell in COLUMNS.items()}
    columns["times the limit"] = [_distance(row, limits) for row in rows]
    columns = {header: cells for header, cells in columns.items() if any(cells)}
    widths = {header: max(map(len, (header, *cells))) for header, cells in columns.items()}
    lines = [
        [header.ljust(widths[header]) for header in columns],
        ["-" * width for width in widths.values()],
        *([columns[header][i].ljust(widths[header]) for header in columns] for i in range(len(rows))),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _of(side, name, form):
    """A cell with one figure of one side, empty where it is not known."""

    def cell(result):
        figures = getattr(result, side)
        value = None if figures is None else getattr(figures, name)
        return "" if value is None else form(value)

    return cell


def _seconds(value):
    return f"{1e3 * value:.2f} ms" if value < 0.1 else f"{value:.2f} s"


def _megabytes(value):
    return f"{value / 1e6:.0f} MB"


def _small(value):
    return f"{value:.0e}"


def _share(value):
    return f"{value:.2%}"


def _bar(result):
    return ", ".join(f"{bar.text} {'reached' if reached else '**missed**'}" for bar, reached in result.marks)


def _difference(result):
    return f"{1e3 * result.extra:+.2f} ms" if result.peer and result.case.theme == cases.SMALL else ""


def _distance(result, limits):
    """Our seconds as a multiple of the limit: one half of the kernel matrix, once. Only exact fits need that much."""
    if result.case.theme not in (cases.EXACT, cases.REAL):
        return ""
    return f"{result.ours.seconds / limits.kernel(result.case.data.n, result.case.data.d):.1f}"


def _series(result):
    return ", ".join(f"{n}: {_seconds(seconds)}" for n, seconds in result.series.items())


COLUMNS = {
    "case": lambda r: f"{r.case.name}: {r.case.title}",
    "against": _of("peer", "label", str),
    "ratio": lambda r: f"{r.ratio:.3g}×" if r.peer else "",
    "target": _bar,
    "difference": _difference,
    "peer": _of("peer", "seconds", _seconds),
    "mercer": _of("ours", "seconds", _seconds),
    "peer CPU": _of("peer", "cpu", _seconds),
    "mercer CPU": _of("ours", "cpu", _seconds),
    "peer memory": _of("peer", "peak", _megabytes),
    "mercer memory": _of("ours", "peak", _megabytes),
    "peer error": _of("peer", "error", _small),
    "mercer error": _of("ours", "error", _small),
    "peer angle": _of("peer", "angle", _small),
    "mercer angle": _of("ours", "angle", _small),
    "mercer residual": _of("ours", "residual", _small),
    "peer trace lost": _of("peer", "lost", _share),
    "mercer trace lost": _of("ours", "lost", _share),
    "seconds by n": _series,
    "exponent": lambda r: f"{r.exponent:.2f}" if r.series else "",
}
