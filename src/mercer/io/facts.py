"""Facts that describe a fitted model and its table, as values for JSON. They are stored in its file."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from ..models.pipelines import parts

if TYPE_CHECKING:
    from ..tables import Recipe

ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
FITTED = ("n_components_", "total_variance_", "noise_variance_", "log_likelihood_", "n_iter_", "converged_")


def facts(model: Any) -> dict[str, Any]:
    """Return the fitted attributes that describe a model."""
    inner = innermost(model)
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
    return _plain(found)


def of_table(recipe: Recipe) -> dict[str, Any]:
    """Return a description of how the columns of a table become those of a model."""
    return _plain(
        {
            "columns": recipe.columns,
            "mean": recipe.mean.tolist(),
            "scale": recipe.scale.tolist(),
            "categories": recipe.categories,
            "coded": recipe.coded,
            "missing": recipe.missing,
            "target": recipe.target,
            "left_out": recipe.left_out,
            "source": recipe.source,
            "rows": recipe.n_rows,
            "sha256": recipe.fingerprint,
        }
    )


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold; any other becomes text."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def innermost(model: Any) -> Any:
    """Return the kernel PCA inside a monitor, a search or a pipeline, or the model itself."""
    return parts(getattr(model, "estimator_", getattr(model, "best_estimator_", model)))[1]


def one_line(value: Any) -> str:
    """Return the repr of a value in one line, without addresses in memory."""
    return ADDRESS.sub("", " ".join(repr(value).split()))
