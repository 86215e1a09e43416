"""Model selection: kernels and their widths, numbers of components and clusters, pre-image methods, thresholds.

Each function returns a table of scores, the best value, and an estimator with it.
"""

from .auto import AutoChoice, auto
from .clusters import ClusterChoice, DensityChoice, n_clusters
from .components import ComponentChoice, n_components
from .kernels import Cost, Search, kernel, kernel_cost
from .novelty import held_out, threshold
from .preimages import Choice, preimage, reconstruction
from .stability import Stability, stability
from .widths import Widths, widths

__all__ = [
    "AutoChoice",
    "Choice",
    "ClusterChoice",
    "ComponentChoice",
    "Cost",
    "DensityChoice",
    "Search",
    "Stability",
    "Widths",
    "auto",
    "held_out",
    "kernel",
    "kernel_cost",
    "n_clusters",
    "n_components",
    "preimage",
    "reconstruction",
    "stability",
    "threshold",
    "widths",
]
