"""Zhou's Table 1: the classifier on the thirteen IDA benchmark sets, with all of their splits.

The settings are cross-validated on the first five training sets; the setting with the lowest mean error is chosen
without using test rows, and then fitted and tested on every split.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from ...datasets import load
from ...models.classifier import KernelPCAClassifier
from ...models.classifier_cv import AXES, KernelPCAClassifierCV, rbf_widths, some_components, stratified_folds
from .output import Figure, Output, Report, Row, listed, silent, table

NAME = "zhou-table1"
# errors in %: mean and standard deviation over the splits, of PKPCA, SVM and KFD, as the paper prints them
PAPER = {
    "banana": ((10.5, 0.4), (11.5, 0.7), (10.8, 0.5)),
    "breast_cancer": ((28.0, 4.7), (26.0, 4.7), (25.8, 4.6)),
    "diabetis": ((24.8, 1.9), (23.5, 1.7), (23.2, 1.6)),
    "german": ((24.9, 2.2), (23.6, 2.1), (23.7, 2.2)),
    "heart": ((16.8, 3.4), (16.0, 3.3), (16.1, 3.4)),
    "image": ((2.8, 0.6), (3.0, 0.6), (3.3, 0.6)),
    "ringnorm": ((1.6, 0.1), (1.7, 0.1), (1.5, 0.1)),
    "flare_solar": ((34.8, 1.9), (32.4, 1.8), (33.2, 1.7)),
    "splice": ((12.2, 0.8), (10.9, 0.7), (10.5, 0.6)),
    "thyroid": ((4.0, 2.0), (4.8, 2.2), (4.2, 2.1)),
    "titanic": ((22.6, 1.3), (22.4, 1.0), (23.2, 2.0)),
    "twonorm": ((2.6, 0.2), (3.0, 0.2), (2.6, 0.2)),
    "waveform": ((11.4, 0.5), (9.9, 0.4), (9.9, 0.4)),
}
COLUMNS = {
    "limit": "rule (23)",
    "classes": "rule (23), q by class",
    "noise": "ρ and priors",
    "shrinkage": "shrinkage",
    "svc": "SVC",
}
NOTES = (
    "Rule (23): the width and the number of components q are chosen; q is common to both classes, or one for each.",
    "ρ and priors: rule (21) with all λ > ρ; the width, ρ (11 shares of the within-class variance) and the priors "
    "(empirical or uniform) are chosen.",
    "Shrinkage: the same, with class covariances shrunk towards the pooled one by 0 to 1 in seven steps.",
    "SVC: the width and C (11 values) are chosen.",
)
SETTINGS = (
    "**Chosen settings**: σ of exp(−‖x − y‖²/2σ²); q of all classes, or of each class; ρ as a share of the variance "
    "within classes, with all components whose λ > ρ."
)
PAPER_COLUMNS = ("PKPCA", "SVM", "KFD")
QUICK = ("thyroid", "heart")  # data sets with few rows
QUICK_STEP = 3  # every third width
CHOOSING = 5  # training sets on which the setting is chosen
WIDTHS = 13  # the first 13 default widths: γ = 2⁻⁸ … 2⁴ / median
FOLDS = 5
REPEATS = {250: 5, 500: 2}  # largest number of rows → repetitions of the folds; 1 for more rows
SHRINKAGES = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1)  # from simple to complex, like the other grids
NOISE_RATIOS = tuple(10.0 ** (-k / 2) for k in range(11))
PRIORS = ("empirical", "uniform")
COSTS = tuple(10.0 ** (k / 2) for k in range(-2, 9))  # C of the SVC
ROUNDING = 12  # digits to which mean errors are rounded before they are compared
SCALE = (1, 2, 5, 10, 20, 40)  # ticks of the figure, in %
MOST_STEPS = 100_000  # iterations of libsvm, which may not terminate for large C and overlapping classes


def run(out: str | Path, quick: bool = False, names: list[str] | None = None, report: Report = silent) -> list[Row]:
    """Write ``zhou-table1.csv``, ``zhou-table1.md`` and a figure into a folder; see :func:`mercer.app.reproduce.run`.

    ``names`` are the data sets, by default all. With ``quick`` they are two small ones, with five widths and no
    repeated folds, but all splits. Return one row for each data set and column: errors, settings, the paper's errors.
    """
    output, rows = Output(out, NAME, quick), []
    names = names or list(QUICK if quick else PAPER)
    for name in names:
        rows += one_set(name, output, quick, report)
        output.csv(rows)
    cells = {(row["data"], row["column"]): row for row in rows}
    output.picture(draw(cells, names), "Errors on the test sets: mean ± standard deviation over the splits")
    chosen = (SETTINGS, as_settings(cells, names), nearest_means(cells, names))
    output.text("Zhou, table 1", as_table(cells, names), listed(*NOTES), listed(*counts(cells, names)), *chosen)
    return rows


def one_set(name: str, output: Output, quick: bool, report: Report) -> list[Row]:
    """Return the rows of one data set: choose settings, then test them."""
    data = load(f"ida_{name}")
    X, y = data["X"].astype(float), data["y"]
    splits = list(zip(data["train_idx"], data["test_idx"], strict=True))
    kernels = rbf_widths(X[splits[0][0]])[: WIDTHS : QUICK_STEP if quick else 1]
    most = int(np.unique(y[splits[0][0]], return_counts=True)[1].max())
    rows = []
    for method in methods(kernels, some_components(most)):
        tables = []
        for i, (train, _) in enumerate(splits[:CHOOSING]):
            times = 1 if quick else next((times for rows, times in REPEATS.items() if len(train) <= rows), 1)
            folds = folds_of(y[train], seed=i, repeats=times)
            search = partial(method.errors, X[train], y[train], folds)
            tables.append(output.cached(f"{name}-{method.name}-cv-{i}", method.settings, search))
            report(f"{name}: {method.name} cross-validated on training set {i + 1} of {CHOOSING}")
        average = np.mean(tables, axis=0)
        for column, allowed in method.columns.items():
            candidates = np.where([allowed(setting) for setting in method.settings], average, np.inf)
            best = int(np.argmin(candidates.round(ROUNDING)))  # the first of equal ones
            setting = method.settings[best]
            test = partial(tested, method.model(setting), X, y, splits)
            errors = output.cached(f"{name}-{column}-test", setting, test)
            gamma = setting["kernel"].gamma if "kernel" in setting else setting["gamma"]
            row = summary(name, column, errors, average[best]) | {"gamma": gamma}
            row |= {key: setting.get(key, "") for key in (*AXES[1:], "C")}
            report(f"{name}: {COLUMNS[column]} {row['error']:.2f} ± {row['std']:.2f}, {setting}")
            rows.append(row)
    return rows


def methods(kernels: list, components: list) -> "list[Classifier | Machine]":
    """Return the methods that are compared. Three columns are parts of one search."""
    common = {"kernels": kernels, "priors": PRIORS, "n_components": [None]}
    shrunk = {**common, "shrinkages": SHRINKAGES, "noise_ratios": NOISE_RATIOS}
    apart = {**common, "shrinkages": (0.0,), "noise_ratios": NOISE_RATIOS}
    limit = {**apart, "noise_ratios": (0.0,), "priors": PRIORS[:1], "n_components": components}
    by_class = {**limit, "n_components": list(product(components[1:], repeat=2))}
    columns = {
        "limit": lambda setting: setting["noise_ratio"] == 0,
        "noise": lambda setting: setting["noise_ratio"] > 0 and setting["shrinkage"] == 0,
        "shrinkage": lambda setting: setting["noise_ratio"] > 0,
    }
    return [
        Classifier("classifier", [shrunk, apart, limit], columns),
        Classifier("classes", [by_class], {"classes": lambda setting: True}),
        Machine(kernels),
    ]


def folds_of(y: np.ndarray, seed: int, repeats: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the folds that all methods are cross-validated on."""
    rng = np.random.default_rng(seed)
    assigned = [stratified_folds(y, FOLDS, rng) for _ in range(repeats)]
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for fold in assigned for k in range(FOLDS)]


