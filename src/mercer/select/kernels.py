"""Selection of a kernel and its width by the reconstruction error of held-out samples."""

from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from .._core.tiles import row_tiles
from .._core.warn import warn
from ..kernels import RBF, Kernel, Linear, Matern, Radial, as_kernel, sqdist
from ..kernels.width import median_sqdist
from ..linalg.operators import Dense
from ..models.kernel_pca import KernelPCA
from ..preimage import as_preimage
from ..rkhs import Subspace, principal_subspace
from .arguments import subset
from .html import html_table
from .progress import Progress, duration

MOST_ROWS = 1000  # largest number of samples that are used by default
WIDTHS = tuple(np.geomspace(0.01, 100, 9).tolist())  # γ times the median squared distance
DRAWS = 3  # number of draws of the noise
COMPONENTS = 10  # number of components of the default model


@dataclass(frozen=True)
class Row:
    """One kernel of a comparison: its score (mean squared error), the standard error, and the time it took."""

    kernel: Kernel
    score: float
    deviation: float
    seconds: float


@dataclass(frozen=True)
class Search:
    """The kernels compared (``table``, the best first), the ``best`` kernel, and an estimator with it.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> from mercer.kernels import RBF
    >>> X, _ = datasets.moons(n=60)
    >>> kernels = [RBF(1.0), RBF(10.0)]
    >>> search = select.kernel(KernelPCA(3), X, kernels=kernels, widths=[1.0], noise=0.1, random_state=0)
    >>> [(row.kernel, round(row.score, 2)) for row in search.table]
    [(RBF(gamma=1.0), 0.1), (RBF(gamma=10.0), 0.7)]
    """

    table: list[Row]
    best: Kernel
    estimator: Any

    def _repr_html_(self) -> str:
        rows = [(repr(row.kernel), f"{row.score:.6g}", f"{row.deviation:.2g}") for row in self.table]
        return html_table(("kernel", "held-out mean squared error", "standard error"), rows)

    def __str__(self) -> str:
        width = max(len(repr(row.kernel)) for row in self.table)
        lines = [f"{row.kernel!r:<{width}}  {row.score:>12.6g}  ± {row.deviation:.2g}" for row in self.table]
        return "\n".join([f"{'kernel':<{width}}  {'held-out mean squared error':>12}", *lines])


@dataclass(frozen=True)
class Cost:
    """The cost of a comparison: the number of fits, and the estimated time in seconds.

    Examples
    --------
    >>> from mercer.select import Cost
    >>> print(Cost(fits=30, seconds=95.0))
    30 fits, about 95 s
    """

    fits: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.fits} fits, about {duration(self.seconds)}"


def kernel(
    estimator: Any,
    X: Any,
    *,
    kernels: Any = None,
    widths: Any = WIDTHS,
    noise: float = 0.0,
    cv: int = 3,
    max_rows: int = MOST_ROWS,
    random_state: int | None = None,
) -> Search:
    """Compare kernels and widths by the reconstruction error of held-out samples, in the units of the data.

    The held-out samples of each fold are projected by a model of the other samples, and the pre-images of the
    projections are compared with the samples. This is the score of :func:`mercer.select.reconstruction`, which can be
    compared between kernels and widths for the same number of components. The variance in feature space cannot be
    compared (a wide kernel always wins), and the likelihood only for the same kernel and noise variance: see
    :func:`mercer.select.n_components`. On a terminal the expected duration and the progress are shown;
    :func:`kernel_cost` returns the cost without the comparison.

    Parameters
    ----------
    estimator : KernelPCA or None
        The model, whose number of components, centring and pre-image method are used. None for 10 components.
    X : array-like of shape (n_samples, n_features)
        Samples, with columns scaled as for the model.
    kernels : list of str or Kernel, default=None
        Kernels to compare; None for RBF, Matérn 3/2 and linear. Radial kernels are tried with all ``widths``.
    widths : sequence of float, default=9 values from 0.01 to 100
        γ times the median squared distance.
    noise : float, default=0
        Standard deviation of Gaussian noise that is added to the held-out samples; the error is that of the clean
        samples. Without noise, and with as many components as columns, a nearly linear kernel reproduces every sample
        and always wins.
    cv : int, default=3
        Number of folds.
    max_rows : int, default=1000
        A random subset of at most this number of samples is used.
    random_state : int or None, default=None
        Seed for the subset, the folds and the solvers.

    Returns
    -------
    search : Search
        ``table``, the best first; ``best``, the kernel; ``estimator``, the model with it.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> X, _ = datasets.two_cs(0, n=100)
    >>> found = select.kernel(KernelPCA(4), X, kernels=["rbf"], noise=1.0, random_state=0)
    >>> for row in found.table[:3]:
    ...     print(f"gamma = {row.kernel.gamma:.2g}  error {row.score:.2f}")
    gamma = 0.0054  error 1.55
    gamma = 0.0017  error 1.77
    gamma = 0.00054  error 1.92
    """
    trial = _Trial.of(X, estimator, kernels, widths, noise, cv, max_rows, random_state)
    table = [trial.run(candidate) for candidate in trial.ends]
    what = f"{len(trial.candidates)} kernels on {len(trial.X)} rows"
    progress = Progress(what, len(trial.candidates), trial.seconds(table))
    progress(len(table))
    for candidate in trial.others:
        table.append(trial.run(candidate))
        progress(len(table))
    table.sort(key=lambda row: row.score)
    return Search(table, table[0].kernel, clone(trial.model).set_params(kernel=table[0].kernel))


