"""Which kernel, of which width, by the error of rows that were held out and their way there and back."""

import warnings
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from .._core.tiles import row_tiles
from ..kernels import RBF, Kernel, Linear, Matern, Radial, as_kernel, sqdist
from ..kernels.width import median_sqdist
from ..linalg.operators import Dense
from ..models.kernel_pca import KernelPCA
from ..preimage import as_preimage
from ..rkhs import principal_subspace
from .progress import Told, duration

MOST_ROWS = 1000  # that a comparison takes, unless it is told otherwise
WIDTHS = tuple(np.geomspace(0.01, 100, 9).tolist())  # γ times the median squared distance
DRAWS = 3  # of the noise
COMPONENTS = 10  # of the model that is taken where none is given


@dataclass(frozen=True)
class Row:
    """One kernel of a comparison, its score (the mean squared error of a row) and how long it took."""

    kernel: Kernel
    score: float
    deviation: float
    seconds: float


@dataclass(frozen=True)
class Search:
    """What was compared (``table``, the best first), the ``best`` kernel, and an estimator that has it."""

    table: list[Row]
    best: Kernel
    estimator: Any

    def __str__(self):
        names = [repr(row.kernel) for row in self.table]
        width = max(map(len, names))
        lines = [
            f"{name:<{width}}  {row.score:>12.6g}  ± {row.deviation:.2g}"
            for name, row in zip(names, self.table, strict=True)
        ]
        return "\n".join([f"{'kernel':<{width}}  {'held-out mean squared error':>12}", *lines])


@dataclass(frozen=True)
class Cost:
    """What a comparison will take: the number of fits, and the seconds by a few of them."""

    fits: int
    seconds: float

    def __str__(self):
        return f"{self.fits} fits, about {duration(self.seconds)}"


def kernel(X, model=None, *, kernels=None, widths=WIDTHS, noise=0.0, cv=3, max_rows=MOST_ROWS, random_state=None):
    """Search kernels and widths by the error of held-out rows, there and back, in the units of the rows.

    Each fold's rows are projected by a model of the others, and the pre-images of the projections are compared with
    the rows: the score of :func:`mercer.select.reconstruction`, which may be compared across kernels and widths at one
    number of components. The variance in feature space may not (a wide kernel always wins), and the likelihood only at
    one kernel and one noise variance: see :func:`mercer.select.n_components`. Squared distances are computed once, and
    serve every radial kernel, width and fold. On a terminal the cost is told before the search begins, and how far it
    is; :func:`kernel_cost` gives the cost alone.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, scaled as the model will see them.
    model : KernelPCA or None, default=None
        What to choose for: its number of components, centring and pre-image are used. None for 10 components.
    kernels : list of str or Kernel, default=None
        What to compare; None for RBF, Matérn 3/2 and linear. Radial kernels are tried with all ``widths``, others as
        they are.
    widths : sequence of float, default=9 values from 0.01 to 100
        γ times the median squared distance.
    noise : float, default=0
        Standard deviation of Gaussian noise that is added to the held-out rows, which have to come back clean. Without
        noise, and with as many components as there are columns, a kernel that is all but linear wins: it gives every
        row back as it is.
    cv : int, default=3
        Folds.
    max_rows : int, default=1000
        Rows that are used, drawn by lot where there are more.
    random_state : int or None, default=None
        Seed of the rows drawn, the folds and the solvers.

    Returns
    -------
    search : Search
        ``table``, the best first; ``best``, the kernel; ``estimator``, the model with it.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> X, _ = datasets.two_cs(0, n=100)
    >>> found = select.kernel(X, KernelPCA(4), kernels=["rbf"], noise=1.0, random_state=0)
    >>> len(found.table), found.best == found.table[0].kernel
    (9, True)
    """
    trial = _Trial.of(X, model, kernels, widths, noise, cv, max_rows, random_state)
    table = [trial.run(candidate) for candidate in trial.ends]
    told = Told(f"{len(trial.candidates)} kernels on {len(trial.X)} rows", len(trial.candidates), trial.cost(table))
    told(len(table))
    for candidate in trial.others:
        table.append(trial.run(candidate))
        told(len(table))
    table.sort(key=lambda row: row.score)
    return Search(table, table[0].kernel, clone(trial.model).set_params(kernel=table[0].kernel))


def kernel_cost(X, model=None, *, kernels=None, widths=WIDTHS, noise=0.0, cv=3, max_rows=MOST_ROWS, random_state=None):
    """Return what :func:`kernel` would take with the same arguments, by timing the ends of the first path of widths.

    Parameters
    ----------
    X, model, kernels, widths, noise, cv, max_rows, random_state : see :func:`kernel`
        The same arguments.

    Returns
    -------
    cost : Cost
        ``fits`` and ``seconds``.

    Examples
    --------
    >>> from mercer import datasets, select
    >>> select.kernel_cost(datasets.three_clusters(), noise=0.1).fits
    57
    """
    trial = _Trial.of(X, model, kernels, widths, noise, cv, max_rows, random_state)
    seconds = trial.cost([trial.run(candidate) for candidate in trial.ends])
    return Cost(len(trial.candidates) * len(trial.folds), seconds)


