"""The methods of each estimator that become outputs of a graph."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...models.classifier import KernelPCAClassifier
from ...models.classifier_cv import KernelPCAClassifierCV
from ...models.contrastive import ContrastiveKernelPCA
from ...models.dropin import KernelPCA as Dropin
from ...models.kernel_pca import KernelPCA
from ...models.mixture import KernelPCAMixture
from ...models.probabilistic import ProbabilisticKernelPCA
from ...models.sparse import SparseKernelPCA
from ...models.supervised import SupervisedKernelPCA
from . import namespace as xp
from .densities import columns, coordinates, density_energy, joint_of_classes, log_sum_exp, split
from .graph import Tensor, emit

Method = Callable[[Any, Tensor], Tensor]
METHODS: dict[type, dict[str, Method]] = {}


def methods_of(model: Any) -> dict[str, Method]:
    """Return the methods of an estimator that can be converted, by name."""
    if type(model) not in METHODS:
        names = ", ".join(sorted({cls.__name__ for cls in METHODS}))
        raise ValueError(f"{type(model).__name__} cannot be converted to ONNX, only {names}.")
    return METHODS[type(model)]


def _transform(model: Any, x: Tensor) -> Tensor:
    return coordinates(model.subspace_, x)


def _reconstruction_error(model: Any, x: Tensor) -> Tensor:
    return split(model.subspace_, x)[1]


for _cls in (KernelPCA, SparseKernelPCA, SupervisedKernelPCA, ContrastiveKernelPCA):
    METHODS[_cls] = {"transform": _transform, "reconstruction_error": _reconstruction_error}


def _latent(model: Any, x: Tensor) -> Tensor:
    """E[h | x] = y√(1 − ρ/λ)/√λ."""
    lam = model.subspace_.variances
    return coordinates(model.subspace_, x) * np.sqrt((1 - model.noise_variance_ / lam) / lam).astype(x.dtype)


def _log_density(model: Any, x: Tensor) -> Tensor:
    return density_energy(model.density_, x) * (-1.0 if model.noise_variance_ == 0 else -0.5)


METHODS[ProbabilisticKernelPCA] = {
    "transform": _latent,
    "reconstruction_error": _reconstruction_error,
    "score_samples": _log_density,
}


def _logs(model: KernelPCAMixture, x: Tensor) -> Tensor:
    """log mᵢ − ½L̂ᵢ of each cluster, summed over its parts: (n, k)."""
    weights, clusters = model._grouping
    terms = [density_energy(d, x) * -0.5 + np.log(m) for d, m in zip(model.densities_, weights, strict=True)]
    groups = [[terms[i] for i in np.flatnonzero(clusters == c)] for c in range(len(model.weights_))]
    return columns([log_sum_exp(columns(group)) if len(group) > 1 else group[0] for group in groups])


METHODS[KernelPCAMixture] = {
    "predict": lambda model, x: xp.argmax(_logs(model, x), axis=1),
    "predict_proba": lambda model, x: softmax(_logs(model, x)),
    "score_samples": lambda model, x: log_sum_exp(_logs(model, x)),
}


def _joint(model: KernelPCAClassifier, x: Tensor) -> Tensor:
    """log p_c + log density, or values with the same ranking of classes: (n, n_classes)."""
    with np.errstate(divide="ignore"):
        log_prior = np.log(model.class_prior_)
    if model.density is None:
        joint = joint_of_classes(model.densities_, x, log_prior, model._shares)
    else:
        scores = [methods_of(density)["score_samples"](density, x) for density in model.densities_]
        joint = columns(scores) + log_prior
    return joint * (1 / model.temperature_) + model.biases_


def _label(model: KernelPCAClassifier, x: Tensor) -> Tensor:
    classes = np.asarray(model.classes_)
    labels = Tensor(x.graph, classes.astype(np.int64) if classes.dtype.kind in "iu" else classes)
    return xp.take(labels, xp.argmax(_joint(model, x), axis=1), axis=0)


METHODS[KernelPCAClassifier] = {
    "predict": _label,
    "predict_proba": lambda model, x: softmax(_joint(model, x)),
}
METHODS[KernelPCAClassifierCV] = {
    "predict": lambda model, x: _label(model.best_estimator_, x),
    "predict_proba": lambda model, x: softmax(_joint(model.best_estimator_, x)),
}


def _padded(model: Dropin, x: Tensor) -> Tensor:
    """Coordinates, and zeros where the rank ends."""
    Y = coordinates(model._subspace, x)
    zeros = model.eigenvalues_.shape[0] - Y.shape[1]
    return xp.concat([Y, xp.full((x.shape[0], zeros), 0.0, dtype=Y.dtype, device=x)], axis=1) if zeros else Y


METHODS[Dropin] = {"transform": _padded}


def softmax(logs: Tensor) -> Tensor:
    """Return exp(log) / Σ exp of each row."""
    return emit("Softmax", [logs], logs.value, {"axis": 1})
