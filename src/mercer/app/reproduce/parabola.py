"""The slides' parabola: linear PCA, and kernel PCA with a polynomial, an RBF and a tanh kernel, components 1 to 8."""

import warnings

import numpy as np
from scipy.stats import spearmanr

from ... import plots
from ...kernels import RBF, Linear, Polynomial, Sigmoid
from ...models.kernel_pca import KernelPCA
from .output import Figure, Output, Report, Row, listed, reproduction, table

NAME = "parabola"
KERNELS = {
    "linear": Linear(),
    "polynomial": Polynomial(degree=2, gamma=1.0, coef0=1.0),
    "RBF": RBF.from_sigma(0.5),
    "tanh": Sigmoid(gamma=0.5, coef0=-2.0),
}
COMPONENTS = 8
ROWS, NOISE = 200, 0.1
SEED = 0


@reproduction(NAME, "The slides' parabola")
def run(output: Output, report: Report) -> tuple[list[Row], tuple[str, ...]]:
    """Fit PCA and kernel PCA with three kernels to points along a parabola."""
    X = points()
    models = {name: fit(name, COMPONENTS, X) for name in KERNELS}
    rows = []
    for name, model in models.items():
        rows += measure(name, model, X)
        report(f"{name}: {model.n_components_} components")
    output.picture(draw_first(models, X), "Points coloured by intervals of their first component", "-first")
    output.picture(draw_components(models, X), "Components as functions of the plane", "-components")
    output.picture(draw_reconstructions(X), "Points reconstructed from one and from two components", "-reduction")
    return rows, text(rows, models["tanh"].solver_.negative_mass)


def fit(name: str, q: int, X: np.ndarray) -> KernelPCA:
    """Fit q components. The tanh is not positive semi-definite: its components are those of its positive part."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The kernel matrix is indefinite")
        return KernelPCA(q, kernel=KERNELS[name], solver="exact").fit(X)


def points(seed: int = SEED) -> np.ndarray:
    """Draw points along a parabola."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, ROWS)
    return np.column_stack([x, x**2 + NOISE * rng.standard_normal(ROWS)])


def measure(name: str, model: KernelPCA, X: np.ndarray) -> list[Row]:
    """Return variance, order along the parabola, and reconstruction error for each component."""
    Y = model.transform(X)
    back = [reconstruct(name, j + 1, X) for j in range(model.n_components_)]
    return [
        {
            "kernel": name,
            "component": j + 1,
            "eigenvalue": float(model.explained_variance_[j]),
            "share": float(model.explained_variance_ratio_[j]),
            "rank correlation with x": float(abs(spearmanr(X[:, 0], Y[:, j])[0])),
            "RMS error of points": float(np.sqrt(np.mean(np.sum((back[j] - X) ** 2, axis=1)))),
            "thickness": thickness(back[j]),
        }
        for j in range(model.n_components_)
    ]


def thickness(X: np.ndarray) -> float:
    """Return the root mean squared residual of a quartic in x: how far points lie off a smooth curve."""
    x, y = X.T
    return float(np.sqrt(np.mean((np.polynomial.Polynomial.fit(x, y, 4)(x) - y) ** 2)))


def reconstruct(name: str, q: int, X: np.ndarray) -> np.ndarray:
    """Return the points reconstructed from the first q components."""
    return fit(name, q, X).denoise(X)


def draw_first(models: dict[str, KernelPCA], X: np.ndarray) -> Figure:
    figure, panels = plots.papers.board(1, len(models), 2.6, 1.9)
    first = {name: model.transform(X)[:, 0] / np.sqrt(model.explained_variance_[0]) for name, model in models.items()}
    plots.papers.coloured(figure, panels[0], X, first, "first component / √λ")
    return figure


def draw_components(models: dict[str, KernelPCA], X: np.ndarray) -> Figure:
    figure, panels = plots.papers.board(len(models), COMPONENTS, 1.35, 1.15)
    for row, (name, model) in zip(panels, models.items(), strict=True):
        for j, ax in enumerate(row):
            if j < model.n_components_:
                plots.contours(model, X, j, ax=ax)
                plots.papers.in_deviations(ax, np.sqrt(model.explained_variance_[j]))
                ax.set_title(f"PC {j + 1}")
            else:
                ax.set_axis_off()
        row[0].set_ylabel(name)
    plots.papers.deviations(figure, panels)
    return figure


def draw_reconstructions(X: np.ndarray) -> Figure:
    figure, panels = plots.papers.board(2, len(KERNELS), 2.6, 1.9)
    for row, q in zip(panels, (1, 2), strict=True):
        for ax, name in zip(row, KERNELS, strict=True):
            sets = {"data": X, "reconstructed": reconstruct(name, q, X)}
            plots.papers.cloud(ax, sets, {"data": "#c3c9d3", "reconstructed": plots.style.colour(0)}, 7)
            ax.set_title(f"{name}, {q} component" + "s" * (q > 1))
    plots.papers.share_limits(panels, X)
    plots.papers.legend(figure, panels[0, 0])
    return figure


def text(rows: list[Row], negative: float) -> tuple[str, ...]:
    """Tabulate the components and describe what the example illustrates."""
    found = {(r["kernel"], r["component"]): r for r in rows}
    lines = [[j, *(cell(found.get((name, j))) for name in KERNELS)] for j in range(1, COMPONENTS + 1)]
    errors = {name: [r["RMS error of points"] for r in rows if r["kernel"] == name] for name in KERNELS}
    thick = {name: found[name, 2]["thickness"] for name in KERNELS}
    last = found["polynomial", 5]
    orders = ", ".join(f"{found[name, 1]['rank correlation with x']:.3f} ({name})" for name in KERNELS)
    notes = (
        f"""For linear PCA the parabola has two dimensions ({found["linear", 1]["share"]:.0%} and
        {found["linear", 2]["share"]:.0%} of the variance), though it is one curve. One component reconstructs the
        points on a straight line with an RMS error of {errors["linear"][0]:.2f}; two reconstruct everything, noise
        included.""",
        f"""Two RBF components reconstruct the points on a curve: their RMS residual around a quartic is
        {thick["RBF"]:.3f}, that of the points themselves {thick["linear"]:.3f} (the noise has a standard deviation of
        {NOISE}).""",
        f"""The last polynomial component, with {last["share"]:.1%} of the variance, is nearly constant along the
        parabola and varies across it: components of small eigenvalues describe properties that all points share.""",
        f"""The first component orders the points along the parabola: rank correlation with x {orders}. With this
        width the first RBF component is not monotone at the two ends.""",
        f"""The tanh is not positive semi-definite: {negative:.0e} of Σ|λ| are negative eigenvalues, which are left out.
        Here its components resemble those of the polynomial kernel.""",
    )
    return table(["component", *(f"{name}: share, error" for name in KERNELS)], lines), listed(*notes)


def cell(row: Row | None) -> str:
    return "–" if row is None else f"{row['share']:.1%}, {row['RMS error of points']:.3f}"
