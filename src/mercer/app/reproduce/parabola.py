"""The slides' parabola: linear PCA, and kernel PCA with a polynomial and an RBF kernel, components 1 to 8."""

import numpy as np
from scipy.stats import spearmanr

from ... import plots
from ...kernels import RBF, Linear, Polynomial
from ...models.kernel_pca import KernelPCA
from .output import Output, listed, table

NAME = "parabola"
KERNELS = {
    "linear": Linear(),
    "polynomial": Polynomial(degree=2, gamma=1.0, coef0=1.0),
    "RBF": RBF.from_sigma(0.5),
}
COMPONENTS = 8
ROWS, NOISE = 200, 0.1
SEED = 0

ABOUT = """\
200 points along a parabola, y = x² + noise, with x in [−1, 1]. The first picture colours them by intervals of their
first component, the second has each component as a function of the plane (linear PCA has two, the polynomial kernel
(xᵀy + 1)² five, the RBF as many as are asked for), the third has the points as they come back from the first one or two
components. The slides give neither their data nor the width of the RBF; here σ = 0.5."""


def run(out, quick=False, report=lambda line: None):
    """Write ``parabola.csv``, three pictures and ``.md`` into a folder; see :func:`mercer.app.reproduce.run`."""
    output = Output(out, NAME, quick)
    X = points()
    models = {name: KernelPCA(COMPONENTS, kernel=kernel, solver="exact").fit(X) for name, kernel in KERNELS.items()}
    rows = []
    for name, model in models.items():
        rows += measured(name, model, X)
        report(f"{name}: {model.n_components_} components")
    output.csv(rows)
    output.picture(first(models, X), "Points coloured by intervals of their first component", "-first")
    output.picture(components(models, X), "Components as functions of the plane", "-components")
    output.picture(returned(X), "Points that come back from one and from two components", "-reduction")
    output.text("The slides' parabola", *text(rows))
    return rows


def points(seed=SEED):
    """Points along a parabola."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, ROWS)
    return np.column_stack([x, x**2 + NOISE * rng.standard_normal(ROWS)])


def measured(name, model, X):
    """Variance, order along the parabola, and what comes back from the components up to each."""
    Y, rows = model.transform(X), []
    for j in range(model.n_components_):
        returned = back(name, j + 1, X)
        rows.append(
            {
                "kernel": name,
                "component": j + 1,
                "eigenvalue": float(model.explained_variance_[j]),
                "share": float(model.explained_variance_ratio_[j]),
                "rank correlation with x": float(abs(spearmanr(X[:, 0], Y[:, j])[0])),
                "RMS error of points": float(np.sqrt(np.mean(np.sum((returned - X) ** 2, axis=1)))),
                "thickness": thickness(returned),
            }
        )
    return rows


def thickness(X):
    """How far points lie off a smooth curve: the root of the mean squared residual of a quartic in x."""
    x, y = X.T
    return float(np.sqrt(np.mean((np.polynomial.Polynomial.fit(x, y, 4)(x) - y) ** 2)))


def back(name, q, X):
    """The points as they come back from the first q components."""
    return KernelPCA(q, kernel=KERNELS[name], solver="exact").fit(X).denoise(X)


def first(models, X):
    figure, panels = plots.papers.board(1, len(models), 2.6, 1.9)
    for ax, (name, model) in zip(panels[0], models.items(), strict=True):
        plots.papers.coloured(ax, X, model.transform(X)[:, 0]).set_title(name)
    return figure


def components(models, X):
    figure, panels = plots.papers.board(len(models), COMPONENTS, 1.35, 1.15)
    for row, (name, model) in zip(panels, models.items(), strict=True):
        for j, ax in enumerate(row):
            if j < model.n_components_:
                plots.contours(model, X, j, ax=ax)
                ax.set_title(f"PC {j + 1}")
            else:
                ax.set_axis_off()
        row[0].set_ylabel(name)
    return figure


def returned(X):
    figure, panels = plots.papers.board(2, len(KERNELS), 2.6, 1.9)
    for row, q in zip(panels, (1, 2), strict=True):
        for ax, name in zip(row, KERNELS, strict=True):
            sets = {"data": X, "returned": back(name, q, X)}
            plots.papers.cloud(ax, sets, {"data": "#c3c9d3", "returned": plots.style.colour(0)}, 7)
            ax.set_title(f"{name}, {q} component" + "s" * (q > 1))
    return figure


def text(rows):
    """What each component holds, and what the examples are shown for."""
    table_of = {(r["kernel"], r["component"]): r for r in rows}
    lines = [[j, *(cell(table_of.get((name, j))) for name in KERNELS)] for j in range(1, COMPONENTS + 1)]
    errors = {name: [r["RMS error of points"] for r in rows if r["kernel"] == name] for name in KERNELS}
    thick = {name: table_of[name, 2]["thickness"] for name in KERNELS}
    last = table_of["polynomial", 5]
    orders = ", ".join(f"{table_of[name, 1]['rank correlation with x']:.3f} ({name})" for name in KERNELS)
    notes = (
        f"""To linear PCA the parabola has two dimensions ({table_of["linear", 1]["share"]:.0%} and
        {table_of["linear", 2]["share"]:.0%} of the variance), though it is one curve. One component brings the points
        back to a straight line, {errors["linear"][0]:.2f} off (root of the mean squared distance), and two bring back
        everything, noise included.""",
        f"""From two RBF components they come back to a curve: {thick["RBF"]:.3f} thick, where the points themselves are
        {thick["linear"]:.3f} thick (residuals of a quartic; the noise drawn has {NOISE}).""",
        f"""The last polynomial component, with {last["share"]:.1%} of the variance, is nearly the same along the
        parabola and changes across it: small eigenvalues say what the data have in common.""",
        f"""The first component orders the points along the parabola: rank correlation with x {orders}. With this
        width the RBF's bends back at both ends.""",
    )
    return ABOUT, table(["component", *(f"{name}: share, error" for name in KERNELS)], lines), listed(*notes)


def cell(row):
    return "–" if row is None else f"{row['share']:.1%}, {row['RMS error of points']:.3f}"
