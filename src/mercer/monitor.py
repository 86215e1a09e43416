"""Process monitoring: is this sample abnormal, since when, and which variables make it so."""

from .models.monitor import Chart, KernelPCAMonitor, Limits, MonitorReport

__all__ = ["Chart", "KernelPCAMonitor", "Limits", "MonitorReport"]
