"""Those who run: mercer and its peers, each as ``ready(X)``, which returns the work that is timed.

``outcome(X, result)`` turns what the work returned into eigenvalues and vectors that can be compared.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn import gaussian_process
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as ScikitKernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel, linear_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline

from mercer import KernelPCA
from mercer.kernels import RBF, Chi2, Cosine, Laplacian, Linear, Matern, Polynomial, RationalQuadratic

OURS = {
    "rbf": RBF,
    "laplacian": Laplacian,
    "poly": Polynomial,
    "matern": partial(Matern, nu=1.5),
    "rational quadratic": partial(RationalQuadratic, alpha=1.0),
    "chi2": Chi2,
}
WITHOUT_WIDTH = {"linear": Linear, "cosine": Cosine}
MEDIAN_ROWS = 2000  # whose pairs a median distance looks at


@dataclass(frozen=True, eq=False)
class Outcome:
    """Eigenvalues n·λ, vectors that span the subspace (made on demand), and what the method says of itself."""

    values: np.ndarray | None
    vectors: Callable[[], np.ndarray]
    residual: float | None = None
    lost: float | None = None  # share of the trace of K outside the span of the landmarks


@dataclass(frozen=True)
class Kernel:
    """A kernel in the words of both libraries; ``gamma`` is a number, None (1/d) or "median" (1/median ‖x − y‖²)."""

    name: str = "rbf"
    gamma: float | str | None = None

    def width(self, X):
        if self.gamma is None:
            return 1 / X.shape[1]
        return 1 / median_sqdist(X) if self.gamma == "median" else self.gamma

    def ours(self, X):
        if self.name == "rbf + linear":
            return RBF(gamma=self.width(X)) + self.width(X) * Linear()
        return WITHOUT_WIDTH[self.name]() if self.name in WITHOUT_WIDTH else OURS[self.name](gamma=self.width(X))

    def matrix(self, X):
        """The matrix by scikit-learn; the kernels of its Gaussian processes have ℓ² = 1/(2γ)."""
        gamma = self.width(X)
        length = (2 * gamma) ** -0.5
        return {
            "laplacian": lambda: laplacian_kernel(X, gamma=gamma),
            "matern": lambda: gaussian_process.kernels.Matern(length, nu=1.5)(X),
            "rational quadratic": lambda: gaussian_process.kernels.RationalQuadratic(length, alpha=1.0)(X),
            "chi2": lambda: chi2_kernel(X, gamma=gamma),
            "rbf + linear": lambda: rbf_kernel(X, gamma=gamma) + gamma * linear_kernel(X),
        }[self.name]()

    def __str__(self):
        if self.name in WITHOUT_WIDTH:
            return self.name
        width = {None: "1/d", "median": "1/median"}.get(self.gamma, self.gamma)
        return f"{self.name}, γ = {width}"


def median_sqdist(X):
    """The median squared distance between evenly spaced rows."""
    rows = np.unique(np.linspace(0, len(X) - 1, MEDIAN_ROWS).astype(int))
    return float(np.median(pdist(X[rows].astype(float), "sqeuclidean")))


@dataclass(frozen=True)
class Mercer:
    """mercer's KernelPCA with its defaults: every solver is chosen by ``"auto"`` unless landmarks are asked for."""

    q: int
    kernel: Kernel = Kernel()
    solver: Any = "auto"
    label = "mercer"

    def missing(self):
        return None

    def ready(self, X):
        kernel = self.kernel.ours(X)
        return lambda: KernelPCA(self.q, kernel=kernel, solver=self.solver, random_state=0).fit(X)

    def outcome(self, X, model):
        report = model.solver_
        if model.subspace_.moments is None:
            return Outcome(model.eigenvalues_, lambda: model.subspace_.axes.B, residual=report.residual)
        lost = report.outside / float(model.kernel_.diag(X).mean())
        return Outcome(model.eigenvalues_, lambda: model.transform(X), lost=lost)


@dataclass(frozen=True)
class ScikitLearn:
    """scikit-learn's KernelPCA."""

    q: int
    kernel: Kernel = Kernel()
    solver: str = "arpack"

    @property
    def label(self):
        return f"scikit-learn {self.solver}"

    def missing(self):
        return None

    def ready(self, X):
        model = _scikit(self.q, self.solver, kernel=self.kernel.name, gamma=self.kernel.width(X))
        return lambda: model().fit(X)

    def outcome(self, X, model):
        return Outcome(model.eigenvalues_, lambda: model.eigenvectors_)


