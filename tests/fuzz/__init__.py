"""Fuzzers: random hostile input, and the rule by which each result is judged.

A target is a function of a NumPy generator that makes one case, runs it, and returns None, or a sentence about what was
mishandled. A case is reproduced by its target, seed and number: ``python -m fuzz.run files-json --seed 3 --only 17``.
"""

from collections.abc import Callable

import numpy as np

from . import chunks, estimators, files, native, objects, tables

TARGETS: dict[str, Callable[[np.random.Generator], str | None]] = {
    "files-bytes": files.raw_bytes,
    "files-json": files.manifest,
    "files-arrays": files.arrays,
    "tables": tables.through_commands,
    "estimators": estimators.fitted,
    "objects": objects.fitted,
    "chunks": chunks.chunked,
    "native": native.called,
}

SHARES = {
    "files-bytes": 1,
    "files-json": 3,
    "files-arrays": 3,
    "tables": 4,
    "estimators": 6,
    "objects": 6,
    "chunks": 2,
    "native": 1,
}
"""The shares of the targets in the time of a run: the more can go wrong in a case, the larger."""


def generator(target: str, seed: int, number: int) -> np.random.Generator:
    """Return the random numbers of one case."""
    return np.random.default_rng([seed, number, sorted(TARGETS).index(target)])
