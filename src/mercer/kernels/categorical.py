"""The kernel for categorical columns, whose cells are only compared for equality."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._core.arrays import Array, cast, is_objects, precision
from .._core.registry import register
from .base import plain
from .objects import Encoded, Objects, as_objects
from .width import resolve_gamma

KINDS = ("hamming", "overlap")
UNKNOWN = -1  # the code of a category that does not occur in the rows Z


@register("categorical")
@dataclass(eq=False, repr=False)
class Categorical(Objects):
    """k = exp(−γh), or the overlap s itself, of rows of categories: s = (1/d) Σⱼ wⱼ(xⱼ)[xⱼ = yⱼ].

    [xⱼ = yⱼ] is 1 if column j of both rows has the same category, else 0; d is the number of columns.
    h = ½s(x, x) + ½s(y, y) − s(x, y) is the Hamming distance, the share of columns that differ, if all weights are 1.
    A missing value (None, NaN) is a category of its own.

    Parameters
    ----------
    kind : {"hamming", "overlap"}, default="hamming"
        exp(−γh), the Gaussian kernel of one-hot encoded columns, or s, their linear kernel.
    weights : {"equal", "rarity"} or a mapping for each column, default="equal"
        wⱼ(c) = 1, or 1 − p² where p is the share of category c in column j of the training rows: two rows that share a
        rare category are more similar, and a constant column has no effect. A kernel bound to data has a mapping from
        category to weight.
    gamma : float, "median", "local" or None, default=None
        γ; None is ½ over the median of h, as for :class:`RBF`. The overlap does not use it.

    Examples
    --------
    >>> from mercer.kernels import Categorical
    >>> rows = [["red", "small"], ["red", "large"]]
    >>> Categorical(kind="overlap")(rows, rows)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    kind: str = "hamming"
    weights: Any = "equal"
    gamma: Any = None
    takes = "strings, numbers and missing values"

    @staticmethod
    def cell(value: Any) -> Any:
        if value is None or type(value).__name__ in {"NAType", "NaTType"} or value != value:
            return None
        if not isinstance(value, str | int | float | np.generic):
            raise TypeError("not a category")
        return value.item() if isinstance(value, np.generic) else value

    @property
    def distance(self) -> Any:  # type: ignore[override]
        """The statistic h that γ multiplies; None for the overlap."""
        return self._hamming if self.kind == "hamming" else None

    def categories(self, d: int) -> np.ndarray:
        return np.ones(d, bool)

    def bind(self, X: Array, weights: Array | None = None, center: bool = True) -> Self:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, and {self.kind!r} was given.")
        X, bound = as_objects(X), copy(self)
        if isinstance(self.weights, str):
            bound.weights = _weights(self.weights, X, weights)
        bound.gamma = resolve_gamma(bound, X, weights)
        return plain(bound)

    def encoder(self, Z: np.ndarray) -> Callable[[np.ndarray], Encoded]:
        if isinstance(self.weights, str) and self.weights != "equal":
            raise ValueError(f"{self!r} takes its weights from data, but is not bound to any. Use kernel.bind(X).")
        known = [{c: i for i, c in enumerate(dict.fromkeys(_values(column)))} for column in Z.T]
        weights = None if isinstance(self.weights, str) else self.weights

        def encode(X: np.ndarray) -> Encoded:
            columns = [_values(column) for column in X.T]
            codes = [[code.get(c, UNKNOWN) for c in column] for code, column in zip(known, columns, strict=True)]
            w = np.ones(X.shape)
            if weights is not None:
                w = np.array([[of.get(c, 1.0) for c in column] for of, column in zip(weights, columns, strict=True)]).T
            w = cast(w / X.shape[1], precision(X))
            return np.array(codes, int).reshape(X.shape[::-1]).T, w, w.sum(axis=1)

        return encode

    def between(self, x: Encoded, z: Encoded) -> np.ndarray:
        s = _overlap(x, z)
        if self.kind == "overlap":
            return s
        gamma = float(self.gamma) if self.gamma is not None else None
        if gamma is None:
            raise ValueError(
                f"{self!r} takes its width from data, but is not bound to any. Use kernel.bind(X), or give gamma."
            )
        return np.exp(-gamma * _differences(s, x, z), dtype=s.dtype)

    def diag(self, X: Array) -> Array:
        X = as_objects(X)
        return np.ones(len(X), precision(X)) if self.kind == "hamming" else self.encoder(X)(X)[2]

    def _hamming(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return h of all pairs."""
        encode = self.encoder(Y)
        x, y = encode(X), encode(Y)
        return _differences(_overlap(x, y), x, y)


def _values(column: np.ndarray) -> list:
    """Return the categories of a column; missing ones are None."""
    return [Categorical.cell(value) for value in column] if is_objects(column) else column.tolist()


def _overlap(x: Encoded, z: Encoded) -> np.ndarray:
    """s = Σⱼ wⱼ(zⱼ)[xⱼ = zⱼ], the weights divided by d."""
    s = np.zeros((len(x[0]), len(z[0])), z[1].dtype)
    for a, b, w in zip(x[0].T, z[0].T, z[1].T, strict=True):
        s += (a[:, None] == b) * w
    return s


def _differences(s: np.ndarray, x: Encoded, z: Encoded) -> np.ndarray:
    """h = ½s(x, x) + ½s(z, z) − s(x, z), which rounding may make negative."""
    return np.maximum((x[2][:, None] + z[2]) / 2 - s, 0)


def _weights(rule: str, X: np.ndarray, weights: Array | None) -> Any:
    """Return 1 − p² of the categories of each column, or the rule itself if all weights are equal."""
    if rule == "equal":
        return rule
    if rule != "rarity":
        raise ValueError(f"weights must be 'equal' or 'rarity', and {rule!r} was given.")
    w = np.full(len(X), 1 / len(X)) if weights is None else np.asarray(weights, float) / np.sum(weights)
    return [_rarity(_values(column), w) for column in X.T]


def _rarity(column: list, w: np.ndarray) -> dict:
    shares: dict[Any, float] = {}
    for category, share in zip(column, w.tolist(), strict=True):
        shares[category] = shares.get(category, 0.0) + share
    return {category: 1 - share**2 for category, share in shares.items()}
