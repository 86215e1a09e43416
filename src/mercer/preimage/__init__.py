"""Ways back from feature space: a point whose image is near a given vector."""

from .base import PreimageResult, as_preimage
from .learned import Learned
from .linear import ClosedForm

__all__ = ["ClosedForm", "Learned", "PreimageResult", "as_preimage"]
