"""Supervised kernel principal component analysis: components that depend on a target."""

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, double
from .._core.dask import computed, is_lazy
from .._core.fields import Labels, Maybe, Numbers
from .._core.registry import KERNELS, register
from .._core.sklearn import Interval, Named, StrOptions, check_y, num_samples, with_callbacks
from .._core.warn import ComponentsWarning, warn
from ..kernels import Kernel, as_kernel
from ..linalg.operators import Dense, Gram
from ..rkhs import Basis, Subspace, primal, principal_subspace
from ..rkhs.positive import PositivePart
from ..rkhs.supervised import Supervised, Target, supervised_subspace
from . import diagnostics, validation
from .base import KernelTransformer
from .parameters import FROM_0, KernelLike, check_count, constraints, generator

KINDS = ("auto", "classes", "class_sizes", "numbers")
FACTOR = 1e-6  # relative to k(y, y): largest error in the factorisation of the kernel matrix of the target
BY_CHANCE = 2  # in units of the dependence on a random target: there is a warning below it
BLOCK = 1000  # columns of one product with the kernel matrix


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """The dependence on the target, that on its permutations, and p = (1 + #{null ≥ dependence}) / (1 + #null)."""

    dependence: float
    null: np.ndarray
    p_value: float


@register("supervised")
@dataclass(eq=False, repr=False)
class SupervisedKernelPCA(KernelTransformer):
    """Kernel principal components that depend on a target (Barshan, Ghodsi, Azimifar & Zolghadri Jahromi 2011).

    The axes are the leading ones of (1 − a)C + aTTᵀ: C is the covariance in feature space, T the covariance of φ with
    the target, and a the ``supervision``. For classes TTᵀ is the covariance between classes. With a = 1 the axes
    maximise the Hilbert–Schmidt dependence on the target, there are at most as many as the target has dimensions (for c
    classes c − 1), and the eigenproblem has that size. With a = 0 the model is :class:`KernelPCA`.

    Coordinates are correlated unless a = 0. On the training samples the components follow any target, even a random
    one: judge them on other samples, or by ``permutation_test``.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a number in (0, 1) keeps that share of the trace of (1 − a)C + aTTᵀ, None keeps all.
    supervision : float, default=1.0
        a, from 0 (kernel PCA) to 1 (the dependence on the target alone). TTᵀ is on the scale of C.
    kernel : str, Kernel or callable, default="rbf"
        The kernel of the samples: as in :class:`KernelPCA`.
    target : {"auto", "classes", "class_sizes", "numbers"}, a kernel or its name, default="auto"
        How y is used: ``"classes"`` weights all classes equally, ``"class_sizes"`` by their size (the delta kernel of
        Barshan et al.), ``"numbers"`` standardises y, and a kernel of y measures any kind of dependence. ``"auto"``:
        numbers if y has fractions or mostly different numbers, else classes.
    solver : {"auto", "exact", "davidson", "lanczos", "randomized", "landmarks"} or a solver, default="auto"
        As in :class:`KernelPCA`; with a = 1 only ``"landmarks"`` makes a difference.
    preimage : {"auto", "fixed_point", "gradient", "distances", "smoother", "learned"} or a method, default="auto"
        How ``inverse_transform`` and ``denoise`` find pre-images: as in :class:`KernelPCA`.
    indefinite : {"clip", "error"}, default="clip"
        What to do with a kernel that is not positive semi-definite: as in :class:`KernelPCA`.
    random_state : int, RandomState instance or None, default=None
        Seed for the solvers that use random vectors, and for permutations.

    Attributes
    ----------
    n_components_ : int
        Number of components.
    explained_variance_ : ndarray of shape (n_components_,)
        The variance along each axis; the axes are in the order of (1 − a)·variance + a·dependence.
    dependence_ : ndarray of shape (n_components_,)
        ‖Tᵀu‖², the squared covariance of each component with the target.
    total_dependence_ : float
        tr TTᵀ, the sum over all axes; for classes the variance between them.
    chance_ : float
        The mean of ``total_dependence_`` over all permutations of the target.
    classes_ : ndarray
        The classes, if the target has classes.
    total_variance_, kernel_, subspace_, anchors_, solver_
        As in :class:`KernelPCA`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SupervisedKernelPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SupervisedKernelPCA().fit(X, y)
    >>> model.transform(X).shape  # three classes, two components
    (150, 2)
    >>> print(f"{model.total_dependence_:.2f}, by chance {model.chance_:.2f}")
    0.33, by chance 0.01
    >>> model.permutation_test(X, y).p_value
    0.01
    """

    n_components: int | float | None = None
    _: KW_ONLY
    supervision: float = 1.0
    kernel: KernelLike = "rbf"
    target: Any = "auto"
    solver: Any = "auto"
    preimage: Any = "auto"
    indefinite: str = "clip"
    random_state: Any = None

    dependence_: Annotated[np.ndarray, Numbers("q")] = field(init=False)
    total_dependence_: Maybe[float] = field(init=False)
    chance_: Maybe[float] = field(init=False)
    classes_: Maybe[Annotated[np.ndarray, Labels("c")]] = field(init=False)

    center = True
    _parameter_constraints = constraints(
        *("kernel", "solver", "preimage", "random_state"),
        n_components=FROM_0,
        supervision=[Interval(Real, 0, 1, closed="both")],
        target=[Named(KERNELS, *KINDS), callable],
        indefinite=[StrOptions({"clip", "error"})],
    )

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples; for ``kernel="precomputed"`` the matrix k(xᵢ, xⱼ). With landmarks also a Dask array.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The target: classes or numbers. Not used if ``supervision=0``.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights: a sample of weight 2 counts like two equal samples, one of weight 0 is ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._fit_to(X, y, sample_weight)
        return self

    @with_callbacks
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit the model and return the coordinates of the training samples; parameters as in ``fit``."""
        Y = self._fit_to(X, y, sample_weight)
        return self.transform(X) if Y is None else Y

    def _fit_to(self, X: Any, y: Any, sample_weight: Any) -> Array | None:
        with validation.fitting(self, X):
            self._y: Any = None if self.supervision == 0 else _counted(self._checked(X, y), X, sample_weight)
            Y = self._fit(X, sample_weight)
            del self._y
        return Y

    def _find(self, kernel: Kernel, X: Any, gram: Dense | None, weights: Any, rng: np.random.Generator) -> Subspace:
        most = self.n_components if isinstance(self.n_components, Integral) else None
        settings: dict[str, Any] = {"gram": gram, "weights": weights, "solver": self.solver, "rng": rng}
        if self.supervision < 1 and most is None and not primal(kernel, X, self.solver):
            validation.check_all_components(X.shape[0], self.solver, self.n_components)
        if self.supervision == 0:
            subspace = principal_subspace(kernel, X, most, **settings)
            found = Supervised(subspace, np.zeros(len(subspace.axes)), 0.0)
        else:
            target = self._target(self._y, weights)
            found = supervised_subspace(kernel, X, most, target, float(self.supervision), **settings)
            self._report(found, target)
        subspace = found.subspace
        if not isinstance(kernel, PositivePart):
            validation.check_indefinite(self.indefinite, subspace.report.lowest, subspace.report.negative_mass)
        if self.supervision == 0:
            diagnostics.warn_of_spectrum(subspace.variances, subspace.total_variance, X.shape[0])
        if most is None and self.n_components is not None:
            found = found[: found.holding(self.n_components, self.supervision)]
        self.dependence_ = found.dependence
        return found.subspace

    def _report(self, found: Supervised, target: Target) -> None:
        """Set the attributes of the dependence, and warn if a random target would give nearly as much."""
        self.total_dependence_ = found.total_dependence
        self.chance_ = target.by_chance * found.subspace.total_variance
        if self.total_dependence_ < BY_CHANCE * self.chance_:
            warn(
                f"The components hardly depend on the target: {self.total_dependence_:.3g}, where a random target "
                f"gives {self.chance_:.3g} on average. Their separation of the training samples means nothing; "
                "permutation_test gives a p-value.",
                ComponentsWarning,
            )

    def permutation_test(
        self, X: Any, y: Any, *, n_permutations: int = 99, sample_weight: Any = None
    ) -> PermutationTest:
        """Compare the dependence of samples on their target with that on random permutations of the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, training or new ones.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their target.
        n_permutations : int, default=99
            Number of permutations; the smallest possible p-value is 1 / (n_permutations + 1).
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        test : PermutationTest
            ``dependence``, tr TTᵀ of these samples; ``null``, that of each permutation; ``p_value``.
        """
        check_is_fitted(self)
        check_count("n_permutations", n_permutations)
        labels = _counted(self._checked(X, y), X, sample_weight)
        points = self._rows(X, "permutation_test")
        weights, counted = validation.check_weights(sample_weight, points)
        w, points = None if weights is None else weights / weights.sum(), points[counted]
        gram, rng = Gram(self.kernel_, points), generator(self.random_state)
        columns = self._columns(labels, w)
        orders = [np.arange(len(columns)), *(rng.permutation(len(columns)) for _ in range(n_permutations))]
        observed, *null = _dependences(gram, [Target.of(columns[order], w).J for order in orders])
        p_value = (1 + np.count_nonzero(np.asarray(null) >= observed)) / (1 + n_permutations)
        return PermutationTest(float(observed), np.asarray(null), float(p_value))

    def _target(self, y: np.ndarray, weights: Any) -> Target:
        target = Target.of(self._columns(y, weights), weights)
        if len(target.sigma) == 0:
            raise ValueError(
                "The target y is constant (one class or number): components cannot depend on it. Use KernelPCA."
            )
        if self._kind(y) in {"classes", "class_sizes"}:
            self.classes_ = np.unique(y)
        return target

    def _columns(self, y: np.ndarray, weights: Any) -> np.ndarray:
        """Return the columns Δ of the target: L = ΔΔᵀ is its kernel matrix."""
        kind = self._kind(y)
        w = np.full(len(y), 1 / len(y)) if weights is None else np.asarray(computed(weights), float)
        if kind in {"classes", "class_sizes"}:
            onehot = (y[:, None] == np.unique(y)).astype(float)
            return onehot / np.sqrt(w @ onehot) if kind == "classes" else onehot
        numbers = y.reshape(len(y), -1).astype(float)
        if kind == "numbers":
            centred = numbers - w @ numbers
            deviation = np.sqrt(w @ centred**2)
            return centred / np.where(deviation > 0, deviation, 1)
        kernel = as_kernel(kind).bind(numbers, None if weights is None else w)
        return Basis.among(kernel, numbers, FACTOR)(numbers)

    def _kind(self, y: np.ndarray) -> Any:
        """Return the kind of target, or its kernel."""
        if not isinstance(self.target, str) or self.target != "auto":
            return self.target
        numeric = y.dtype.kind in "fiu"
        mostly_different = numeric and y.ndim == 1 and 2 * len(np.unique(y)) > len(y) > 2
        return "numbers" if mostly_different or type_of_target(y).startswith("continuous") or y.ndim > 1 else "classes"

    def _checked(self, X: Any, y: Any) -> np.ndarray:
        """Return y as an array with an entry, or a row of numbers, for each sample."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = np.asarray(computed(y))
        y = check_y(y, multi_output=y.ndim > 1, estimator=self)
        n = X.shape[0] if is_lazy(X) else num_samples(X)
        if not np.isnan(n) and len(y) != n:
            raise ValueError(f"X has {n} samples, and y has {len(y)}. Give a target for each sample.")
        return y

    def _training_coordinates(self, w: Array | None) -> Array | None:
        return super()._training_coordinates(w) if self.supervision == 0 else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = isinstance(self.supervision, Real) and self.supervision > 0
        tags.target_tags.multi_output = True
        return tags


def _counted(y: np.ndarray, X: Any, sample_weight: Any) -> np.ndarray:
    """Return the targets of the samples of positive weight; those of a Dask collection are returned unchanged."""
    weights = None if sample_weight is None or is_lazy(X) else np.asarray(sample_weight)
    if weights is None or weights.ndim == 0:
        return y
    if weights.shape != y.shape[:1]:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {y.shape[:1]}!")
    return y[weights > 0]


def _dependences(gram: Gram, parts: list[np.ndarray]) -> list[float]:
    """Return tr JᵀKJ of each J, with few passes over the kernel matrix."""
    found: list[float] = []
    each = max(1, BLOCK // max(1, parts[0].shape[1]))
    for start in range(0, len(parts), each):
        some = parts[start : start + each]
        J = np.hstack(some)
        along = np.sum(J * double(gram @ J), axis=0)
        ends = np.cumsum([J.shape[1] for J in some])[:-1]
        found += [float(part.sum()) for part in np.split(along, ends)]
    return found
