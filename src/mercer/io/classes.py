"""The classes that a model file may contain: the registered ones, and a few of scikit-learn's.

A class that is not registered is neither written nor created, and no module named in a file is imported.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import sklearn.gaussian_process.kernels as gp
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from .._core.fields import AtLeast, Count, Names, NotNegative, Numbers, Optional_
from .._core.registry import FILE_CLASSES, KINDS, stored
from ..select import preimages
from ..tables import recipe

__all__ = ["CLASSES", "FOREIGN", "TRUSTED_TYPES"]


@dataclass(frozen=True)
class Schema:
    """The parameters and the state of a class of another package, with their types."""

    parameters: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)


_BOUNDS = tuple[float, float] | Literal["fixed"] | Annotated[np.ndarray, Numbers("k", 2)]
_NUMBER = float | Annotated[np.ndarray, Numbers("d")]
_OF_GAUSSIAN_PROCESSES = {"kernel": gp.Kernel, "k1": gp.Kernel, "k2": gp.Kernel, "exponent": float}
_GAUSSIAN_PROCESS = (
    gp.ConstantKernel,
    gp.DotProduct,
    gp.ExpSineSquared,
    gp.Exponentiation,
    gp.Matern,
    gp.Product,
    gp.RBF,
    gp.RationalQuadratic,
    gp.Sum,
    gp.WhiteKernel,
)
_SPLITTERS = {
    "n_splits": Annotated[int, AtLeast(1)],
    "shuffle": Annotated[bool, Optional_()],
    "random_state": None | Count | np.random.RandomState,
    "test_size": Annotated[float | None, Optional_()],
    "train_size": Annotated[float | None, Optional_()],
    "_default_test_size": Annotated[float, Optional_()],
}
_COLUMN = Annotated[np.ndarray, Numbers("n_features_in_")] | None
_SCALER = Schema(
    {"copy": bool, "with_mean": bool, "with_std": bool},
    {
        "n_features_in_": Count,
        "mean_": _COLUMN,
        "scale_": _COLUMN,
        "var_": _COLUMN,
        "n_samples_seen_": NotNegative | Annotated[np.ndarray, Numbers("n_features_in_")],
        "feature_names_in_": Annotated[Names, Optional_()],
    },
)


def _gaussian_process(cls: type[gp.Kernel]) -> Schema:
    names = cls.__init__.__code__.co_varnames[1 : cls.__init__.__code__.co_argcount]
    return Schema(
        {name: _OF_GAUSSIAN_PROCESSES.get(name, _BOUNDS if name.endswith("bounds") else _NUMBER) for name in names}
    )


_ALSO = (preimages, recipe)  # modules outside the registries' own folders with classes that files contain

SPLITTERS = (KFold, StratifiedKFold, ShuffleSplit, StratifiedShuffleSplit)

for _registry in KINDS:
    _registry.fill()
for _cls in _GAUSSIAN_PROCESS:
    stored(f"gaussian_process.{_cls.__name__}")(_cls)
for _cls in (Pipeline, StandardScaler, *SPLITTERS):  # inside a monitor; a file holds none by itself
    stored(f"sklearn.{_cls.__name__}")(_cls)

CLASSES: dict[str, type] = FILE_CLASSES
"""The name in a file → class. Files keep their names, classes may move."""

TRUSTED_TYPES = sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in CLASSES.values())
"""Full names of the classes in mercer's models, for ``skops.io.load(path, trusted=mercer.io.TRUSTED_TYPES)``."""

# Only the steps of a pipeline are kept: a folder for caches (``memory``) could hold pickles, which a refit would load.
FOREIGN: dict[type, Schema] = {
    Pipeline: Schema({"steps": list[tuple[str, BaseEstimator]]}),
    StandardScaler: _SCALER,
    **{cls: _gaussian_process(cls) for cls in _GAUSSIAN_PROCESS},
    **{cls: Schema(state=_SPLITTERS) for cls in SPLITTERS},
}
"""The schemas of classes that are not ours; those of ours are their annotations (:mod:`mercer.io.schema`)."""
