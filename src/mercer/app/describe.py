"""Descriptions of a fitted model: facts as values for JSON, one line, and sentences."""

from typing import Any

from ..models.pipelines import parts

FITTED = ("n_components_", "total_variance_", "noise_variance_", "log_likelihood_", "n_iter_", "converged_")
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


def facts(model: Any) -> dict[str, Any]:
    """Return the fitted attributes that describe a model, as values for JSON."""
    inner = _inner(model)
    found: dict[str, Any] = {"model": type(model).__name__, "parameters": one_line(model)}
    kernel = getattr(model, "kernel_", getattr(inner, "kernel_", None))
    if kernel is not None:
        found["kernel"] = one_line(kernel)
    for name in FITTED:
        if (value := getattr(inner, name, None)) is not None:
            found[name.rstrip("_")] = value.tolist() if hasattr(value, "tolist") else value
    if hasattr(model, "classes_"):
        found["classes"] = model.classes_.tolist()
    if hasattr(model, "limits_"):
        found["limits"] = {"t2": float(model.limits_.t2), "spe": float(model.limits_.spe)}
    if hasattr(inner, "anchors_"):
        found["anchors"] = int(inner.anchors_.shape[0])
    if hasattr(inner, "explained_variance_ratio_"):
        found["explained_variance_ratio"] = [float(share) for share in inner.explained_variance_ratio_]
    if hasattr(inner, "solver_") and hasattr(inner.solver_, "residual"):
        found["solver"] = {"name": one_line(inner.solver_.solver), "residual": float(inner.solver_.residual)}
    return found


def _inner(model: Any) -> Any:
    """Return the kernel PCA inside a monitor, a search or a pipeline, or the model itself."""
    return parts(getattr(model, "estimator_", getattr(model, "best_estimator_", model)))[1]


def one_line(value: Any) -> str:
    """Return the repr of a value in one line."""
    return " ".join(repr(value).split())


def summary(model: Any) -> str:
    """Return one line about a fitted model."""
    found = facts(model)
    items = [found["model"], found.get("kernel", "")]
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
    found, solver = facts(model), getattr(_inner(model), "solver_", None)
    lines = [KINDS.get(name_of(model), f"The model is a {name_of(model)}.")]
    if "kernel" in found:
        lines.append(f"The kernel is {found['kernel']}.")
    if isinstance(found.get("n_components"), int):
        lines.append(f"The model has {counted(found['n_components'], 'component')}.")
    if "noise_variance" in found:
        lines.append(f"The noise variance is {found['noise_variance']:.4g}.")
    if "anchors" in found:
        lines.append(f"It stores {counted(found['anchors'], 'anchor')} (training rows).")
    if solver is not None:
        lines.append(f"Solver: {solver.solver!r}, with a residual of {solver.residual:.1e} times the largest variance.")
        lines += [f"{solver.outside_share:.2%} of the variance lies outside the landmarks."] if solver.outside else []
        lines += [f"{solver.note}."] if solver.note else []
    if "limits" in found:
        lines.append("The limits are T² ≤ {t2:.4g} and SPE ≤ {spe:.4g}.".format(**found["limits"]))
    return lines


def counted(n: int, noun: str) -> str:
    """Return for example "1 component" or "2 components"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
