"""Descriptions of a fitted model: one line, and sentences."""

import re
from math import inf
from typing import Any

from .._core.text import plural
from ..io.facts import facts, innermost
from ..models.pipelines import parts

LONG_NUMBER = re.compile(r"\d+\.\d{5,}(e-?\d+)?")  # has more digits than are read
KINDS = {
    "KernelPCA": "Kernel PCA: the directions of largest variance in the feature space of a kernel.",
    "SparseKernelPCA": "Sparse kernel PCA: components on a few rows, which are chosen by maximum likelihood.",
    "ProbabilisticKernelPCA": "Probabilistic kernel PCA: a Gaussian in the feature space of a kernel.",
    "SupervisedKernelPCA": "Supervised kernel PCA: components in feature space that depend on a target.",
    "ContrastiveKernelPCA": "Contrastive kernel PCA: components in feature space that a background does not have.",
    "KernelPCAMixture": "A mixture of Gaussians in the feature space of a kernel.",
    "KernelPCAClassifier": "A classifier with one Gaussian for each class in the feature space of a kernel.",
    "KernelPCAMonitor": "A monitor: it detects rows that differ from those of normal operation.",
}


def name_of(model: Any) -> str:
    """Return the class name of a model, or of the last step of a pipeline."""
    return type(parts(model)[1]).__name__


def summary(model: Any) -> str:
    """Return one line about a fitted model."""
    found = facts(model)
    items = [found["model"], LONG_NUMBER.sub(lambda number: f"{float(number[0]):.4g}", found.get("kernel", ""))]
    if "n_components" in found:
        share, q = sum(found.get("explained_variance_ratio", [])), found["n_components"]
        number = " and ".join(map(str, q)) if isinstance(q, list) else q
        noun = "component" if q == 1 else "components"
        items.append(f"{number} {noun}" + (f" with {share:.1%} of the variance" if share else ""))
    if "anchors" in found:
        items.append(f"{found['anchors']} anchors")
    return ", ".join(item for item in items if item)


def sentences(model: Any) -> list[str]:
    """Describe the kind of model in the first sentence, and what was fitted in the others."""
    found, solver = facts(model), getattr(innermost(model), "solver_", None)
    lines = [KINDS.get(name_of(model), f"The model is a {name_of(model)}.")]
    if "kernel" in found:
        lines.append(f"The kernel is {found['kernel']}.")
    if isinstance(found.get("n_components"), int):
        lines.append(f"The model has {plural(found['n_components'], 'component')}.")
    if "noise_variance" in found:
        lines.append(f"The noise variance is {found['noise_variance']:.4g}.")
    if "anchors" in found:
        lines.append(f"It stores {plural(found['anchors'], 'anchor')} (training rows).")
    if solver is not None:
        lines.append(f"Solver: {solver.solver!r}, with a residual of {solver.residual:.1e} times the largest variance.")
        lines += [f"{solver.outside_share:.2%} of the variance lies outside the landmarks."] if solver.outside else []
        lines += [f"{solver.note}."] if solver.note else []
    if "limits" in found:
        limits = {"T²": float(found["limits"]["t2"]), "SPE": float(found["limits"]["spe"])}  # infinite ones are texts
        lines.append(f"Limits: {', '.join(f'{name} ≤ {value:.4g}' for name, value in limits.items() if value < inf)}.")
    return lines
