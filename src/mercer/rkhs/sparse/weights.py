"""Maximum-likelihood weights of Tipping's sparse covariance: Newton steps, EM and the fast updates."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.linalg

from ..._core.blas import single_blas
from .likelihood import EPS, Likelihood, SparseCovariance

RATIO_ERROR = 4 * EPS  # rounding error of R/S in units of (ρ_max/ρ)², because R is a difference of larger numbers
SMALLEST_NOISE = 1e-7  # relative to ρ_max: the rounding error is 9 % here
SMALLEST_SEARCHED = 1e-5  # relative to ρ_max: the rounding error is 9e-6 here
TOGETHER, SHARE = 5, 6  # rows are added five at a time, or a sixth of those that are active
CORRELATED = 0.25  # squared cosine from which two rows are not added together
NEWTON_STEPS = 3  # Newton steps between additions of rows
SHORTENINGS, SHORTER = 4, 0.25  # how often and by which factor a step that gains too little is shortened
RISE = 1e-4  # share of the increase predicted by the slope that a step must reach
NO_CURVATURE = 1e-10  # relative to the largest curvature: smaller ones are rounding errors
GONE = 1e-9  # share of a weight: if a step leaves less, the weight becomes 0
VANISHING = 1e-12  # w·k(x, x) / ρ of a decreasing weight that EM and the fast updates set to 0
NEAR_NOISE, SAME_NOISE = 0.02, 1e-6  # interval of log ρ that ends the search: with the right number of rows, or without
EDGE = 0.1  # smallest distance of a guess from the ends of the interval in log ρ, relative to its length


@dataclass(frozen=True, eq=False)
class Fit:
    """Weights, the likelihood after each iteration, and the optimality conditions."""

    covariance: SparseCovariance
    values: list[float]
    converged: bool

    @property
    def w(self) -> np.ndarray:
        return self.covariance.w

    @property
    def n_iter(self) -> int:
        return len(self.values) - 1

    @property
    def kkt(self) -> float:
        return self.covariance.kkt


def _attainable(data: Likelihood, rho: float, tol: float) -> float:
    """Return the tolerance, or the rounding error of R/S if that is larger."""
    return max(tol, RATIO_ERROR * (data.largest_noise / rho) ** 2)


def newton(
    data: Likelihood, rho: float, max_iter: int, tol: float, start: SparseCovariance | None = None, most: float = np.inf
) -> Fit:
    """Repeat: add the rows with the largest gain, take Newton steps on the weights, remove rows whose best weight is 0.

    ``start`` is the initial covariance, ``most`` the largest number of rows.
    """
    C = data.at(rho, np.zeros(len(data.K)) if start is None else start.weights)
    values, tol = [C.value], _attainable(data, rho, tol)
    for _ in range(max_iter):
        full = len(C.active) >= most
        if C.slack <= tol and (full or C.kkt <= tol):
            return Fit(_thinned(C, tol), values, converged=True)
        before, C = C, C if full else _enlarged(C, tol, most)
        for _ in range(NEWTON_STEPS):
            C = _pruned(_newton_step(C))
            if C.slack <= tol:
                break
        values.append(C.value)
        if C.value - before.value <= EPS * abs(C.value) and 2 * C.slack > before.slack:
            return Fit(_thinned(C, tol), values, converged=True)  # rounding errors prevent more
    return Fit(C, values, converged=False)


def _enlarged(C: SparseCovariance, tol: float, most: float) -> SparseCovariance:
    """Add dissimilar candidates with the largest gains at their best weights; only one if all lower the likelihood."""
    S, R = C.statistics
    gains = np.where((1 + tol) * S < R, C.gains(), 0)
    added: list[int] = []
    while len(added) < min(max(TOGETHER, len(C.active) // SHARE), most - len(C.active)) and gains.max(initial=0.0) > 0:
        i = int(np.argmax(gains))
        added.append(i)
        K = C.data.K
        gains[K[i] ** 2 >= CORRELATED * K[i, i] * K.diagonal()] = 0
    w, best = C.weights, C.optima()
    for new in (added, added[:1]):
        w[added] = 0
        w[new] = best[new]
        larger = C.data.at(C.rho, w)
        if larger.value >= C.value:
            break
    return larger


def _newton_step(C: SparseCovariance) -> SparseCovariance:
    """Take a Newton step in w, at most to the first weight 0; shorten it if needed; if that fails, use eq. (14).

    Steps in log w would be slow for similar rows, one of whose weights has to become 0.
    """
    slopes = (C.wR - C.wS) / 2
    u = _ascent(-C.curvature(), slopes)
    t = min(1.0, 1 / max(-u.min(initial=0.0), EPS))
    for _ in range(SHORTENINGS):
        factors = 1 + t * u
        new = C.moved(np.where(factors > GONE, factors, 0) * C.w)
        if new.value >= C.value + RISE * t * (slopes @ u) - EPS * abs(C.value):
            return new
        t *= SHORTER
    return C.moved(C.fast())


def _ascent(B: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return B⁻¹g, with the absolute values of the eigenvalues if B is not positive definite."""
    try:
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(B, check_finite=False), g, check_finite=False)
    except np.linalg.LinAlgError:
        values, V = np.linalg.eigh(B)
        size = np.abs(values)
        return V @ ((V.T @ g) / np.maximum(size, NO_CURVATURE * size.max()))


