"""Warnings about data and kernel that every estimator gives in ``fit``: width, scales, copies, landmarks."""

from typing import Any

import numpy as np

from .._core.arrays import Array, double, is_foreign
from .._core.warn import (
    ColumnScaleWarning,
    ComponentsWarning,
    KernelWidthWarning,
    LandmarkWarning,
    RepeatedRowsWarning,
    warn,
)
from ..kernels import Kernel
from ..linalg.eigenpairs import Report

LOOKED_AT = 300  # rows whose kernel matrix is inspected instead of the whole K
CELLS = 10**6  # largest number of values in those rows: with many columns, fewer rows are used
SCALE_CELLS = 10**7  # largest number of values in the rows from which scales are estimated
NARROW = 0.05  # K ≈ I if the median cosine between a row and its most similar row is smaller
WIDE = 1e-6  # K ≈ 11ᵀ if 1 − cosine is smaller for 99 % of the pairs
BULK = 0.99
FLAT = 1.05  # K ≈ I if λ₁ is at most this many times the mean of all eigenvalues (a flat spectrum)
MANY_ROWS = 1000  # with at least this many rows, duplicates are searched; scales are estimated from this number
MANY_COLUMNS = 128  # columns of a block, whose standard deviations are computed at once: their copy stays small
SOME_ROWS = 20  # smallest number of rows from which scales and entries of K are estimated
COPIES = 0.5  # share of distinct rows below which a warning is given
UNSCALED = 100  # in units of the standard deviation of the median column; columns of one unit differ by at most 10
OUTSIDE = 0.05  # share of the variance outside the span of the landmarks above which a warning is given
NAMED = 3  # columns named in a warning
REMEDY = "make_pipeline(StandardScaler(), model)"


def warn_of_rows(X: Any, kernel: Kernel, names: Any = None) -> None:
    """Warn about columns that dominate all distances, duplicate rows, and a kernel that is too narrow or too
    wide."""
    if hasattr(X, "toarray") or is_foreign(X) or not kernel.stationary:
        return  # reading rows back from a device would cost more than the warning is worth
    if X.shape[0] >= MANY_ROWS:
        _warn_of_copies(X)
    if X.shape[0] >= SOME_ROWS and not _warn_of_scales(X, kernel, names):
        _warn_of_width(X, kernel)


def _warn_of_copies(X: np.ndarray) -> None:
    # equal rows have equal projections, and different rows almost surely have different ones
    distinct = len(np.unique(X @ np.random.default_rng(0).standard_normal((X.shape[1],)).astype(X.dtype)))
    if distinct < COPIES * X.shape[0]:
        warn(
            f"Most rows are copies of others: of {X.shape[0]} rows about {distinct} are different. Pass each of these "
            "once, with the number of its copies as sample_weight: the result is the same, in a fraction of the time. "
            "np.unique(X, axis=0, return_counts=True) returns both.",
            RepeatedRowsWarning,
        )


