"""Classification by comparing the densities of the classes in feature space."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from .._core.dask import rowwise
from .._core.fields import Count, Labels, Maybe, Names, NotNegative, Numbers
from .._core.registry import register
from .._core.sklearn import CallbackSupportMixin, HasMethods, Interval, StrOptions, with_callbacks
from ..kernels import Kernel, Precomputed
from ..linalg.eigenpairs import Report
from ..linalg.operators import Dense, Gram
from ..rkhs import FeatureGaussian, Subspace, principal_subspace
from ..rkhs.classes import class_joint, class_subspaces, feature_gaussians, limit_scale, variance_within
from ..rkhs.mixture import FeatureMixture, relative_logs
from ..rkhs.positive import PositivePart, given
from . import diagnostics, validation
from .base import fitted_copy
from .classifier_calibration import balanced_folds, calibrated, held_out
from .drawing import RegionPlotMixin
from .kernel_parameter import KernelParameterMixin, bound_to, of_all_classes, with_width
from .parameters import AT_LEAST_0, NOT_NEGATIVE, SHARED, KernelLike, constraints, generator
from .targets import check_labels, class_components, class_kernels, class_priors

LEAST = np.log(np.finfo(float).tiny)  # smallest log-probability: only a class of prior 0 has probability 0


class _Calibrated:
    """The calibration of a classifier; models of earlier versions have none."""

    temperature_: float = 1.0
    biases_: Annotated[np.ndarray, Numbers()] | Annotated[np.ndarray, Numbers("classes_")] = np.asarray(0.0)


@register("classifier")
@dataclass(eq=False, repr=False)
class KernelPCAClassifier(
    _Calibrated, KernelParameterMixin, RegionPlotMixin, CallbackSupportMixin, ClassifierMixin, BaseEstimator
):
    """Classifier with a Gaussian density in feature space for each class.

    Each class has a probabilistic kernel PCA (Zhou, section 4), with the same kernel and the same noise variance ρ for
    all classes. The predicted class minimises L̂_c(x) − 2 log p_c (eq. 21), where −½L̂_c is the log density of class c up
    to a constant and p_c its prior. In the limit ρ → 0 it is the class whose principal subspace is closest (eq. 23),
    regardless of the priors.

    Parameters
    ----------
    density : estimator or None, default=None
        The model of each class: None for a single Gaussian, or an estimator to clone, such as ``KernelPCAMixture``. The
        clones get the bound kernel, ρ, and ``n_components`` if it is given; ``shrinkage`` must be 0. With a precomputed
        kernel it is a ``KernelPCAMixture`` or ``ProbabilisticKernelPCA``.
    n_components : int, sequence, dict or None, default=None
        Number of axes: for all classes, one for each of ``classes_``, or by label. 0 uses the means only. None keeps
        all axes with λ > ρ; axes with less variance than the noise are always dropped.
    noise_ratio : float, default=0.01
        ρ relative to Σ_c p_c tr C_c, the variance within classes (C_c is the covariance of class c). 0 is the limiting
        rule, ρ → 0.
    shrinkage : float in [0, 1], default=0.0
        γ of the covariances (1 − γ)C_c + γ Σₖ pₖCₖ: 0 for a separate covariance of each class, 1 for a common one, as
        in linear discriminant analysis.
    kernel : str, Kernel, callable or dict, default="rbf"
        As in :class:`KernelPCA`. Data-dependent parameters are those of all training samples; a radial kernel without
        a given width has γ = 1/median squared distance. This is twice the γ of the other models; it classified better
        on average over 29 data sets. A dictionary has a kernel for each class label (Zhou's φ_c). It needs the
        limiting rule, which compares distances in different feature spaces; kernels whose k(x, x) is not 1 are
        normalised (``Normalized``), so that the distances are on the same scale.
    priors : {"empirical", "uniform"} or array-like of shape (n_classes,), default="empirical"
        The probabilities p_c of the classes. The limiting rule uses them only to break ties.
    calibration : {"auto", "temperature", "vector"} or None, default="auto"
        The calibration of the probabilities on held-out samples of five folds, which takes about three times as long as
        the fit itself. ``"temperature"`` divides all log densities by one number T ≥ 1, which leaves predictions
        unchanged; for the limiting rule, whose distances have no natural scale, T may be any number above 0.
        ``"vector"`` also adds a bias for each class, which changes predictions too; it had the smaller log-loss and
        error on average over 38 data sets, and needs ten distinct held-out samples for each class: with fewer, biases
        stay 0. ``"auto"`` is ``"vector"``, or ``"temperature"`` for the limiting rule. None
        gives the posterior of eq. 21.
    solver : {"auto", "exact", "davidson", "lanczos", "randomized", "landmarks"} or a solver, default="auto"
        As in :class:`KernelPCA`; all classes have the same landmarks.
    random_state : int, RandomState instance or None, default=None
        Seed for the solvers that use random vectors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    class_prior_ : ndarray of shape (n_classes,)
        p_c.
    densities_ : list
        A ``FeatureGaussian`` for each class, or the fitted clones of ``density``.
    n_components_ : ndarray of shape (n_classes,)
        The number of axes of each class; with ``density=None`` only.
    noise_variance_ : float
        ρ.
    temperature_ : float
        T: log densities are divided by it. 1 without calibration.
    biases_ : ndarray of shape (n_classes,)
        The number added to the log density of each class after division by T. 0 unless the calibration is ``"vector"``.
    kernel_ : Kernel
        The kernel with its data-dependent parameters filled in.
    kernels_ : list of Kernel
        The same for each class, if ``kernel`` is a dictionary.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import KernelPCAClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = KernelPCAClassifier(kernel="rbf", noise_ratio=0.05).fit(X, y)
    >>> print(f"{model.score(X, y):.3f}")
    0.955
    >>> model.predict_proba([[0.0, 1.0], [0.5, 0.3]]).round(1)
    array([[1. , 0. ],
           [0.7, 0.3]])
    """

    density: Any = None
    _: KW_ONLY
    n_components: int | Sequence | Mapping | None = None
    noise_ratio: float = 0.01
    shrinkage: float = 0.0
    kernel: KernelLike | Mapping = "rbf"
    priors: str | ArrayLike = "empirical"
    calibration: str | None = "auto"
    solver: Any = "auto"
    random_state: Any = None

    n_features_in_: Count = field(init=False)
    feature_names_in_: Maybe[Names] = field(init=False)
    kernel_: Kernel = field(init=False)
    kernels_: Maybe[list[Kernel]] = field(init=False)
    classes_: Annotated[np.ndarray, Labels("c")] = field(init=False)
    class_prior_: Annotated[Any, Numbers("c", least=0)] = field(init=False)
    _shares: Annotated[Any, Numbers("c", least=0)] = field(init=False)
    densities_: list[Any] = field(init=False)
    noise_variance_: NotNegative = field(init=False)
    compression_: Maybe[Any] = field(init=False)

    _doc_link_module = "mercer"
    _parameter_constraints = constraints(
        *("solver", "random_state"),
        density=[HasMethods(["fit", "score_samples", "set_params"]), None],
        n_components=[AT_LEAST_0, "array-like", Mapping, None],
        noise_ratio=[NOT_NEGATIVE],
        kernel=[*SHARED["kernel"], Mapping],
        shrinkage=[Interval(Real, 0, 1, closed="both")],
        priors=[StrOptions({"empirical", "uniform"}), "array-like"],
        calibration=[StrOptions({"auto", "temperature", "vector"}), None],
    )

    def _check_parts(self) -> None:
        """Raise an error if the parts of a model from a file do not fit each other."""
        if len(self.densities_) != len(self.classes_):
            raise ValueError(f"it has {len(self.classes_)} classes and {len(self.densities_)} densities")
        validation.check_features(self, self._subspaces())

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a density to each class; ``y`` are the class labels, other parameters as in :meth:`KernelPCA.fit`."""
        with validation.fitting(self, X, y):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        kernel = with_width(of_all_classes(self.kernel), "median")
        X = validation.check_rows(self, X, kernel, fit=True, copy=True)
        y = check_labels(self, X, y)
        weights, counted = validation.check_weights(sample_weight, X)
        classes, numbers = np.unique(y[counted], return_inverse=True)
        names = getattr(self, "feature_names_in_", None)
        if isinstance(self.kernel, Mapping):
            own = class_kernels(self, classes)
            self.kernels_ = [bound_to(k, X, weights, counted, names=names)[0] for k in own]
            kernel = own[0]
        kernel, points, gram = bound_to(kernel, X, weights, counted, names=names)
        samples = _Samples(kernel, points, numbers, gram, weights)
        self.classes_, self.kernel_, self._shares = classes, given(kernel), samples.shares
        self.class_prior_ = class_priors(self.priors, self._shares)
        if self.density is None:
            self.densities_: list[Any] = feature_gaussians(self._fitted(samples), self._shares, self.noise_ratio)
            self.noise_variance_ = self.densities_[0].rho
            diagnostics.warn_of_outside(self.solver_)
        else:
            self.noise_variance_ = self._noise_of_clones(samples)
            self.densities_ = self._clones(samples)
        self.temperature_, self.biases_ = self._calibrated(samples)

    def _fitted(self, samples: "_Samples") -> list[Subspace]:
        """Return the subspace of each class."""
        q = class_components(self.n_components, self.classes_)
        if None in q:
            n = len(samples.y) if self.shrinkage else np.bincount(samples.y).max()
            validation.check_all_components(n, self.solver, None)
        rng, settings = generator(self.random_state), {"shrinkage": self.shrinkage, "solver": self.solver}
        if isinstance(self.kernel, Mapping):
            parts = [samples.part(np.flatnonzero(samples.y == c)) for c in range(len(q))]
            each = zip(self.kernels_, parts, q, strict=True)
            return [_own_subspace(kernel, part, qc, self.solver, rng) for kernel, part, qc in each]
        of = {"gram": samples.gram, "weights": samples.weights}
        return class_subspaces(samples.kernel, samples.X, samples.y, q, rng=rng, **of, **settings)

    def _gaussians(self, samples: "_Samples") -> list:
        """Return the density of each class, at the noise variance of the fit on all samples."""
        return [FeatureGaussian.of(subspace, self.noise_variance_) for subspace in self._fitted(samples)]

    def _noise_of_clones(self, samples: "_Samples") -> float:
        """Return ρ, or raise an error if there is none, or for parameters that are not supported with ``density``."""
        if self.shrinkage:
            raise ValueError(f"shrinkage={self.shrinkage!r} is for density=None. Leave it at 0 with a density.")
        if self.noise_ratio == 0:
            raise ValueError("noise_ratio=0 is the limiting rule of density=None. Give a noise_ratio above 0.")
        if isinstance(self.kernel_, Precomputed) and isinstance(samples.kernel, PositivePart):
            raise ValueError(
                "A density for each class needs a positive semidefinite matrix, and the precomputed one has negative "
                "eigenvalues. Clip them first, or use density=None."
            )
        gram = samples.gram if samples.gram is not None else Gram(samples.kernel, samples.X)
        rho = self.noise_ratio * variance_within(gram, samples.y, samples.weights)
        if rho == 0:
            raise ValueError(
                "A density for each class needs a noise variance above 0, and it is 0: the samples of every class "
                f"are equal in feature space (n_samples = {len(samples.y)}). Use density=None."
            )
        return rho

    def _clones(self, samples: "_Samples") -> list:
        """Return a clone of ``density`` for each class, at the noise variance of the fit on all samples."""
        q = class_components(self.n_components, self.classes_)
        return [self._clone(samples.part(np.flatnonzero(samples.y == c)), qc) for c, qc in enumerate(q)]

    def _clone(self, samples: "_Samples", q: int | None) -> Any:
        density = clone(self.density).set_params(kernel=samples.kernel, noise_variance=self.noise_variance_)
        if q is not None:
            density.set_params(n_components=q)
        if isinstance(samples.kernel, Precomputed):
            return density.fit(samples.kernel.K, sample_weight=samples.of_all_rows)
        if samples.weights is None:
            return density.fit(samples.X)
        return density.fit(samples.X, sample_weight=samples.weights)

    def _calibrated(self, samples: "_Samples") -> tuple[float, np.ndarray]:
        """Return the temperature and the biases."""
        folds, row = balanced_folds(samples.X, samples.y)
        if self.calibration is None or np.all(folds < 0):
            return 1.0, np.zeros(len(self.classes_))
        fit = self._gaussians if self.density is None else self._clones

        def joint(rows: np.ndarray, held: np.ndarray) -> np.ndarray:
            part = samples.part(rows)
            return self._log_joint(fit(part), samples.X[held], part.shares)

        kind = self.calibration
        if kind == "auto":
            kind = "vector" if self.noise_ratio > 0 else "temperature"
        if kind == "temperature" and self.noise_ratio == 0:
            kind = "scale"
        held, joints = held_out(joint, folds)
        w = np.ones(len(held)) if samples.weights is None else samples.weights[held]
        return calibrated(kind, joints, samples.y[held], w, self.class_prior_, len(np.unique(row[held])))

    def _joint(self, X: Any) -> np.ndarray:
        """Return the calibrated log p_c + log density up to a constant: (n, n_classes).

        For the limiting rule they are numbers that rank the classes like r².
        """
        check_is_fitted(self)
        X = validation.check_rows(self, X, self.kernel_)
        joint = self._log_joint(self.densities_, X, self._shares)
        if not np.all(np.isfinite(joint[:, self.class_prior_ > 0])):
            validation.check_diagonal(X, self.kernel_)
        return joint / self.temperature_ + self.biases_

    def _log_joint(self, densities: list, X: Any, shares: Any) -> np.ndarray:
        """Return the values of ``_joint`` before calibration."""
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.class_prior_)
        if self.density is not None and isinstance(self.kernel_, Precomputed):
            return np.column_stack(relative_logs([_mixture_of(density) for density in densities], X)) + log_prior
        if self.density is not None:
            return np.column_stack([density.score_samples(X) for density in densities]) + log_prior
        scale = limit_scale(self._subspaces(), self._shares)  # of the fit on all samples, also in calibration
        return class_joint(densities, X, log_prior, shares, scale)

    @rowwise
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the calibrated log density of each class, up to a constant of the sample: (n_samples, n_classes).

        For two classes it is that of the second minus that of the first: (n_samples,).
        """
        joint = self._joint(X)
        return joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint

    @rowwise
    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each sample (eq. 21, or eq. 23 if ρ = 0): (n_samples,)."""
        joint = self._joint(X)
        return self.classes_[joint.argmax(axis=1)]

    @rowwise
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of ``predict_proba``: (n_samples, n_classes)."""
        return log_softmax(self._joint(X), axis=1)

    @rowwise
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the calibrated posterior probabilities of the classes: (n_samples, n_classes).

        With the limiting rule they would all be 0 or 1. Instead they are computed with equal priors and with the
        average variance outside the subspaces as noise variance, which ranks the classes like r².
        """
        log_p = self.predict_log_proba(X)
        return np.exp(np.where(np.isneginf(log_p), log_p, np.maximum(log_p, LEAST)))

    @property
    def solver_(self) -> Report:
        """The report on the solver, of the class with the largest share of variance outside the basis."""
        return max((subspace.report for subspace in self._subspaces()), key=lambda report: report.outside_share)

    @property
    def _rho(self) -> float:
        return self.noise_variance_

    def _subspaces(self) -> list[Subspace]:
        return [subspace for density in self.densities_ for subspace in _parts(density)]

    def _with_subspaces(self, subspaces: list[Subspace]) -> Any:
        new, densities = iter(subspaces), []
        for density in self.densities_:
            parts = [next(new) for _ in _parts(density)]
            gaussian = isinstance(density, FeatureGaussian)
            densities.append(FeatureGaussian(parts[0], density.rho) if gaussian else density._with_subspaces(parts))
        return fitted_copy(self, densities_=densities, kernel_=given(subspaces[0].kernel))

    @property
    def n_components_(self) -> np.ndarray:
        """The number of axes of each class."""
        return np.array([len(density.subspace.variances) for density in self.densities_])


