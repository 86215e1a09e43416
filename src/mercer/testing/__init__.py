"""Laws for kernels, operators, eigensolvers and pre-image methods, those of mercer and your own.

``check_kernel``, ``check_operator``, ``check_solver`` and ``check_preimage`` are plain functions: they return None if
every law holds; otherwise they raise ``AssertionError``, which names the broken law and the size of the error. Each
runs a tuple of single laws (``KERNEL_LAWS``, ``OPERATOR_LAWS``, ``SOLVER_LAWS``, ``PREIMAGE_LAWS``), which can also be
run one by one (those of solvers on a :class:`mercer.testing.solvers.SolverTrial`).
"""

from .kernels import KERNEL_LAWS, check_kernel
from .operators import OPERATOR_LAWS, check_operator, tile_height
from .preimages import PREIMAGE_LAWS, check_preimage
from .solvers import SOLVER_LAWS, check_solver

__all__ = [
    "KERNEL_LAWS",
    "OPERATOR_LAWS",
    "PREIMAGE_LAWS",
    "SOLVER_LAWS",
    "check_kernel",
    "check_operator",
    "check_preimage",
    "check_solver",
    "tile_height",
]
