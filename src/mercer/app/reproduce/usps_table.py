"""The slides' table of USPS errors: linear support vector machines on polynomial kernel principal components."""

from collections.abc import Iterator
from functools import cached_property, partial

import numpy as np
from sklearn.svm import SVC

from ... import plots
from ...datasets import load
from ...kernels import Polynomial
from ...models.kernel_pca import KernelPCA
from .output import Figure, Output, Report, Row, listed, reproduction, table

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
COST = 10.0  # C, for components divided by the square root of the total variance
COSTS = (1.0, COST, 100.0)  # to see how much C matters
RULES = ("one-versus-one", "one-versus-rest")
QUICK_ROWS, QUICK_DEGREES, QUICK_SIZES = 1500, (1, 2, 3, 5), (32, 128, 512)
SEED = 0

WHY_C = """\
One C for all cells is a compromise. At high degrees the norms of rows differ by orders of magnitude. Most norms are far
below the average, and for such rows a larger C is better. The CSV has every cell for each C; the table has the mean
difference from the slides and the mean absolute difference, over all cells of the slides."""


@reproduction(NAME, "The slides' table of USPS errors")
def run(output: Output, report: Report) -> tuple[list[Row], tuple[str, ...]]:
    """Test SVMs for each degree, number of components and C; finished cells are cached."""
    quick, rows = output.quick, []
    degrees, sizes, costs = (QUICK_DEGREES, QUICK_SIZES, (COST,)) if quick else (DEGREES, SIZES, COSTS)
    data = digits(QUICK_ROWS if quick else None)
    for degree in degrees:
        task = Task(data, degree, max(sizes), costs)
        for q in sizes:
            if degree == 1 and q > PIXELS:
                continue
            errors = output.cached(f"{degree}-{q}", (task.settings, q), partial(task.errors, q))
            rows += [
                {"degree": degree, "components": q, "C": C, RULES[0]: float(one), RULES[1]: float(rest)}
                | Row(slides=PAPER[q][degree - 1])
                for C, (one, rest) in zip(costs, errors, strict=True)
            ]
            one, rest = errors[costs.index(COST)]
            report(f"degree {degree}, {q} components: {one:.1f} % one-versus-one, {rest:.1f} % one-versus-rest")
            output.csv(rows)
    output.picture(draw(rows, degrees, sizes), "Test errors over the number of components")
    return rows, text(rows, degrees, sizes)


def digits(n: int | None = None) -> tuple[np.ndarray, ...]:
    """Return training rows (a random subset of n, or all), their classes, test rows, and their classes."""
    data = load("usps")
    chosen = slice(None) if n is None else np.random.default_rng(SEED).permutation(len(data["X_train"]))[:n]
    train, test = data["X_train"][chosen].astype(float), data["X_test"].astype(float)
    return train, data["y_train"][chosen], test, data["y_test"]


