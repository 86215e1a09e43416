"""Contrastive kernel principal component analysis: components of samples that a background does not have."""

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Annotated, Any, Self

import numpy as np

from .._core.arrays import Array, cast
from .._core.fields import Numbers
from .._core.registry import register
from .._core.sklearn import HasMethods, StrOptions, with_callbacks
from ..kernels import Kernel, Precomputed
from ..linalg.operators import Dense
from ..rkhs import Subspace, principal_subspace
from ..rkhs.contrastive import Contrast
from . import diagnostics, validation
from .base import KernelTransformer
from .parameters import FROM_0, NOT_NEGATIVE, KernelLike, constraints


@register("contrastive")
@dataclass(eq=False, repr=False)
class ContrastiveKernelPCA(KernelTransformer):
    """Kernel principal components of samples that a background does not have (Abid, Zhang, Bagaria & Zou 2018).

    The axes are the leading ones of C₁ − αC₀ in feature space: C₁ is the covariance of the samples, C₀ that of the
    background, each about its own mean, and α the ``contrast``. For the linear kernel it is contrastive PCA. Without a
    background it is :class:`KernelPCA`.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; only axes with a positive eigenvalue of C₁ − αC₀ are kept. A number in (0, 1) keeps that
        share of the variance of the samples, if these axes hold it; None keeps all of these axes.
    contrast : float or "auto", default=1.0
        α ≥ 0. ``"auto"`` tries contrasts from .1 to 1000 (times tr C₁ / tr C₀), groups those with similar axes and
        keeps one of each group (``contrasts_``). Of these it uses the one with a component along which the samples
        separate most clearly into two groups, compared with the background.
    kernel : str, Kernel or callable, default="rbf"
        As in :class:`KernelPCA`, but not ``"precomputed"``. Data-dependent parameters are those for the samples. If the
        background is added to the structure of interest, use ``"linear"`` or a Gaussian kernel with a small ``gamma``.
    solver : {"auto", "exact", "landmarks"} or a solver with landmarks, default="auto"
        The basis of the feature space: all rows, including those of the background, or landmarks. ``"auto"`` uses
        landmarks above 1,500 rows.
    preimage : {"auto", "fixed_point", "gradient", "distances", "smoother", "learned"} or a method, default="auto"
        How ``inverse_transform`` and ``denoise`` find pre-images: as in :class:`KernelPCA`.
    random_state : int, RandomState instance or None, default=None
        Seed for the choice of landmarks.

    Attributes
    ----------
    contrast_ : float
        α.
    contrasts_ : ndarray
        The contrasts among which α was chosen.
    explained_variance_ : ndarray of shape (n_components_,)
        The variance of the samples along each axis; the axes are in the order of variance − α·background variance.
    background_variance_ : ndarray of shape (n_components_,)
        The variance of the background along each axis.
    n_components_, total_variance_, kernel_, subspace_, anchors_, solver_
        As in :class:`KernelPCA`; ``solver_.lowest`` is the smallest eigenvalue of C₁ − αC₀.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ContrastiveKernelPCA
    >>> rng = np.random.default_rng(0)
    >>> scales = [10, 10, 1, 1]  # two columns of large variance, in samples and background
    >>> X, background = rng.normal(size=(100, 4)) * scales, rng.normal(size=(100, 4)) * scales
    >>> X[:50, 2] += 6  # two groups of samples
    >>> Y = ContrastiveKernelPCA(1, contrast=2.0, kernel="linear").fit_transform(X, background=background)
    >>> np.abs(np.corrcoef(Y[:, 0], X.T)[0, 1:]).round(2)  # correlation with each column
    array([0.12, 0.18, 1.  , 0.06])
    """

    n_components: int | float | None = None
    _: KW_ONLY
    contrast: float | str = 1.0
    kernel: KernelLike = "rbf"
    solver: Any = "auto"
    preimage: Any = "auto"
    random_state: Any = None

    contrast_: float = field(init=False)
    contrasts_: Annotated[np.ndarray, Numbers("k")] = field(init=False)
    background_variance_: Annotated[np.ndarray, Numbers("q")] = field(init=False)

    center = True
    _parameter_constraints = constraints(
        *("kernel", "preimage", "random_state"),
        n_components=FROM_0,
        contrast=[NOT_NEGATIVE, StrOptions({"auto"})],
        solver=[StrOptions({"auto", "exact", "landmarks"}), HasMethods("basis")],
    )

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, background: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples.
        y : None
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the training samples.
        background : array-like or sparse matrix of shape (n_background, n_features), default=None
            Samples with the structure that is not of interest. None fits a kernel PCA.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with validation.fitting(self, X):
            validation.check_in_memory(X)
            self._background = background
            self._fit(X, sample_weight)
            del self._background
        return self

    @with_callbacks
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None, *, background: Any = None) -> Array:
        """Fit the model and return the coordinates of the training samples; parameters as in ``fit``."""
        return self.fit(X, y, sample_weight, background=background).transform(X)

    def _find(self, kernel: Kernel, X: Any, gram: Dense | None, weights: Any, rng: np.random.Generator) -> Subspace:
        most: Any = self.n_components if isinstance(self.n_components, Integral) else None
        if self._background is None:
            subspace = principal_subspace(kernel, X, most, gram=gram, weights=weights, solver=self.solver, rng=rng)
            others, alpha, contrasts = np.zeros(len(subspace.axes)), 0.0, np.zeros(1)
        else:
            contrast = Contrast.of(kernel, X, self._others(kernel, X), most, weights, self.solver, rng)
            alpha, contrasts = self._contrasts(contrast)
            subspace, others = contrast.subspace(alpha, most)
        diagnostics.warn_of_spectrum(subspace.variances[:0], subspace.total_variance, X.shape[0])
        q = len(subspace.axes) if most is not None or self.n_components is None else subspace.holding(self.n_components)
        self.contrast_, self.contrasts_, self.background_variance_ = float(alpha), contrasts, others[:q]
        return subspace[:q]

    def _contrasts(self, contrast: Contrast) -> tuple[float, np.ndarray]:
        """Return α and the contrasts among which it was chosen."""
        return contrast.choose() if isinstance(self.contrast, str) else (self.contrast, np.asarray([self.contrast]))

    def _others(self, kernel: Kernel, X: Any) -> Any:
        """Return the validated background, in the dtype of the samples."""
        if isinstance(kernel, Precomputed):
            raise ValueError("kernel='precomputed' has no rows of a background. Give the samples and another kernel.")
        others = cast(validation.check_rows(self, self._background, kernel), X.dtype)
        validation.check_diagonal(others, kernel, getattr(self, "feature_names_in_", None))
        return others

    def _training_coordinates(self, w: Array | None) -> Array | None:
        return None
