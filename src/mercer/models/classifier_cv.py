"""The classifier with its parameters chosen by cross-validation, with one decomposition for many parameter values."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import chain
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.checkpoints import Checkpoint
from .._core.fields import Count, Labels, Maybe, Names, Numbers
from .._core.registry import stored
from .._core.sklearn import CallbackSupportMixin, StrOptions, with_callbacks
from .._core.tiles import in_threads
from ..kernels import RBF, Kernel, Precomputed, as_kernel
from ..kernels.width import median_sqdist
from ..linalg.operators import Gram
from ..rkhs.calibration import doubt_of
from ..rkhs.held_out import HeldOut
from . import validation
from .classifier import KernelPCAClassifier
from .classifier_densities import HeldOutMixtures, check_densities
from .classifier_scoring import loss_of, score_of
from .drawing import RegionPlotMixin
from .parameters import AT_LEAST_0, AT_LEAST_1, constraints, generator
from .targets import check_labels, class_components, class_priors

OCTAVES = np.arange(-8, 9)  # log₂ of γ · median: from far too wide to far too narrow for most data
HALF_DECADES = np.arange(0, -11, -1) / 2  # log₁₀ of ρ: from all of the variance within classes to 1e-5 of it
STEPS = 34  # numbers of components from 1 to the size of the largest class, in equal ratios
AXES = ("kernel", "shrinkage", "priors", "noise_ratio", "n_components")  # axes of the grid, in this order
WITH_DENSITIES = (*AXES, "density")
NEAR = 2  # number of standard errors within which two combinations count as equally good
DIGITS = 12  # decimal places to which average losses are compared: they may differ by rounding
GridErrors = (
    Annotated[np.ndarray, Numbers("k", "l", "m", "n", "o", finite=False)]
    | Annotated[np.ndarray, Numbers("k", "l", "m", "n", "o", "p", finite=False)]
)
_refitted = available_if(lambda self: self.refit)


@stored("models.KernelPCAClassifierCV")
@dataclass(eq=False, repr=False)
class KernelPCAClassifierCV(RegionPlotMixin, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """:class:`KernelPCAClassifier` with kernel, shrinkage, priors, noise and components chosen by cross-validation.

    One eigendecomposition for each kernel, shrinkage, fold and class covers all numbers of components, noise ratios and
    priors, by cumulative sums. Of all combinations whose mean error over the folds is within two standard errors of the
    smallest, it chooses the one with the best probabilities: the smallest log-loss, after division of the log densities
    by the best temperature. Ties go to the first combination in the order of the grids: kernels, shrinkages, priors,
    noise ratios, components. The default grids go from simple to complex models: from wide to narrow kernels, from much
    noise to none.

    Parameters
    ----------
    kernels : list of str, Kernel or callable, or None, default=None
        Kernels to try; None for RBF kernels of 17 widths, γ = 2ᵏ/median squared distance, k = −8 … 8.
    n_components : list, int or None, default=None
        Numbers of components to try, each as in :class:`KernelPCAClassifier`: a number, None for all λ > ρ, or one for
        each class. None tries all λ > ρ, 0, and up to 34 numbers from 1 to the size of the largest class.
    noise_ratios : array-like of float or None, default=None
        Noise variances to try, relative to the variance within classes; 0 is the limiting rule. None for 1, 10^−½, …,
        10^−5 and 0.
    shrinkages : array-like of float, default=(0.0, 1.0)
        Shrinkages to try. Above 0, all training samples of a fold are decomposed together: with many classes
        ``(0.0,)`` is much faster.
    priors : list, default=("empirical",)
        Priors to try.
    densities : list or None, default=None
        Class densities to try: None for a Gaussian, or a ``KernelPCAMixture``. The EM of a mixture runs for each
        kernel, noise ratio above 0, fold and class, at shrinkage 0, and with its own ``n_components`` unless numbers
        are given: use short grids. None tries Gaussians only.
    cv : int, splitter, iterable or None, default=5
        Number of stratified folds, or any other value that scikit-learn takes.
    n_repeats : int, default=1
        Number of repetitions with different folds, if ``cv`` is a number.
    scoring : str or None, default=None
        The score to maximise, without additional decompositions: None for the rule above, ``"accuracy"`` alone,
        ``"neg_log_loss"``, ``"balanced_accuracy"``, or another scorer of scikit-learn that needs predictions or
        probabilities and is called once for each combination and fold. ``"neg_log_loss"`` is computed at the best
        temperature, unless ``calibration`` is None; other scorers get probabilities before calibration. The limiting
        rule has no probabilities before calibration.
    calibration : {"auto", "temperature", "vector"} or None, default="auto"
        Calibration of the best model, as in :class:`KernelPCAClassifier`.
    refit : bool, default=True
        Whether to fit the best model on all samples.
    random_state : int, RandomState instance or None, default=None
        Seed for the folds.

    Attributes
    ----------
    best_params_ : dict
        The chosen parameters of ``KernelPCAClassifier``.
    best_score_ : float
        Their mean accuracy, or score, over the folds.
    best_estimator_ : KernelPCAClassifier
        The best model fitted on all samples, if ``refit`` is true.
    errors_ : ndarray of shape (kernels, shrinkages, priors, noise_ratios, n_components)
        The mean error over the folds of each combination, or minus its score. ``densities``, if given, are a sixth and
        last axis; combinations that are not tried with a mixture have an infinite error.
    grid_ : dict
        The values along each axis of ``errors_``.
    cv_results_ : dict of ndarray
        The same as columns, for ``pandas.DataFrame``: ``param_…``, ``mean_test_score``, ``std_test_score`` (over the
        folds) and ``rank_test_score``.
    classes_ : ndarray of shape (n_classes,)
        The class labels.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import KernelPCAClassifierCV
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> search = KernelPCAClassifierCV(shrinkages=[0, 0.5], random_state=0).fit(X, y)
    >>> search.errors_.shape
    (17, 2, 1, 12, 25)
    >>> print(f"{search.best_score_:.2f}")
    0.98
    """

    kernels: Sequence | None = None
    _: KW_ONLY
    n_components: Sequence | int | None = None
    noise_ratios: ArrayLike | None = None
    shrinkages: ArrayLike = (0.0, 1.0)
    priors: Sequence = ("empirical",)
    densities: Sequence | None = None
    cv: Any = 5
    n_repeats: int = 1
    scoring: str | None = None
    calibration: str | None = "auto"
    refit: bool = True
    random_state: Any = None

    n_features_in_: Count = field(init=False)
    feature_names_in_: Maybe[Names] = field(init=False)
    classes_: Annotated[np.ndarray, Labels("c")] = field(init=False)
    grid_: dict[str, list] = field(init=False)
    best_params_: dict[str, Any] = field(init=False)
    best_score_: float = field(init=False)
    best_estimator_: Maybe[KernelPCAClassifier] = field(init=False)
    errors_: GridErrors = field(init=False)
    _spread: GridErrors = field(init=False)

    _doc_link_module = "mercer"
    _parameter_constraints = constraints(
        "random_state",
        kernels=[list, tuple, None],
        n_components=[list, tuple, np.ndarray, AT_LEAST_0, None],
        noise_ratios=["array-like", None],
        shrinkages=["array-like"],
        priors=[list, tuple],
        densities=[list, tuple, None],
        cv=["cv_object"],
        n_repeats=[AT_LEAST_1],
        scoring=[StrOptions(set(get_scorer_names())), None],
        calibration=KernelPCAClassifier._parameter_constraints["calibration"],
        refit=["boolean"],
    )

    def _check_parts(self) -> None:
        """Raise an error if the best classifier of a search from a file takes other columns."""
        taken = self.best_estimator_.n_features_in_ if hasattr(self, "best_estimator_") else self.n_features_in_
        if taken != self.n_features_in_:
            raise ValueError(f"best_estimator_ takes {taken} columns, and the search states {self.n_features_in_}")

    @with_callbacks
    def fit(self, X: Any, y: Any) -> Self:
        """Choose the parameters, and fit the best model on all samples; see :meth:`KernelPCAClassifier.fit`."""
        with validation.fitting(self, X, y):
            self._fit(X, y)
        return self

    def _fit(self, X: Any, y: Any) -> None:
        given = self._given()
        X = validation.check_rows(self, X, _strictest(given), fit=True)
        y = check_labels(self, X, y)
        if X.shape[0] > validation.ALL_COMPONENTS:
            raise ValueError(
                f"KernelPCAClassifierCV decomposes whole kernel matrices, and there are {X.shape[0]} rows, which would "
                f"take hours. Fit it on at most {validation.ALL_COMPONENTS} of them, or use GridSearchCV with "
                "KernelPCAClassifier(n_components=…, solver='landmarks')."
            )
        if any(isinstance(kernel, Precomputed) for kernel in given):
            validation.check_gram(X)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        kernels = (
            rbf_widths(X)
            if self.kernels is None
            else [kernel.on(getattr(self, "feature_names_in_", None)).bind(X) for kernel in given]
        )
        self.grid_ = self._grid(kernels, numbers)
        folds = list(self._folds(X, numbers))
        errors = np.array([self._errors_of(kernel, X, numbers, folds) for kernel in kernels])
        self._choose(np.moveaxis(errors, 1, 0), np.array([len(held) for _, held in folds]), len(numbers))
        if self.refit:
            settings = self.best_params_ | {"calibration": self.calibration, "solver": "exact"}
            self.best_estimator_ = KernelPCAClassifier(**settings).fit(X, y)

    def _given(self) -> list[Kernel]:
        """Return the kernels to try, not bound to data."""
        kernels = ["rbf"] if self.kernels is None else self.kernels
        if len(kernels) == 0:
            raise ValueError("There is no value to try for kernel: give at least one.")
        return [as_kernel(kernel) for kernel in kernels]

    def _grid(self, kernels: list[Kernel], y: np.ndarray) -> dict[str, list]:
        """Return the values along each axis of ``errors_``."""
        largest = int(np.bincount(y).max())
        ratios = np.append(10.0**HALF_DECADES, 0) if self.noise_ratios is None else self.noise_ratios
        grid = {
            "kernel": kernels,
            "shrinkage": np.asarray(self.shrinkages, float).tolist(),
            "priors": list(self.priors),
            "noise_ratio": np.asarray(ratios, float).tolist(),
            "n_components": self._candidates(largest),
        }
        if self.densities is not None:
            grid["density"] = check_densities(self.densities)
        for name, values in grid.items():
            if not values:
                raise ValueError(f"There is no value to try for {name}: give at least one.")
        for name in ("shrinkage", "noise_ratio", "priors"):
            for value in grid[name]:
                KernelPCAClassifier(**{name: value})._validate_params()
        return grid

    def _candidates(self, largest: int) -> list:
        """Return the numbers of components to try."""
        if self.n_components is None:
            return some_components(largest)
        return [self.n_components] if isinstance(self.n_components, int | np.integer) else list(self.n_components)

    def _folds(self, X: Any, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield pairs of row numbers: to fit on, and held out."""
        if not isinstance(self.cv, int | np.integer):
            yield from check_cv(self.cv, y, classifier=True).split(X, y)
            return
        if self.cv > len(y):
            raise ValueError(f"cv={self.cv} needs at least as many samples, and n_samples = {len(y)}.")
        rng = generator(self.random_state)
        for _ in range(self.n_repeats):
            fold = stratified_folds(y, int(self.cv), rng)
            yield from ((np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(self.cv))

    def _errors_of(self, kernel: Kernel, X: Any, y: np.ndarray, folds: list) -> np.ndarray:
        """Return the losses with one kernel: (folds, shrinkages, priors, noise ratios, n_components, losses)."""
        rule = {**self.grid_, "kernel": None, "scoring": self.scoring, "calibrated": self.calibration is not None}
        checkpoint = Checkpoint("search", X, y, kernel, repr(rule), *chain(*folds))
        if kept := checkpoint.read():
            return kept["errors"]
        validation.check_diagonal(X, kernel)
        K = X.astype(float) if isinstance(kernel, Precomputed) else Gram(kernel, X).dense()

        def work(lane: Any) -> list:
            return [self._errors_of_fold(kernel, X, K, y, *fold) for fold in lane]

        lanes = in_threads(work, folds, "cross-validation")
        errors = np.array([lanes[i % len(lanes)][i // len(lanes)] for i in range(len(folds))])
        checkpoint.write(errors=errors, last=True)
        return errors

    def _errors_of_fold(self, kernel: Kernel, X: Any, K: np.ndarray, y: np.ndarray, rows: Any, held: Any) -> Any:
        """Return the losses on one fold. A class that is missing in its training samples is never predicted."""
        seen, numbers = np.unique(y[rows], return_inverse=True)
        ratios = self.grid_["noise_ratio"]
        classes = HeldOut(K, numbers, rows, held, least=min(ratios))
        shares = np.bincount(y[rows], minlength=len(self.classes_)) / len(rows)
        with np.errstate(divide="ignore"):
            log_priors = [np.log(class_priors(priors, shares)[seen]) for priors in self.grid_["priors"]]
        truth = np.where(np.isin(y[held], seen), np.searchsorted(seen, y[held]), -1)
        shrinkages = self.grid_["shrinkage"]
        doubt = None if self.calibration is None else doubt_of(len(y))
        judged = (ratios, log_priors, loss_of(self.scoring, self.classes_, doubt))
        wanted = [class_components(q, self.classes_) for q in self.grid_["n_components"]]
        candidates: list = [[each[c] for c in seen] for each in wanted]
        q = np.array([[len(y) if qc is None else qc for qc in candidate] for candidate in candidates])
        errors = np.array([classes.losses(shrinkage, truth, q, *judged) for shrinkage in shrinkages])
        if self.densities is None:
            return errors
        members = [rows[numbers == c] for c in range(len(seen))]
        mixtures = HeldOutMixtures(kernel, X, K, members, held, classes.variance)
        if self.n_components is None:  # many numbers: a mixture has its own
            candidates = [candidate if None in candidate else False for candidate in candidates]
        of_mixtures = partial(mixtures.losses, shrinkages, truth, candidates, *judged)
        each = [errors if density is None else of_mixtures(density) for density in self.densities]
        return np.stack([np.broadcast_to(one, errors.shape) for one in each], axis=-2)

    def _choose(self, losses: np.ndarray, sizes: np.ndarray, n: int) -> None:
        """Average the losses over the folds, weighted by their sizes, and choose a combination for n samples.

        The last axis has the losses of :func:`loss_of`. These are one number; or the log-losses at several
        temperatures, of which the smallest is used; or, for the default rule, the error followed by these log-losses.
        """
        means = np.average(losses, axis=0, weights=sizes)
        k = np.zeros(means.shape[:-1], int) if self.scoring is None else means.argmin(axis=-1)
        self.errors_ = np.take_along_axis(means, k[..., None], axis=-1)[..., 0]
        with np.errstate(invalid="ignore"):  # of infinite losses
            self._spread = np.take_along_axis(losses, k[None, ..., None], axis=-1)[..., 0].std(axis=0)
        index = _first_of_least(self.errors_)
        if self.scoring is None:
            best = self.errors_[index]
            near = self.errors_ <= best + NEAR * (best * (1 - best) / n) ** 0.5
            log_losses = np.where(near, means[..., 1:].min(axis=-1), np.inf)
            index = _first_of_least(log_losses) if np.isfinite(log_losses).any() else index
        self.best_params_ = {name: self.grid_[name][i] for name, i in zip(WITH_DENSITIES, index, strict=False)}
        self.best_score_ = float(score_of(self.scoring, self.errors_[index]))

    @property
    def solver_(self) -> Any:
        """The report on the solver of ``best_estimator_``."""
        return self.best_estimator_.solver_

    @property
    def cv_results_(self) -> dict[str, np.ndarray]:
        """All combinations and their scores, as columns."""
        indices = np.indices(self.errors_.shape).reshape(self.errors_.ndim, -1)
        results = {}
        for name, index in zip(WITH_DENSITIES, indices, strict=False):
            results[f"param_{name}"] = _objects(self.grid_[name])[index]
        return results | {
            "mean_test_score": score_of(self.scoring, self.errors_.ravel()),
            "std_test_score": self._spread.ravel(),
            "rank_test_score": rankdata(np.round(self.errors_.ravel(), DIGITS), method="min").astype(int),
        }

    @_refitted
    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted class of each sample: (n_samples,)."""
        return self._of_best("predict", X)

    @_refitted
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the posterior probabilities of the classes: (n_samples, n_classes)."""
        return self._of_best("predict_proba", X)

    @_refitted
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of ``predict_proba``: (n_samples, n_classes)."""
        return self._of_best("predict_log_proba", X)

    @_refitted
    def decision_function(self, X: Any) -> np.ndarray:
        """Return :meth:`KernelPCAClassifier.decision_function` of the best model."""
        return self._of_best("decision_function", X)

    def _of_best(self, method: str, X: Any) -> np.ndarray:
        check_is_fitted(self, "best_estimator_")
        return getattr(self.best_estimator_, method)(validation.check_rows(self, X, _strictest(self._given())))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        models = [KernelPCAClassifier(kernel=kernel).__sklearn_tags__() for kernel in self.kernels or ["rbf"]]
        tags.input_tags.sparse = all(model.input_tags.sparse for model in models)
        tags.input_tags.pairwise = any(model.input_tags.pairwise for model in models)
        tags.input_tags.positive_only = any(model.input_tags.positive_only for model in models)
        return tags


def _strictest(kernels: list[Kernel]) -> Kernel:
    """Return the kernel with the most requirements on the data."""
    return max(kernels, key=lambda kernel: (kernel.nonnegative, not kernel.sparse))


def rbf_widths(X: Any) -> list[Kernel]:
    """Return RBF kernels from wide to narrow, about the median of the squared distances."""
    median = median_sqdist(X) or 1.0  # if all samples are equal, any width will do
    return [RBF(gamma=float(2.0**k / median)) for k in OCTAVES]


def some_components(largest: int) -> list:
    """Return None (for all), 0, and numbers from 1 up in equal ratios."""
    return [None, 0, *np.unique(np.geomspace(1, max(largest, 1), STEPS).round().astype(int)).tolist()]


def stratified_folds(y: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return the fold of each sample: shuffled samples, sorted by class, are assigned to the folds in turn."""
    order = rng.permutation(len(y))
    fold = np.empty(len(y), int)
    fold[order[np.argsort(y[order], kind="stable")]] = np.arange(len(y)) % k
    return fold


def _first_of_least(losses: np.ndarray) -> tuple:
    return np.unravel_index(np.argmin(np.round(losses, DIGITS)), losses.shape)


def _objects(values: list) -> np.ndarray:
    """Return a one-dimensional array of values that may be sequences themselves."""
    array = np.empty(len(values), object)
    for i, value in enumerate(values):
        array[i] = value
    return array
