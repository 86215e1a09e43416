"""Vectors, subspaces and densities in the feature space of a kernel."""

from .expansion import Expansion
from .gaussian import FeatureGaussian
from .subspace import Subspace, landmark_subspace, principal_subspace

__all__ = ["Expansion", "FeatureGaussian", "Subspace", "landmark_subspace", "principal_subspace"]
