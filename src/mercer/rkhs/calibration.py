"""Calibration of class probabilities: the temperature and biases that minimise the log-loss on held-out rows.

The posterior of Gaussian classes in many dimensions is overconfident: its energies add up terms that are estimated from
the same rows. Dividing the energies by a temperature T, and adding a bias for each class, corrects this.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

HOTTEST = 1e8  # largest temperature: all classes are then equally probable
PRECISION = 1e-11  # largest gradient at the result, which is then independent of rounding errors of the densities
MOST_ITER = 1000
POLISH = 3  # Gauss–Newton steps after the minimisation, which stops when the loss no longer changes
LARGEST_STEP = 1e-3  # largest Gauss–Newton step: a larger one comes from a loss that is nearly flat


def doubt_of(n: int) -> float:
    """Return the label smoothing for n rows: a quarter of Platt's 1/(n + 2).

    If every held-out row is classified correctly, the log-loss decreases forever as T → 0. Smoothed labels limit the
    probabilities of separated classes to the certainty that n rows can support. With Platt's value, rows far from the
    class boundary would make rows near it too uncertain.
    """
    return 1 / (4 * (n + 2))


def temperature(joint: np.ndarray, y: np.ndarray, w: np.ndarray, n: int) -> tuple[float, np.ndarray]:
    """Return T ≥ 1 that minimises −Σ w log softmax(joint / T)_y, and biases of 0.

    The labels y are smoothed for n distinct rows: see :func:`doubt_of`.
    """
    return _least(joint, y, w, n, 0.0, [(0.0, 0.0)] * joint.shape[1])


def scale(joint: np.ndarray, y: np.ndarray, w: np.ndarray, n: int) -> tuple[float, np.ndarray]:
    """Return T > 0 and biases of 0, for joint densities without a natural scale."""
    return _least(joint, y, w, n, 0.0, [(0.0, 0.0)] * joint.shape[1], -np.log(HOTTEST))


def vector(joint: np.ndarray, y: np.ndarray, w: np.ndarray, n: int) -> tuple[float, np.ndarray]:
    """Return T ≥ 1 and biases b that minimise −Σ w log softmax(joint / T + b)_y + ½‖b‖²/n.

    The labels y are smoothed for n distinct rows. The second term is a standard normal prior, which keeps the biases
    finite.
    """
    return _least(joint, y, w, n, 1 / n, [(None, None)] * joint.shape[1])


def _least(
    joint: np.ndarray, y: np.ndarray, w: np.ndarray, n: int, ridge: float, bounds: list, lowest: float = 0.0
) -> tuple[float, np.ndarray]:
    """Minimise over log T ≥ ``lowest`` and b; ``w`` sums to 1, and all classes share the smoothing."""
    doubt = doubt_of(n)
    joint = joint - joint.max(axis=1, keepdims=True)
    own = (1 - doubt) * (np.arange(joint.shape[1]) == y[:, None]) + doubt / joint.shape[1]

    def loss(p: np.ndarray) -> tuple[float, np.ndarray]:
        log_T, b = p[0], p[1:]
        scaled = joint * np.exp(-log_T)
        log_p = log_softmax(scaled + b, axis=1)
        slope = w[:, None] * (np.exp(log_p) - own)  # ∂loss / ∂(scaled + b)
        value = ridge * (b @ b) / 2 - w @ np.sum(own * log_p, axis=1)
        return value, np.append(-np.sum(slope * scaled), slope.sum(axis=0) + ridge * b)

    start = np.zeros(1 + joint.shape[1])  # T = 1: also the result if every row is classified correctly with certainty
    options, limits = {"gtol": PRECISION, "ftol": 0.0, "maxiter": MOST_ITER}, [(lowest, np.log(HOTTEST)), *bounds]
    best = minimize(loss, start, jac=True, bounds=limits, options=options).x
    free = np.array([low is None or low < x < high for x, (low, high) in zip(best, limits, strict=True)])
    for _ in range(POLISH):
        step = np.linalg.lstsq(_curvature(joint, w, ridge, best)[np.ix_(free, free)], loss(best)[1][free])[0]
        best[free] -= step if np.all(np.abs(step) < LARGEST_STEP) else 0.0
    return float(np.exp(np.clip(best[0], *limits[0]))), best[1:]


def _curvature(joint: np.ndarray, w: np.ndarray, ridge: float, p: np.ndarray) -> np.ndarray:
    """Return the second derivatives of the loss with respect to log T and b, at a point where the first ones are 0."""
    scaled = joint * np.exp(-p[0])
    P = np.exp(log_softmax(scaled + p[1:], axis=1))
    centred = scaled - np.sum(P * scaled, axis=1, keepdims=True)
    across = -w @ (P * centred)
    within = np.diag(w @ P + ridge) - P.T @ (w[:, None] * P)
    return np.block([[np.sum(w @ (P * centred**2)), across[None, :]], [across[:, None], within]])
