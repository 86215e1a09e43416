"""The rules of a monitor for two kinds of rows: a table of exchangeable rows, or a process in time."""

from dataclasses import dataclass

import numpy as np

from ..._core.registry import stored
from ...kernels import RBF, Kernel, RationalQuadratic
from .lags import ages

CORRELATED = 2.6  # standard errors of a lag-one correlation: 1 % of the columns exceed it if rows are independent
BLOCK = 10  # rows in a block: correlations are computed about the mean of the block
RESOLUTION = 1e-13  # of the largest cell of a column: smaller differences are rounding errors
MAJORITY = 0.5  # share of correlated columns above which the rows are treated as a process in time


@stored("monitor.Rules")
@dataclass(frozen=True)
class Rules:
    """The settings of the default estimator: kernel, width, components, and the statistics that can raise alarms.

    ``width`` is γ times the median squared distance of scaled rows, ``share`` the share of the variance that the
    components hold.
    """

    kernel: str
    width: float
    share: float
    charts: tuple[str, ...]

    def kernel_of(self, gamma: float) -> Kernel:
        """Return the kernel with the width ``gamma``."""
        return KERNELS[self.kernel](gamma=gamma)

    def __str__(self) -> str:
        charts = " and ".join({"t2": "T²", "spe": "SPE"}[chart] for chart in self.charts)
        return f"{self.kernel}, γ = {self.width:g} / median, {self.share:.1%} of the variance, {charts}"


KERNELS: dict[str, type[RBF] | type[RationalQuadratic]] = {"rbf": RBF, "rational_quadratic": RationalQuadratic}
# A heavy-tailed, narrow kernel: SPE is then high far from the training rows, and grows with the distance to them.
TABLE = Rules("rational_quadratic", width=4.0, share=0.98, charts=("spe",))
# A wide, nearly linear kernel: axes follow the correlations of sensors, also in directions of small variance.
PROCESS = Rules("rbf", width=0.003, share=0.995, charts=("t2", "spe"))
BOTH = ("t2", "spe")  # charts of an estimator that the user gives


def serial_share(X: np.ndarray, runs: np.ndarray) -> float:
    """Return the share of the columns whose lag-one correlation is significant; constant columns do not count.

    Correlations are computed about the means of blocks of ten consecutive rows. The reason is a table that is sorted by
    class or by date: its mean changes, although neighbouring rows are independent within a class. The expected
    correlation of independent rows about the mean of their block, −1/10 in a whole block, is subtracted. The standard
    error of a sum of products of neighbours is the root of the sum of their squares, also if a few rows vary more than
    all others. A column that varies, but not within any block, is correlated.
    """
    block = np.cumsum(ages(runs) % BLOCK == 0) - 1
    starts, sizes = np.unique(block, return_index=True, return_counts=True)[1:]
    X = np.asarray(X, float)
    largest, X = np.abs(X).max(axis=0), X - X[0]
    span = np.abs(X).max(axis=0)
    varies = span > RESOLUTION * largest
    if len(starts) == len(X) or not varies.any():
        return 0.0
    X = X[:, varies] / span[varies]
    centred = X - (np.add.reduceat(X, starts, axis=0) / sizes[:, None])[block]
    centred[np.abs(centred) < RESOLUTION] = 0.0
    same = block[1:] == block[:-1]
    products = centred[1:][same] * centred[:-1][same]
    expected = -np.sum(1 - 1 / sizes) / np.sum(sizes - 1)
    excess = np.sum(products, axis=0) - expected * np.sum(centred**2, axis=0)
    return float(np.mean(np.abs(excess) >= CORRELATED * np.sqrt(np.sum(products**2, axis=0))))


def effective(values: np.ndarray) -> float:
    """Return the effective number of independent values, n(1 − r)/(1 + r), r the lag-one correlation if above 0."""
    centred = values - values.mean()
    r = np.sum(centred[1:] * centred[:-1]) / (np.sum(centred**2) or 1.0)
    return float(len(values) * (1 - r) / (1 + r)) if r > 0 else float(len(values))
