"""How much of T² or SPE each input variable contributes."""

import numpy as np

from ..._core.tiles import row_tiles
from ...preimage import as_preimage
from ...rkhs import gradients
from ..pipelines import parts

STEPS = 16  # of the path: its midpoint rule is then good to a percent or so
STATISTICS = {"t2": gradients.t2, "spe": gradients.r2}


def contributions(estimator, X, of):
    """Integrate the gradient from the denoised row x̂ to the row: c_j = (x_j − x̂_j) ∫₀¹ ∂f(x̂ + t(x − x̂))/∂x_j dt.

    The contributions of a row sum to f(x) − f(x̂), whatever the kernel (Sundararajan et al. 2017).
    """
    prepare, model = parts(estimator)
    rows = np.asarray(prepare(X), float)
    if rows.shape[1] != X.shape[1]:
        raise ValueError(
            f"The contributions of {X.shape[1]} columns are asked for, and the model sees {rows.shape[1]} others that "
            "were made from them. Use a preparation that keeps the columns, such as StandardScaler."
        )
    gradient = STATISTICS[of]
    start = denoised(model.subspace_, rows)
    times = (np.arange(STEPS) + 0.5) / STEPS
    return (rows - start) * sum(gradient(model.subspace_, start + t * (rows - start)) for t in times) / STEPS


def denoised(subspace, X):
    """The rows whose images are nearest to the projections."""
    nearest = as_preimage("auto", subspace.kernel).bind(subspace)
    tiles = row_tiles(len(X), 4 * subspace.Z.shape[0])  # arrays of the size (rows, anchors) alive at once
    back = [nearest(subspace.lift(subspace.project(X[rows])), X[rows]).X for rows in tiles]
    return np.concatenate(back).astype(float)
