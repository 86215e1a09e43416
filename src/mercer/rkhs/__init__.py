"""Vectors, subspaces and densities in the feature space of a kernel."""

from .basis import Basis
from .expansion import Expansion
from .gaussian import FeatureGaussian, noise_variance
from .loadings import EM
from .primal import Primal, primal
from .subspace import Subspace, principal_subspace, subspace_of_moments

__all__ = [
    "EM",
    "Basis",
    "Expansion",
    "FeatureGaussian",
    "Primal",
    "Subspace",
    "noise_variance",
    "primal",
    "principal_subspace",
    "subspace_of_moments",
]