class Task:
    """One degree: its components are computed once, for the first cell that is not cached."""

    def __init__(self, data: tuple[np.ndarray, ...], degree: int, most: int, costs: tuple[float, ...]):
        self.data, self.degree, self.costs = data, degree, costs
        self.most = PIXELS if degree == 1 else most
        self.settings = (len(data[0]), degree, most, costs)

    @cached_property
    def components(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of training and test rows, divided by the square root of the total variance."""
        kernel = Polynomial(degree=self.degree, gamma=1.0, coef0=1.0)
        model = KernelPCA(self.most, kernel=kernel, solver="auto" if self.degree == 1 else "exact")
        Y, Y_test = model.fit_transform(self.data[0]), model.transform(self.data[2])
        return Y / np.sqrt(model.total_variance_), Y_test / np.sqrt(model.total_variance_)

    def errors(self, q: int) -> np.ndarray:
        """Return errors in % by C and strategy, with the first q components."""
        train, test = (Y[:, :q] for Y in self.components)
        K, K_test = train @ train.T, test @ train.T
        return 100 * np.array([[self._one_vs_one(K, K_test, C), self._one_vs_rest(K, K_test, C)] for C in self.costs])

    def _one_vs_one(self, K: np.ndarray, K_test: np.ndarray, C: float) -> float:
        _, y, _, y_test = self.data
        return np.mean(machine(C).fit(K, y).predict(K_test) != y_test)

    def _one_vs_rest(self, K: np.ndarray, K_test: np.ndarray, C: float) -> float:
        _, y, _, y_test = self.data
        classes = np.unique(y)
        margins = [machine(C).fit(K, y == label).decision_function(K_test) for label in classes]
        return np.mean(classes[np.argmax(margins, axis=0)] != y_test)


def machine(C: float) -> SVC:
    """Return a linear SVM on a matrix of inner products, which all classes share."""
    return SVC(C=C, kernel="precomputed", cache_size=1000)


def draw(rows: list[Row], degrees: tuple[int, ...], sizes: tuple[int, ...]) -> Figure:
    """Draw errors over the number of components: ours with both strategies, and the slides'."""
    figure, panels = plots.papers.board(1, 3, 3.0, 2.8)
    for ax, column in zip(panels[0], (*RULES, "slides"), strict=True):
        found = {(r["degree"], r["components"]): r[column] for r in rows if r["C"] == COST}
        lines = {f"degree {d}": [found.get((d, q)) or np.nan for q in sizes] for d in degrees}
        plots.papers.curves(ax, sizes, lines)
        ax.set_xscale("log", base=2)
        ax.set_xticks(sizes, sizes, fontsize=7)
        ax.set(title=column, xlabel="components")
    panels[0, 0].set_ylabel("test error, %")
    low, high = zip(*(ax.get_ylim() for ax in panels[0]), strict=True)
    for ax in panels[0]:
        ax.set_ylim(min(low), max(high))
        ax.get_legend().remove()
    plots.papers.legend(figure, panels[0, 0])
    return figure


def text(rows: list[Row], degrees: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[str, ...]:
    """Tabulate our errors and the slides', and describe the differences."""
    found = {(r["degree"], r["components"], r["C"]): r for r in rows}
    head = ["components", *(f"degree {d}" for d in degrees)]
    lines = [[q, *(cell(found.get((d, q, COST))) for d in degrees)] for q in sizes]
    return table(head, lines), listed(*trends(found, degrees, sizes)), WHY_C, dependence(rows)


def cell(found: Row | None) -> str:
    """Return the three numbers of one cell."""
    if found is None:
        return "–"
    return " / ".join(f"{found[rule]:.1f}" for rule in RULES) + f" / {found['slides']}"


def trends(found: dict, degrees: tuple[int, ...], sizes: tuple[int, ...]) -> Iterator[str]:
    """Describe what the slides' table illustrates: degrees above one and more components than pixels help."""
    most = sizes[-1]
    beyond = [d for d in degrees if d > 1]
    for rule in RULES:
        linear = min(found[1, q, COST][rule] for q in sizes if (1, q, COST) in found)
        best = min(beyond, key=lambda d: found[d, most, COST][rule])
        yield (
            f"{rule}: linear components reach {linear:.1f} % at best, {most} components of degree {best} reach "
            f"{found[best, most, COST][rule]:.1f} %."
        )


def dependence(rows: list[Row]) -> str:
    """Tabulate how far the errors are from the slides' with each C, on average."""
    head = ["C", *(f"{rule}: difference, absolute difference" for rule in RULES)]
    lines = []
    for C in sorted({r["C"] for r in rows}):
        off = np.array([[r[rule] - r["slides"] for rule in RULES] for r in rows if r["C"] == C])
        cells = [f"{mean:+.2f}, {away:.2f}" for mean, away in zip(off.mean(axis=0), abs(off).mean(axis=0), strict=True)]
        lines.append([f"{C:g}", *cells])
    return table(head, lines)
