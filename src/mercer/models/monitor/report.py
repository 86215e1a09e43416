"""The report of a monitor on its fit: the fitted attribute ``solver_``."""

from dataclasses import dataclass

from ...linalg.eigenpairs import Report


@dataclass(frozen=True)
class MonitorReport(Report):
    """The solver of the model and its accuracy, and the decisions about the training rows.

    ``kind`` is the kind of rows with the reason, ``rules`` describes the estimator, ``left_out`` is the share of the
    training rows that was left out as abnormal, ``suspect`` the share that looks abnormal. The limits come from
    ``n_calibration`` rows, which count like ``n_effective`` independent ones.

    Examples
    --------
    >>> from mercer import KernelPCAMonitor, datasets
    >>> monitor = KernelPCAMonitor(random_state=0).fit(datasets.three_tanks(n=500)[0])
    >>> print(monitor.solver_.kind)
    rows in time (100% of the columns are correlated from row to row)
    >>> print(monitor.solver_.rules)
    rbf, γ = 0.003 / median, 99.5% of the variance, T² and SPE
    """

    kind: str = ""
    rules: str = ""
    left_out: float = 0.0
    suspect: float = 0.0
    n_calibration: int = 0
    n_effective: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.kind}; {self.rules}; {self.left_out:.1%} of the training rows left out ({self.suspect:.1%} look "
            f"abnormal); limits from {self.n_calibration} rows, worth {self.n_effective:.0f} independent ones"
        )
