"""Choices by evidence: pre-image methods, kernels and their widths, numbers of components.

Each function returns a small table of what was compared, the best of it, and an estimator that has it.
"""

from .clusters import ClusterChoice, n_clusters
from .components import ComponentChoice, n_components
from .novelty import held_out, threshold
from .preimages import Choice, preimage, reconstruction

__all__ = [
    "Choice",
    "ClusterChoice",
    "ComponentChoice",
    "held_out",
    "n_clusters",
    "n_components",
    "preimage",
    "reconstruction",
    "threshold",
]
