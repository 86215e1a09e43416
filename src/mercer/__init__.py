"""Kernel principal component analysis: nonlinear PCA as scikit-learn estimators."""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "KernelPCAClassifier": "models.classifier",
    "KernelPCAClassifierCV": "models.classifier_cv",
    "KernelPCA": "models.kernel_pca",
    "ProbabilisticKernelPCA": "models.probabilistic",
    "KernelPCAMixture": "models.mixture",
    "check": "tables",
    "compress": "models.compress",
    "explore": "app.explore",
    "landmarks": "models.merge",
    "load": "io",
    "reduce_axes": "models.axes",
    "merge": "models.merge",
    "register": "_core.registry",
    "remove": "models.merge",
    "ContrastiveKernelPCA": "models.contrastive",
    "SparseKernelPCA": "models.sparse",
    "SupervisedKernelPCA": "models.supervised",
    "KernelPCAImputer": "models.imputer",
    "KernelPCAMonitor": "models.monitor",
    "plan": "app.planning",
    "progress": "_core.progress",
    "report": "app.report",
    "resuming": "_core.checkpoints",
    "save": "io",
    "to_onnx": "onnx",
    "ColumnScaleWarning": "_core.warn",
    "ComponentsWarning": "_core.warn",
    "IndefiniteKernelWarning": "_core.warn",
    "KernelWidthWarning": "_core.warn",
    "LandmarkWarning": "_core.warn",
    "MercerWarning": "_core.warn",
    "NoiseWarning": "_core.warn",
    "RepeatedRowsWarning": "_core.warn",
}
_MODULES = {
    "datasets",
    "dropin",
    "eigen",
    "importance",
    "io",
    "kernels",
    "monitor",
    "onnx",
    "plots",
    "preimage",
    "select",
    "tables",
    "testing",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name):
    """Import public names at their first use, so that ``mercer --help`` is fast."""
    if name in _HOMES:
        return getattr(import_module(f"mercer.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"mercer.{name}")
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__():
    return sorted([*__all__, *_MODULES])
