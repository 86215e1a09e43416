"""The classes that a model file may hold: those that are registered, and a few of scikit-learn's.

A class that is not registered is neither written nor made, and no module that a file names is imported.
"""

import sklearn.gaussian_process.kernels as gp
from sklearn.pipeline import Pipeline

from .._core.registry import FILE_CLASSES, KINDS, stored
from .._core.sklearn import SPLITTERS, StandardScaler
from ..select import preimages
from ..tables import recipe

__all__ = ["CLASSES", "ONLY", "TRUSTED_TYPES"]

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
_ALSO = (preimages, recipe)  # modules outside the registries' own folders, whose classes files hold

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

ONLY = {"sklearn.Pipeline": {"steps"}}  # parameters that are kept, where not all are: no folders for caches
