"""The rules by which a monitor treats its rows: as a table of exchangeable rows, or as a process in time."""

from dataclasses import dataclass

import numpy as np

from ..._core.registry import stored
from ...kernels import RBF, RationalQuadratic

CORRELATED = 2.6  # standard errors 1/√n of a lag-one correlation: 1 % of independent columns have more
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
    charts: tuple

    def kernel_of(self, gamma):
        """Return the kernel with a width."""
        return KERNELS[self.kernel](gamma=gamma)

    def __str__(self):
        charts = " and ".join({"t2": "T²", "spe": "SPE"}[chart] for chart in self.charts)
        return f"{self.kernel}, γ = {self.width:g} / median, {self.share:.1%} of the variance, {charts}"


KERNELS = {"rbf": RBF, "rational_quadratic": RationalQuadratic}
# A heavy-tailed, narrow kernel: SPE is then high wherever training rows are far, and grows with the distance.
TABLE = Rules("rational_quadratic", width=4.0, share=0.98, charts=("spe",))
# A kernel so wide that it is nearly linear: axes follow what sensors do together, and small variances count.
PROCESS = Rules("rbf", width=0.003, share=0.995, charts=("t2", "spe"))
BOTH = ("t2", "spe")  # charts of an estimator that the user gives


def serial_share(X, runs):
    """Return the share of the columns whose lag-one correlation is beyond 2.6/√n; constant columns do not count."""
    X = np.asarray(X, float)
    centred = X - X.mean(axis=0)
    variance = np.sum(centred**2, axis=0)
    same = runs[1:] == runs[:-1]
    products = np.sum(centred[1:][same] * centred[:-1][same], axis=0)
    varies = variance > 0
    if not varies.any():
        return 0.0
    return float(np.mean(np.abs(products[varies] / variance[varies]) > CORRELATED / np.sqrt(len(X))))


def effective(values):
    """Return the number of independent values that are worth as much: n(1 − r)/(1 + r), r the lag-one correlation."""
    centred = values - values.mean()
    r = np.sum(centred[1:] * centred[:-1]) / (np.sum(centred**2) or 1.0)
    return float(len(values) * (1 - r) / (1 + r)) if r > 0 else float(len(values))
