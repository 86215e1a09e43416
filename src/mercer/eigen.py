"""Eigensolvers for the parameter ``solver``, and ``Report``, the type of ``solver_``."""

from .linalg.eigenpairs import Eigenpairs, Report, eigenpairs
from .linalg.operators import Covariance, Dense, Gram, Operator, Uncentred
from .linalg.ritz import Ritz
from .linalg.solvers.davidson import Davidson
from .linalg.solvers.exact import Exact
from .linalg.solvers.lanczos import Lanczos
from .linalg.solvers.randomized import Randomized
from .rkhs.landmarks import Landmarks, choose
from .rkhs.loadings import EM

__all__ = [
    "EM",
    "Covariance",
    "Davidson",
    "Dense",
    "Eigenpairs",
    "Exact",
    "Gram",
    "Lanczos",
    "Landmarks",
    "Operator",
    "Randomized",
    "Report",
    "Ritz",
    "Uncentred",
    "choose",
    "eigenpairs",
]
