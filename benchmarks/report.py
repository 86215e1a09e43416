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
    cases.SMALL: "Here a solver is chosen by its overhead, so the peer is the fastest of scikit-learn's `arpack`, "
    "`dense` and `auto` in this run.",
    cases.KERNELS: "scikit-learn has no Laplacian kernel PCA by name: the time of its `laplacian_kernel` is included.",
    cases.OTHERS: "mlpack's naive kernel PCA, which forms the whole spectrum.",
    cases.REAL: "γ is 1 / the median squared distance.",
    cases.TRANSFORM: "Coordinates of new rows, two for each row of the fitted model. The angle is that between the "
    "first ten coordinates, behind which the spectrum has a gap.",
    cases.LANDMARKS: "mercer's `Landmarks(n=m)` against `make_pipeline(Nystroem(n_components=m), PCA(q))` at the same "
    "m, both judged by scikit-learn's exact solution. Trace lost is the share of tr K outside the landmarks' span.",
    cases.LARGE: "Sizes whose kernel matrix fits no memory: mercer alone, once; for covtype the time includes "
    "the coordinates of all rows.",
    cases.GROWTH: "The slope of log seconds against log n.",
}

WHY = {
    "exact-20000": "From run to run on this shared machine the ratio lies between 9 and 13: the times move by a fifth. "
    "Four fifths of ours are four passes over the matrix, three of them in single precision. Tried and left: groups of "
    "four and of one vector in the exponential, loops unrolled twice, factors of rank 180 to 500.",
    "exact-20000-gamma0.5": "A kernel this narrow sees the rows as nearly unrelated: at 5000 rows ten components hold "
    "4 % of the variance, and the factor that starts and preconditions the iteration 7 % of the trace (72 % at "
    "γ = 1/d). It takes ten passes in place of six. The bars are those of γ = 1/d.",
    "exact-20000-d256": "With 256 columns the distances are the cost. Single precision does the iterations on kept "
    "tiles, a quarter of the time to make and a fifth to use; the one pass in double that remains takes half, and "
    "three quarters of that is BLAS's product. Tried and left: tiles kept in double (twice the memory, slower "
    "products), single-precision tiles to the end (imprecise), a factor of rank 1000, wider blocks.",
    "landmarks-20000-d3": "Both spend their time in products of n × m × m. In three columns 500 landmarks are nearly "
    "dependent, so that every tile is made orthonormal before it is summed: a second such product, for an error that "
    "is a fraction of the peer's. Fewer landmarks would do.",
    "landmarks-covtype": "Two thirds of our time are the sums, a product of n × m × m that both need; a quarter is the "
    "choice of the landmarks, which the peer draws by lot, and pays for in its error.",
    "landmarks-20000": "Ten independent normal columns have no structure that a choice of rows could use: rows by lot "
    "are as good as pivots, and k-means centres a little better. Where there is structure (three columns, covtype) "
    "the pivots leave a fraction of what rows by lot leave.",
}

METHOD = """\
Peer and mercer run in turns in one process, and the tables have the medians; ratios above 1 are in mercer's favour.
BLAS has the threads that a user gets. CPU seconds are those of all threads. Peak memory is what one run needs beyond
the imports and the data, in a process of its own. The error is that of the worst of the q leading eigenvalues,
relative, and the angle is the sine of the largest one between the subspaces of training eigenvectors; both are taken
against scikit-learn's exact solution in float64, which is the peer itself in the rows that show no error of it. Where
the q-th and the next eigenvalue nearly coincide, an angle says more about the data than about a solver."""


def page(results, command, smoke, load):
    """The whole page."""
    parts = [
        "# Benchmarks",
        _facts(command, load),
        *(["**A smoke run: tiny sizes, one BLAS thread, numbers that mean nothing.**"] if smoke else []),
        METHOD,
        _summary(results),
    ]
    for theme, words in THEMES.items():
        rows = [r for r in results if r.case.theme == theme]
        parts += [f"## {theme}", words, *(_section(rows) or ["Not in this run."])]
    return "\n\n".join(parts) + "\n"


def _facts(command, load):
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    extension = "with" if native._native is not None else "without"
    ours = f"mercer {mercer.__version__} {extension} its C extension"
    return "\n".join(
        [
            f"* {date.today().isoformat()}, made by `{command}`",
            f"* {_processor()}, {os.cpu_count()} cores, load at the start {load:.1f}",
            f"* Python {platform.python_version()}, {versions}, {ours}",
        ]
    )


def _processor():
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _summary(results):
    marks = [(result, *mark) for result in results for mark in result.marks]
    missed = [f"* **missed**: {r.case.name}, {bar.text}: got {bar.got(r)}" for r, bar, reached in marks if not reached]
    failed = [f"* **failed**: {r.case.name}: {type(r.failed).__name__}: {r.failed}" for r in results if r.failed]
    reached = f"{len(marks) - len(missed)} of {len(marks)} bars were reached."
    names = dict.fromkeys(r.case.name for r, _, reached in marks if not reached)
    reasons = [f"{name}: {WHY[name]}" for name in names if name in WHY]
    return "\n\n".join(filter(None, [reached, "\n".join(missed + failed), *reasons]))


def _section(rows):
    ran = [r for r in rows if not (r.skipped or r.failed)]
    left_out = [f"* {r.case.name}: {'skipped, ' + r.skipped if r.skipped else 'failed'}" for r in rows if r not in ran]
    return [*([_table(ran)] if ran else []), *(["\n".join(left_out)] if left_out else [])]


def _table(rows):
    """Columns that are empty in every row are left out."""
    columns = {header: [cell(row) for row in rows] for header, cell in COLUMNS.items()}
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


def _series(result):
    return ", ".join(f"{n}: {_seconds(seconds)}" for n, seconds in result.series.items())


COLUMNS = {
    "case": lambda r: f"{r.case.name}: {r.case.title}",
    "against": _of("peer", "label", str),
    "ratio": lambda r: f"{r.ratio:.3g}×" if r.peer else "",
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
    "bar": _bar,
}
