"""The slides' table of USPS errors: linear support vector machines on polynomial kernel principal components."""

from functools import cached_property

import numpy as np
from sklearn.svm import SVC

from ... import plots
from ...datasets import load
from ...kernels import Polynomial
from ...models.kernel_pca import KernelPCA
from .output import Output, listed, table

NAME = "usps-table"
DEGREES = (1, 2, 3, 4, 5, 6, 7)
SIZES = (32, 64, 128, 256, 512, 1024, 2048)
PAPER = {  # test errors in %, by components and degree; the first degree has no more than 256 components
    32: (9.6, 8.8, 8.1, 8.5, 9.1, 9.3, 10.8),
    64: (8.8, 7.3, 6.8, 6.7, 6.7, 7.2, 7.5),
    128: (8.6, 5.8, 5.9, 5.9, 5.8, 6.0, 6.8),
    256: (8.7, 5.5, 5.3, 5.2, 5.2, 5.4, 5.4),
    512: (None, 4.9, 4.6, 4.4, 5.1, 4.6, 4.9),
    1024: (None, 4.9, 4.3, 4.4, 4.6, 4.8, 4.6),
    2048: (None, 4.9, 4.2, 4.1, 4.0, 4.3, 4.4),
}
PIXELS = 256  # the rank of the first degree
COST = 10.0  # C, for components divided by the square root of the whole variance
COSTS = (1.0, COST, 100.0)  # to see how much it matters
RULES = ("one-versus-one", "one-versus-rest")
QUICK_ROWS, QUICK_DEGREES, QUICK_SIZES = 1500, (1, 2, 3, 5), (32, 128, 512)
SEED = 0

ABOUT = """\
Test errors in % on USPS (7291 digits to train, 2007 to test, pixels in [−1, 1]) of linear support vector machines on
the leading components of kernel PCA with (xᵀy + 1)^degree. The slides say neither C, nor a scaling, nor how ten classes
are made of two. Here the components are divided by the square root of the whole variance, so that rows have squared
lengths of 1 on average, C = 10, and both usual rules are tried: a vote of 45 machines (one-versus-one), and the
largest of ten margins (one-versus-rest). In each cell: one-versus-one / one-versus-rest / the slides."""


WHY_C = """\
One C for all cells is a compromise. At high degrees the lengths of rows differ by orders of magnitude, and most rows
are short beside the average: a larger C serves them better. The CSV has every cell for each C; here are the mean
difference from the slides and the mean distance to them, over all cells that the slides have."""


def run(out, quick=False, report=lambda line: None):
    """Write ``usps-table.csv``, ``.png`` and ``.md`` into a folder; see :func:`mercer.app.reproduce.run`."""
    output = Output(out, NAME, quick)
    degrees, sizes, costs = (QUICK_DEGREES, QUICK_SIZES, (COST,)) if quick else (DEGREES, SIZES, COSTS)
    data, rows = digits(QUICK_ROWS if quick else None), []
    for degree in degrees:
        task = Task(data, degree, max(sizes), costs)
        for q in sizes:
            if degree == 1 and q > PIXELS:
                continue
            errors = output.kept(f"{degree}-{q}", (task.settings, q), lambda task=task, q=q: task.errors(q))
            rows += [row(degree, q, C, *pair) for C, pair in zip(costs, errors, strict=True)]
            one, rest = errors[costs.index(COST)]
            report(f"degree {degree}, {q} components: {one:.1f} % one-versus-one, {rest:.1f} % one-versus-rest")
            output.csv(rows)
    output.picture(draw(rows, degrees, sizes), "Test errors over the number of components")
    output.text("The slides' table of USPS errors", *text(rows, degrees, sizes, quick))
    return rows


def digits(n=None):
    """Rows and classes to train and to test; the first n of a fixed shuffle, or all to train."""
    data = load("usps")
    chosen = slice(None) if n is None else np.random.default_rng(SEED).permutation(len(data["X_train"]))[:n]
    return (
        data["X_train"][chosen].astype(float),
        data["y_train"][chosen],
        data["X_test"].astype(float),
        data["y_test"],
    )


