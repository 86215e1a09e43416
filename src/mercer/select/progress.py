"""The word on what a long comparison will cost, and how far it is: on a terminal's stderr, and nowhere else."""

import sys
from time import perf_counter


class Told:
    """Steps of a comparison, told on a terminal: what it will cost when the first ones are timed, then how far it is.

    ``told(done)`` is called after each step; nothing is written where stderr is no terminal.
    """

    def __init__(self, what, total, seconds):
        self.total, self.start = total, perf_counter()
        self.loud = sys.stderr is not None and sys.stderr.isatty()
        self._write(f"{what}: {total} steps, about {duration(seconds)}\n")

    def __call__(self, done):
        passed = perf_counter() - self.start
        left = passed / done * (self.total - done)
        end = "\n" if done == self.total else ""
        self._write(f"\r{done} of {self.total}, {duration(left)} left   {end}")

    def _write(self, text):
        if self.loud:
            sys.stderr.write(text)
            sys.stderr.flush()


def duration(seconds):
    """A time in words."""
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
