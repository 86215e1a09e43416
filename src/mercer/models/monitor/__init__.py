"""Watching rows: is this one abnormal, since when, and which variables make it so."""

from .charts import Chart
from .detector import KernelPCAMonitor
from .limits import Limits
from .report import MonitorReport

__all__ = ["Chart", "KernelPCAMonitor", "Limits", "MonitorReport"]
