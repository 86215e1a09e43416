"""Leave-one-out statistics of a principal subspace.

Leaving a row out subtracts a multiple of yyᵀ from the covariance, which is Λ in its own axes: the eigenvalues without
the row are roots of a secular equation, so that one decomposition is enough for all rows (Golub 1973; Bunch, Nielsen &
Sorensen 1978).
"""

import numpy as np

from .._core.tiles import map_rows

BISECTIONS = 60  # number of times that half the gap between two eigenvalues is halved: to the last digit


def leave_one_out(
    Y: np.ndarray, r2: np.ndarray, lam: np.ndarray, q: int, *, center: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return T² and r² of each row with respect to the q leading axes of all other rows: (n,), (n,).

    ``Y``, ``r2`` and ``lam`` are the rows' coordinates, their squared distances and the variances of a subspace with
    all axes (every row counting 1/n). With c = 1/(n − 1) the covariance without a row is n/(n − 1)·(Λ − c yyᵀ), and
    the row is n/(n − 1)·y from the mean of the others; without centring c = 1/n, and the row is y.
    """
    n = len(Y)
    if n < 2:
        raise ValueError("Leaving one row out needs at least two rows.")
    c, away = (1 / (n - 1), n / (n - 1)) if center else (1 / n, 1.0)
    q = min(q, len(lam), n - (2 if center else 1))  # the rank without the row
    below = np.append(lam, 0.0)[1 : q + 1]

    def tile(Y: np.ndarray, r2: np.ndarray) -> np.ndarray:
        squares = np.asarray(Y, float) ** 2
        mu, apart = _roots(squares, lam, below, c)
        along = away * _lengths(squares, apart, c)
        variances = n / (n - 1) * mu
        left = np.divide(along**2, variances, out=np.zeros_like(mu), where=variances > 0)
        spe = away**2 * squares.sum(axis=1) - np.sum(along**2, axis=1) + r2
        return np.column_stack([left.sum(axis=1), np.maximum(spe, 0)])

    both = map_rows(tile, Y, np.asarray(r2, float), width=4 * max(1, q) * len(lam))
    return both[:, 0], both[:, 1]


def _roots(squares: np.ndarray, lam: np.ndarray, below: np.ndarray, c: float) -> tuple[np.ndarray, np.ndarray]:
    """μ_j in (λ_{j+1}, λ_j) with c Σᵢ yᵢ²/(λᵢ − μ_j) = 1, and all λᵢ − μ_j: (n, q), (n, q, p).

    The sum increases with μ between two poles. Bisection finds the distance of a root to the nearer pole, which keeps
    all digits.
    """
    n, q = len(squares), len(below)
    half = np.broadcast_to((lam[:q] - below) / 2, (n, q))
    upper = _sums(squares, _apart(lam, lam[:q], half)) * c < 1  # the root is above the middle
    pole, sign = np.where(upper, lam[:q], below), np.where(upper, 1.0, -1.0)
    low, high = np.zeros((n, q)), half
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        nearer = (_sums(squares, _apart(lam, pole, sign * middle)) * c < 1) == upper
        low, high = np.where(nearer, low, middle), np.where(nearer, middle, high)
    distance = (low + high) / 2
    return pole - sign * distance, _apart(lam, pole, sign * distance)


def _apart(lam: np.ndarray, pole: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return λᵢ − μ for μ = pole − offset."""
    return (lam - np.broadcast_to(pole, offset.shape)[:, :, None]) + offset[:, :, None]


def _sums(squares: np.ndarray, apart: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nansum(squares[:, None, :] / apart, axis=2)


def _lengths(squares: np.ndarray, apart: np.ndarray, c: float) -> np.ndarray:
    """Return |yᵀu_j| of the axes u_j ∝ (Λ − μ_j)⁻¹y: 1/(c‖(Λ − μ_j)⁻¹y‖), and 0 if an eigenvalue did not change."""
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = 1 / (c * np.sqrt(np.nansum(squares[:, None, :] / apart**2, axis=2)))
    return np.where(np.isfinite(lengths), lengths, 0.0)
