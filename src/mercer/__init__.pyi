"""Public names for type checkers and editors; at run time ``__init__.py`` imports them at their first use."""

# ruff: noqa: I001 (one statement for each module)

from . import (
    datasets as datasets,
    dropin as dropin,
    eigen as eigen,
    importance as importance,
    io as io,
    kernels as kernels,
    monitor as monitor,
    onnx as onnx,
    plots as plots,
    preimage as preimage,
    select as select,
    tables as tables,
    testing as testing,
)
from ._core.checkpoints import resuming as resuming
from ._core.progress import progress as progress
from ._core.registry import register as register
from ._core.warn import (
    ColumnScaleWarning as ColumnScaleWarning,
    ComponentsWarning as ComponentsWarning,
    IndefiniteKernelWarning as IndefiniteKernelWarning,
    KernelWidthWarning as KernelWidthWarning,
    LandmarkWarning as LandmarkWarning,
    MercerWarning as MercerWarning,
    NoiseWarning as NoiseWarning,
    RepeatedRowsWarning as RepeatedRowsWarning,
)
from .app.explore import explore as explore
from .app.planning import plan as plan
from .app.report import report as report
from .io import load as load, save as save
from .models.classifier import KernelPCAClassifier as KernelPCAClassifier
from .models.classifier_cv import KernelPCAClassifierCV as KernelPCAClassifierCV
from .models.axes import reduce_axes as reduce_axes
from .models.compress import compress as compress
from .models.imputer import KernelPCAImputer as KernelPCAImputer
from .models.kernel_pca import KernelPCA as KernelPCA
from .models.merge import landmarks as landmarks, merge as merge, remove as remove
from .models.mixture import KernelPCAMixture as KernelPCAMixture
from .models.monitor import KernelPCAMonitor as KernelPCAMonitor
from .models.probabilistic import ProbabilisticKernelPCA as ProbabilisticKernelPCA
from .models.contrastive import ContrastiveKernelPCA as ContrastiveKernelPCA
from .models.sparse import SparseKernelPCA as SparseKernelPCA
from .models.supervised import SupervisedKernelPCA as SupervisedKernelPCA
from .onnx import to_onnx as to_onnx
from .tables import check as check

__version__: str
__all__: list[str]
