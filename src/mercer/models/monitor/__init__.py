"""Process monitoring: which rows are abnormal, when a fault begins, and which variables cause it."""

from .charts import Chart
from .detector import KernelPCAMonitor
from .limits import Limits
from .report import MonitorReport

__all__ = ["Chart", "KernelPCAMonitor", "Limits", "MonitorReport"]
