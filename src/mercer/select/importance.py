"""Importance of the input variables for each component."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.tiles import row_tiles
from ..models.pipelines import names, parts
from ..rkhs.gradients import components


@dataclass(frozen=True, eq=False)
class Importance:
    """A table of components (rows) by input variables (columns, ``names``); each row of ``shares`` sums to 1.

    ``values`` are in the units of the coordinates: the change of a component, to first order, if a variable changes by
    its standard deviation.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from mercer.importance import importance
    >>> from sklearn.datasets import load_iris
    >>> table = importance(KernelPCA(2).fit(load_iris().data), load_iris(as_frame=True).data)
    >>> table.ranking()[0]
    'petal length (cm)'
    """

    values: np.ndarray
    names: list[str]

    @property
    def shares(self) -> np.ndarray:
        """The values divided by the sum of their component: (q, d)."""
        total = self.values.sum(axis=1, keepdims=True)
        return np.divide(self.values, total, out=np.zeros_like(self.values), where=total > 0)

    @property
    def overall(self) -> np.ndarray:
        """The effect of each variable on all components, √Σ values², normalised to sum 1: (d,)."""
        each = np.sqrt(np.sum(self.values**2, axis=0))
        return each / each.sum() if each.sum() > 0 else each

    def ranking(self, component: int | None = None) -> list[str]:
        """Return the names of the variables, the most important first, for one component or (None) for all."""
        shares = self.overall if component is None else self.shares[component]
        return [self.names[i] for i in np.argsort(-shares, kind="stable")]

    def plot(self, component: int | None = None, ax: Any = None) -> Any:
        """Draw the shares for one component, or (None) for all: :func:`mercer.plots.importance`."""
        from ..plots import importance

        return importance(self.overall if component is None else self.shares[component], self.names, ax)

    def to_frame(self) -> Any:
        """Return the shares as a pandas data frame."""
        import pandas as pd

        index = [f"component {j}" for j in range(len(self.values))]
        return pd.DataFrame(self.shares, index=index, columns=self.names)

    def __str__(self) -> str:
        width = max(map(len, [*self.names, "component"])) + 2
        head = f"{'component':<{width}}" + "".join(f"{name:>{width}}" for name in self.names)
        rows = [(str(j), shares) for j, shares in enumerate(self.shares)] + [("all", self.overall)]
        return "\n".join([head] + [f"{j:<{width}}" + "".join(f"{v:>{width}.3f}" for v in row) for j, row in rows])


def importance(model: Any, X: Any) -> Importance:
    """Return the importance of each input variable for each component of a fitted model.

    The importance of variable i for component j is √(meanₙ (∂y_j/∂x_i)²) times the standard deviation of the variable:
    the change of the component if the variable changes by one standard deviation. The derivative is exact, for every
    differentiable kernel.

    Parameters
    ----------
    model : estimator
        A fitted model of mercer, or a pipeline that ends with one.
    X : array-like of shape (n_samples, n_features)
        Samples to average over, usually the training samples. A data frame provides the names of the variables.

    Returns
    -------
    importance : Importance
        The table, with ``shares``, ``overall``, ``ranking()`` and ``to_frame()``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.importance import importance
    >>> X = np.random.default_rng(0).normal(size=(100, 3)) * [3.0, 1.0, 0.1]
    >>> importance(KernelPCA(2, kernel="linear").fit(X), X).ranking(0)
    ['x0', 'x1', 'x2']
    """
    prepare, fitted = parts(model)
    rows = np.asarray(prepare(X), float)
    subspace = fitted.subspace_
    q, d = len(subspace.variances), rows.shape[1]
    squares = np.zeros((q, d))
    for tile in row_tiles(len(rows), max(1, q * d)):  # all derivatives at once would take n·q·d numbers
        squares += np.sum(components(subspace, rows[tile]) ** 2, axis=0)
    return Importance(np.sqrt(squares / len(rows)) * rows.std(axis=0), names(model, X, d))
