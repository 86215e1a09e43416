"""Vectors, subspaces and densities in the feature space of a kernel."""

from .expansion import Expansion
from .subspace import Subspace, principal_subspace

__all__ = ["Expansion", "Subspace", "principal_subspace"]
