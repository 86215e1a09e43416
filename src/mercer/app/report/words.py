"""A fitted model in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.pipelines import parts
from ...models.validation import COPIES, UNSCALED


def name(model: Any) -> str:
    """The name of the model at the end of a pipeline."""
    return type(parts(model)[1]).__name__


def model(model: Any) -> list[str]:
    """Sentences: what the model is, then what was chosen."""
    last = parts(getattr(model, "estimator_", model))[1]
    kind = KINDS.get(name(model), f"This is {name(model)}.")
    sentences = [kind]
    if hasattr(last, "kernel_"):
        sentences.append(f"The kernel is {last.kernel_!r}.")
    if hasattr(last, "n_components_") and np.ndim(last.n_components_) == 0:
        sentences.append(f"It has {counted(last.n_components_, 'component')}.")
    if hasattr(last, "noise_variance_"):
        sentences.append(f"The noise variance is {float(last.noise_variance_):.4g}.")
    if hasattr(last, "anchors_"):
        sentences.append(f"It stands on {counted(last.anchors_.shape[0], 'anchor')}, the rows that it keeps.")
    if hasattr(last, "solver_"):
        told = last.solver_
        what = f"It was found by {told.solver!r}, to a residual of {told.residual:.1e} of the largest variance."
        outside = f" {told.outside_share:.2%} of the variance lies outside the landmarks." if told.outside else ""
        sentences.append(what + outside + (f" {told.note}." if told.note else ""))
    if hasattr(model, "limits_"):
        sentences.append(f"The limits are T² ≤ {model.limits_.t2:.4g} and SPE ≤ {model.limits_.spe:.4g}.")
    return sentences


def counted(n: int, noun: str) -> str:
    """One component, two components."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


KINDS = {
    "KernelPCA": "Kernel principal components: the directions of largest variance in the feature space of a kernel.",
    "SparseKernelPCA": "Sparse kernel principal components: few rows, chosen by maximum likelihood, stand for all.",
    "ProbabilisticKernelPCA": "Probabilistic kernel principal components: a Gaussian in the feature space of a kernel.",
    "KernelPCAMixture": "A mixture of Gaussians in the feature space of a kernel.",
    "KernelPCAClassifier": "A classifier by one Gaussian for each class in the feature space of a kernel.",
    "KernelPCAMonitor": "A monitor: it tells rows that are unlike those of normal operation.",
}


def warnings(model: Any, X: Any, columns: list[str]) -> list[str]:
    """What a reader should know about the data before believing the rest."""
    told = []
    spread = X.std(axis=0)
    constant = [columns[j] for j in np.flatnonzero(spread == 0)]
    if constant:
        told.append(f"Constant columns say nothing: {', '.join(constant[:5])}.")
    moving = spread[spread > 0]
    if len(moving) and model is parts(model)[1] and moving.max() > UNSCALED * moving.min():
        wide, narrow = columns[int(spread.argmax())], columns[int(np.where(spread > 0, spread, np.inf).argmin())]
        told.append(
            f"The scales of columns differ {moving.max() / moving.min():.0f}-fold ({wide}, {narrow}): scale them."
        )
    copies = 1 - len(np.unique(X, axis=0)) / len(X)
    if copies > 1 - COPIES:
        told.append(f"{copies:.0%} of the rows are copies of others.")
    return told


def code(model: Any) -> str:
    """Lines of Python and of a shell that make such a page."""
    last = parts(model)[1]
    setting = " ".join(repr(last).split())
    return (
        f"from mercer import {name(model)}, report\n"
        f"from mercer.kernels import *\n\n"
        f"model = {setting}.fit(X)\n"
        'report(model, X, "report.html")\n\n'
        "# or, from a table:\n"
        "# mercer fit data.csv -o model.mercer\n"
        "# mercer report model.mercer data.csv -o report.html"
    )
