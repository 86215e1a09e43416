"""Scores of training rows, which are treated like rows that the model has not seen.

A model with a narrow kernel reproduces each of its training rows, so that it cannot detect which of them are abnormal.
Training rows are therefore recognised when they are scored, and keep the values that they had when they were held out.
Methods based on nearest neighbours leave out the row itself for the same reason.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ..._core.fields import Numbers
from ..._core.registry import stored

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio, odd: Fibonacci hashing
SHIFT = np.uint64(29)


@stored("monitor.TrainingRows")
@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Keys of training rows, their held-out T² and SPE (NaN: use the values of the model), and their verdicts.

    ``verdict`` is −1 for rows that were left out as abnormal and 1 for the others, or 0 for all rows if
    ``contamination`` is 0.
    """

    keys: Annotated[np.ndarray, Numbers("n", kinds="iu")]
    values: Annotated[np.ndarray, Numbers("n", 2, finite=False)]
    verdict: Annotated[np.ndarray, Numbers("n")]

    def find(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of each row among the training rows, and a mask of the rows that are training rows."""
        keys = keys_of(rows)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return place, self.keys[place] == keys

    def held_out(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of the rows that are training rows with known held-out T² and SPE."""
        place, known = self.find(rows)
        return known & ~np.isnan(self.values[place, 0])

    def known_values(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the values (n, 2), with the held-out values of training rows in place of those given."""
        place, known = self.find(rows)
        kept = self.values[place]
        return np.where(known[:, None] & ~np.isnan(kept), kept, values)

    def known_scores(self, rows: np.ndarray, scores: np.ndarray, offset: float) -> np.ndarray:
        """Return the scores, below the offset for rows that were left out as abnormal and above it for the others."""
        place, known = self.find(rows)
        verdict = np.where(known, self.verdict[place], 0)
        highest = np.where(verdict < 0, np.nextafter(offset, -np.inf), np.inf)
        return np.clip(scores, np.where(verdict > 0, offset, -np.inf), highest)


def training_rows(rows: np.ndarray, values: np.ndarray, verdict: np.ndarray) -> TrainingRows:
    """Return the record of training rows: of equal rows the smallest SPE, and the verdict of most of them.

    The cut between abnormal and normal rows can pass through copies of one row. If as many of them are called abnormal
    as normal, their verdict is 0.
    """
    keys = keys_of(rows)
    order = np.lexsort([values[:, 1], keys])
    starts = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0))
    first = order[starts]
    return TrainingRows(keys[first], values[first], np.sign(np.add.reduceat(verdict[order], starts)))


def keys_of(rows: np.ndarray) -> np.ndarray:
    """Return a 64-bit key of the numbers in each row."""
    bits = (np.ascontiguousarray(rows, np.float64) + 0.0).view(np.uint64)  # −0 + 0 = 0
    keys = np.zeros(len(rows), np.uint64)
    for column in bits.T:
        keys = (keys ^ column) * MULTIPLIER
        keys ^= keys >> SHIFT
    return keys.view(np.int64)
