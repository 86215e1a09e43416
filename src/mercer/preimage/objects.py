"""Pre-images for rows that are not numbers: an anchor, or for each column of a table the vote of several anchors."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arrays import Array, is_objects, largest_places
from .._core.registry import register
from ..rkhs import Expansion, Subspace
from .base import Anchors, Nearest, PreimageResult, found
from .smoother import clipped, smooth


@register("nearest")
@dataclass(frozen=True)
class NearestAnchor:
    """The anchor whose image is nearest. Strings, sets and series cannot be averaged, so only anchors are candidates.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import Spectrum
    >>> words = ["banana", "bananas", "ananas", "mango", "mangos"]
    >>> model = KernelPCA(2, kernel=Spectrum(2)).fit(words)
    >>> model.denoise(["mangoes"])
    array([['mango']], dtype=object)
    """

    of_anchors = True

    def bind(self, subspace: Subspace) -> Nearest:
        """Return the function from vectors to points."""
        anchors = Anchors(subspace)

        def nearest(target: Expansion, near: Array | None = None) -> PreimageResult:
            return found(anchors.rows[anchors.nearest(target)], target)

        return nearest


@register("vote")
@dataclass(frozen=True)
class Vote:
    """The most likely category of each column, and means of the others, over the anchors z of largest f(z).

    Their weights are max(f(z), 0), as in :class:`Smoother`. The kernel determines which columns are categories.

    Parameters
    ----------
    neighbours : int, default=10
        The number of anchors.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import Categorical
    >>> from mercer.preimage import Vote
    >>> rows = [["red", "small"], ["red", "small"], ["blue", "large"], ["blue", "large"], ["red", "large"]]
    >>> KernelPCA(2, kernel=Categorical(), preimage=Vote(2)).fit(rows).denoise([["blue", "tiny"]])
    array([['blue', 'large']], dtype=object)
    """

    neighbours: int = 10

    def bind(self, subspace: Subspace) -> Nearest:
        """Return the function from vectors to points."""
        anchors = Anchors(subspace)
        categories = subspace.kernel.categories(subspace.Z.shape[1])
        numbers, k = np.flatnonzero(~categories), min(self.neighbours, len(anchors.rows))

        def nearest(target: Expansion, near: Array | None = None) -> PreimageResult:
            values = anchors.values(target)
            X = np.empty((len(target), len(categories)), anchors.rows.dtype)
            if len(numbers):
                X[:, numbers] = smooth(values, anchors.rows[:, numbers].astype(float), k)
            index = np.sort(largest_places(values, k), axis=1)  # ties go to the first anchor
            weights = clipped(np.take_along_axis(values, index, axis=1))
            for j in np.flatnonzero(categories):
                X[:, j] = [_winner(anchors.rows[i, j], w) for i, w in zip(index, weights, strict=True)]
            return found(X if is_objects(X) else X.astype(target.B.dtype), target)

        return nearest


def _winner(categories: np.ndarray, weights: np.ndarray) -> Any:
    """Return the category of the largest sum of weights."""
    sums: dict[Any, float] = {}
    for category, weight in zip(categories.tolist(), weights.tolist(), strict=True):
        sums[category] = sums.get(category, 0.0) + weight
    return max(sums, key=lambda category: sums[category])
