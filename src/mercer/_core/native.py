"""The interface to the C extension: the only module that calls it, and knows which kernels and arrays it supports.

Without the extension (no compiler at install, an old processor, ``MERCER_NATIVE=0``) the functions return None, and
NumPy does the same work. ``MERCER_SIMD`` selects the vector instructions: ``avx512``, ``avx2`` or ``neon`` instead of
the best that the processor has, or ``none``, which is NumPy.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import Array, in_place, is_foreign, namespace
from .blas import single_blas

try:
    from . import _native  # type: ignore[attr-defined]
except ImportError:
    _native = None


def _selected(module: Any, simd: str) -> Any:
    """Return the extension, set to the instructions ``simd`` (the best if it is empty), or None if it is not used."""
    available = module.instances() if module else []
    if simd and simd not in (*available, "none"):
        raise ValueError(
            f"MERCER_SIMD is {simd!r}, which is not available here: this processor and this installation run "
            f"{' and '.join([*available, 'none'])}. Set it to one of them, or unset it to use the fastest."
        )
    if simd == "none" or not available:
        return None
    module.use(simd or available[0])
    return module


_native = None if os.environ.get("MERCER_NATIVE") == "0" else _selected(_native, os.environ.get("MERCER_SIMD", ""))

ONE = 2**31 - 1  # stands for 1 in tiles of 32-bit integers
RBF, NEAR = 0, 7  # numbers of profiles in the extension: NEAR is RBF with exponents from inner products
LARGEST_EXPONENT = {np.dtype(np.float64): 100.0, np.dtype(np.float32): 30.0}  # of NEAR: errors grow with exponents
# numbers of columns up to which the fused loops, and the tile alone, were faster than distances by BLAS
FUSED_COLUMNS = {np.dtype(np.float64): 96, np.dtype(np.float32): 192}
TILE_COLUMNS = {np.dtype(np.float64): 64, np.dtype(np.float32): 128}


def exp_into(t: Array) -> Array:
    """Return exp(t), written over t."""
    if _native is None or not isinstance(t, np.ndarray) or t.dtype not in TILE_COLUMNS or not t.flags.c_contiguous:
        return in_place("exp", t)
    _native.exp_into(t)
    return t


def profile(kernel: Any, t: Array) -> Any:
    """Return k(max(t, 0)) of squared distances, written over t."""
    if is_foreign(t):
        return kernel.profile(namespace(t).clip(t, 0, None))
    if _native is None or kernel.native_kind is None or t.dtype not in TILE_COLUMNS or not t.flags.c_contiguous:
        return kernel.profile(np.maximum(t, 0, out=t))
    _native.profile(*_profile(kernel), t)
    return t


def matmul(A: Array, B: Array) -> Array:
    """Return A @ B, in one thread; see :func:`_multiplies`."""
    if not _multiplies(A, B):
        return A @ B
    out = np.zeros((A.shape[0], B.shape[1]), A.dtype)
    _native.multiply(A, B, out, False)
    return out


def add_product(total: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
    """Add A @ B to a part of a matrix, in one thread."""
    if _multiplies(A, B) and total.dtype == A.dtype:
        _native.multiply(A, B, total, False)
    else:
        total += A @ B


def add_gram(total: Array, F: Array) -> None:
    """Add FᵀF to a symmetric matrix in float64; entries below the diagonal may be left out, in one thread."""
    if not _multiplies(F, F):
        total += namespace(F).astype(F.T @ F, total.dtype, copy=False)
    elif F.dtype == total.dtype:
        _native.multiply(F.T, F, total, True)
    else:
        out = np.zeros(total.shape, F.dtype)
        _native.multiply(F.T, F, out, True)
        total += out


def _multiplies(A: Array, B: Array) -> bool:
    """Return True if the extension is faster than a product by one thread of BLAS.

    With AVX-512, it is: BLAS libraries use these instructions on some processors that have them, not on all.
    """
    return (
        _native is not None
        and _native.active() == "avx512"
        and single_blas.users > 0
        and isinstance(A, np.ndarray)
        and isinstance(B, np.ndarray)
        and A.dtype == B.dtype
        and A.dtype in TILE_COLUMNS
        and A.ndim == B.ndim == 2
    )


def expanded(kernel: Any, Z: Array) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None:
    """Return the function (x₂, z₂, xᵀz) ↦ k(x₂ + z₂ − 2xᵀz) of squared norms, written over xᵀz; or None."""
    if not _supports(kernel, Z):
        return None

    def k(x2: np.ndarray, z2: np.ndarray, products: np.ndarray) -> np.ndarray:
        out = np.ascontiguousarray(products)
        _native.expanded(*_profile(kernel), x2[:, None], z2[:, None], out)
        return out

    return k


def tile(kernel: Any, Z: Array) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return the function x ↦ k(x, Z), or None."""
    if not _supports(kernel, Z, TILE_COLUMNS):
        return None

    def k(x: np.ndarray) -> np.ndarray:
        X, Y = _alike(x, Z)
        out = np.empty((len(X), len(Y)), X.dtype)
        _native.tile(*_profile(kernel), X, Y, out)
        return out

    return k