def _scikit(q, solver, **params):
    return lambda: ScikitKernelPCA(q, eigen_solver=solver, random_state=0, **params)


@dataclass(frozen=True)
class ScikitLearnMatrix:
    """scikit-learn's way to a kernel that its KernelPCA lacks: the matrix, then KernelPCA on that without a copy."""

    q: int
    kernel: Kernel
    label = "scikit-learn kernel matrix + arpack"

    def missing(self):
        return None

    def ready(self, X):
        model = _scikit(self.q, "arpack", kernel="precomputed", copy_X=False)
        return lambda: model().fit(self.kernel.matrix(X))

    def outcome(self, X, model):
        return Outcome(model.eigenvalues_, lambda: model.eigenvectors_)


@dataclass(frozen=True)
class Given:
    """A fit on a kernel matrix that is given; its computation is not timed."""

    fit: Any

    @property
    def label(self):
        return self.fit.label

    @property
    def q(self):
        return self.fit.q

    @property
    def kernel(self):
        return f"given matrix, {self.fit.kernel}"

    def missing(self):
        return None

    def ready(self, X):
        K = rbf_kernel(X, gamma=self.fit.kernel.width(X))
        if isinstance(self.fit, Mercer):
            return lambda: KernelPCA(self.q, kernel="precomputed", random_state=0).fit(K)
        model = _scikit(self.q, self.fit.solver, kernel="precomputed")
        return lambda: model().fit(K)

    def outcome(self, X, model):
        if isinstance(self.fit, Mercer):
            return Outcome(model.eigenvalues_, lambda: model.subspace_.axes.B, residual=model.solver_.residual)
        return self.fit.outcome(X, model)


@dataclass(frozen=True)
class NystroemPCA:
    """scikit-learn's Nystroem features of rank ``m``, then PCA."""

    q: int
    m: int
    kernel: Kernel = Kernel()
    label = "scikit-learn Nystroem + PCA"

    def missing(self):
        return None

    def ready(self, X):
        features = Nystroem(kernel=self.kernel.name, gamma=self.kernel.width(X), n_components=self.m, random_state=0)
        return lambda: make_pipeline(features, PCA(self.q)).fit(X)

    def outcome(self, X, pipeline):
        features, pca = pipeline[0], pipeline[-1]
        lost = 1 - float(np.mean(np.sum(features.transform(X) ** 2, axis=1)))  # k(x, x) = 1
        return Outcome(pca.explained_variance_ * (len(X) - 1), lambda: pipeline.transform(X), lost=lost)


@dataclass(frozen=True)
class Mlpack:
    """mlpack's naive kernel PCA, which returns coordinates √(nλ)v and nothing else."""

    q: int
    kernel: Kernel = Kernel()
    label = "mlpack"

    def missing(self):
        return None if find_spec("mlpack") else "mlpack is not installed: pip install mlpack"

    def ready(self, X):
        from mlpack import kernel_pca

        bandwidth = (2 * self.kernel.width(X)) ** -0.5  # exp(−t/2b²)
        return lambda: kernel_pca(
            X, kernel="gaussian", bandwidth=bandwidth, new_dimensionality=self.q, copy_all_inputs=True
        )["output"]

    def outcome(self, X, Y):
        return Outcome(np.sum(Y**2, axis=0), lambda: Y)


@dataclass(frozen=True)
class ThenTransform:
    """The fit of another and the coordinates of the same rows, in one."""

    fit: Any

    @property
    def label(self):
        return self.fit.label

    @property
    def q(self):
        return self.fit.q

    def missing(self):
        return self.fit.missing()

    def ready(self, X):
        fit = self.fit.ready(X)

        def work():
            model = fit()
            model.transform(X)
            return model

        return work

    def outcome(self, X, model):
        return self.fit.outcome(X, model)


@dataclass(frozen=True)
class TransformOnly:
    """The coordinates of new rows, two for each row that the model was fitted on; the fit is not timed.

    Compared are the first ``compared`` coordinates: behind them the spectrum has a gap, and they span the same space
    whatever the solver.
    """

    fit: Any
    compared: int

    @property
    def label(self):
        return self.fit.label

    @property
    def q(self):
        return self.fit.q

    def missing(self):
        return self.fit.missing()

    def ready(self, X):
        anchors = len(X) // 3
        model, new = self.fit.ready(X[:anchors])(), X[anchors:]
        return lambda: model.transform(new)

    def outcome(self, X, Y):
        return Outcome(None, lambda: Y[:, : self.compared])
