"""``partial_fit``: models that follow from moments on landmarks, and are updated batch by batch."""

from abc import abstractmethod
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_non_negative

from .._core.arrays import Array, is_foreign, rows, vstack
from .._core.batches import Sample, Source, as_source, each, is_source
from .._core.dask import as_rows, has_sizes, is_lazy, survey
from .._core.fields import Maybe, NotNegative, Numbers
from ..kernels import Kernel, Precomputed
from ..rkhs import Subspace
from ..rkhs.align import aligned
from ..rkhs.landmarks import ROWS_EACH, Landmarks, chooses_basis
from ..rkhs.moments import Moments
from ..rkhs.refresh import Followed, fading, follow
from . import diagnostics, validation
from .parameters import generator

FIRST_ROWS = 2000  # rows that a model keeps at first: kernel width and landmarks are those of a fit on all of them
LAST_CHANGES = 100  # largest number of exchanges of landmarks that ``solver_`` lists


def _follows(model: Any) -> bool:
    """Return True; raise AttributeError if the solver needs all samples at once."""
    if not chooses_basis(model.solver):
        raise AttributeError(f"partial_fit needs solver='landmarks', and this model has solver={model.solver!r}.")
    return True


class StreamMixin:
    """Mixin for estimators whose fitted state follows from the moments of coordinates on landmarks."""

    center: Any
    random_state: Any
    solver: Any
    subspace_: Subspace
    n_rows_: NotNegative
    kernel_: Kernel
    _first_rows: Maybe[
        tuple[
            Annotated[Any, Numbers("b", "n_features_in_", sparse=True)],
            Annotated[np.ndarray, Numbers("b", least=0)] | None,
        ]
    ]

    @abstractmethod
    def _of_moments(self, moments: Moments, solver: Any) -> Subspace:
        """Return the subspace of moments, in units of rows."""

    @property
    @abstractmethod
    def _most(self) -> int | None:
        """The number of components to compute; None for all."""

    @property
    def moments_(self) -> Moments:
        """Sums over the training samples of 1, f, ffᵀ and k(x, x), where f are coordinates in a basis on the landmarks.

        They determine the model, and the sums over different samples add up: see :func:`mercer.merge`.
        """
        moments = self.subspace_.moments
        if moments is None:
            raise AttributeError("Only models with solver='landmarks' that are not compressed have moments_.")
        return moments if moments.count == self.n_rows_ else moments.scaled(self.n_rows_ / moments.count)

    @available_if(_follows)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with a batch of samples; only for ``solver="landmarks"``.

        If too much of the variance of recent samples is outside the span of the landmarks, some of the landmarks are
        exchanged for samples of the batch (``Landmarks(refresh=…)``); landmarks given as an array never change, and
        then several calls give the same model as one ``fit``. The time for a batch does not depend on the number of
        batches before. Signs and order of the components follow those of the previous call. The kernel's parameters are
        those of the first 2000 samples. ``solver_`` reports the samples seen, the landmarks exchanged and the share
        of the variance outside their span.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a source of batches
            The next samples, or a source of batches that are added one by one: an iterator of arrays or frames, an
            Arrow data set or reader, a polars LazyFrame or a path of Parquet files.
        y : None
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        self : object
            The updated estimator.
        """
        if hasattr(self, "compression_"):
            raise ValueError("A compressed model cannot be updated. Update the model it was made from.")
        with validation.unchanged_on_error(self):
            if is_source(X):
                self._check_unweighted(sample_weight)
                self._follow(as_source(X))
            else:
                self._add(X, sample_weight)
        return self

    def _follow(self, source: Any) -> None:
        """Update the model with every batch of a source, in one pass."""
        for _ in each(self._add, source):
            pass

    def _add(self, X: Any, sample_weight: Any = None) -> None:
        if getattr(getattr(self, "subspace_", None), "moments", None) is None:
            self._first_batch(X, sample_weight)
        else:
            self._next_batch(X, sample_weight)
        self.__dict__.pop("_nearest", None)
        self.__dict__.pop("_density", None)

    def _fit_batches(self, kernel: Kernel, source: Source, sample_weight: Any, rng: np.random.Generator) -> None:
        """Fit the model on batches: a random sample determines width and landmarks, the second pass adds the moments.

        If a source can be read only once, its batches are added one by one, as by ``partial_fit``.
        """
        self._check_unweighted(sample_weight)
        setting = self._setting()
        if source.once:
            self.__dict__.pop("subspace_", None)
            self._follow(source)
            return
        sample = Sample(max(ROWS_EACH * setting.count(self._most), FIRST_ROWS), np.random.default_rng(0))
        checked = lambda X: validation.check_rows(self, X, kernel, fit=sample.seen == 0)  # noqa: E731
        for X in each(checked, source):
            sample.add(X)
        add_up = lambda basis: reduce(add, each(lambda X: basis.moments(self._rows_of(X)), source))  # noqa: E731
        self._fit_sampled(kernel, setting, sample.rows, add_up, rng)

    def _fit_collection(self, kernel: Kernel, X: Any, sample_weight: Any, rng: np.random.Generator) -> None:
        """Fit the model on a Dask collection; if its sizes are unknown, they come with the sample, in one pass."""
        X, weights = validation.check_lazy_rows(self, X, sample_weight, sizes=False, kernel=kernel)
        auto = isinstance(self.solver, str) and self.solver == "auto"
        if has_sizes(X):
            self._fit_lazy(kernel, X, weights, rng)  # type: ignore[attr-defined]
            return
        if not (auto or chooses_basis(self.solver)):
            X = as_rows(X)
            self._fit_lazy(kernel, X, validation.lazy_weights(X, sample_weight), rng)  # type: ignore[attr-defined]
            return
        setting = self._setting()
        X, sample = survey(X, max(ROWS_EACH * setting.count(self._most), FIRST_ROWS))
        weights = validation.lazy_weights(X, sample_weight)
        self._fit_sampled(kernel, setting, sample, lambda basis: basis.moments(X, weights), rng)

    def _fit_sampled(self, kernel: Kernel, setting: Landmarks, sample: Array, sums: Any, rng: Any) -> None:
        """Fit the model: width and landmarks by a sample of the rows, then the moments ``sums(basis)`` of all."""
        if isinstance(kernel, Precomputed):
            raise ValueError("kernel='precomputed' takes a matrix in memory. Give the samples and another kernel.")
        if kernel.nonnegative:
            check_non_negative(sample, f"{type(self).__name__} with {kernel!r}")
        self.kernel_ = kernel.on(getattr(self, "feature_names_in_", None)).bind(sample, center=self.center)
        diagnostics.warn_of_rows(sample, self.kernel_, getattr(self, "feature_names_in_", None))
        moments = sums(setting.basis(self.kernel_, sample, self._most, None, rng))
        self.n_rows_ = moments.count
        self.subspace_ = self._of_moments(moments, setting)
        self._report(Followed(moments, moments.outside / moments.count), moments.rows, passes=2)
        diagnostics.warn_of_outside(self.subspace_.report)

    def _rows_of(self, X: Any) -> Array:
        return validation.check_rows(self, X, self.kernel_)

    def _setting(self) -> Landmarks:
        """Return the landmark solver for batches; ``"auto"`` means the default."""
        if isinstance(self.solver, str) and self.solver in {"auto", "landmarks"}:
            return Landmarks()
        if not chooses_basis(self.solver):
            raise ValueError(f"Batches are fitted with solver='landmarks', and {self.solver!r} was given.")
        choice = self.solver.choose
        if not isinstance(choice, str) and getattr(choice, "ndim", 2) == 1:
            raise ValueError("Landmarks(choose=row numbers) needs rows in memory. Give the landmarks as points.")
        return self.solver

    def _check_unweighted(self, sample_weight: Any) -> None:
        if sample_weight is not None:
            raise ValueError("sample_weight needs rows in memory. Call partial_fit(X, sample_weight=w) for each batch.")

    def _first_batch(self, X: Any, sample_weight: Any) -> None:
        """Fit the model on the first batch, and keep its rows if there are few."""
        self.fit(X, sample_weight=self._faded(X, sample_weight))  # type: ignore[attr-defined]
        batch, weights = self._batch(X, sample_weight)
        if self._can_keep(batch):
            self._first_rows = (batch.copy(), weights)
        self._report(Followed(self.moments_, self.subspace_.report.outside), self.moments_.rows)

    def _next_batch(self, X: Any, sample_weight: Any) -> None:
        """Add a batch to the moments; while there are few rows, fit on all of them again."""
        before = self.subspace_
        batch, weights = self._batch(X, sample_weight)
        seen, kept = before.report.rows or self.moments_.rows, self.__dict__.pop("_first_rows", None)
        if kept is not None and kept[0].shape[0] + batch.shape[0] <= FIRST_ROWS:
            self._fit_again(vstack(kept[0], batch), _appended(kept, batch, weights))
            followed = Followed(self.moments_, self.subspace_.report.outside)
        else:
            followed = self._followed(batch, weights)
            self.n_rows_ = followed.moments.count
            self.subspace_ = self._of_moments(followed.moments, before.report.solver)
        self.subspace_ = aligned(self.subspace_, before)
        self._report(followed, seen + batch.shape[0], before.report.changes)

    def _fit_again(self, X: Array, weights: Any) -> None:
        """Fit the model on all rows so far, which it keeps."""
        names = self.__dict__.get("feature_names_in_")
        self._fit(X, self._faded(X, weights))  # type: ignore[attr-defined]
        if names is not None:
            self.feature_names_in_ = names
        self._first_rows = (X, weights)

    def _faded(self, X: Any, weights: Any) -> Any:
        """Return the weights of rows that fade with ``half_life``; the last row is the latest."""
        half_life = getattr(self.solver, "half_life", None)
        if half_life is None:
            return weights
        return fading(X.shape[0], half_life, None if weights is None else np.asarray(weights, float), np.empty(0))

    def _followed(self, batch: Array, weights: Any) -> Followed:
        report, setting = self.subspace_.report, self.subspace_.report.solver
        seen, recent = self.moments_, report.recent_share * self.subspace_.total_variance
        if setting.half_life is not None:
            seen, weights = seen.scaled(0.5 ** (batch.shape[0] / setting.half_life)), self._faded(batch, weights)
        rng, m = generator(self.random_state), setting.count(self._most)
        return follow(seen, recent, batch, weights, setting, m, self.center, rng)

    def _report(self, followed: Followed, seen: int, changes: tuple = (), passes: int = 1) -> None:
        """Report the changes made by the batch in ``solver_``; warn if fixed landmarks do not represent the rows."""
        total = self.subspace_.total_variance
        share = followed.recent / total if total > 0 else 0.0
        changes = (*changes, (seen, followed.exchanged)) if followed.exchanged else changes
        changes = changes[-LAST_CHANGES:]
        report = replace(self.subspace_.report, rows=seen, recent_share=share, changes=changes, passes=passes)
        self.subspace_ = replace(self.subspace_, report=report)
        if report.solver.fixed:
            diagnostics.warn_of_recent(report)

    def _batch(self, X: Any, sample_weight: Any) -> tuple[Array, Any]:
        """Return the validated samples of positive weight, and their weights."""
        if is_lazy(X):
            return validation.check_lazy_batch(self, X, sample_weight)
        X = self._rows(X, "partial_fit")  # type: ignore[attr-defined]
        weights, counted = validation.check_weights(sample_weight, X)
        return X if counted.shape[0] == X.shape[0] else rows(X, counted), weights

    def _can_keep(self, batch: Array) -> bool:
        """Return True for few rows in memory; a precomputed matrix has no rows."""
        in_memory = not is_lazy(batch) and not is_foreign(batch) and not isinstance(self.kernel_, Precomputed)
        return in_memory and batch.shape[0] <= FIRST_ROWS


def _appended(kept: tuple, batch: Array, weights: Any) -> Any:
    """Return the weights of the rows kept and of a batch; None if none were given."""
    if kept[1] is None and weights is None:
        return None
    parts = (kept[1], kept[0].shape[0]), (weights, batch.shape[0])
    return np.concatenate([np.ones(n) if w is None else w for w, n in parts])
