"""Pictures of fitted models in one style: the only package that imports matplotlib.

Each function takes a model or its results, draws into ``ax`` or into a new figure, and returns the axes.
"""

try:
    from . import papers
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"Plots need {error.name}, which is not installed: pip install 'mercer[plots]'", name=error.name
    ) from None

from .charts import alarms, calibration, chart, choice, contributions, importance, same_limits, timeline
from .components import kernel_matrix, residuals, scores, scree
from .images import denoised, images, latent_grid, walk
from .maps import contours, density, novelty, regions, responsibilities
from .style import captured

__all__ = [
    "alarms",
    "calibration",
    "captured",
    "chart",
    "choice",
    "contours",
    "contributions",
    "denoised",
    "density",
    "images",
    "importance",
    "kernel_matrix",
    "latent_grid",
    "novelty",
    "papers",
    "regions",
    "residuals",
    "responsibilities",
    "same_limits",
    "scores",
    "scree",
    "timeline",
    "walk",
]
