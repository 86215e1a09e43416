"""De Plaen & Suykens' figure 3: reconstructions and samples of a toy, with more and more components."""

import numpy as np
from scipy.stats import kurtosis

from ... import plots
from ...kernels import RBF
from ...models.probabilistic import ProbabilisticKernelPCA
from ...preimage import FixedPoint, Smoother
from .output import Output, listed, table

NAME = "deplaen-3"
KERNEL = RBF.from_sigma(2.0)  # the paper's bandwidth
ROWS, RADIUS, NOISE = 50, 5.0, 0.3
COMPONENTS = (1, 3, 10)
PAPER = {3: (0.5403, 0.0098)}  # explained variance and σ² as shares of the whole variance; the other panels are lost
SAMPLES, QUICK_SAMPLES = 2000, 500
SHOWN = 300  # of the samples
SEED = 0
COLOURS = {"samples": "#c3c9d3", "data": "#20242c", "kernel PCA": "#d8392b", "probabilistic": "#2f7ed8"}

ABOUT = """\
Points (black), their reconstructions by probabilistic kernel PCA (blue) and by kernel PCA (red, the limit ρ → 0), and
samples (grey), RBF of bandwidth 2, noise by maximum likelihood. The paper does not give its data; ours lie around a
ring. Its caption, as we have it, says N = 20, but its own figures belong to N = 50: with q = 3 and 54.03 % explained,
σ² = (1 − 0.5403)/(N − q) is 0.98 % of the variance for N = 50 and 2.70 % for N = 20. So we draw 50 points."""
WAYS = {"weighted mean of all points": Smoother(neighbours=ROWS), "fixed point": FixedPoint()}


def run(out, quick=False, report=lambda line: None):
    """Write ``deplaen-3.csv``, ``.png`` and ``.md`` into a folder; see :func:`mercer.app.reproduce.run`."""
    output, n = Output(out, NAME, quick), QUICK_SAMPLES if quick else SAMPLES
    X, rows, panels = ring(), [], {}
    for way in WAYS:
        for q in COMPONENTS:
            panels[way, q] = sets = reconstructed(X, q, way, n)
            rows.append({"components": q, "pre-image": way} | measured(X, q, sets))
            report(f"{q} components, {way}")
    output.csv(rows)
    output.picture(draw(panels), "Data, reconstructions and samples with 1, 3 and 10 components")
    output.text("De Plaen & Suykens, figure 3", *text(rows))
    return rows


def ring(seed=SEED):
    """Points around a circle."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, ROWS)
    return RADIUS * np.column_stack([np.cos(angle), np.sin(angle)]) + NOISE * rng.standard_normal((ROWS, 2))


def fitted(X, q, way, noise="mle"):
    return ProbabilisticKernelPCA(q, noise_variance=noise, kernel=KERNEL, preimage=WAYS[way], random_state=SEED).fit(X)


def reconstructed(X, q, way, n):
    """The sets of points of one panel."""
    model, limit = fitted(X, q, way), fitted(X, q, way, 0.0)
    return {
        "samples": model.sample(n)[0],
        "data": X,
        "kernel PCA": limit.inverse_transform(limit.transform(X)),
        "probabilistic": model.inverse_transform(model.transform(X)),
    }


def measured(X, q, sets):
    """What the paper says of the panels, in numbers."""
    model = fitted(X, q, next(iter(WAYS)))
    away = {name: float(rms(sets[name] - X)) for name in ("probabilistic", "kernel PCA")}
    return {
        "explained": float(model.explained_variance_ratio_.sum()),
        "noise share": float(model.noise_variance_ / model.total_variance_),
        "paper, explained": PAPER.get(q, (None, None))[0],
        "paper, noise share": PAPER.get(q, (None, None))[1],
        "error, probabilistic": away["probabilistic"],
        "error, kernel PCA": away["kernel PCA"],
        "between both": float(rms(sets["probabilistic"] - sets["kernel PCA"])),
        "spread of samples": float(rms(sets["samples"] - sets["samples"].mean(axis=0))),
        "excess kurtosis of samples": float(kurtosis(sets["samples"]).mean()),
    }


def numbers(rows, key):
    return ", ".join(f"{row[key]:.2f}" for row in rows)


def wider(rows):
    """Whether the samples do what the paper says."""
    rises = np.diff([row["spread of samples"] for row in rows]) > 0
    return "wider throughout" if rises.all() else "not wider throughout"


def rms(away):
    """The root of the mean squared length."""
    return np.sqrt(np.mean(np.sum(away**2, axis=1)))


def draw(panels):
    """Pre-images in rows, numbers of components in columns."""
    figure, axes = plots.papers.board(len(WAYS), len(COMPONENTS), 2.5, 2.6)
    for ax, ((way, q), sets) in zip(axes.flat, panels.items(), strict=True):
        plots.papers.cloud(ax, sets | {"samples": sets["samples"][:SHOWN]}, COLOURS)
        ax.set_title(f"q = {q}, {way}")
    return figure


def text(rows):
    """The captions' figures beside ours, and the text's claims."""
    head = ["q", "pre-image", "explained", "σ²", "error", "kernel PCA's", "between both", "spread of samples"]
    lines = [
        [r["components"], r["pre-image"], f"{r['explained']:.2%}", f"{r['noise share']:.2%}"]
        + [
            f"{r[key]:.2f}"
            for key in ("error, probabilistic", "error, kernel PCA", "between both", "spread of samples")
        ]
        for r in rows
    ]
    paper, rest = (rows[: len(COMPONENTS)], rows[len(COMPONENTS) :])
    notes = (
        f"""The caption of the panel with q = 3: 54.03 % explained, σ² = 0.98 %. Ours: {paper[1]["explained"]:.2%} and
        {paper[1]["noise share"]:.2%}. The captions of the other panels are not in our copy; q = 1 and 10 are
        our choice.""",
        f"""With more components the model becomes kernel PCA, as the paper says: the blue and the red points are
        {numbers(paper, "between both")} apart.""",
        f"""The paper says that samples spread wider with more components. With the mean of all points ours spread by
        {numbers(paper, "spread of samples")}, with the fixed point by {numbers(rest, "spread of samples")}:
        {wider(paper)} with the one, {wider(rest)} with the other.""",
        f"""The paper calls its samples Gaussian, because its pre-image is linear. Ours are clipped at weights of 0 and
        normalised, which keeps them among the points: their excess kurtosis is
        {numbers(paper, "excess kurtosis of samples")} (a Gaussian's is 0, a uniform one's −1.2).""",
        f"""The mean of all points pulls everything to the middle: {numbers(paper[-1:], "error, probabilistic")} off
        with q = 10. Its weights are those of the uncentred kernel: the printed equation (19) with centred ones divides
        by zero, since they sum to 0. A fixed point in feature space keeps the ring
        ({numbers(rest[-1:], "error, probabilistic")} off), and its samples lie on it.""",
    )
    return ABOUT, table(head, lines), listed(*notes)
