"""Ways back from feature space: a point whose image is near a given vector."""

from .base import PreimageResult, as_preimage, squared_error
from .distances import Distances
from .fixed_point import FixedPoint
from .gradient import Gradient
from .learned import Learned
from .linear import ClosedForm
from .smoother import Smoother

METHODS = {
    "fixed_point": FixedPoint,
    "gradient": Gradient,
    "distances": Distances,
    "smoother": Smoother,
    "learned": Learned,
}

__all__ = [
    "ClosedForm",
    "Distances",
    "FixedPoint",
    "Gradient",
    "Learned",
    "PreimageResult",
    "Smoother",
    "as_preimage",
    "squared_error",
]
