"""Tipping's figures 1 to 3: nine components of three clusters, from all kernels and from nine of them."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ... import plots
from ...datasets import three_clusters
from ...kernels import RBF
from ...models.kernel_pca import KernelPCA
from ...models.sparse import SparseKernelPCA
from .output import Output, Report, Row, component_maps, listed, reproduction, table

NAME = "tipping-1-3"
KERNEL = RBF.from_radius(0.25)  # exp(−‖x − x′‖²/r²), r = 0.25
SIGMA = 0.25  # the paper's noise, as a standard deviation in feature space
ANCHORS = 9
DRAWS, QUICK_DRAWS = 200, 20
EARLY = 1000  # iterations after which the paper's update is stopped
SEED = 0
SAME = 0.85
SPAN = "in the span of the full ones so far"


@reproduction(NAME, "Tipping, figures 1 to 3")
def run(output: Output, report: Report) -> tuple[list[Row], tuple[str, ...]]:
    """Fit the full and the sparse model, and the sparse model at the paper's noise to many draws."""
    n, X = QUICK_DRAWS if output.quick else DRAWS, three_clusters(SEED)
    full = KernelPCA(ANCHORS, kernel=KERNEL, center=False, solver="exact").fit(X)
    sparse = SparseKernelPCA(n_anchors=ANCHORS, kernel=KERNEL).fit(X)
    report(f"{ANCHORS} representing vectors at σ = {np.sqrt(sparse.noise_variance_):.3f}")
    models = [fit_at_paper_noise(three_clusters(seed)) for seed in range(n)]
    report(f"the paper's noise on {n} draws")
    output.csv(
        [
            {"seed": seed, "representing vectors": len(model.support_), "violation": float(model.kkt_)}
            for seed, model in enumerate(models)
        ],
        "-draws",
    )
    output.picture(component_maps(full, X, (3, 3), (2.1, 1.8)), "Figure 1: nine components from all kernels", "-1")
    output.picture(component_maps(sparse, X, (3, 3), (2.1, 1.8)), "Figure 2: nine components from nine kernels", "-2")
    figure, panels = plots.papers.board(1, 1, 4.8, 3.8)
    ax = plots.novelty(sparse, X, ax=panels[0, 0])
    plots.papers.bar(figure, ax, ax.images[0], "distance to the subspace")
    plots.papers.legend(figure, ax)
    output.picture(figure, "Figure 3: nine representing vectors, and the reconstruction error", "-3")
    rows = compare(full, sparse, X)
    return rows, text(rows, full, sparse, X, models)


def fit_at_paper_noise(X: np.ndarray, solver: str = "newton", max_iter: int = 1000) -> SparseKernelPCA:
    """Fit the sparse model with the paper's noise variance."""
    return SparseKernelPCA(noise_variance=SIGMA**2, kernel=KERNEL, solver=solver, max_iter=max_iter).fit(X)


def count_without_convergence(X: np.ndarray) -> int:
    """Return the number of vectors that the paper's update (eq. 14) has after ``EARLY`` iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return len(fit_at_paper_noise(X, "fast", EARLY).support_)


def compare(full: KernelPCA, sparse: SparseKernelPCA, X: np.ndarray) -> list[Row]:
    """Return eigenvalues and variance shares of both, and the part of sparse axes in the span of the full ones."""
    Y, S = full.transform(X), sparse.transform(X)
    within = [
        np.linalg.norm(Y[:, : j + 1] @ np.linalg.lstsq(Y[:, : j + 1], s, rcond=None)[0]) for j, s in enumerate(S.T)
    ]
    return [
        {
            "component": j + 1,
            "eigenvalue, full": float(full.eigenvalues_[j]),
            "eigenvalue, sparse": float(sparse.eigenvalues_[j]),
            "share, full": float(full.explained_variance_ratio_[j]),
            "share, sparse": float(sparse.explained_variance_ratio_[j]),
            "correlation": float(abs(Y[:, j] @ S[:, j]) / np.linalg.norm(Y[:, j]) / np.linalg.norm(S[:, j])),
            SPAN: float(within[j] / np.linalg.norm(S[:, j])),
        }
        for j in range(min(Y.shape[1], S.shape[1]))
    ]


def text(rows: list[Row], full: Any, sparse: Any, X: np.ndarray, models: list) -> tuple[str, ...]:
    """Compare both sets of components, and the number of vectors with the paper's."""
    held = {name: 1 - np.mean(model.reconstruction_error(X)) for name, model in (("full", full), ("sparse", sparse))}
    clusters = np.repeat(np.arange(3), len(X) // 3)
    picked = [len(set(clusters[np.abs(model.transform(X)[:, :3]).argmax(axis=0)])) for model in (full, sparse)]
    counts, early = [len(model.support_) for model in models], count_without_convergence(X)
    head = ["component", "eigenvalue: full", "sparse", "share: full", "sparse", "correlation", "in the full span"]
    lines = [
        [r["component"], f"{r['eigenvalue, full']:.2f}", f"{r['eigenvalue, sparse']:.2f}"]
        + [f"{r['share, full']:.1%}", f"{r['share, sparse']:.1%}", f"{r['correlation']:.3f}", f"{r[SPAN]:.3f}"]
        for r in rows
    ]
    frequencies = ", ".join(f"{k}: {t}" for k, t in zip(*np.unique(counts, return_counts=True), strict=True))
    notes = (
        f"""The first three components have their largest values in {picked[0]} different clusters, those of the sparse
        model in {picked[1]}: they identify the clusters, as the paper says.""",
        f"""Nine components contain {held["full"]:.1%} of the squared norm of the 90 feature vectors; the nine of the
        sparse model, with a tenth of the kernels, {held["sparse"]:.1%}.""",
        f"""The paper uses σ = {SIGMA}, chosen so that nine kernels remain on its data. On our data nine remain at
        σ = {np.sqrt(sparse.noise_variance_):.3f}, which the figures show.""",
        f"""At σ = {SIGMA} the maximum-likelihood model has {counts[SEED]} representing vectors on the data shown, and
        between {min(counts)} and {max(counts)} over {len(counts)} draws, {np.mean(counts):.1f} on average
        ({frequencies}). Nine is possible but not typical. Each of these models is at a maximum of the likelihood: the
        optimality conditions hold to {max(m.kkt_ for m in models):.0e}.""",
        f"""The paper's update (its equation 14) still has {early} vectors on these data after {EARLY} iterations: the
        number of vectors means little before convergence.""",
        f"""Signs are arbitrary, and so are axes of nearly equal eigenvalues. The last column is the part of a sparse
        component that lies in the span of the full components up to the same index: above {SAME} for
        {sum(r[SPAN] > SAME for r in rows)} of the nine. Nine kernels span only nine axes, so the last sparse components
        cannot follow the full ones.""",
    )
    return table(head, lines), listed(*notes)
