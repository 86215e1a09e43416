"""Zhou's figures 1 and 2: what two C-shapes are to one kernel PCA, and to a mixture of two."""

import warnings
from itertools import count

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from ... import plots
from ...datasets import two_cs
from ...kernels import RBF
from ...models.kernel_pca import KernelPCA
from ...models.mixture import KernelPCAMixture
from .output import Output, listed, table

NAME = "zhou-1-2"
KERNEL = RBF.from_sigma(8.0)  # the paper's width
COMPONENTS, RHO = 2, 0.01  # q and ρ of the paper
PAPER_ITERATIONS = 3
STILL = 0.99  # of the points
FOUND = 0.95  # an adjusted Rand index above this: the two Cs are told apart
DRAWS, QUICK_DRAWS = 50, 8
SEED = 0

ABOUT = """\
Figure 1: one C-shape (a) with the first two kernel principal components (b, c), and two C-shapes (d) with theirs
(e, f). Figure 2: a mixture of two kernel PCAs with two axes each, RBF of σ = 8 and ρ = 0.01, from random
responsibilities (a), after its first iteration (b) and at its end (c). The paper does not give its data; ours are drawn
(`mercer.datasets.two_cs`: half circles of radius 6, radial noise of 0.6, 100 points each)."""


def run(out, quick=False, report=lambda line: None):
    """Write ``zhou-1-2.csv``, two pictures and ``.md`` into a folder; see :func:`mercer.app.reproduce.run`."""
    output, n = Output(out, NAME, quick), QUICK_DRAWS if quick else DRAWS
    rows = []
    for seed in range(n):
        X, y = two_cs(seed)
        scores = output.kept(f"draw-{seed}", (KERNEL, COMPONENTS, RHO, STILL), lambda X=X, y=y: compared(X, y))
        when = None if np.isnan(scores[-1]) else int(scores[-1])
        rows.append({"seed": seed, "settled after": when} | dict(zip(METHODS, map(float, scores), strict=False)))
        report(f"draw {seed + 1} of {n}")
    output.csv(rows)
    X, y = two_cs(SEED)
    number = next(k for k in count() if as_fast_as_the_papers(X, y, random_start(k)))
    output.picture(contours(X, y), "Figure 1: one C and two, with the first two components of each", "-1")
    output.picture(
        iterations(X, random_start(number)), "Figure 2: the mixture at its start, after one iteration, at its end", "-2"
    )
    output.text("Zhou, figures 1 and 2", *text(rows, number, mixture(X, random_start(number)).n_iter_))
    return rows


def random_start(seed, n=200):
    """Random responsibilities, normalised."""
    R = np.random.default_rng(seed).random((n, 2))
    return R / R.sum(axis=1, keepdims=True)


def mixture(X, init, **parameters):
    """The paper's mixture, from the given start, for as many iterations as are asked for."""
    model = KernelPCAMixture(
        2, COMPONENTS, noise_variance=RHO, kernel=KERNEL, init=init, random_state=SEED, **parameters
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # where it is stopped to be looked at
        return model.fit(X)


def settled(X, start):
    """The first iteration from which on all but one in a hundred points are in the cluster of the end."""
    end = mixture(X, start)
    stages = (mixture(X, start, max_iter=k).labels_ for k in range(1, end.n_iter_ + 1))
    moving = [k for k, labels in enumerate(stages, 1) if np.mean(labels == end.labels_) < STILL]
    return max(moving, default=0) + 1


def as_fast_as_the_papers(X, y, start):
    """Whether a start leads to the two Cs, with all labels settled after three iterations."""
    return adjusted_rand_score(y, mixture(X, start).labels_) > FOUND and settled(X, start) <= PAPER_ITERATIONS


METHODS = {
    "mixture, ten starts": lambda X: mixture(X, "auto").labels_,
    "mixture, one random start": lambda X: mixture(X, random_start(SEED)).labels_,
    "Gaussian mixture": lambda X: GaussianMixture(2, n_init=10, random_state=SEED).fit_predict(X),
    "k-means": lambda X: KMeans(2, n_init=10, random_state=SEED).fit_predict(X),
    "spectral clustering, same σ": lambda X: spectral(X, KERNEL.gamma),
    "spectral clustering, γ = 1": lambda X: spectral(X, 1.0),
}


def spectral(X, gamma):
    return SpectralClustering(2, gamma=gamma, assign_labels="kmeans", random_state=SEED).fit_predict(X)


def compared(X, y):
    """The adjusted Rand index of every method, and when one random start had settled (if it found the Cs)."""
    scores = [adjusted_rand_score(y, labels(X)) for labels in METHODS.values()]
    found = scores[1] > FOUND
    return np.array([*scores, settled(X, random_start(SEED)) if found else np.nan])


def contours(X, y):
    """Figure 1."""
    figure, panels = plots.papers.board(2, 3, 2.3, 2.2)
    for row, points, of in zip(panels, (X[y == 0], X), ("one C", "two Cs"), strict=True):
        model = KernelPCA(COMPONENTS, kernel=KERNEL, solver="exact").fit(points)
        plots.papers.cloud(row[0], {of: points}, size=6).set_title(of)
        for j in range(COMPONENTS):
            plots.contours(model, points, j, ax=row[j + 1])
    return figure


def iterations(X, start):
    """Figure 2."""
    figure, panels = plots.papers.board(1, 3, 2.3, 2.8)
    stages = {"start": start.argmax(axis=1), "after the first iteration": mixture(X, start, max_iter=1).labels_}
    stages["end"] = mixture(X, start).labels_
    for ax, (name, labels) in zip(panels[0], stages.items(), strict=True):
        plots.papers.cloud(ax, {f"cluster {k + 1}": X[labels == k] for k in (0, 1)}).set_title(name)
    return figure


def text(rows, number, n_iter):
    """How often each method tells the Cs apart, and how soon."""
    n = len(rows)
    found = {name: sum(row[name] > FOUND for row in rows) for name in METHODS}
    lines = [[name, f"{found[name]} of {n}", f"{np.mean([r[name] for r in rows]):.2f}"] for name in METHODS]
    when = [row["settled after"] for row in rows if row["settled after"] is not None]
    quick = sum(2 <= k <= 4 for k in when)
    notes = (
        """The contours of one C follow it; those of two Cs try to follow both at once, as the paper says: that is its
        reason for a mixture.""",
        f"""The paper's mixture is at its end after three iterations. Random start {number} is the first on these data
        for which {STILL:.0%} of the points are in their last cluster so soon, and it is drawn; all responsibilities are
        still to 10⁻⁵ after {n_iter}. From one random start in each draw, where it finds the Cs ({len(when)} of {n}),
        labels settle so after {np.median(when):.0f} iterations (median), and after two to four in {quick}.""",
        """One random start is not enough to rely on: the estimator makes ten, half of them by kernel k-means, and keeps
        the most likely.""",
        """A mixture of two Gaussians, k-means, and spectral clustering at the same width do not find the Cs. Spectral
        clustering at a much smaller width (scikit-learn's default) does: it needs gaps between clusters, and
        there they are seen.""",
    )
    head = ["method", f"adjusted Rand index above {FOUND}", "mean index"]
    return ABOUT, table(head, lines), listed(*notes)