@dataclass
class Classifier:
    """The classifier, searched over some grids; a column of the table is the best of a subset of the settings."""

    name: str
    grids: list
    columns: dict

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """All settings, in the order of the errors."""
        order = ("kernels", "shrinkages", "priors", "noise_ratios", "n_components")
        values = (product(*(grid[axis] for axis in order)) for grid in self.grids)
        return [dict(zip(AXES, setting, strict=True)) for setting in chain.from_iterable(values)]

    def errors(self, X: np.ndarray, y: np.ndarray, folds: list) -> np.ndarray:
        """Return the cross-validated error of every setting."""
        searches = (KernelPCAClassifierCV(**grid, cv=folds, scoring="accuracy", refit=False) for grid in self.grids)
        return np.concatenate([search.fit(X, y).errors_.ravel() for search in searches])

    @staticmethod
    def model(setting: dict[str, Any]) -> KernelPCAClassifier:
        """Return the estimator with a setting."""
        return KernelPCAClassifier(**setting, calibration=None, solver="exact")


@dataclass
class Machine:
    """A support vector machine, cross-validated on the same folds."""

    kernels: list
    name: str = "svc"
    columns: dict = field(default_factory=lambda: {"svc": lambda setting: True})  # one column, of all settings

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """All settings, in the order of the errors."""
        return [{"gamma": kernel.gamma, "C": C} for kernel, C in product(self.kernels, COSTS)]

    def errors(self, X: np.ndarray, y: np.ndarray, folds: list) -> np.ndarray:
        """Return the cross-validated error of every setting."""
        grams = [kernel(X, X) for kernel in self.kernels]
        wrong = [sum(self._wrong(K, y, C, *fold) for fold in folds) for K, C in product(grams, COSTS)]
        return np.array(wrong) / sum(len(held) for _, held in folds)

    @staticmethod
    def _wrong(K: np.ndarray, y: np.ndarray, C: float, rows: np.ndarray, held: np.ndarray) -> int:
        model = fit(SVC(C=C, kernel="precomputed", max_iter=MOST_STEPS), K[np.ix_(rows, rows)], y[rows])
        return np.sum(model.predict(K[np.ix_(held, rows)]) != y[held])

    @staticmethod
    def model(setting: dict[str, Any]) -> SVC:
        """Return the estimator with a setting."""
        return SVC(**setting, max_iter=MOST_STEPS)