@dataclass(frozen=True, eq=False)
class _Trial:
    """Rows, folds, candidates and squared distances: all that a comparison needs."""

    X: np.ndarray
    noisy: list[np.ndarray]
    model: Any
    ends: list[Kernel]
    others: list[Kernel]
    folds: list
    t: np.ndarray
    seed: int

    @classmethod
    def of(cls, X, model, kernels, widths, noise, cv, max_rows, random_state):
        X, rng = np.asarray(X, float), np.random.default_rng(random_state)
        if X.ndim != 2 or len(X) < 2 * cv:
            raise ValueError(f"A search with {cv} folds needs a table of at least {2 * cv} rows, not shape {X.shape}.")
        if len(X) > max_rows:
            X = X[np.sort(rng.choice(len(X), max_rows, replace=False))]
        model = KernelPCA(COMPONENTS) if model is None else model
        _warn_of_identity(model, X.shape[1], noise)
        kernels = [RBF(), Matern(), Linear()] if kernels is None else [as_kernel(k) for k in kernels]
        if not len(kernels) or not len(widths):
            raise ValueError("A search needs at least one kernel and one width.")
        unit = median_sqdist(X) or 1.0
        first, *rest = [_path(k, widths, unit) for k in kernels]
        # a narrow kernel takes longer than a wide one: both ends of a path tell what a search will cost
        ends, others = first[:1] + first[1:][-1:], first[1:-1] + [c for path in rest for c in path]
        seed = int(rng.integers(2**31))
        folds = list(KFold(cv, shuffle=True, random_state=seed).split(X))
        noisy = [X + noise * rng.standard_normal(X.shape) for _ in range(DRAWS if noise else 1)]
        return cls(X, noisy, model, ends, others, folds, sqdist(X, X), seed)

    @property
    def candidates(self):
        return self.ends + self.others

    def run(self, candidate):
        """The mean over folds of the error of a row, its standard error, and the time it took."""
        start = perf_counter()
        errors = [self._error(candidate, seen, held) for seen, held in self.folds]
        deviation = float(np.std(errors) / max(len(errors) - 1, 1) ** 0.5)
        return Row(candidate, float(np.mean(errors)), deviation, perf_counter() - start)

    def cost(self, rows):
        """Seconds for all candidates, by some of them."""
        return float(np.mean([row.seconds for row in rows])) * len(self.candidates)

    def _error(self, candidate, seen, held):
        X, x = self.X[seen], np.concatenate([rows[held] for rows in self.noisy])
        bound = candidate.bind(X, center=self.model.center)
        gram = None
        if isinstance(bound, Radial) and bound.lengthscale is None:
            gram = Dense(bound.profile(self.t[np.ix_(seen, seen)]))  # indexed anew: a profile may overwrite
        rng = np.random.default_rng(self.seed)
        subspace = self._cut(
            principal_subspace(bound, X, self._q(len(X)), gram=gram, center=self.model.center, rng=rng)
        )
        nearest = as_preimage(self.model.preimage, bound).bind(subspace)
        tiles = row_tiles(len(x), 4 * len(X))  # arrays of the size (rows, anchors) alive at once
        back = np.concatenate([nearest(subspace.lift(subspace.project(x[i]))).X for i in tiles])
        return float(np.mean(np.sum((np.tile(self.X[held], (len(self.noisy), 1)) - back) ** 2, axis=1)))

    def _q(self, n):
        q = self.model.n_components
        return min(q, n - 1) if isinstance(q, Integral) else None

    def _cut(self, subspace):
        """The axes that hold the share of the variance that the model asks for, where it asks for one."""
        share = self.model.n_components
        return subspace if share is None or isinstance(share, Integral) else subspace[: subspace.holding(share)]


def _path(kernel, widths, unit):
    """The kernel with every width, where it has one that nothing else sets; else the kernel as it is."""
    open_width = isinstance(kernel, Radial) and kernel.lengthscale is None and not isinstance(kernel.gamma, Real)
    if not open_width:
        return [kernel]
    path = []
    for width in widths:
        one = copy(kernel)
        one.gamma = float(width) / unit
        path.append(one)
    return path


def _warn_of_identity(model, d, noise):
    q = model.n_components
    if noise == 0 and (q is None or (isinstance(q, Integral) and q >= d)):
        warnings.warn(
            f"With {'all' if q is None else q} components for {d} columns a kernel that is all but linear gives every "
            "row back as it is, and wins. Ask for fewer components, or give noise= the size of what is to be removed.",
            stacklevel=4,
        )
