"""De Plaen & Suykens' figure 3: reconstructions and samples of a toy data set with 1, 3 and 10 components."""

import numpy as np
from scipy.stats import kurtosis

from ... import plots
from ...kernels import RBF
from ...models.probabilistic import ProbabilisticKernelPCA
from ...preimage import FixedPoint, Smoother
from .output import Figure, Output, Report, Row, listed, reproduction, table

NAME = "deplaen-3"
KERNEL = RBF.from_sigma(2.0)  # the paper's bandwidth
ROWS, RADIUS, NOISE = 50, 5.0, 0.3
COMPONENTS = (1, 3, 10)
PAPER = {3: (0.5403, 0.0098)}  # explained variance and σ² as shares of the total; our copy lacks the other captions
SAMPLES, QUICK_SAMPLES = 2000, 500
SHOWN = 300  # number of samples in the figure
MARGIN = 0.2  # relative width of the margin around the data in which samples are shown
SEED = 0
COLOURS = {"samples": "#c3c9d3", "data": "#20242c", "kernel PCA": "#d8392b", "probabilistic": "#2f7ed8"}
MEASURES = ("error, probabilistic", "error, kernel PCA", "between both", "spread of samples")

WAYS = {"weighted mean of all points": Smoother(neighbours=ROWS), "fixed point": FixedPoint()}


@reproduction(NAME, "De Plaen & Suykens, figure 3")
def run(output: Output, report: Report) -> tuple[list[Row], tuple[str, ...]]:
    """Reconstruct and sample with both pre-image methods and each number of components."""
    n = QUICK_SAMPLES if output.quick else SAMPLES
    X, rows, panels = ring(), [], {}
    for way in WAYS:
        for q in COMPONENTS:
            panels[way, q] = sets = reconstruct(X, q, way, n)
            rows.append({"components": q, "pre-image": way} | measure(X, q, sets))
            report(f"{q} components, {way}")
    output.picture(draw(panels), "Data, reconstructions and samples with 1, 3 and 10 components")
    return rows, text(rows)


def ring(seed: int = SEED) -> np.ndarray:
    """Draw points around a circle."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, ROWS)
    return RADIUS * np.column_stack([np.cos(angle), np.sin(angle)]) + NOISE * rng.standard_normal((ROWS, 2))


def fit(X: np.ndarray, q: int, way: str, noise: float | str = "paper") -> ProbabilisticKernelPCA:
    return ProbabilisticKernelPCA(q, noise_variance=noise, kernel=KERNEL, preimage=WAYS[way], random_state=SEED).fit(X)


def reconstruct(X: np.ndarray, q: int, way: str, n: int) -> dict[str, np.ndarray]:
    """Return the sets of points of one panel."""
    model, limit = fit(X, q, way), fit(X, q, way, 0.0)
    return {
        "samples": model.sample(n)[0],
        "data": X,
        "kernel PCA": limit.inverse_transform(limit.transform(X)),
        "probabilistic": model.inverse_transform(model.transform(X)),
    }


def measure(X: np.ndarray, q: int, sets: dict[str, np.ndarray]) -> Row:
    """Return the quantities that the paper states about the panels."""
    model = fit(X, q, next(iter(WAYS)))
    explained, noise = PAPER.get(q, (None, None))
    return {
        "explained": float(model.explained_variance_ratio_.sum()),
        "noise share": float(model.noise_variance_ / model.total_variance_),
        "paper, explained": explained,
        "paper, noise share": noise,
        "error, probabilistic": rms(sets["probabilistic"] - X),
        "error, kernel PCA": rms(sets["kernel PCA"] - X),
        "between both": rms(sets["probabilistic"] - sets["kernel PCA"]),
        "spread of samples": rms(sets["samples"] - sets["samples"].mean(axis=0)),
        "excess kurtosis of samples": float(kurtosis(sets["samples"]).mean()),
    }


def rms(differences: np.ndarray) -> float:
    """Return the root mean squared norm of the rows."""
    return float(np.sqrt(np.mean(np.sum(differences**2, axis=1))))


def draw(panels: dict) -> Figure:
    """Draw pre-image methods in rows, numbers of components in columns."""
    figure, axes = plots.papers.board(len(WAYS), len(COMPONENTS), 2.5, 2.6)
    for ax, ((way, q), sets) in zip(axes.flat, panels.items(), strict=True):
        plots.papers.cloud(ax, sets | {"samples": sets["samples"][:SHOWN]}, COLOURS)
        ax.set_title(f"q = {q}, {way}")
    plots.papers.share_limits(axes, np.concatenate([sets["data"] for sets in panels.values()]), MARGIN)
    plots.papers.legend(figure, axes[0, 0])
    return figure


def text(rows: list[Row]) -> tuple[str, ...]:
    """Compare the captions and claims of the paper with our numbers."""
    head = ["q", "pre-image", "explained", "σ²", "error", "error, kernel PCA", "between both", "spread of samples"]
    lines = [
        [r["components"], r["pre-image"], f"{r['explained']:.2%}", f"{r['noise share']:.2%}"]
        + [f"{r[key]:.2f}" for key in MEASURES]
        for r in rows
    ]
    paper, rest = rows[: len(COMPONENTS)], rows[len(COMPONENTS) :]
    notes = (
        f"""The caption of the panel with q = 3: 54.03 % explained, σ² = 0.98 %. Ours: {paper[1]["explained"]:.2%} and
        {paper[1]["noise share"]:.2%}. The captions of the other panels are not in our copy; q = 1 and 10 are
        our choice.""",
        f"""With more components the model approaches kernel PCA, as the paper says: the distances between blue and red
        points are {numbers(paper, "between both")}.""",
        f"""The paper says that samples spread wider with more components. With the mean of all points the spreads are
        {numbers(paper, "spread of samples")}, with the fixed point {numbers(rest, "spread of samples")}: the spread
        {growth(paper)} in the first case and {growth(rest)} in the second.""",
        f"""The paper calls its samples Gaussian, because its pre-image is linear. Ours have weights clipped at 0 and
        normalised, so that samples stay among the points: their excess kurtosis is
        {numbers(paper, "excess kurtosis of samples")} (0 for a Gaussian, −1.2 for a uniform distribution).""",
        f"""The mean of all points shrinks everything towards the centre: the error is
        {numbers(paper[-1:], "error, probabilistic")} with q = 10. Its weights are those of the uncentred kernel: the
        printed equation (19) with centred weights divides by zero, since they sum to 0. A fixed point in feature space
        preserves the ring (error {numbers(rest[-1:], "error, probabilistic")}), and its samples lie on it.""",
    )
    return table(head, lines), listed(*notes)


def numbers(rows: list[Row], key: str) -> str:
    return ", ".join(f"{row[key]:.2f}" for row in rows)


def growth(rows: list[Row]) -> str:
    """Describe whether the spread of samples grows with the number of components, as the paper says."""
    grows = np.diff([row["spread of samples"] for row in rows]) > 0
    return "grows throughout" if grows.all() else "does not grow throughout"
