"""Kernels, written as their formulas; ``as_kernel`` converts names and functions to kernels."""

from typing import Any

from .._core.registry import KERNELS
from .base import Kernel, Profile, Projective, Radial, sqdist
from .categorical import Categorical
from .compose import Normalized, OnColumns, Product, Scaled, Sum
from .mixed import mixed
from .objects import Jaccard, Objects, Spectrum
from .precomputed import Precomputed
from .projective import Cosine, Linear, Polynomial, Sigmoid
from .radial import RBF, Chi2, InverseMultiquadric, Laplacian, Matern, RationalQuadratic
from .series import GlobalAlignment, RandomWarping
from .wrapped import FromFunction, GaussianProcess


def as_kernel(kernel: Any) -> Kernel:
    """Convert a name, a Gaussian-process kernel of scikit-learn or a function to a kernel.

    Parameters
    ----------
    kernel : str, Kernel, kernel of scikit-learn, or callable
        The object to convert; a Kernel is returned unchanged.

    Returns
    -------
    kernel : Kernel
        The kernel.

    Examples
    --------
    >>> as_kernel("poly")
    Polynomial()
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel]()
    from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

    if isinstance(kernel, GaussianProcessKernel):
        return GaussianProcess(kernel)
    if callable(kernel) and not isinstance(kernel, type):
        return FromFunction(kernel)
    raise ValueError(
        f"Unknown kernel {kernel!r}. Give one of {KERNELS.quoted()}, a kernel of mercer.kernels "
        "such as RBF(gamma=0.1), or a function K(X, Y)."
    )


__all__ = [
    "RBF",
    "Categorical",
    "Chi2",
    "Cosine",
    "FromFunction",
    "GaussianProcess",
    "GlobalAlignment",
    "InverseMultiquadric",
    "Jaccard",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Normalized",
    "Objects",
    "OnColumns",
    "Polynomial",
    "Precomputed",
    "Product",
    "Profile",
    "Projective",
    "Radial",
    "RandomWarping",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "Sum",
    "as_kernel",
    "mixed",
    "sqdist",
]
