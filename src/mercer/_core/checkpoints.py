"""Checkpoints of long iterations: an interrupted fit continues where it stopped when it is run again."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from .atomic import replacing

INTERVAL = 1.0  # seconds between two checkpoints of one iteration
DIGITS = 32


@contextmanager
def resuming(folder: str | PathLike[str]) -> Iterator[None]:
    """Store the state of long iterations in a folder, and continue from that of an earlier run of the same fit.

    EM of :class:`mercer.KernelPCAMixture` and :class:`mercer.ProbabilisticKernelPCA` continues with its last
    iteration, :class:`mercer.KernelPCAClassifierCV` with the next kernel. Data, parameters and ``random_state`` must
    be the same. The files can be removed at any time.

    Parameters
    ----------
    folder : str or path-like
        The folder, which is created if necessary.

    Examples
    --------
    >>> import tempfile, mercer
    >>> X, _ = mercer.datasets.rings(n=60)
    >>> with mercer.resuming(tempfile.mkdtemp()):
    ...     model = mercer.KernelPCAMixture(2, n_init=2, random_state=0).fit(X)
    >>> model.n_iter_
    2
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    token = _folder.set(path)
    try:
        yield
    finally:
        _folder.reset(token)


class Checkpoint:
    """The state of one iteration, identified by a name and all of its inputs; without a folder it does nothing."""

    def __init__(self, name: str, *parts: Any):
        folder = _folder.get()
        self.path = None if folder is None else folder / f"{name}-{_digest(parts)}.npz"
        self.written = monotonic()

    def read(self) -> dict[str, np.ndarray] | None:
        """Return the arrays of an earlier run, or None; a damaged file counts as none."""
        if self.path is None or not self.path.is_file():
            return None
        try:
            with np.load(BytesIO(self.path.read_bytes()), allow_pickle=False) as arrays:
                return {key: arrays[key] for key in arrays.files}
        except Exception:  # NumPy and zipfile raise many kinds
            return None

    def write(self, *, last: bool = False, **arrays: Any) -> None:
        """Keep the arrays, at most once a second unless they are the last ones."""
        if self.path is None or (not last and monotonic() - self.written < INTERVAL):
            return
        with replacing(self.path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        self.written = monotonic()


def _digest(parts: Any) -> str:
    whole = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            whole.update(f"{part.dtype} {part.shape}".encode())
            whole.update(np.ascontiguousarray(part).tobytes())
        else:
            whole.update(repr(part).encode())
    return whole.hexdigest()[:DIGITS]


_folder: ContextVar[Path | None] = ContextVar("folder", default=None)
