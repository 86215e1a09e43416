"""Held-out rows for the calibration of a classifier: folds, and the joint densities of the rows left out."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.tiles import followed
from ..rkhs.calibration import scale, temperature, vector
from .distinct import distinct

FOLDS = 5
ENOUGH_FOR_BIAS = 10  # distinct samples for each class: the usual number for a parameter of a logistic model
ENOUGH = 1000  # held-out samples are enough for a few parameters, so fewer folds are fitted on many samples

Joint = Callable[[np.ndarray, np.ndarray], np.ndarray]


def held_out(joint: Joint, folds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the held-out samples and their joint densities; ``joint(rows, held)`` fits on ``rows``."""
    parts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit on all samples has given these warnings
        for fold in followed("calibration", sorted({*folds.tolist()} - {-1})):
            rows, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            parts.append((held, joint(rows, held)))
    numbers, joints = zip(*parts, strict=True)
    return np.concatenate(numbers), np.concatenate(joints)


def balanced_folds(X: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the fold of each sample, −1 for those that are never held out, and the number of its distinct row.

    Equal rows are in the same fold even if their classes differ, so that no model is fitted on copies of its held-out
    rows. The order of the samples does not matter, and weights are equivalent to repetitions. If equal rows have
    different classes, they are assigned to a fold like rows of the rarest of these classes. The rows of each class are
    spread over the folds. Only as many folds as necessary are held out, and never all samples of a class.
    """
    row = distinct(X)[1].ravel()
    pairs = np.unique(row * (y.max() + 1) + y)
    rows, classes = np.divmod(pairs, y.max() + 1)
    counts = np.bincount(classes, minlength=y.max() + 1)
    order = np.lexsort((classes, counts[classes], rows))  # the rarest class of each row is first
    label = classes[order[np.unique(rows[order], return_index=True)[1]]]
    fold = np.empty(len(label), int)
    for c in range(y.max() + 1):
        own = np.flatnonzero(label == c)
        fold[np.random.default_rng(0).permutation(own)] = np.arange(len(own)) % FOLDS
    fold[fold >= max(1, -(-ENOUGH * FOLDS // len(pairs)))] = -1
    for c in range(y.max() + 1):
        of_class = rows[classes == c]
        if len({*fold[of_class].tolist()}) == 1:
            fold[of_class] = -1
    return fold[row], row


def calibrated(
    kind: str, joint: np.ndarray, y: np.ndarray, weights: np.ndarray, priors: np.ndarray, n: int
) -> tuple[float, np.ndarray]:
    """Return the temperature and a bias for each class, from ``n`` distinct held-out samples.

    Samples are weighted so that each class counts by its prior, regardless of its share of the samples. If a class has
    no held-out sample, or if there are fewer than ``ENOUGH_FOR_BIAS`` distinct samples for each class, biases cannot be
    estimated, and all are 0. ``"scale"`` is a temperature that may be below 1.
    """
    biases, possible = np.zeros(len(priors)), np.flatnonzero(priors > 0)
    shares = np.bincount(y, weights, minlength=len(priors))
    w = weights * np.divide(priors, shares, out=np.zeros(len(priors)), where=shares > 0)[y]
    kept = w > 0
    if len(possible) < 2 or not kept.any():
        return 1.0, biases
    joint, y, w = joint[np.ix_(kept, possible)], np.searchsorted(possible, y[kept]), w[kept] / w[kept].sum()
    unknown = n < ENOUGH_FOR_BIAS * len(possible) or np.any(shares[possible] == 0)
    if kind == "scale":
        found = scale(joint, y, w, n)
    else:
        found = temperature(joint, y, w, n) if kind == "temperature" or unknown else vector(joint, y, w, n)
    biases[possible] = found[1]
    return found[0], biases
