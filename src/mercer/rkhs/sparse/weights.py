"""Weights of few rows by maximum likelihood: the ways to find Tipping's sparse covariance."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.linalg

from ..._core.blas import single_blas
from .likelihood import EPS, SparseCovariance

ROUNDING = 4 * EPS  # times (ρ_max/ρ)²: of R/S, since R is a difference of numbers so much larger
SMALLEST_NOISE = 1e-7  # of ρ_max: rounding is 9 % here
SMALLEST_SEARCHED = 1e-5  # of ρ_max: rounding is 9e-6 here
TOGETHER, SHARE = 5, 6  # rows are added five at a time, or a sixth of those there are
CORRELATED = 0.25  # squared cosine from which two rows are not added together
STEPS = 3  # Newton's, between additions
SHORTENINGS, SHORTER = 4, 0.25  # of a step that does not raise the likelihood
RISE = 1e-4  # of what the slope promises: less is no rise
FLAT = 1e-10  # of the largest curvature: less is not told from none
GONE = 1e-9  # of a weight: a step that leaves no more takes it all
NEGLIGIBLE = 1e-12  # w·k(x, x) / ρ of a falling weight that the slow updates let go
NEAR_NOISE, SAME_NOISE = 0.02, 1e-6  # in log ρ: near enough to the smallest one; two that are one
MARGIN = 0.1  # of the interval in log ρ: a guess is no nearer to its ends


@dataclass(frozen=True, eq=False)
class Fit:
    """Weights, the likelihood on the way to them, and the certificate."""

    covariance: SparseCovariance
    values: list[float]
    converged: bool

    @property
    def w(self):
        return self.covariance.w

    @property
    def n_iter(self):
        return len(self.values) - 1

    @property
    def kkt(self):
        return self.covariance.kkt


def _attainable(data, rho, tol):
    """The tolerance, or the rounding of R/S where that is larger."""
    return max(tol, ROUNDING * (data.largest_noise / rho) ** 2)


def newton(data, rho, max_iter, tol, start=None, most=np.inf):
    """Add the rows of largest gain, take Newton steps on the weights, let rows go whose best weight is 0; and again.

    ``start`` is a covariance to begin from, ``most`` the number of rows at which the additions stop.
    """
    C = data.at(rho, np.zeros(len(data.K)) if start is None else start.weights)
    values, tol = [C.value], _attainable(data, rho, tol)
    for _ in range(max_iter):
        full = len(C.active) >= most
        if C.slack <= tol and (full or C.kkt <= tol):
            return Fit(_thinned(C, tol), values, converged=True)
        before, C = C, C if full else _enlarged(C, tol, most)
        for _ in range(STEPS):
            C = _pruned(_newton_step(C))
            if C.slack <= tol:
                break
        values.append(C.value)
        if C.value - before.value <= EPS * abs(C.value) and 2 * C.slack > before.slack:
            return Fit(_thinned(C, tol), values, converged=True)  # rounding allows no more
    return Fit(C, values, converged=False)


def _enlarged(C, tol, most):
    """With the candidates of largest gain, no two of them alike, at their best weights; with the first if all cost."""
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


def _newton_step(C):
    """Newton's step in w, no further than to where the first weight ends; shorter where that is too far; or (14).

    Steps in log w crawl along the ridge between rows that are nearly alike; steps in w go straight to its end.
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


def _ascent(B, g):
    """B⁻¹g, with the absolute values of its eigenvalues where B is not positive definite."""
    try:
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(B, check_finite=False), g, check_finite=False)
    except np.linalg.LinAlgError:
        values, V = np.linalg.eigh(B)
        size = np.abs(values)
        return V @ ((V.T @ g) / np.maximum(size, FLAT * size.max()))


def _pruned(C):
    """Without the weights that would better be 0 while the others stay; one at a time where all at once costs."""
    while (surplus := C.wS * (1 - C.wS) - C.wR).max(initial=-1.0) >= 0:
        fewer = C.moved(np.where(surplus >= 0, 0, C.w))
        if fewer.value < C.value:
            fewer = C.moved(np.where(surplus == surplus.max(), 0, C.w))
        C = fewer
    return C


def _thinned(C, tol):
    """The same C on fewer rows where their φφᵀ are linearly dependent, as those of kernels of low rank are.

    Σ δφφᵀ = 0 where (k²)δ = 0: along such a δ nothing changes until a weight ends.
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
    rounding = len(C.w) * EPS * C.data.trace / C.rho  # the largest term of the likelihood
    return thin if thin.slack <= tol and thin.value >= C.value - rounding else C


def repeated(update: Callable, data, rho, max_iter, tol):
    """Repeat an update of all weights, from the shares of the data on."""
    C = data.at(rho, data.shares)
    values, tol = [C.value], _attainable(data, rho, tol)
    for _ in range(max_iter):
        if C.slack <= tol and C.kkt <= tol:
            return Fit(C, values, converged=True)
        w = update(C)
        C = C.moved(np.where((w * data.K.diagonal()[C.active] < NEGLIGIBLE * rho) & (C.wR < C.wS), 0, w))
        values.append(C.value)
    return Fit(C, values, converged=False)


ALGORITHMS: dict[str, Callable] = {
    "newton": newton,
    "fast": partial(repeated, SparseCovariance.fast),
    "em": partial(repeated, SparseCovariance.em),
}


def check_noise(rho, largest):
    """Refuse a noise variance that leaves no anchor, or none that rounding does not blur."""
    if rho >= largest:
        raise ValueError(
            f"noise_variance={rho:g} leaves no anchor: on these data it must be less than {largest:.6g}. "
            "Give a smaller one, or n_anchors."
        )
    if rho < SMALLEST_NOISE * largest:
        raise ValueError(
            f"noise_variance={rho:g} is too small for double precision: on these data it must be at least "
            f"{SMALLEST_NOISE * largest:.6g}. KernelPCA(center=False) is the limit of none."
        )


def fit_weights(data, rho, solver, max_iter, tol):
    """Return the weights that maximise the likelihood at the noise variance ρ."""
    with single_blas:
        return ALGORITHMS[solver](data, rho, max_iter, tol)


def fit_number(data, count, max_iter, tol):
    """Return the weights at the smallest noise variance found that leaves ``count`` rows; fewer if none does.

    The number is a step function of log ρ, which is searched from above, each time from the weights of the nearest
    larger ρ. Where a step leaps over the number, the rows that are missed least are taken out again.
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


def _between(high, low, fewer, more, count):
    """Where the number would be if its logarithm were a line in log ρ, well inside the interval."""
    few, asked, many = np.log1p([len(fewer.w), count + 0.5, len(more.w)])  # the step is behind the number
    return high + np.clip((asked - few) / (many - few), MARGIN, 1 - MARGIN) * (low - high)


def _reduced(fit, count, max_iter, tol):
    """Take out the row whose loss costs least, L(w) − L(0) = ½[log(1 − wS) + wR/(1 − wS)], until ``count`` are left."""
    while len(fit.w) > count:
        C = fit.covariance
        losses = np.log1p(-C.wS) + C.wR / (1 - C.wS)
        C = C.moved(np.where(losses == losses.min(), 0, C.w))
        fit = newton(C.data, C.rho, max_iter, tol, C, most=min(count, len(C.w)))
    return fit
