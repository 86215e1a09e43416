"""Vectors, subspaces and densities in the feature space of a kernel."""

from .expansion import Expansion
from .gaussian import FeatureGaussian, noise_variance
from .loadings import EM
from .primal import Primal, primal
from .subspace import Subspace, landmark_subspace, principal_subspace

__all__ = [
    "EM",
    "Expansion",
    "FeatureGaussian",
    "Primal",
    "Subspace",
    "landmark_subspace",
    "noise_variance",
    "primal",
    "principal_subspace",
]
