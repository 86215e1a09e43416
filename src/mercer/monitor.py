"""Process monitoring: find abnormal samples, when they began, and the variables that make them abnormal."""

from .models.monitor import Chart, KernelPCAMonitor, Limits, MonitorReport

__all__ = ["Chart", "KernelPCAMonitor", "Limits", "MonitorReport"]
