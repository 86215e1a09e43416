"""Pre-images: points whose images are near given vectors of the feature space."""

from .base import PreimageResult, as_preimage, bind_preimage, squared_error
from .batches import in_batches
from .compensated import Compensated, projection
from .distances import Distances
from .fixed_point import FixedPoint
from .gradient import Gradient
from .learned import Learned
from .linear import ClosedForm
from .objects import NearestAnchor, Vote
from .smoother import Smoother
from .walks import LatentGrid, grid, line, walk

__all__ = [
    "ClosedForm",
    "Compensated",
    "Distances",
    "FixedPoint",
    "Gradient",
    "LatentGrid",
    "Learned",
    "NearestAnchor",
    "PreimageResult",
    "Smoother",
    "Vote",
    "as_preimage",
    "bind_preimage",
    "grid",
    "in_batches",
    "line",
    "projection",
    "squared_error",
    "walk",
]
