"""The rules by which a monitor treats its rows: as a table of exchangeable rows, or as a process in time."""

from dataclasses import dataclass

import numpy as np

from ..._core.registry import stored
from ...kernels import RBF, Kernel, RationalQuadratic
from .lags import ages

CORRELATED = 2.6  # standard errors 1/√n of a lag-one correlation: 1 % of independent columns have more
BLOCK = 10  # rows about whose mean correlations are taken
RESOLUTION = 1e-20  # of the sum of squares: less is a rounding error of a constant column
MAJORITY = 0.5  # of the columns that are correlated in time: the rows are then those of a process


@stored("monitor.Rules")
@dataclass(frozen=True)
class Rules:
    """What the default estimator does: kernel, width, components, and the charts that count.

    ``width`` is γ times the median squared distance of scaled rows, ``share`` that of the variance which the
    components hold.
    """

    kernel: str
    width: float
    share: float
    charts: tuple[str, ...]

    def kernel_of(self, gamma: float) -> Kernel:
        """Return the kernel with a width."""
        return KERNELS[self.kernel](gamma=gamma)

    def __str__(self) -> str:
        charts = " and ".join({"t2": "T²", "spe": "SPE"}[chart] for chart in self.charts)
        return f"{self.kernel}, γ = {self.width:g} / median, {self.share:.1%} of the variance, {charts}"


KERNELS: dict[str, type[RBF] | type[RationalQuadratic]] = {"rbf": RBF, "rational_quadratic": RationalQuadratic}
# A heavy-tailed, narrow kernel: SPE is then high wherever training rows are far, and grows with the distance.
TABLE = Rules("rational_quadratic", width=4.0, share=0.98, charts=("spe",))
# A kernel so wide that it is nearly linear: axes follow what sensors do together, and small variances count.
PROCESS = Rules("rbf", width=0.003, share=0.995, charts=("t2", "spe"))
BOTH = ("t2", "spe")  # charts of an estimator that the user gives


def serial_share(X: np.ndarray, runs: np.ndarray) -> float:
    """Return the share of the columns whose lag-one correlation is significant; constant columns do not count.

    Correlations are about the means of blocks of ten consecutive rows: a table sorted by class or by date has levels
    that change, but its neighbouring rows are independent within a level. The expected correlation of independent rows
    about their block's mean, −1/10 in a whole block, is subtracted.
    """
    block = np.cumsum(ages(runs) % BLOCK == 0) - 1
    starts, sizes = np.unique(block, return_index=True, return_counts=True)[1:]
    X = np.asarray(X, float)
    centred = X - (np.add.reduceat(X, starts, axis=0) / sizes[:, None])[block]
    variance = np.sum(centred**2, axis=0)
    same = block[1:] == block[:-1]
    products = np.sum(centred[1:][same] * centred[:-1][same], axis=0)
    varies = variance > RESOLUTION * np.sum(X**2, axis=0)
    if not varies.any():
        return 0.0
    expected = -np.sum(1 - 1 / sizes) / np.sum(sizes - 1)
    correlation = products[varies] / variance[varies] - expected
    return float(np.mean(np.abs(correlation) > CORRELATED / np.sqrt(len(X))))


def effective(values: np.ndarray) -> float:
    """Return the number of independent values that are worth as much: n(1 − r)/(1 + r), r the lag-one correlation."""
    centred = values - values.mean()
    r = np.sum(centred[1:] * centred[:-1]) / (np.sum(centred**2) or 1.0)
    return float(len(values) * (1 - r) / (1 + r)) if r > 0 else float(len(values))
