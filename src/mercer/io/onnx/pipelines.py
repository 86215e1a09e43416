"""The preprocessing of rows: scalers of pipelines, and the recipe of a model file."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from ...models.monitor.default import InnerScaler
from ...tables.recipe import Recipe
from . import namespace as xp
from .graph import Tensor, emit

Step = Callable[[Tensor], Tensor]
PASSED = (None, "passthrough")  # steps of a pipeline that do nothing
CENTRES: dict[type, Callable[[Any], Any]] = {
    StandardScaler: lambda step: step.mean_ if step.with_mean else None,
    RobustScaler: lambda step: step.center_,
    MaxAbsScaler: lambda step: None,
    InnerScaler: lambda step: step.center_,
}


def steps_of(estimator: Any) -> tuple[list[Step], Any]:
    """Return the steps before the model, and the model: of a pipeline, or of a model alone."""
    if not isinstance(estimator, Pipeline):
        return [], estimator
    given = [step for _, step in estimator.steps if step not in PASSED]
    return [_step(step) for step in given[:-1]], given[-1]


def _step(step: Any) -> Step:
    if isinstance(step, MinMaxScaler):
        return lambda x: _min_max(step, x)
    if type(step) not in CENTRES:
        names = ", ".join(cls.__name__ for cls in [*CENTRES, MinMaxScaler])
        raise ValueError(
            f"The step {type(step).__name__} is not one that mercer.to_onnx converts ({names}). Use "
            "skl2onnx.to_onnx(pipeline, X[:1]) after `import mercer.onnx`, which registers mercer's models there."
        )
    return lambda x: affine(x, CENTRES[type(step)](step), step.scale_)


def affine(x: Tensor, centre: Any, scale: Any) -> Tensor:
    """Return (x − centre) / scale; either may be None."""
    x = x if centre is None else x - np.asarray(centre, x.dtype)
    return x if scale is None else x / np.asarray(scale, x.dtype)


def _min_max(step: MinMaxScaler, x: Tensor) -> Tensor:
    x = x * step.scale_.astype(x.dtype) + step.min_.astype(x.dtype)
    return xp.clip(x, *step.feature_range) if step.clip else x


def recipe_step(recipe: Recipe) -> Step:
    """Return the scaling of a model file; missing numbers are filled if the recipe fills them with a mean."""
    if recipe.missing == "impute":
        raise ValueError(
            "This model imputes missing values, which cannot be converted to ONNX. Fit it with --missing drop or mean."
        )

    def step(x: Tensor) -> Tensor:
        if recipe.missing == "mean":
            absent = emit("IsNaN", [x], np.isnan(x.value))
            x = xp.where(absent, np.asarray(recipe.fill, x.dtype), x)
        return affine(x, recipe.mean, recipe.scale)

    return step