def product(kernel: Any, Z: Array, B: Array) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return the function x ↦ k(x, Z) @ B, which does not store the matrix, or None."""
    if not _supports(kernel, Z, FUSED_COLUMNS):
        return None

    def k_B(x: np.ndarray) -> np.ndarray:
        X, Y, V = _alike(x, Z, B)
        out = np.empty((len(X), V.shape[1]), X.dtype)
        _native.product(*_profile(kernel), X, Y, V, out)
        return out

    return k_B


def symmetric(kernel: Any, X: Array) -> Callable[[np.ndarray, int, int], np.ndarray] | None:
    """Return the function (V, i, s) ↦ the i-th of s shares of k(X, X) @ V, or None."""
    if not _supports(kernel, X, FUSED_COLUMNS):
        return None
    profile, points = _near(kernel, X) or (_profile(kernel), X)

    def share(V: np.ndarray, i: int, s: int) -> np.ndarray:
        X_, V_ = _alike(points, V)
        out = np.empty_like(V_)
        _native.symmetric(*profile, X_, V_, out, i, s)
        return out

    return share


def _near(kernel: Any, X: np.ndarray) -> tuple[tuple[int, float, float], np.ndarray] | None:
    """Return a profile and points with exp(−γ‖x − y‖²) = 2^(xᵀy − ½‖x‖² − ½‖y‖²), or None if digits would be lost.

    An inner product takes half the operations of a squared distance. The rows are centred and scaled by √(2γ log₂ e).
    """
    if kernel.native_kind != RBF or not len(X):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        points = ((X - X.mean(axis=0)) * (2 / np.log(2) * kernel.gamma) ** 0.5).astype(X.dtype, copy=False)
        norms = np.einsum("ij,ij->i", points, points, dtype=float) / 2
    if not norms.max() <= LARGEST_EXPONENT[X.dtype]:  # nor if it is not a number
        return None
    return (NEAR, 0.0, 0.0), np.column_stack([points, -norms.astype(X.dtype)])


def rounded(kernel: Any, X: Array) -> Callable[[np.ndarray, np.ndarray], np.ndarray] | None:
    """Return the function that writes a tile of k(X, X) to 32-bit integers, or None if values are not from 0 to 1."""
    if not _supports(kernel, X):
        return None

    def store(tile: np.ndarray, out: np.ndarray) -> np.ndarray:
        _native.rounded(np.ascontiguousarray(tile), out)
        return out

    return store


def stored_products(tile: np.ndarray, V_i: np.ndarray, V_j: np.ndarray, mirrored: bool) -> tuple[Array, Array]:
    """Return tile @ V_j and, if the tile is ``mirrored``, tileᵀ @ V_i, of integers that :func:`rounded` stored."""
    V_i, V_j = _alike(V_i, V_j)
    K_V, Kt_V = np.empty_like(V_i), np.empty_like(V_j)
    _native.stored(tile, V_j, V_i, K_V, Kt_V, mirrored)
    return K_V, Kt_V


def alignments() -> Callable[[float, np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None:
    """Return the function (γ, X, Z, pairs) ↦ log Σ Π κ over all alignments of pairs of series, or None.

    κ = g/(2 − g), g = exp(−γ‖x − z‖²). A row of ``pairs`` is the place of the first point of a series in X, the number
    of its points, and the same in Z.
    """
    if not hasattr(_native, "alignments"):  # None, or built from an older source
        return None

    def logs(gamma: float, X: np.ndarray, Z: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        out = np.empty((len(pairs), 1))
        _native.alignments(gamma, X, Z, out, pairs.astype(np.int32))
        return out[:, 0]

    return logs


def _supports(kernel: Any, Z: Array, columns: dict | None = None) -> bool:
    return (
        _native is not None
        and getattr(kernel, "native_kind", None) is not None
        and isinstance(Z, np.ndarray)
        and Z.dtype in TILE_COLUMNS
        and (columns is None or Z.shape[1] <= columns[Z.dtype])
    )


def _profile(kernel: Any) -> tuple[int, float, float]:
    return kernel.native_kind, float(kernel.gamma), float(getattr(kernel, "alpha", 0.0))


def _alike(*arrays: np.ndarray) -> list[np.ndarray]:
    """Return the arrays in their common dtype and in C order."""
    dtype = np.result_type(*arrays)
    return [np.ascontiguousarray(array, dtype) for array in arrays]