def _pruned(C: SparseCovariance) -> SparseCovariance:
    """Remove the weights whose best value, others fixed, is 0; one at a time if that lowers the likelihood."""
    while (surplus := C.wS * (1 - C.wS) - C.wR).max(initial=-1.0) >= 0:
        fewer = C.moved(np.where(surplus >= 0, 0, C.w))
        if fewer.value < C.value:
            fewer = C.moved(np.where(surplus == surplus.max(), 0, C.w))
        C = fewer
    return C


def _thinned(C: SparseCovariance, tol: float) -> SparseCovariance:
    """Return the same C on fewer rows if their φφᵀ are linearly dependent, as for kernels of low rank.

    Σ δφφᵀ = 0 if (k²)δ = 0: along such a δ C does not change, until a weight becomes 0.
    """
    thin = C
    while len(thin.active) > 1:
        k = thin.data.K.diagonal()[thin.active]
        values, V = np.linalg.eigh(thin.data.K[np.ix_(thin.active, thin.active)] ** 2 / np.outer(k, k))
        if values[0] > len(k) * EPS * values[-1]:
            break
        u = V[:, 0] / k / thin.w
        factors = 1 - u / u[np.argmax(np.abs(u))]
        thin = _newton_step(thin.moved(np.where(factors > GONE, factors, 0) * thin.w))
    rounding = len(C.w) * EPS * C.data.trace / C.rho  # of the largest term of the likelihood
    return thin if thin.slack <= tol and thin.value >= C.value - rounding else C


def repeated(
    update: Callable[[SparseCovariance], np.ndarray], data: Likelihood, rho: float, max_iter: int, tol: float
) -> Fit:
    """Repeat an update of all weights, starting from the shares of the data."""
    C = data.at(rho, data.shares)
    values, tol = [C.value], _attainable(data, rho, tol)
    for _ in range(max_iter):
        if C.slack <= tol and C.kkt <= tol:
            return Fit(C, values, converged=True)
        w = update(C)
        C = C.moved(np.where((w * data.K.diagonal()[C.active] < VANISHING * rho) & (C.wR < C.wS), 0, w))
        values.append(C.value)
    return Fit(C, values, converged=False)


ALGORITHMS: dict[str, Callable] = {
    "newton": newton,
    "fast": partial(repeated, SparseCovariance.fast),
    "em": partial(repeated, SparseCovariance.em),
}


def check_noise(rho: float, largest: float) -> None:
    """Raise ValueError if the noise variance leaves no anchor, or is too small for double precision."""
    if rho >= largest:
        raise ValueError(
            f"noise_variance={rho:g} leaves no anchor: on these data it must be less than {largest:.6g}. "
            "Give a smaller one, or n_anchors."
        )
    if rho < SMALLEST_NOISE * largest:
        raise ValueError(
            f"noise_variance={rho:g} is too small for double precision: on these data it must be at least "
            f"{SMALLEST_NOISE * largest:.6g}. KernelPCA(center=False) is the limit of no noise."
        )


def fit_weights(data: Likelihood, rho: float, solver: str, max_iter: int, tol: float) -> Fit:
    """Return the weights that maximise the likelihood at the noise variance ρ."""
    with single_blas:
        return ALGORITHMS[solver](data, rho, max_iter, tol)


def fit_number(data: Likelihood, count: int, max_iter: int, tol: float) -> Fit:
    """Return the weights at the smallest noise variance found that leaves ``count`` rows, or fewer if none does.

    The number of rows is a step function of log ρ, which is searched from above. Each fit starts from the weights of
    the nearest larger ρ. If no ρ gives exactly ``count`` rows, the rows with the smallest gain are removed.
    """
    lowest = np.log(SMALLEST_SEARCHED * data.largest_noise)
    high, low = np.log(data.largest_noise), lowest
    fewer, more = Fit(data.at(data.largest_noise, np.zeros(len(data.K))), [], converged=True), None
    log_rho = high - np.log(2)
    with single_blas:
        while more is None or high - low > (NEAR_NOISE if len(fewer.w) == count else SAME_NOISE):
            fit = newton(data, np.exp(log_rho), max_iter, tol, fewer.covariance)
            if len(fit.w) <= count:
                high, fewer = log_rho, fit
            else:
                low, more = log_rho, fit
            if high == lowest:
                return fewer
            log_rho = max(lowest, high - np.log(2)) if more is None else _between(high, low, fewer, more, count)
        return fewer if len(fewer.w) == count else _reduced(more, count, max_iter, tol)


def _between(high: float, low: float, fewer: Fit, more: Fit, count: int) -> float:
    """Return a guess of log ρ by linear interpolation of the log of the number, away from the ends."""
    few, asked, many = np.log1p([len(fewer.w), count + 0.5, len(more.w)])  # the step is between count and count + 1
    return high + np.clip((asked - few) / (many - few), EDGE, 1 - EDGE) * (low - high)


def _reduced(fit: Fit, count: int, max_iter: int, tol: float) -> Fit:
    """Remove the row with the smallest gain, L(w) − L(0) = ½[log(1 − wS) + wR/(1 − wS)], until ``count`` are left."""
    while len(fit.w) > count:
        C = fit.covariance
        losses = np.log1p(-C.wS) + C.wR / (1 - C.wS)
        C = C.moved(np.where(losses == losses.min(), 0, C.w))
        fit = newton(C.data, C.rho, max_iter, tol, C, most=min(count, len(C.w)))
    return fit
