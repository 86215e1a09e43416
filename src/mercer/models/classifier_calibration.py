"""Held-out rows for the calibration of a classifier: folds, and the joint densities of the rows left out."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.tiles import followed
from ..rkhs.calibration import scale, temperature, vector
from .distinct import distinct

FOLDS = 5
ENOUGH = 1000  # held-out samples: a few parameters need no more, so that fewer folds are fitted on many samples

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
    """Return the fold of each sample, −1 for those that are never held out, and the number of each distinct sample.

    Equal samples of a class are in the same fold, and the order of the samples does not matter: weights are equivalent
    to repetitions. Only as many folds are held out as are enough, and never the last sample of a class.
    """
    member = distinct(X)[1]
    _, first, member = np.unique(member * (y.max() + 1) + y, return_index=True, return_inverse=True)
    labels, fold = y[first], np.empty(len(first), int)
    for c in range(y.max() + 1):
        own = np.flatnonzero(labels == c)
        fold[np.random.default_rng(0).permutation(own)] = np.arange(len(own)) % FOLDS
    fold[np.bincount(labels)[labels] < 2] = -1
    fold[fold >= max(1, -(-ENOUGH * FOLDS // len(labels)))] = -1
    return fold[member.ravel()], member.ravel()


def calibrated(
    kind: str, joint: np.ndarray, y: np.ndarray, weights: np.ndarray, priors: np.ndarray, n: int
) -> tuple[float, np.ndarray]:
    """Return the temperature and a bias for each class, from ``n`` distinct held-out samples.

    Samples are weighted so that each class counts by its prior, whatever its share of the samples is. If a class has no
    held-out sample, its bias cannot be estimated, and all biases are 0. ``"scale"`` is a temperature that
    may be below 1.
    """
    biases, possible = np.zeros(len(priors)), np.flatnonzero(priors > 0)
    shares = np.bincount(y, weights, minlength=len(priors))
    w = weights * np.divide(priors, shares, out=np.zeros(len(priors)), where=shares > 0)[y]
    kept = w > 0
    if len(possible) < 2 or not kept.any():
        return 1.0, biases
    joint, y, w = joint[np.ix_(kept, possible)], np.searchsorted(possible, y[kept]), w[kept] / w[kept].sum()
    unknown = np.any(shares[possible] == 0)
    if kind == "scale":
        found = scale(joint, y, w, n)
    else:
        found = temperature(joint, y, w) if kind == "temperature" or unknown else vector(joint, y, w, n)
    biases[possible] = found[1]
    return found[0], biases