def _own_subspace(
    kernel: Kernel, samples: "_Samples", q: int | None, solver: Any, rng: np.random.Generator
) -> Subspace:
    """Return the subspace of one class in the feature space of its own kernel."""
    w = None if samples.weights is None else samples.weights / samples.weights.sum()
    return principal_subspace(kernel, samples.X, q, weights=w, solver=solver, rng=rng)


def _mixture_of(density: Any) -> FeatureMixture:
    """Return the density of one class as a mixture, which can be compared with other classes without k(x, x)."""
    if hasattr(density, "_mixture"):
        return density._mixture
    if hasattr(density, "density_"):
        return FeatureMixture(np.ones(1), (density.density_,), np.zeros(1, int))
    raise ValueError(
        f"With kernel='precomputed', density must be a KernelPCAMixture or a ProbabilisticKernelPCA, and it is a "
        f"{type(density).__name__}."
    )


def _parts(density: Any) -> list[Subspace]:
    """Return the subspaces of one class."""
    return [density.subspace] if isinstance(density, FeatureGaussian) else density._subspaces()


@dataclass(frozen=True, eq=False)
class _Samples:
    """Training samples ``X`` of the classes ``y``, numbered from 0, their Gram matrix if it is given, their weights."""

    kernel: Kernel
    X: Any
    y: np.ndarray
    gram: Dense | None
    weights: Any

    def part(self, rows: np.ndarray) -> "_Samples":
        """Return some of the samples."""
        gram = None if self.gram is None else Dense(self.gram.block(rows))
        weights = None if self.weights is None else self.weights[rows]
        return _Samples(self.kernel, self.X[rows], self.y[rows], gram, weights)

    @property
    def of_all_rows(self) -> np.ndarray:
        """The weight of each row of a precomputed matrix, 0 for those that are not among the samples."""
        weights = np.zeros(len(self.kernel.K))  # type: ignore[attr-defined]
        weights[self.X[:, 0]] = 1.0 if self.weights is None else self.weights
        return weights

    @property
    def shares(self) -> Any:
        """The share of each class in the sum of weights."""
        shares = np.bincount(self.y, self.weights)
        return shares / shares.sum()
