"""Bishop's figure 12.17: the first eight kernel principal components of three clusters."""

from dataclasses import dataclass
from itertools import count

import numpy as np

from ... import plots
from ...datasets import three_clusters
from ...kernels import RBF
from ...models.kernel_pca import KernelPCA
from .output import Output, listed, table

NAME = "prml-12.17"
COMPONENTS = 8
SPLITS = (slice(2, 5), slice(5, 8))  # the components that halve the clusters, and those that halve them again
KERNEL = RBF.from_radius(0.1**0.5)  # (12.86): exp(−‖x − x′‖²/0.1)
DRAWS, QUICK_DRAWS = 200, 50

ABOUT = """\
Three round clusters of thirty points, exp(−‖x − x′‖²/0.1), centred in feature space. The book does not give its data;
ours are drawn (`mercer.datasets.three_clusters`). Its caption says that the first two components separate the clusters,
the next three halve one of them each, and the last three halve them again, across the first cut."""


def run(out, quick=False, report=lambda line: None):
    """Write ``prml-12.17.csv``, ``.png`` and ``.md`` into a folder; see :func:`mercer.app.reproduce.run`."""
    output, n = Output(out, NAME, quick), QUICK_DRAWS if quick else DRAWS
    draws = [Draw.of(seed) for seed in range(n)]
    report(f"{n} draws of three clusters")
    shown = next(draw for draw in map(Draw.of, count()) if draw.as_the_caption_says)
    rows = shown.rows()
    output.csv(rows)
    output.picture(shown.picture(), "Eight components of three clusters, with their eigenvalues")
    output.text("Bishop, figure 12.17", *text(rows, shown, draws))
    return rows


@dataclass(eq=False)
class Draw:
    """One draw of the clusters, its components, and what each of them does."""

    seed: int
    X: np.ndarray
    model: KernelPCA
    Y: np.ndarray  # (3, 30, 8): cluster, point, component

    @classmethod
    def of(cls, seed):
        X = three_clusters(seed)
        model = KernelPCA(COMPONENTS, kernel=KERNEL, solver="exact").fit(X)
        return cls(seed, X, model, model.transform(X).reshape(3, -1, COMPONENTS))

    @property
    def shares(self):
        """The part of each component's variance that lies inside each cluster: (3, 8)."""
        return self.Y.var(axis=1) / (3 * self.Y.reshape(-1, COMPONENTS).var(axis=0))

    @property
    def homes(self):
        """The cluster that each component cuts, if any."""
        return self.shares.argmax(axis=0)

    @property
    def separated(self):
        """The part of the points that is nearest to the middle of its own cluster in the first two components."""
        middles = self.Y[:, :, :2].mean(axis=1)
        away = np.linalg.norm(self.Y[:, :, None, :2] - middles, axis=-1)
        return np.mean(away.argmin(axis=-1) == np.arange(3)[:, None])

    def direction(self, j):
        """The direction, in degrees, along which component j rises in the cluster that it cuts."""
        home = self.homes[j]
        X, y = self.X.reshape(3, -1, 2)[home], self.Y[home, :, j]
        slope = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)[0]
        return np.degrees(np.arctan2(slope[1], slope[0])) % 180

    def angle(self, j):
        """The angle between the cuts of component j and of the earlier component in the same cluster, or None."""
        earlier = [i for i in range(SPLITS[0].start, j) if self.homes[i] == self.homes[j]]
        if j < SPLITS[1].start or not earlier:
            return None
        turned = abs(self.direction(j) - self.direction(earlier[0]))
        return float(min(turned, 180 - turned))

    @property
    def as_the_caption_says(self):
        """Whether the first two separate, and each of both threes has one component for each cluster."""
        return self.separated == 1 and all(len(set(self.homes[split])) == 3 for split in SPLITS)

    def rows(self):
        return [
            {
                "component": j + 1,
                "eigenvalue": float(self.model.eigenvalues_[j]),
                "share of variance": float(self.model.explained_variance_ratio_[j]),
                "cluster cut": int(self.homes[j]) + 1 if j >= SPLITS[0].start else None,
                "share inside it": float(self.shares[:, j].max()),
                "angle to the first cut": self.angle(j),
            }
            for j in range(COMPONENTS)
        ]

    def picture(self):
        figure, panels = plots.papers.board(2, 4, 2.1, 1.75)
        for j, ax in enumerate(panels.flat):
            plots.contours(self.model, self.X, j, ax=ax)
            ax.set_title(f"eigenvalue {self.model.eigenvalues_[j]:.2f}")
        return figure


def text(rows, shown, draws):
    """What the components do, in the draw that is shown and in all."""
    holds = [draw for draw in draws if draw.as_the_caption_says]
    angles = [draw.angle(j) for draw in holds for j in range(*SPLITS[1].indices(COMPONENTS))]
    spread = np.array([draw.model.eigenvalues_ for draw in draws])
    head = ["component", "eigenvalue", f"over {len(draws)} draws", "inside one cluster", "angle to the first cut"]
    lines = [
        [
            row["component"],
            f"{row['eigenvalue']:.2f}",
            f"{spread[:, j].mean():.2f} ± {spread[:, j].std(ddof=1):.2f}",
            f"{row['share inside it']:.0%}",
            "" if row["angle to the first cut"] is None else f"{row['angle to the first cut']:.0f}°",
        ]
        for j, row in enumerate(rows)
    ]
    notes = (
        f"""The first two components separate the clusters in {sum(draw.separated == 1 for draw in draws)} of
        {len(draws)} draws.""",
        f"""All eight do what the caption says in {len(holds)} of them; seed {shown.seed}, the first of these, is drawn
        above. In the others two eigenvalues nearly coincide, and a component cuts two clusters at once, or the second
        cut of a narrow cluster comes later than the eighth.""",
        f"Where it holds, the second cut is turned against the first by {np.mean(angles):.0f}° on average.",
    )
    return ABOUT, table(head, lines), listed(*notes)
