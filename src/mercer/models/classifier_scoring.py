"""Losses of held-out samples by which a search ranks its settings: errors, log-losses, or scikit-learn's scorers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

LEAST = np.log(np.finfo(float).eps)  # smallest log-probability, as in scikit-learn
DOUBLINGS = 13  # doublings of the temperature, from 1: at the highest one all classes are nearly equally probable

Loss = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def loss_of(scoring: str | None, classes: np.ndarray, doubt: float | None) -> Loss:
    """Return the loss for a scoring rule: a function ``loss(costs, truth, ratios)``.

    ``costs`` has the shape (n_classes, n_ratios, n_candidates, n_samples). A cost is −2 log(prior × density) of a
    class, or r² if the noise ratio is 0. ``truth`` holds the index of the true class of each sample, and −1 for a class
    that the training samples do not have. The result has the shape (n_ratios, n_candidates, n_losses), to be averaged
    over folds; lower is better. Log-losses are those at several temperatures, see ``_tempered``, or without calibration
    if ``doubt`` is None; a noise ratio of 0 then gives no probabilities, and rules that need them have an infinite
    loss. The default rule has the error, then the log-losses.
    """
    log_loss = _log_loss if doubt is None else _Tempered(doubt)
    if scoring == "accuracy":
        return _error
    if scoring == "neg_log_loss":
        return log_loss
    if scoring is None:
        return lambda *held: np.concatenate([_error(*held), log_loss(*held)], axis=-1)
    return _Scored(get_scorer(scoring), classes)


def score_of(scoring: str | None, loss: Any) -> Any:
    """Return the score that a loss stands for: an accuracy, or the scorer's own number."""
    return 1 - loss if scoring in {None, "accuracy"} else -loss


def _error(cost: np.ndarray, truth: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    return np.mean(cost.argmin(axis=0) != truth, axis=-1)[..., None]


def _log_loss(cost: np.ndarray, truth: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    log_p = log_softmax(-cost / 2, axis=0)
    own = np.take_along_axis(log_p, np.maximum(truth, 0)[None, None, None, :], axis=0)[0]
    own = np.maximum(np.where(truth < 0, LEAST, own), LEAST)
    return np.where(ratios[:, None] > 0, -own.mean(axis=-1), np.inf)[..., None]


class _Tempered:
    """Log-losses at the temperatures 1, 2, 4, …; the smallest one estimates the log-loss of a calibrated model.

    Labels are smoothed: a share ``doubt`` of the probability of the true class is divided between all classes, as in
    :mod:`mercer.rkhs.calibration`.
    """

    def __init__(self, doubt: float):
        self.doubt = doubt

    def __call__(self, cost: np.ndarray, truth: np.ndarray, ratios: np.ndarray) -> np.ndarray:
        possible = np.isfinite(cost).all(axis=(1, 2, 3))
        known = np.flatnonzero((truth >= 0) & possible[truth])
        J = (cost[possible].min(axis=0) - cost[possible])[..., known] / 2
        index = np.searchsorted(np.flatnonzero(possible), truth[known])
        own = np.take_along_axis(J, index[None, None, None, :], axis=0)[0]
        aimed = ((1 - self.doubt) * own + self.doubt * J.mean(axis=0)).sum(axis=-1)
        p, found = np.exp(J / 2**DOUBLINGS), []
        for k in range(DOUBLINGS, -1, -1):
            found.append(np.log(p.sum(axis=0)).sum(axis=-1) - aimed / 2**k)
            p *= p  # now at half the temperature
        unknown = (len(truth) - len(known)) * -LEAST
        return (np.stack(found[::-1], axis=-1) + unknown) / len(truth)


class _Scored:
    """The loss by a scorer of scikit-learn, called once for each setting."""

    def __init__(self, scorer: Any, classes: np.ndarray):
        self.scorer, self.classes = scorer, classes

    def __call__(self, cost: np.ndarray, truth: np.ndarray, ratios: np.ndarray) -> np.ndarray:
        known = truth >= 0
        found = np.full(cost.shape[1:3], np.inf)
        for r, c in np.ndindex(*found.shape):
            answers = _Answers(-cost[:, r, c, known].T / 2, bool(ratios[r] > 0))
            try:
                found[r, c] = -self.scorer(answers, np.empty((int(known.sum()), 1)), truth[known])
            except AttributeError:  # probabilities of the limiting rule
                continue
        return found[..., None]


class _Answers(ClassifierMixin, BaseEstimator):
    """A stand-in for a fitted classifier: it returns given log densities of the held-out samples."""

    def __init__(self, joint: np.ndarray, probable: bool):
        self.joint, self.probable = joint, probable
        self.classes_ = np.arange(joint.shape[1])

    def predict(self, X: Any) -> np.ndarray:
        """Return the number of the class with the largest density."""
        return self.joint.argmax(axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the posterior probabilities."""
        if not self.probable:
            raise AttributeError("The limiting rule has no probabilities.")
        return np.exp(log_softmax(self.joint, axis=1))