def _warn_of_scales(X: np.ndarray, kernel: Kernel, names: Any) -> bool:
    """Warn if a few columns dominate all distances; return True then."""
    some = X[:: max(1, X.shape[0] // min(MANY_ROWS, max(LOOKED_AT, SCALE_CELLS // X.shape[1])))]
    blocks = [some[:, j : j + MANY_COLUMNS].std(axis=0, dtype=float) for j in range(0, X.shape[1], MANY_COLUMNS)]
    spread = np.concatenate(blocks)
    varied = spread[spread > 0]
    if len(varied) == 0 or varied.max() <= UNSCALED * varied.min():
        return False  # the usual case, without the median
    lengthscale = getattr(kernel, "lengthscale", None)
    for_each = lengthscale is not None and np.ndim(lengthscale) > 0
    if for_each or varied.max() <= UNSCALED * np.median(varied):
        return False
    large = np.argsort(-spread)[: np.count_nonzero(spread > UNSCALED * np.median(varied))]
    named = ", ".join(f"{j}" if names is None else repr(str(names[j])) for j in large[:NAMED].tolist())
    others = f" and {len(large) - NAMED} more" if len(large) > NAMED else ""
    warn(
        f"Column{'s' if len(large) > 1 else ''} {named}{others}: the standard deviation is up to "
        f"{varied.max() / np.median(varied):.0f} times that of the median column, and the other columns hardly count "
        f"in the distances. Scale the columns, for example {REMEDY}.",
        ColumnScaleWarning,
    )
    return True


def _warn_of_width(X: np.ndarray, kernel: Kernel) -> None:
    """Warn if K ≈ I or K ≈ 11ᵀ, judged by most entries of the kernel matrix of some rows; constant rows are ignored."""
    count = min(X.shape[0], LOOKED_AT, max(SOME_ROWS, CELLS // max(X.shape[1], 1)))
    some = double(X[np.linspace(0, X.shape[0] - 1, count).astype(int)])
    K = kernel.wide_gram(some)
    root = np.sqrt(kernel.diag(some))
    cosines = np.abs(kernel(some, some) if K is None else K) / (root * root[:, None])
    np.fill_diagonal(cosines, 0)
    nearest = float(np.median(cosines.max(axis=1)))
    if nearest < NARROW:
        warn(
            "The kernel is too narrow for these data: K ≈ I, so that every row is its own component and the components "
            f"mean little (for half of the rows, k(x, y) with the most similar of {len(some) - 1} others is below "
            f"{nearest:.2g}). Use a smaller gamma, for example gamma=None, which adapts to the data.",
            KernelWidthWarning,
        )
    elif np.count_nonzero(1 - cosines < WIDE) > BULK * len(some) * (len(some) - 1) - 1 and 0 < _bulk(cosines) < WIDE:
        warn(
            "The kernel is too wide for these data: K ≈ 11ᵀ, its entries differ by about "
            f"{_bulk(cosines):.0e}, and kernel PCA is linear PCA with fewer digits. Use a larger "
            "gamma, for example gamma=None, which adapts to the data, or kernel='linear'.",
            KernelWidthWarning,
        )


def _bulk(cosines: np.ndarray) -> float:
    """Return a quantile of 1 − cosine that most pairs of different rows are below."""
    return float(np.quantile(1 - cosines[~np.eye(len(cosines), dtype=bool)], BULK))


def warn_of_spectrum(variances: Array, total: float, n: int, kernel: Kernel | None = None) -> None:
    """Warn about data that are constant in feature space, and about a flat spectrum."""
    if total == 0:
        warn(
            "The data are constant in feature space: no component has any variance. Either all rows are equal, or "
            "the kernel is far too wide (gamma near 0).",
            ComponentsWarning,
        )
    elif n > 2 and variances.shape[0] and variances[0] * (n - 1) < FLAT * total:
        warn(
            "The kernel is too narrow for these data: K ≈ I, every row is its own component and the components "
            "mean nothing. Use a smaller gamma, for example gamma=None, which adapts to the data.",
            KernelWidthWarning,
        )


def warn_of_outside(report: Report) -> None:
    """Warn if a considerable share of the variance lies outside the span of the landmarks."""
    if hasattr(report.solver, "basis") and report.outside_share > OUTSIDE:
        warn(
            f"{report.outside_share:.1%} of the variance lies outside the span of the landmarks, which the model "
            "ignores. Use more landmarks, solver=Landmarks(n=…) of mercer.eigen, or a wider kernel (a smaller gamma), "
            "or for up to 100,000 rows solver='davidson'.",
            LandmarkWarning,
        )


def warn_of_recent(report: Report) -> None:
    """Warn if a considerable share of a batch's variance lies outside the span of landmarks that do not change."""
    if report.recent_share > OUTSIDE:
        warn(
            f"{report.recent_share:.1%} of the variance of the latest rows lies outside the span of the landmarks, "
            "which do not change. Give landmarks that represent these rows too, or use solver=Landmarks(refresh=0.05), "
            "which exchanges them.",
            LandmarkWarning,
        )
