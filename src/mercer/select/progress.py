"""The progress of a long comparison, written to stderr if it is a terminal."""

import sys
from time import perf_counter


class Progress:
    """Report the expected duration of a comparison at its start, and the remaining time after each step."""

    def __init__(self, what: str, total: int, seconds: float) -> None:
        self.total, self.start = total, perf_counter()
        self.terminal = sys.stderr is not None and sys.stderr.isatty()
        self._write(f"{what}: {total} steps, about {duration(seconds)}\n")

    def __call__(self, done: int) -> None:
        """Report that a number of steps are done."""
        left = (perf_counter() - self.start) / done * (self.total - done)
        end = "\n" if done == self.total else ""
        self._write(f"\r{done} of {self.total}, {duration(left)} left   {end}")

    def _write(self, text: str) -> None:
        if self.terminal:
            sys.stderr.write(text)
            sys.stderr.flush()


def duration(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
