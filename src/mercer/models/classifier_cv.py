"""The classifier with its settings chosen by cross-validation, at little more than the price of the kernels' widths."""

from numbers import Integral

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.registry import stored
from .._core.sklearn import CallbackSupportMixin, Interval, reported, with_callbacks
from .._core.tiles import in_threads
from ..kernels import RBF, Precomputed, as_kernel
from ..kernels.width import median_sqdist
from ..linalg.operators import Gram
from ..rkhs.held_out import HeldOut
from . import validation
from .classifier import KernelPCAClassifier
from .drawing import DrawsRegions
from .targets import check_labels, class_components, class_priors

OCTAVES = np.arange(-8, 9)  # of γ about 1/median: from far too wide to far too narrow for most data
HALF_DECADES = np.arange(0, -11, -1) / 2  # of ρ: from all of the variance within classes to 1e-5 of it
STEPS = 34  # numbers of components from 1 to the size of the largest class, in equal ratios
AXES = ("kernel", "shrinkage", "priors", "noise_ratio", "n_components")  # of the grid, in this order


def _refitted(self):
    return self.refit


@stored("models.KernelPCAClassifierCV")
class KernelPCAClassifierCV(DrawsRegions, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """:class:`KernelPCAClassifier` with kernel, shrinkage, priors, noise and components chosen by cross-validation.

    One eigendecomposition for each kernel, shrinkage, fold and class serves every number of components, every noise
    and every prior, by cumulative sums. The setting of least error, averaged over all folds, is chosen; of equal ones
    the first, in the order of the grids: kernels, shrinkages, priors, noise ratios, components. The grids that stand
    for None run from simple to complex: from wide to narrow kernels, from much noise to none.

    Parameters
    ----------
    kernels : list of str, Kernel or callable, or None, default=None
        Kernels to try; None for RBF kernels of 17 widths, γ = 2ᵏ/median squared distance, k = −8 … 8.
    n_components : list, int or None, default=None
        Numbers of components to try, each as ``KernelPCAClassifier`` takes it: a number, None for all λ > ρ, or one
        for each class. None for all λ > ρ, 0, and up to 34 numbers from 1 to the size of the largest class; a number
        for itself alone.
    noise_ratios : array-like of float or None, default=None
        Shares of the variance within classes to try as ρ; 0 is the limiting rule. None for 1, 10^−½, …, 10^−5 and 0.
    shrinkages : array-like of float, default=(0.0,)
        Shrinkages to try.
    priors : list, default=("empirical",)
        Priors to try.
    cv : int, splitter, iterable or None, default=5
        The number of folds, in which every class is spread evenly, or what else scikit-learn takes.
    n_repeats : int, default=1
        How often the rows are dealt into folds anew, where ``cv`` is a number.
    refit : bool, default=True
        Whether to fit the best setting to all rows.
    random_state : int, RandomState or None, default=None
        For the folds.

    Attributes
    ----------
    best_params_ : dict
        The setting of least error: parameters of ``KernelPCAClassifier``.
    best_score_ : float
        Its accuracy, averaged over the folds.
    best_estimator_ : KernelPCAClassifier
        Fitted to all rows, where ``refit`` is true.
    errors_ : ndarray of shape (kernels, shrinkages, priors, noise_ratios, n_components)
        The error of each setting, averaged over the folds.
    grid_ : dict
        The values along each axis of ``errors_``.
    cv_results_ : dict of ndarray
        The same as columns, for ``pandas.DataFrame``: ``param_…``, ``mean_test_score``, ``std_test_score`` (over the
        folds) and ``rank_test_score``.
    classes_ : ndarray of shape (n_classes,)
        The labels.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import KernelPCAClassifierCV
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> search = KernelPCAClassifierCV(shrinkages=[0, 0.5], random_state=0).fit(X, y)
    >>> search.errors_.shape
    (17, 2, 1, 12, 25)
    >>> search.best_score_ > 0.9
    True
    """

    _doc_link_module = "mercer"
    _keeps_rows = False  # the best estimator takes its own copy
    _parameter_constraints: dict = {
        "kernels": [list, tuple, None],
        "n_components": [list, tuple, np.ndarray, Interval(Integral, 0, None, closed="left"), None],
        "noise_ratios": ["array-like", None],
        "shrinkages": ["array-like"],
        "priors": [list, tuple],
        "cv": ["cv_object"],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "refit": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernels=None,
        *,
        n_components=None,
        noise_ratios=None,
        shrinkages=(0.0,),
        priors=("empirical",),
        cv=5,
        n_repeats=1,
        refit=True,
        random_state=None,
    ):
        self.kernels = kernels
        self.n_components = n_components
        self.noise_ratios = noise_ratios
        self.shrinkages = shrinkages
        self.priors = priors
        self.cv = cv
        self.n_repeats = n_repeats
        self.refit = refit
        self.random_state = random_state

    @with_callbacks
    def fit(self, X, y):
        """Choose a setting, and fit it to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; where ``kernels`` is ``["precomputed"]`` the matrix k(xᵢ, xⱼ).
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with validation.unchanged_on_error(self), reported(self, X, y):
            self._fit(X, y)
        return self

    def _fit(self, X, y):
        self._validate_params()
        given = self._given()
        X = validation.check_rows(self, X, _strictest(given), fit=True)
        y = check_labels(self, X, y)
        self._check_size(X.shape[0])
        if any(isinstance(kernel, Precomputed) for kernel in given):
            validation.check_gram(X)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        kernels = rbf_widths(X) if self.kernels is None else [kernel.bind(X) for kernel in given]
        self.grid_ = self._grid(kernels, numbers)
        folds = list(self._folds(X, numbers))
        errors = np.array([self._errors_of(kernel, X, numbers, folds) for kernel in kernels])
        self._choose(np.moveaxis(errors, 1, 0), np.array([len(held) for _, held in folds]))
        if self.refit:
            self.best_estimator_ = KernelPCAClassifier(**self.best_params_, solver="exact").fit(X, y)

    @staticmethod
    def _check_size(n):
        if n > validation.ALL_COMPONENTS:
            raise ValueError(
                f"KernelPCAClassifierCV decomposes whole kernel matrices, and there are {n} rows: it would take hours. "
                f"Fit it to at most {validation.ALL_COMPONENTS} of them, or use GridSearchCV with "
                "KernelPCAClassifier(n_components=…, solver='landmarks')."
            )

    def _given(self):
        """The kernels as they are given."""
        kernels = ["rbf"] if self.kernels is None else self.kernels
        if len(kernels) == 0:
            raise ValueError("There is nothing to try for kernel: give at least one value.")
        return [as_kernel(kernel) for kernel in kernels]

    def _grid(self, kernels, y):
        """The values along each axis of ``errors_``."""
        largest = int(np.bincount(y).max())
        ratios = np.append(10.0**HALF_DECADES, 0) if self.noise_ratios is None else self.noise_ratios
        grid = {
            "kernel": kernels,
            "shrinkage": [*np.asarray(self.shrinkages, float).tolist()],
            "priors": list(self.priors),
            "noise_ratio": [*np.asarray(ratios, float).tolist()],
            "n_components": self._candidates(largest),
        }
        for name, values in grid.items():
            if not values:
                raise ValueError(f"There is nothing to try for {name}: give at least one value.")
        for name in ("shrinkage", "noise_ratio", "priors"):
            for value in grid[name]:
                KernelPCAClassifier(**{name: value})._validate_params()
        return grid

    def _candidates(self, largest):
        """Numbers of components to try."""
        if self.n_components is None:
            return some_components(largest)
        return [self.n_components] if isinstance(self.n_components, Integral) else list(self.n_components)

    def _folds(self, X, y):
        """Pairs of row numbers: to fit, and held out."""
        if not isinstance(self.cv, int | np.integer):
            yield from check_cv(self.cv, y, classifier=True).split(X, y)
            return
        if self.cv > len(y):
            raise ValueError(f"cv={self.cv} needs at least as many rows, and n_samples = {len(y)}.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        for _ in range(self.n_repeats):
            fold = stratified_folds(y, self.cv, rng)
            yield from ((np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(self.cv))

    def _errors_of(self, kernel, X, y, folds):
        """The errors of all settings with one kernel: (folds, shrinkages, priors, noise ratios, candidates)."""
        K = X.astype(float) if isinstance(kernel, Precomputed) else Gram(kernel, X).dense()
        validation.check_diagonal(K.diagonal(), kernel)
        candidates = [class_components(q, self.classes_) for q in self.grid_["n_components"]]
        q = np.array([[len(y) if qc is None else qc for qc in candidate] for candidate in candidates])

        def work(lane):
            return [self._errors_of_fold(K, y, q, *fold) for fold in lane]

        lanes = in_threads(work, folds, "cross-validation")
        return np.array([lanes[i % len(lanes)][i // len(lanes)] for i in range(len(folds))])

    def _errors_of_fold(self, K, y, q, rows, held):
        """(shrinkages, priors, noise ratios, candidates). A class that the fold did not see is never predicted."""
        seen, numbers = np.unique(y[rows], return_inverse=True)
        ratios = self.grid_["noise_ratio"]
        classes = HeldOut(K, numbers, rows, held, least=min(ratios))
        shares = np.bincount(y[rows], minlength=len(self.classes_)) / len(rows)
        with np.errstate(divide="ignore"):
            log_priors = [np.log(class_priors(priors, shares)[seen]) for priors in self.grid_["priors"]]
        truth = np.where(np.isin(y[held], seen), np.searchsorted(seen, y[held]), -1)
        shrinkages = self.grid_["shrinkage"]
        return [classes.misclassified(shrinkage, truth, q[:, seen], ratios, log_priors) for shrinkage in shrinkages]

    def _choose(self, errors, sizes):
        """Average over the folds, by the number of rows that they held out, and take the first of the least."""
        self.errors_ = np.average(errors, axis=0, weights=sizes)
        index = np.unravel_index(np.argmin(_rounded(self.errors_)), self.errors_.shape)
        self.best_params_ = {name: self.grid_[name][i] for name, i in zip(AXES, index, strict=True)}
        self.best_score_ = 1 - float(self.errors_[index])
        self._spread = errors.std(axis=0)

    @property
    def cv_results_(self):
        """All settings and their scores, as columns."""
        indices = np.indices(self.errors_.shape).reshape(len(AXES), -1)
        results = {}
        for name, index in zip(AXES, indices, strict=True):
            results[f"param_{name}"] = _objects(self.grid_[name])[index]
        return results | {
            "mean_test_score": 1 - self.errors_.ravel(),
            "std_test_score": self._spread.ravel(),
            "rank_test_score": rankdata(_rounded(self.errors_.ravel()), method="min").astype(int),
        }

    @available_if(_refitted)
    def predict(self, X):
        """Return the label of each row: (n_samples,)."""
        return self._best().predict(self._rows(X))

    @available_if(_refitted)
    def predict_proba(self, X):
        """Return the posterior probabilities of the classes: (n_samples, n_classes)."""
        return self._best().predict_proba(self._rows(X))

    @available_if(_refitted)
    def predict_log_proba(self, X):
        """Return their logarithms: (n_samples, n_classes)."""
        return self._best().predict_log_proba(self._rows(X))

    @available_if(_refitted)
    def decision_function(self, X):
        """Return what :meth:`KernelPCAClassifier.decision_function` does."""
        return self._best().decision_function(self._rows(X))

    def _best(self):
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def _rows(self, X):
        return validation.check_rows(self, X, _strictest(self._given()))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        models = [KernelPCAClassifier(kernel=kernel).__sklearn_tags__() for kernel in self.kernels or ["rbf"]]
        tags.input_tags.sparse = all(model.input_tags.sparse for model in models)
        tags.input_tags.pairwise = any(model.input_tags.pairwise for model in models)
        tags.input_tags.positive_only = any(model.input_tags.positive_only for model in models)
        return tags


def _strictest(kernels):
    """The kernel that asks most of the rows."""
    return max(kernels, key=lambda kernel: (kernel.nonnegative, not kernel.sparse))


def rbf_widths(X):
    """RBF kernels from wide to narrow, about the median of the squared distances."""
    median = median_sqdist(X) or 1.0  # equal rows have any width
    return [RBF(gamma=float(2.0**k / median)) for k in OCTAVES]


def some_components(largest):
    """None for all, 0, and numbers from 1 up in equal ratios."""
    return [None, 0, *np.unique(np.geomspace(1, max(largest, 1), STEPS).round().astype(int)).tolist()]


def stratified_folds(y, k, rng):
    """The fold of each row: rows in random order, class after class, are dealt to the folds in turn."""
    order = rng.permutation(len(y))
    fold = np.empty(len(y), int)
    fold[order[np.argsort(y[order], kind="stable")]] = np.arange(len(y)) % k
    return fold


def _objects(values):
    """An array of what may be sequences themselves."""
    array = np.empty(len(values), object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def _rounded(errors):
    """Errors whose averages differ in rounding alone made equal."""
    return np.round(errors, 12)