class Task:
    """One degree: its components are found once, at the first cell that was not computed before."""

    def __init__(self, data, degree, most, costs):
        self.data, self.degree, self.costs = data, degree, costs
        self.most = PIXELS if degree == 1 else most
        self.settings = (len(data[0]), degree, most, costs)

    @cached_property
    def components(self):
        """Coordinates of the rows to train and to test, as shares of the whole spread."""
        kernel = Polynomial(degree=self.degree, gamma=1.0, coef0=1.0)
        model = KernelPCA(self.most, kernel=kernel, solver="auto" if self.degree == 1 else "exact")
        Y, Y_test = model.fit_transform(self.data[0]), model.transform(self.data[2])
        return Y / np.sqrt(model.total_variance_), Y_test / np.sqrt(model.total_variance_)

    def errors(self, q):
        """Errors in % by cost and rule, with the first q components."""
        train, test = (Y[:, :q] for Y in self.components)
        K, K_test = train @ train.T, test @ train.T
        return 100 * np.array([[self._vote(K, K_test, C), self._largest(K, K_test, C)] for C in self.costs])

    def _vote(self, K, K_test, C):
        _, y, _, y_test = self.data
        return np.mean(machine(C).fit(K, y).predict(K_test) != y_test)

    def _largest(self, K, K_test, C):
        _, y, _, y_test = self.data
        classes = np.unique(y)
        margins = [machine(C).fit(K, y == label).decision_function(K_test) for label in classes]
        return np.mean(classes[np.argmax(margins, axis=0)] != y_test)


def machine(C):
    """A linear machine: the matrix is that of inner products, which serves all classes."""
    return SVC(C=C, kernel="precomputed", cache_size=1000)


def row(degree, q, C, one, rest):
    """One line of the table of numbers."""
    return {
        "degree": degree,
        "components": q,
        "C": C,
        RULES[0]: float(one),
        RULES[1]: float(rest),
        "slides": PAPER[q][degree - 1],
    }


def draw(rows, degrees, sizes):
    """Errors over the number of components: ours by both rules, and the slides'."""
    figure, panels = plots.papers.board(1, 3, 3.0, 2.8)
    for ax, column in zip(panels[0], (*RULES, "slides"), strict=True):
        found = {(r["degree"], r["components"]): r[column] for r in rows if r["C"] == COST}
        lines = {f"degree {d}": [found.get((d, q)) or np.nan for q in sizes] for d in degrees}
        plots.papers.curves(ax, sizes, lines)
        ax.set_xscale("log", base=2)
        ax.set(title=column, xlabel="components")
    panels[0, 0].set_ylabel("test error, %")
    low, high = zip(*(ax.get_ylim() for ax in panels[0]), strict=True)
    for ax in panels[0]:
        ax.set_ylim(min(low), max(high))
    return figure


def text(rows, degrees, sizes, quick):
    """The table, the figures that were aimed at, and what differs."""
    found = {(r["degree"], r["components"], r["C"]): r for r in rows}
    head = ["components", *(f"degree {d}" for d in degrees)]
    lines = [[q, *(cell(found.get((d, q, COST))) for d in degrees)] for q in sizes]
    small = f"This is the small version: {QUICK_ROWS} digits to train, so all errors are larger." if quick else ""
    return ABOUT, small, table(head, lines), listed(*trends(found, degrees, sizes)), WHY_C, dependence(rows)


def cell(found):
    """The three figures of one cell."""
    if found is None:
        return "–"
    return " / ".join(f"{found[rule]:.1f}" for rule in RULES) + f" / {found['slides']}"


def trends(found, degrees, sizes):
    """What the slides' table is shown for: more components than pixels, and degrees above one, help."""
    most = sizes[-1]
    beyond = [d for d in degrees if d > 1]
    for rule in RULES:
        linear = min(found[1, q, COST][rule] for q in sizes if (1, q, COST) in found)
        best = min(beyond, key=lambda d: found[d, most, COST][rule])
        yield (
            f"{rule}: the linear components reach {linear:.1f} at best, those of degree {best} "
            f"{found[best, most, COST][rule]:.1f} with {most} of them."
        )


def dependence(rows):
    """How far from the slides the errors are with each C, on average."""
    head = ["C", *(f"{rule}: difference, distance" for rule in RULES)]
    lines = []
    for C in sorted({r["C"] for r in rows}):
        off = np.array([[r[rule] - r["slides"] for rule in RULES] for r in rows if r["C"] == C])
        cells = [f"{mean:+.2f}, {away:.2f}" for mean, away in zip(off.mean(axis=0), abs(off).mean(axis=0), strict=True)]
        lines.append([f"{C:g}", *cells])
    return table(head, lines)
