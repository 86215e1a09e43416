"""Bishop's figure 12.17: the first eight kernel principal components of three clusters."""

from dataclasses import dataclass
from itertools import count

import numpy as np

from ...datasets import three_clusters
from ...kernels import RBF
from ...models.kernel_pca import KernelPCA
from .output import Output, Report, Row, component_maps, listed, reproduction, table

NAME = "prml-12.17"
COMPONENTS = 8
SPLITS = (slice(2, 5), slice(5, 8))  # the components that split each cluster, and those that split it again
KERNEL = RBF.from_radius(0.1**0.5)  # (12.86): exp(−‖x − x′‖²/0.1)
DRAWS, QUICK_DRAWS = 200, 50


@reproduction(NAME, "Bishop, figure 12.17")
def run(output: Output, report: Report) -> tuple[list[Row], tuple[str, ...]]:
    """Fit many draws of the clusters, and plot the first one that agrees with the caption."""
    n = QUICK_DRAWS if output.quick else DRAWS
    draws = [Draw.of(seed) for seed in range(n)]
    report(f"{n} draws of three clusters")
    shown = next(draw for draw in map(Draw.of, count()) if draw.agrees_with_caption)
    figure = component_maps(shown.model, shown.X, (2, 4), (2.1, 1.75), "eigenvalue ")
    output.picture(figure, "Eight components of three clusters, with their eigenvalues")
    rows = shown.rows()
    return rows, text(rows, shown, draws)


@dataclass(eq=False)
class Draw:
    """One draw of the clusters, its components, and the cluster and direction of each split."""

    seed: int
    X: np.ndarray
    model: KernelPCA
    Y: np.ndarray  # (3, 30, 8): cluster, point, component

    @classmethod
    def of(cls, seed: int) -> "Draw":
        X = three_clusters(seed)
        model = KernelPCA(COMPONENTS, kernel=KERNEL, solver="exact").fit(X)
        return cls(seed, X, model, model.transform(X).reshape(3, -1, COMPONENTS))

    @property
    def shares(self) -> np.ndarray:
        """The share of each component's variance inside each cluster: (3, 8)."""
        return self.Y.var(axis=1) / (3 * self.Y.reshape(-1, COMPONENTS).var(axis=0))

    @property
    def homes(self) -> np.ndarray:
        """The index of the cluster inside which each component varies most."""
        return self.shares.argmax(axis=0)

    @property
    def separated(self) -> float:
        """The share of points nearest to the mean of their own cluster in the first two components."""
        means = self.Y[:, :, :2].mean(axis=1)
        distances = np.linalg.norm(self.Y[:, :, None, :2] - means, axis=-1)
        return np.mean(distances.argmin(axis=-1) == np.arange(3)[:, None])

    def direction(self, j: int) -> float:
        """Return the direction, in degrees, along which component j rises in the cluster that it splits."""
        home = self.homes[j]
        X, y = self.X.reshape(3, -1, 2)[home], self.Y[home, :, j]
        slope = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)[0]
        return np.degrees(np.arctan2(slope[1], slope[0])) % 180

    def angle(self, j: int) -> float | None:
        """Return the angle between component j and the earlier component that splits the same cluster, or None."""
        earlier = [i for i in range(SPLITS[0].start, j) if self.homes[i] == self.homes[j]]
        if j < SPLITS[1].start or not earlier:
            return None
        difference = abs(self.direction(j) - self.direction(earlier[0]))
        return float(min(difference, 180 - difference))

    @property
    def agrees_with_caption(self) -> bool:
        """Whether two components separate the clusters, and both next triples have one component per cluster."""
        return self.separated == 1 and all(len(set(self.homes[split])) == 3 for split in SPLITS)

    def rows(self) -> list[Row]:
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


def text(rows: list[Row], shown: Draw, draws: list[Draw]) -> tuple[str, ...]:
    """Describe the components of the draw that is shown and of all draws."""
    agreeing = [draw for draw in draws if draw.agrees_with_caption]
    angles = [draw.angle(j) or 0.0 for draw in agreeing for j in range(*SPLITS[1].indices(COMPONENTS))]
    values = np.array([draw.model.eigenvalues_ for draw in draws])
    head = ["component", "eigenvalue", f"over {len(draws)} draws", "inside one cluster", "angle to the first split"]
    lines = [
        [
            row["component"],
            f"{row['eigenvalue']:.2f}",
            f"{values[:, j].mean():.2f} ± {values[:, j].std(ddof=1):.2f}",
            f"{row['share inside it']:.0%}",
            "" if row["angle to the first cut"] is None else f"{row['angle to the first cut']:.0f}°",
        ]
        for j, row in enumerate(rows)
    ]
    notes = (
        f"""The first two components separate the clusters in {sum(draw.separated == 1 for draw in draws)} of
        {len(draws)} draws.""",
        f"""All eight components behave as the caption says in {len(agreeing)} of {len(draws)} draws; the figure shows
        the first of these, seed {shown.seed}. In the others, two eigenvalues nearly coincide and a component splits two
        clusters at once, or the second split of a narrow cluster is not among the first eight components.""",
        f"""In the draws that agree with the caption, the angle between the two splits of a cluster is
        {np.mean(angles):.0f}° on average.""",
    )
    return table(head, lines), listed(*notes)
