"""How much of T² or SPE each input variable contributes."""

from typing import Any

import numpy as np

from ..._core.tiles import row_tiles
from ...preimage import as_preimage
from ...rkhs import gradients
from ...rkhs.subspace import Subspace
from ..pipelines import parts
from .limits import Limits

STEPS = 16  # of the midpoint rule along the path: the error is then about one per cent


def contributions(
    estimator: Any, X: np.ndarray, of: str, *, mean: np.ndarray | None = None, limits: Limits | None = None
) -> np.ndarray:
    """Integrate the gradient of f from a normal row x° to a row x: c_j = (x_j − x°_j) ∫₀¹ ∂f(x° + t(x − x°))/∂x_j dt.

    The contributions of a row sum to f(x) − f(x°), whatever the kernel (Sundararajan et al. 2017). For f = SPE
    (``of="spe"``) x° is the denoised row. Denoising does not change T². Therefore x° is the ``mean`` of the training
    rows for f = T² and for the combined index f = T²/limit + SPE/limit (Yue & Qin 2001, ``of="joint"``).
    """
    prepare, model = parts(estimator)
    rows = np.asarray(prepare(X), float)
    if rows.shape[1] != X.shape[1]:
        raise ValueError(
            f"Contributions are defined for the {X.shape[1]} input columns, and the pipeline replaces these by "
            f"{rows.shape[1]} others before the model. Use a preprocessing that keeps the columns, such as "
            "StandardScaler."
        )
    subspace = model.subspace_
    start = denoised(subspace, rows) if mean is None or of == "spe" else np.asarray(prepare(mean[None]), float)
    times = (np.arange(STEPS) + 0.5) / STEPS
    return (rows - start) * sum(_gradient(subspace, start + t * (rows - start), of, limits) for t in times) / STEPS


def _gradient(subspace: Subspace, X: np.ndarray, of: str, limits: Limits | None) -> np.ndarray:
    if of == "t2":
        return gradients.t2(subspace, X)
    if limits is None or of == "spe":
        return gradients.r2(subspace, X)
    return gradients.t2(subspace, X) / limits.t2 + gradients.r2(subspace, X) / limits.spe


def denoised(subspace: Subspace, X: np.ndarray) -> np.ndarray:
    """Return the denoised rows: the pre-images of the projections onto the subspace."""
    nearest = as_preimage("auto", subspace.kernel).bind(subspace)
    tiles = row_tiles(len(X), 4 * subspace.Z.shape[0])  # arrays of shape (rows, anchors) are in memory at once
    back = [nearest(subspace.lift(subspace.project(X[rows])), X[rows]).X for rows in tiles]
    return np.concatenate(back).astype(float)
