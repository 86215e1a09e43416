"""Automatic selection of scaling, kernel, width and further settings on held-out samples, including linear PCA."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.model_selection import KFold

from ..kernels import RBF, Kernel, Linear
from ..kernels.width import median_sqdist
from ..models.classifier import KernelPCAClassifier
from ..models.classifier_cv import KernelPCAClassifierCV
from ..models.kernel_pca import KernelPCA
from ..models.mixture import KernelPCAMixture
from ..models.monitor import KernelPCAMonitor
from ..preimage import as_preimage
from ..rkhs import principal_subspace
from .arguments import subset
from .html import html_table
from .progress import Progress

MOST_ROWS = 400  # largest number of samples that are used
FOLDS = 3
NOISE = 0.2  # noise added to the held-out samples, in standard deviations of each column
FAULT = 3.0  # standard deviations by which one cell of a held-out sample is moved
WIDTHS = tuple(np.geomspace(1 / 32, 8, 5).tolist())  # γ times the median squared distance
COMPONENTS = (1, 2, 3, 5, 10, 20, 40)
CLUSTERS = (2, 3, 4, 5)
CLUSTER_ROWS, CLUSTER_STARTS = 150, 1  # a mixture is fitted several times for each candidate
SHARES = (0.9, 0.99)  # shares of the variance that are tried for a monitor
CLASS_COMPONENTS = [None, 1, 2, 5, 10]
NOISE_RATIOS = (0.003, 0.01, 0.03, 0.1)
LEAST_GAIN = 0.05  # relative to the error of linear PCA: a smaller gain is not worth a kernel
SHOWN = 8  # number of rows that are printed


class Candidate(NamedTuple):
    """One candidate: whether columns are scaled, its settings, the score (lower is better) and its standard error."""

    scale: bool
    settings: dict[str, Any]
    score: float
    deviation: float

    @property
    def linear(self) -> bool:
        """Whether the candidate is linear PCA."""
        return isinstance(self.settings["kernel"], Linear)

    def __str__(self) -> str:
        words = [f"{name}={value!r}" for name, value in self.settings.items() if name != "kernel"]
        kernel = "linear" if self.linear else f"{type(self.settings['kernel']).__name__}"
        gamma = getattr(self.settings["kernel"], "gamma", None)
        width = f"(gamma={gamma:.4g})" if isinstance(gamma, float) else ""
        return ", ".join([f"{kernel}{width}", *words, "scaled" if self.scale else "not scaled"])


@dataclass(frozen=True)
class AutoChoice:
    """All candidates (``table``, the best first), the ``best``, an ``estimator`` with its settings, and the reason.
    ``scale`` says whether to standardize columns before the estimator; ``explanation`` is a sentence; ``complete`` is
    False if the time limit was reached before all candidates were tried.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> choice = select.auto(KernelPCA(), datasets.moons(n=150)[0])
    >>> print(f"{choice.best}: {choice.best.score:.3f} ± {choice.best.deviation:.3f}")
    RBF(gamma=1.322), n_components=10, not scaled: 0.032 ± 0.003
    """

    table: list[Candidate]
    best: Candidate
    estimator: Any
    scale: bool
    unit: str
    explanation: str
    complete: bool

    @property
    def shown(self) -> list[Candidate]:
        """The best candidates, with the best linear one and the one that was chosen."""
        linear = next(row for row in self.table if row.linear)
        return [row for i, row in enumerate(self.table) if i < SHOWN or row is linear or row is self.best]

    def __str__(self) -> str:
        width = max(len(str(row)) for row in self.shown)
        lines = [
            f"{row!s:<{width}}  {row.score:>9.4f} ± {row.deviation:.4f}{'  chosen' if row is self.best else ''}"
            for row in self.shown
        ]
        return "\n".join([f"{'candidate':<{width}}  {self.unit}", *lines, "", self.explanation])

    def _repr_html_(self) -> str:
        rows = [(str(row), f"{row.score:.4f} ± {row.deviation:.4f}") for row in self.shown]
        return html_table(("candidate", self.unit), rows, self.explanation)


def auto(
    estimator: Any, X: Any, y: Any = None, *, max_seconds: float = 60.0, random_state: int | None = 0
) -> AutoChoice:
    """Choose scaling, kernel, width and number of components on held-out samples; linear PCA is always a candidate.

    ======================  ========================================================================================
    classifier              error rate in cross-validation, with the noise ratio (:class:`mercer.KernelPCAClassifierCV`)
    mixture                 1 − adjusted Rand index of the clusters that models of two halves of the samples find
    monitor                 1 − area under the ROC curve, of held-out samples against copies with one cell moved
    other models            mean squared error of held-out samples, to which noise of 0.2 standard deviations was added,
                            after projection and inverse transform, in standard deviations of the columns
    ======================  ========================================================================================

    Linear PCA is chosen if no other candidate is better by more than its standard error and by 5 % of the error. Kernel
    PCA also shrinks the samples that it projects, and this alone reduces noise. Denoising errors are therefore also
    compared with those of the best linear filter, S(S + σ²I)⁻¹ for the covariance S of the samples and the noise
    variance σ².

    Parameters
    ----------
    estimator : estimator
        The model whose kernel, number of components and so on are chosen. It is not changed.
    X : array-like of shape (n_samples, n_features)
        Samples, not scaled. A random subset of at most 400 is used.
    y : array-like of shape (n_samples,), default=None
        Classes, for a classifier.
    max_seconds : float, default=60
        No candidate is started after this time. Linear PCA comes first.
    random_state : int or None, default=0
        Seed for the subset, the folds and the noise.

    Returns
    -------
    choice : AutoChoice
        ``table``, the best first; ``best``; ``estimator`` and ``scale``; ``explanation``, a sentence.

    Examples
    --------
    >>> from mercer import KernelPCA, datasets, select
    >>> X, _ = datasets.moons(n=150)
    >>> choice = select.auto(KernelPCA(), X)
    >>> print(choice.best)
    RBF(gamma=1.322), n_components=10, not scaled
    """
    X, rng = np.asarray(X, float), np.random.default_rng(random_state)
    if X.ndim != 2 or len(X) < 2 * FOLDS:
        raise ValueError(f"A selection needs a table of at least {2 * FOLDS} rows, not shape {X.shape}.")
    rows = subset(np.arange(len(X)), MOST_ROWS, rng)
    trial = _Trial(estimator, X[rows], None if y is None else np.asarray(y)[rows], rng)
    table, complete = _run(trial, max_seconds)
    table.sort(key=lambda row: row.score)
    best, explanation = _chosen(table, trial.reference, trial.unit)
    note = "" if complete else " Not all candidates were tried within the time limit; raise max_seconds (--time-limit)."
    params = best.settings
    if isinstance(estimator, KernelPCAMonitor):
        params = {"estimator": KernelPCA(**params)}
    chosen = clone(estimator).set_params(**params)
    return AutoChoice(table, best, chosen, best.scale, trial.unit, explanation + note, complete)


def _run(trial: "_Trial", max_seconds: float) -> tuple[list[Candidate], bool]:
    """Return the candidates that were tried within the time limit, and whether these are all."""
    steps, start = trial.steps(), perf_counter()
    table = list(steps[0]())
    progress = Progress(
        f"{len(steps)} kernels on {len(trial.X)} rows", len(steps), (perf_counter() - start) * len(steps)
    )
    for i, step in enumerate(steps[1:], 1):
        progress(i)
        if perf_counter() - start > max_seconds:
            return table, False
        table += step()
    progress(len(steps))
    return table, True


def _chosen(table: list[Candidate], reference: float, unit: str) -> tuple[Candidate, str]:
    """Return the chosen candidate, which is the best linear one if no other is clearly better, and an explanation."""
    best, linear = table[0], next(row for row in table if row.linear)
    if best.linear:
        return best, f"Linear PCA is enough here: no kernel does better ({unit} {linear.score:.4g})."
    least = min(linear.score, reference)
    gain, deviation = least - best.score, np.hypot(best.deviation, linear.deviation)
    if gain < max(deviation, LEAST_GAIN * least):
        kernel = f"the best kernel, {best}, has {best.score:.4g}"
        filtered = f", which a linear filter also reaches ({least:.4g}): the gain is not due to the kernel"
        kernel += "" if least == linear.score else filtered
        return linear, f"Linear PCA is enough here: its {unit} is {linear.score:.4g}; {kernel}."
    share = f"{gain / least:.0%} less than {'linear PCA' if least == linear.score else 'the best linear filter'}"
    return best, f"{best}: {unit} {best.score:.4g}, {share} ({least:.4g} ± {linear.deviation:.2g})."


class _Trial:
    """The samples, scaled and not scaled, and how candidates are scored."""

    def __init__(self, estimator: Any, X: np.ndarray, y: np.ndarray | None, rng: np.random.Generator):
        self.estimator, self.y, self.rng = estimator, y, rng
        spread = X.std(axis=0)
        varying = spread > 0
        self.spread = np.where(varying, spread, 1.0)
        self.X = X - X.mean(axis=0)
        self.seed = int(rng.integers(2**31))
        self.reference = np.inf
        self.noise = NOISE * rng.standard_normal(X.shape) * varying
        self.folds = list(KFold(FOLDS, shuffle=True, random_state=self.seed).split(X))
        ways: list[tuple[type, Callable, str]] = [
            (KernelPCAClassifier, self._classify, "held-out error rate"),
            (KernelPCAMixture, self._cluster, "disagreement of clusters"),
            (KernelPCAMonitor, self._detect, "1 - AUC of held-out faults"),
        ]
        default = (object, self._denoise, "held-out denoising error")
        self.score: Callable[[bool, Kernel], Iterator[Candidate]]
        _, self.score, self.unit = next((way for way in ways if isinstance(estimator, way[0])), default)

    def steps(self) -> list[Callable[[], list[Candidate]]]:
        """Return the steps of the comparison, linear PCA first."""
        kernels = [(scale, kernel) for scale in (True, False) for kernel in self._kernels(scale)]
        kernels.sort(key=lambda pair: not isinstance(pair[1], Linear))  # stable: scaled ones come first
        return [partial(self._step, *pair) for pair in kernels]

    def _step(self, scale: bool, kernel: Kernel) -> list[Candidate]:
        return list(self.score(scale, kernel))

    def _kernels(self, scale: bool) -> list[Kernel]:
        unit = median_sqdist(self.rows(scale)) or 1.0
        return [Linear(), *(RBF(gamma=float(width / unit)) for width in WIDTHS)]

    def rows(self, scale: bool) -> np.ndarray:
        """Return the samples as the model sees them."""
        return self.X / self.spread if scale else self.X

    def _denoise(self, scale: bool, kernel: Kernel) -> Iterator[Candidate]:
        """Add noise to held-out samples, project them, and compare their pre-images with the samples."""
        W = self.rows(scale)
        errors: dict[int, list[np.ndarray]] = {}
        unit = np.ones(len(self.spread)) if scale else self.spread
        for seen, held in self.folds:
            bound = kernel.bind(W[seen])
            most = min(max(COMPONENTS), len(seen) - 1)
            whole = principal_subspace(bound, W[seen], most, rng=np.random.default_rng(self.seed))
            noisy = W[held] + self.noise[held] * unit
            if isinstance(kernel, Linear) and scale:
                self._add_reference(W[seen], W[held], noisy)
            for q in [q for q in COMPONENTS if q <= len(whole.variances)]:
                part = whole[:q]
                back = as_preimage("auto", bound).bind(part)(part.lift(part.project(noisy))).X
                errors.setdefault(q, []).append(np.mean(((back - W[held]) / unit) ** 2, axis=1))
        for q, found in errors.items():
            if len(found) == FOLDS:
                yield self._candidate(scale, {"kernel": kernel, "n_components": q}, np.concatenate(found))

    def _add_reference(self, seen: np.ndarray, held: np.ndarray, noisy: np.ndarray) -> None:
        """Add the error of the best linear filter of some samples from noisy ones."""
        mean, S = seen.mean(axis=0), np.atleast_2d(np.cov(seen.T))
        back = mean + (noisy - mean) @ np.linalg.solve(S + NOISE**2 * np.eye(len(S)), S)
        before = 0.0 if np.isinf(self.reference) else self.reference
        self.reference = before + float(np.sum(np.mean((back - held) ** 2, axis=1))) / len(self.X)

    def _candidate(self, scale: bool, settings: dict[str, Any], errors: np.ndarray) -> Candidate:
        return Candidate(scale, settings, float(errors.mean()), float(errors.std() / len(errors) ** 0.5))

    def _classify(self, scale: bool, kernel: Kernel) -> Iterator[Candidate]:
        search = KernelPCAClassifierCV(
            [kernel],
            n_components=CLASS_COMPONENTS,
            noise_ratios=list(NOISE_RATIOS),
            shrinkages=(0.0,),
            refit=False,
            random_state=self.seed,
        ).fit(self.rows(scale), self.y)
        error, params = 1 - search.best_score_, search.best_params_
        deviation = np.sqrt(max(error * (1 - error), 1 / len(self.X)) / len(self.X))
        settings = {name: params[name] for name in ("n_components", "noise_ratio")}
        yield Candidate(scale, {"kernel": kernel, **settings}, error, float(deviation))

    def _cluster(self, scale: bool, kernel: Kernel) -> Iterator[Candidate]:
        """Fit two halves of the samples, and compare the clusters that both find in all of them."""
        W = subset(self.rows(scale), CLUSTER_ROWS, np.random.default_rng(self.seed))
        halves = [np.random.default_rng([self.seed, i]).permutation(len(W)) % 2 == 0 for i in range(FOLDS)]
        for k in CLUSTERS:
            model = clone(self.estimator).set_params(kernel=kernel, n_clusters=k, n_init=CLUSTER_STARTS, random_state=0)
            fitted = [[clone(model).fit(W[part]).predict(W) for part in (half, ~half)] for half in halves]
            found = np.array([1 - adjusted_rand_score(*labels) for labels in fitted])
            yield self._candidate(scale, {"kernel": kernel, "n_clusters": k}, found)

    def _detect(self, scale: bool, kernel: Kernel) -> Iterator[Candidate]:
        W = self.rows(scale)
        faulty = W.copy()
        column = np.arange(len(W)) % W.shape[1]
        faulty[np.arange(len(W)), column] += FAULT * (1.0 if scale else self.spread[column])
        for share in SHARES:
            found = []
            for seen, held in self.folds:
                inner = KernelPCA(share, kernel=kernel, random_state=self.seed % 2**31)
                model = clone(self.estimator).set_params(estimator=inner).fit(W[seen])
                scores = [-model.score_samples(rows[held]) for rows in (W, faulty)]
                found.append(1 - roc_auc_score(np.repeat([0, 1], len(held)), np.concatenate(scores)))
            yield self._candidate(scale, {"kernel": kernel, "n_components": share}, np.array(found))