def kernel_cost(
    estimator: Any,
    X: Any,
    *,
    kernels: Any = None,
    widths: Any = WIDTHS,
    noise: float = 0.0,
    cv: int = 3,
    max_rows: int = MOST_ROWS,
    random_state: int | None = None,
) -> Cost:
    """Return the cost of :func:`kernel` with the same arguments, estimated from the widest and the narrowest kernel.

    Parameters
    ----------
    estimator, X, kernels, widths, noise, cv, max_rows, random_state : see :func:`kernel`
        The same parameters.

    Returns
    -------
    cost : Cost
        ``fits`` and ``seconds``.

    Examples
    --------
    >>> from mercer import datasets, select
    >>> select.kernel_cost(None, datasets.three_clusters(), noise=0.1).fits
    57
    """
    trial = _Trial.of(X, estimator, kernels, widths, noise, cv, max_rows, random_state)
    seconds = trial.seconds([trial.run(candidate) for candidate in trial.ends])
    return Cost(len(trial.candidates) * len(trial.folds), seconds)


@dataclass(frozen=True, eq=False)
class _Trial:
    """Samples, folds, candidates and squared distances: the data of a comparison."""

    X: np.ndarray
    noisy: list[np.ndarray]
    model: Any
    ends: list[Kernel]
    others: list[Kernel]
    folds: list
    t: np.ndarray
    seed: int

    @classmethod
    def of(
        cls, X: Any, model: Any, kernels: Any, widths: Any, noise: float, cv: int, max_rows: int, random_state: Any
    ) -> "_Trial":
        """Return the comparison for validated arguments of :func:`kernel`."""
        X, rng = np.asarray(X, float), np.random.default_rng(random_state)
        if X.ndim != 2 or len(X) < 2 * cv:
            raise ValueError(f"A search with {cv} folds needs a table of at least {2 * cv} rows, not shape {X.shape}.")
        X = subset(X, max_rows, rng)
        model = KernelPCA(COMPONENTS) if model is None else model
        _warn_of_identity(model, X.shape[1], noise)
        kernels = [RBF(), Matern(), Linear()] if kernels is None else [as_kernel(k) for k in kernels]
        if not len(kernels) or not len(widths):
            raise ValueError("A search needs at least one kernel and one width.")
        unit = median_sqdist(X) or 1.0
        first, *rest = [_path(k, widths, unit) for k in kernels]
        # a narrow kernel takes longer than a wide one, so the cost is estimated from both ends of a path
        ends, others = first[:1] + first[1:][-1:], first[1:-1] + [c for path in rest for c in path]
        seed = int(rng.integers(2**31))
        folds = list(KFold(cv, shuffle=True, random_state=seed).split(X))
        noisy = [X + noise * rng.standard_normal(X.shape) for _ in range(DRAWS if noise else 1)]
        return cls(X, noisy, model, ends, others, folds, sqdist(X, X), seed)

    @property
    def candidates(self) -> list[Kernel]:
        """All kernels to compare."""
        return self.ends + self.others

    def run(self, candidate: Kernel) -> Row:
        """Return the mean error over the folds, its standard error, and the time it took."""
        start = perf_counter()
        errors = [self._error(candidate, seen, held) for seen, held in self.folds]
        deviation = float(np.std(errors) / max(len(errors) - 1, 1) ** 0.5)
        return Row(candidate, float(np.mean(errors)), deviation, perf_counter() - start)

    def seconds(self, rows: list[Row]) -> float:
        """Return the time for all candidates, estimated from some of them."""
        return float(np.mean([row.seconds for row in rows])) * len(self.candidates)

    def _error(self, candidate: Kernel, seen: np.ndarray, held: np.ndarray) -> float:
        """Return the mean squared reconstruction error of the held-out samples of one fold."""
        X, x = self.X[seen], np.concatenate([rows[held] for rows in self.noisy])
        bound = candidate.bind(X, center=self.model.center)
        gram = None
        if isinstance(bound, Radial) and bound.lengthscale is None:
            gram = Dense(bound.profile(self.t[np.ix_(seen, seen)]))  # a copy: a profile may overwrite its argument
        settings = {"center": self.model.center, "rng": np.random.default_rng(self.seed)}
        subspace = self._cut(principal_subspace(bound, X, self._q(len(X)), gram=gram, **settings))
        nearest = as_preimage(self.model.preimage, bound).bind(subspace)
        tiles = row_tiles(len(x), 4 * len(X))  # four arrays of the size (samples, anchors) are in memory at once
        back = np.concatenate([nearest(subspace.lift(subspace.project(x[i]))).X for i in tiles])
        return float(np.mean(np.sum((np.tile(self.X[held], (len(self.noisy), 1)) - back) ** 2, axis=1)))

    def _q(self, n: int) -> int | None:
        q = self.model.n_components
        return min(int(q), n - 1) if isinstance(q, Integral) else None

    def _cut(self, subspace: Subspace) -> Subspace:
        """Return the first axes, as many as hold the share of the variance that the model requests, if any."""
        share = self.model.n_components
        return subspace if share is None or isinstance(share, Integral) else subspace[: subspace.holding(share)]


def _path(kernel: Kernel, widths: Any, unit: float) -> list[Kernel]:
    """Return a radial kernel of unspecified width with every width, and any other kernel alone."""
    if not isinstance(kernel, Radial) or kernel.lengthscale is not None or isinstance(kernel.gamma, Real):
        return [kernel]
    path: list[Kernel] = []
    for width in widths:
        one = copy(kernel)
        one.gamma = float(width) / unit
        path.append(one)
    return path


def _warn_of_identity(model: Any, d: int, noise: float) -> None:
    q: Any = model.n_components
    if noise == 0 and (q is None or (isinstance(q, Integral) and int(q) >= d)):
        warn(
            f"With {'all' if q is None else q} components for {d} columns a nearly linear kernel reproduces every "
            "sample and wins. Use fewer components, or set noise= to the size of the noise to be removed."
        )