def tested(model: Any, X: np.ndarray, y: np.ndarray, splits: list) -> np.ndarray:
    """Return the test error of the model on each split."""
    return np.array([1 - fit(model, X[train], y[train]).score(X[test], y[test]) for train, test in splits])


def fit(model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """Fit the model, possibly without convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def summary(name: str, column: str, errors: np.ndarray, cv_error: float) -> Row:
    """Return one row of the table, in %; standard deviations have the divisor n − 1, like the published ones."""
    return {
        "data": name,
        "column": column,
        "error": 100 * float(np.mean(errors)),
        "std": 100 * float(np.std(errors, ddof=1)),
        "splits": len(errors),
        "cv_error": 100 * float(cv_error),
        **{f"paper_{other}": mean for other, (mean, _) in zip(PAPER_COLUMNS, PAPER[name], strict=True)},
        "paper_std": PAPER[name][0][1],
    }


def as_table(cells: dict, names: list[str]) -> str:
    """Return a table of our columns and the paper's."""
    rows = []
    for name in names:
        ours = [cells[name, column] for column in COLUMNS]
        paper = [f"{mean} ± {std}" for mean, std in PAPER[name]]
        rows.append([name, *(f"{row['error']:.2f} ± {row['std']:.2f}" for row in ours), *paper])
    return table(["data", *COLUMNS.values(), *(f"paper: {other}" for other in PAPER_COLUMNS)], rows)


def draw(cells: dict, names: list[str]) -> Figure:
    """Draw our errors beside the paper's, on a logarithmic scale."""
    from ... import plots

    columns = {"paper: PKPCA": [PAPER[name][0] for name in names], "paper: SVM": [PAPER[name][1] for name in names]}
    for column in ("limit", "shrinkage", "svc"):
        columns[COLUMNS[column]] = [(cells[name, column]["error"], cells[name, column]["std"]) for name in names]
    figure, ((ax,),) = plots.papers.board(1, 1, 7.0, 1.0 + 0.4 * len(names))
    plots.papers.intervals(ax, names, columns)
    plots.papers.legend(figure, ax)
    ax.set(xscale="log", xlabel="error in %", xticks=SCALE, xticklabels=SCALE)
    return figure


def as_settings(cells: dict, names: list[str]) -> str:
    """Return a table of the settings that were chosen, of our columns."""
    columns = [column for column in COLUMNS if column != "svc"]
    rows = [[name, *(_setting(cells[name, column]) for column in columns)] for name in names]
    return table(["data", *(COLUMNS[column] for column in columns)], rows)


def _setting(row: Row) -> str:
    """Return σ = (2γ)^−½, and q, ρ as a share of the variance within classes, priors and shrinkage if chosen."""
    q, ratio = row["n_components"], row["noise_ratio"]
    parts = [f"σ = {(2 * row['gamma']) ** -0.5:.3g}"]
    parts += [f"q = {'all' if q is None else q}"] if not ratio else []
    parts += [f"ρ = {ratio:.3g}, {row['priors']} priors"] if ratio else []
    parts += [f"shrinkage {row['shrinkage']:g}"] if row["shrinkage"] else []
    return ", ".join(parts)


def nearest_means(cells: dict, names: list[str]) -> str:
    """Name the data sets on which zero components were chosen."""
    none = [name for name in names if np.all(np.equal(cells[name, "limit"]["n_components"], 0))]
    if not none:
        return "No data set is classified best without components."
    return (
        f"q = 0 was chosen by rule (23) on {', '.join(none)}: the model of a class is then its mean in feature space, "
        "and the rule is the nearest class mean."
    )


def counts(cells: dict, names: list[str]) -> list[str]:
    """Compare columns, rounded to the paper's one decimal, and count the data sets."""

    def error(name: str, column: str) -> float:
        return float(f"{cells[name, column]['error']:.1f}")

    within = {name: round(sum(PAPER[name][0]), 1) for name in names}  # mean + one standard deviation
    claims: dict[str, Callable[[str], bool]] = {
        "The error of rule (23) is within the paper's mean + one standard deviation": (
            lambda name: error(name, "limit") <= within[name]
        ),
        "The error of rule (23) with q by class is within the same limit": (
            lambda name: error(name, "classes") <= within[name]
        ),
        "The error with ρ and priors is at or below that of the paper's PKPCA": (
            lambda name: error(name, "noise") <= PAPER[name][0][0]
        ),
        "The error with shrinkage is at or below all three columns of the paper": (
            lambda name: error(name, "shrinkage") <= min(mean for mean, _ in PAPER[name])
        ),
        "The error with shrinkage is not above that of the SVC": (
            lambda name: error(name, "shrinkage") <= error(name, "svc")
        ),
    }
    lines = []
    for claim, holds in claims.items():
        others = [name for name in names if not holds(name)]
        exceptions = f": all but {', '.join(others)}" if others else ""
        lines.append(f"{claim} on {len(names) - len(others)} of {len(names)} sets{exceptions}.")
    return lines
