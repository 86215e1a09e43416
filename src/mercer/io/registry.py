"""The classes that a model file may hold: a closed list. A class that is not on it is neither written nor made."""

from functools import cache
from importlib import import_module

_HOMES = {
    "models.kernel_pca": ["KernelPCA"],
    "models.sparse": ["SparseKernelPCA"],
    "models.probabilistic": ["ProbabilisticKernelPCA"],
    "models.mixture": ["KernelPCAMixture"],
    "models.classifier": ["KernelPCAClassifier"],
    "models.classifier_cv": ["KernelPCAClassifierCV"],
    "models.compress": ["Compression"],
    "impute": ["KernelPCAImputer", "_Filler"],
    "select.preimages": ["Choice"],
    "monitor.detector": ["KernelPCAMonitor"],
    "monitor.default": ["InnerScaler"],
    "monitor.limits": ["Limits"],
    "dropin": ["KernelPCA"],
    "kernels.radial": ["RBF", "Chi2", "InverseMultiquadric", "Laplacian", "Matern", "RationalQuadratic"],
    "kernels.projective": ["Cosine", "Linear", "Polynomial", "Sigmoid"],
    "kernels.compose": ["Normalized", "OnColumns", "Product", "Scaled", "Sum"],
    "kernels.given": ["GaussianProcess", "Precomputed"],
    "kernels.block": ["PrecomputedBlock"],
    "rkhs.expansion": ["Expansion"],
    "rkhs.subspace": ["Subspace"],
    "rkhs.gaussian": ["FeatureGaussian"],
    "rkhs.loadings": ["EM"],
    "rkhs.primal": ["Primal"],
    "eigen": ["Exact", "Lanczos", "Randomized", "Report"],
    "davidson": ["Davidson"],
    "landmarks": ["LandmarkBasis", "Landmarks", "Moments"],
    "preimage.compensated": ["Compensated"],
    "preimage.distances": ["Distances"],
    "preimage.fixed_point": ["FixedPoint"],
    "preimage.gradient": ["Gradient"],
    "preimage.learned": ["Learned"],
    "preimage.linear": ["ClosedForm"],
    "preimage.smoother": ["Smoother"],
    "tables.recipe": ["Recipe"],
}
_GAUSSIAN_PROCESS = [
    "ConstantKernel",
    "DotProduct",
    "ExpSineSquared",
    "Exponentiation",
    "Matern",
    "Product",
    "RBF",
    "RationalQuadratic",
    "Sum",
    "WhiteKernel",
]
_SPLITTERS = ["KFold", "StratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit"]

# the name in a file → module and class; files keep the names for ever, classes may move
CLASSES = {
    **{f"{home.split('.')[0]}.{name}": (f"mercer.{home}", name) for home, names in _HOMES.items() for name in names},
    **{f"gaussian_process.{name}": ("sklearn.gaussian_process.kernels", name) for name in _GAUSSIAN_PROCESS},
    "sklearn.Pipeline": ("sklearn.pipeline", "Pipeline"),  # inside a monitor; a file holds none by itself
    "sklearn.StandardScaler": ("sklearn.preprocessing._data", "StandardScaler"),
    **{f"sklearn.{name}": ("sklearn.model_selection._split", name) for name in _SPLITTERS},
}

TRUSTED_TYPES = sorted(f"{module}.{name}" for module, name in CLASSES.values())
"""Full names of the classes in mercer's models, for ``skops.io.load(path, trusted=mercer.io.TRUSTED_TYPES)``."""

ONLY = {"sklearn.Pipeline": {"steps"}}  # parameters that are kept, where not all are: no folders for caches


@cache
def class_of(name):
    """The class of a name in a file; KeyError where the list has none."""
    module, attribute = CLASSES[name]
    return getattr(import_module(module), attribute)


@cache
def name_of(cls):
    """The name of a class in a file; None where the list has none."""
    names = (name for name, home in CLASSES.items() if home == (cls.__module__, cls.__qualname__))
    return next(names, None)
