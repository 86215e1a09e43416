"""Memory: how much is free, and errors for arrays that do not fit, before they are allocated."""

import os
from typing import Any

from .arrays import is_foreign

ALWAYS_FIT = 200  # rows: so few fit any memory, and a request to the system takes time


def available_bytes() -> int:
    """Return the memory that is free: of the machine, and of the process if it has a limit."""
    free = [os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")] if hasattr(os, "sysconf") else []
    try:
        with open("/proc/meminfo") as lines:
            free = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    except OSError:
        pass
    return min([*free, *_process_limit()], default=2**63)


def _process_limit() -> list[int]:
    try:
        import resource
    except ImportError:  # Windows
        return []
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return [] if soft == resource.RLIM_INFINITY else [soft]


def check_memory(what: str, n: int, arrays: int, instead: str, x: Any = None) -> None:
    """Raise MemoryError if ``arrays`` matrices of n × n float64 numbers do not fit, before anything is allocated.

    Nothing is checked if ``x`` is on a device, whose memory is not known here.
    """
    if n <= ALWAYS_FIT or is_foreign(x):
        return
    need, free = arrays * 8 * n**2, available_bytes()
    if need > free:
        raise MemoryError(
            f"{what} needs {arrays} arrays of {n} × {n}, {need / 1e9:.1f} GB, and {free / 1e9:.1f} GB are "
            f"free. {instead}"
        )
