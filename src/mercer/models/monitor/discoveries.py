"""p-values of rows from their ranks among calibration rows, and discoveries at a controlled false discovery rate."""

import numpy as np


def conformal(calibration: np.ndarray, values: np.ndarray, n_effective: float) -> np.ndarray:
    """Return p-values that are valid in finite samples for rows exchangeable with the calibration rows.

    Both arrays have a column for each chart. The rank of a row is the higher of its ranks in the charts. With one chart
    p = (1 + #{calibration ≥ x})/(n + 1). With two, inserting the new row can move a calibration row up by one rank in
    the other chart, so that rows just below the new row's rank are counted too. Correlated calibration rows count like
    ``n_effective`` = n_e < n independent rows: p = (1 + n_e·#/n)/(n_e + 1).
    """
    n, charts = calibration.shape
    ordered = np.sort(calibration, axis=0)
    columns = range(charts)
    own = np.max([np.searchsorted(ordered[:, j], calibration[:, j], "right") for j in columns], axis=0)
    below = np.max([np.searchsorted(ordered[:, j], values[:, j], "left") for j in columns], axis=0)
    least = below + 1 if charts == 1 else below
    as_high = n - np.searchsorted(np.sort(own), least, "left")
    return np.minimum((1 + n_effective * as_high / n) / (n_effective + 1), 1.0)


def benjamini_hochberg(p: np.ndarray, rate: float) -> np.ndarray:
    """Return the mask of the rows that can be called abnormal with an expected share of false ones of at most ``rate``.

    These are all rows with p ≤ p₍ₖ₎, for the largest k with p₍ₖ₎ ≤ k·rate/n (Benjamini & Hochberg 1995).
    """
    n = len(p)
    ordered = np.sort(p)
    passing = np.flatnonzero(ordered <= rate * np.arange(1, n + 1) / n)
    return p <= ordered[passing[-1]] if len(passing) else np.zeros(n, bool)
