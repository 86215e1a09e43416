"""One progress bar for all passes over the data inside a block, with an estimate of the time left."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TextIO

from .tiles import PASS, watched

EXPECTED = {PASS: 4}  # passes of one name in a fit: Davidson's iteration takes three to five
WIDTH = 30  # characters of the bar
INTERVAL = 0.1  # seconds between two drawings


@contextmanager
def progress(stream: TextIO | None = None) -> Iterator[None]:
    """Show one progress bar for the fits and transforms inside the block, in terminals and notebooks.

    A pass is weighted by the time of earlier ones of the same kind. The number of passes is an estimate, since
    iterations end when they have converged.

    Parameters
    ----------
    stream : text stream, default=None
        Where to draw; standard error by default.

    Examples
    --------
    >>> import io, mercer
    >>> X, _ = mercer.datasets.rings(n=60)
    >>> with mercer.progress(io.StringIO()):
    ...     model = mercer.KernelPCA(2).fit(X)
    >>> model.explained_variance_ratio_.round(2)
    array([0.4 , 0.27])
    """
    bar = _Bar(stream or sys.stderr)
    with watched(bar.watch):
        yield
    bar.end()


class _Bar:
    """The passes that are done, and the one line that shows them."""

    def __init__(self, stream: TextIO):
        self.stream, self.drawn = stream, 0.0
        self.spent: dict[str, list[float]] = {}  # seconds of each pass that is done
        self.share = 0.0

    def watch(self, name: str, total: int) -> Iterator[None]:
        """Start a pass of ``total`` tiles, and resume after each of them."""
        begin, before = monotonic(), self.spent.setdefault(name, [])
        for done in range(1, total + 1):
            yield
            now = monotonic()
            if now - self.drawn >= INTERVAL:
                self._draw(name, done / total, now - begin, sum(before))
                self.drawn = now
        before.append(monotonic() - begin)

    def _draw(self, name: str, part: float, here: float, earlier: float) -> None:
        """Draw the line; ``part`` of the pass took ``here`` seconds, those of its kind before it ``earlier``."""
        count = len(self.spent[name])
        more = max(EXPECTED.get(name, 1) - count - 1, 0)
        each = (earlier + here / part) / (count + 1)
        left = here / part - here + more * each
        self.share = max(self.share, (earlier + here) / (earlier + here + left))  # the bar never goes back
        filled = "#" * round(WIDTH * self.share)
        passes = f" {count + 1} of about {count + 1 + more}" if count + more else ""
        self.stream.write(f"\r[{filled:<{WIDTH}}] {self.share:4.0%}  {name}{passes}, {left:.0f} s left   ")
        self.stream.flush()

    def end(self) -> None:
        """Complete the bar, if there is one."""
        if self.drawn:
            self.stream.write(f"\r[{'#' * WIDTH}] 100%{'':60}\n")
            self.stream.flush()
