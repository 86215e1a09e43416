"""Toy data sets drawn from a seed, and the real data sets of the papers, which are not part of the package.

Real data sets are ``.npz`` files in the folder given by the environment variable ``MERCER_DATA``. USPS, MNIST, Pima,
the IDA benchmarks, the tables of ADBench (``ad_…``) and the Tennessee Eastman process (``te``) are downloaded from
their public sources if they are missing, checked against their sha256, and stored in that folder or in
``~/.cache/mercer``.
"""

import os
from math import copysign, sqrt
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from .._core.npy import ZIP_ERRORS

FOLDER = "MERCER_DATA"


def load(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of a real data set.

    Parameters
    ----------
    name : str
        For example ``"usps"``, ``"mnist"``, ``"pima"``, ``"covtype"``, ``"ida_banana"``, ``"ad_shuttle"`` or ``"te"``.

    Returns
    -------
    arrays : dict of str to ndarray
        The arrays of the file: ``X`` and ``y``, or ``X_train``, ``y_train``, ``X_test`` and ``y_test``.

    Examples
    --------
    >>> from mercer import datasets
    >>> datasets.load("usps")["X_train"].shape  # doctest: +SKIP
    (7291, 256)
    """
    path = _find_or_fetch(name)
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            found = {key: arrays[key] for key in arrays.files}
            return {key: array.reshape(array.shape) for key, array in found.items()}  # bytes have no shape
    except (*ZIP_ERRORS, AttributeError):  # of what is no zip, or has other members
        raise ValueError(
            f"{path} is damaged, or not an .npz file. Remove it: it is downloaded again if it has a public source."
        ) from None


def _find_or_fetch(name: str) -> Path:
    """Return the file of a real data set, downloaded if it is missing."""
    try:
        return find(name)
    except FileNotFoundError as missing:
        from .fetching import fetch

        writable = (folder for folder in _folders() if not folder.exists() or os.access(folder, os.W_OK))
        try:
            return fetch(name, next(writable))
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{missing} {error}") from None


def find(name: str) -> Path:
    """Return the file of a real data set on this machine; if there is none, the error says how to get it.

    Parameters
    ----------
    name : str
        As for :func:`load`.

    Returns
    -------
    path : Path
        The file.

    Examples
    --------
    >>> from mercer import datasets
    >>> try:
    ...     datasets.find("no such set")
    ... except FileNotFoundError as error:
    ...     print(str(error).partition(":")[0])
    There is no data set 'no such set'
    """
    for folder in _folders():
        if (path := folder / f"{name}.npz").is_file():
            return path
    given = os.environ.get(FOLDER)
    where = f"the folder {given!r} has no {name}.npz" if given else f"{FOLDER} is not set"
    raise FileNotFoundError(f"There is no data set {name!r}: {where}. Set {FOLDER} to a folder that holds {name}.npz.")


def _folders() -> list[Path]:
    """Return the folders that are searched for data sets; downloads go to the first writable one."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mercer"
    given = os.environ.get(FOLDER)
    return [Path(given), cache] if given else [cache]


def three_clusters(random_state: int = 0, *, n: int = 30, spread: float = 0.1) -> np.ndarray:
    """Draw three round clusters in the plane, similar to the figures of Tipping and Bishop.

    Parameters
    ----------
    random_state : int, default=0
        Seed.
    n : int, default=30
        Number of rows of each cluster.
    spread : float, default=0.1
        Standard deviation of a cluster.

    Returns
    -------
    X : ndarray of shape (3n, 2)
        The rows, one cluster after the other.

    Examples
    --------
    >>> from mercer import datasets
    >>> datasets.three_clusters().shape
    (90, 2)
    """
    rng = np.random.default_rng(random_state)
    return np.concatenate([centre + spread * rng.normal(size=(n, 2)) for centre in ((-0.5, -0.2), (0, 0.6), (0.5, 0))])


def two_cs(
    random_state: int = 0, *, n: int = 200, radius: float = 6.0, noise: float = 0.6
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two interlocking half circles, similar to Zhou's figure 2.

    Parameters
    ----------
    random_state : int, default=0
        Seed.
    n : int, default=200
        Number of rows.
    radius : float, default=6.0
        Radius of the half circles.
    noise : float, default=0.6
        Standard deviation of the radial noise.

    Returns
    -------
    X, y : ndarray of shape (n, 2), ndarray of shape (n,)
        The rows, and 0 for the left half circle around (0, 0) or 1 for the right one around (0, −radius).

    Examples
    --------
    >>> from mercer import datasets
    >>> X, y = datasets.two_cs(n=100)
    >>> X.shape, int(y.sum())
    ((100, 2), 50)
    """
    rng = np.random.default_rng(random_state)
    y = np.arange(n) * 2 // n
    angle = np.pi * (rng.uniform(size=n) + np.where(y == 0, 0.5, -0.5))
    r = radius + noise * rng.standard_normal(n)
    return np.column_stack([r * np.cos(angle), r * np.sin(angle) - radius * y]), y


TANK_SENSORS = ("level 1", "level 2", "level 3", "inflow 1", "inflow 2", "flow 1-3", "flow 3-2", "outflow")
TANK_NOISE = np.array([2e-3, 2e-3, 2e-3, 5e-7, 5e-7, 5e-7, 5e-7, 5e-7])  # standard deviations, in m and m³/s
TANK_FAULTS = {None: 0.0, "step": 4e-5, "drift": 0.5, "sensor": 5.0}  # with their default sizes
TANK_TRANSIENT = 100  # rows until the levels have settled, which are left out


def three_tanks(
    random_state: int = 0,
    *,
    n: int = 2000,
    fault: str | None = None,
    start: int | None = None,
    size: float | None = None,
    sensor: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Simulate a process: three tanks in a row, two pumps, level control, eight noisy sensors.

    Flows follow Torricelli's law, q = a·sign(Δh)·√(2g|Δh|), which makes the process nonlinear. The controllers of
    levels 1 and 2 follow autoregressive set points, so that the process is never at rest.

    Parameters
    ----------
    random_state : int, default=0
        Seed of set points and noise.
    n : int, default=2000
        Number of rows, ten seconds apart.
    fault : {None, "step", "drift", "sensor"}, default=None
        ``"step"``: tank 1 starts to leak; ``"drift"``: the pipe between tanks 1 and 3 clogs slowly; ``"sensor"``: one
        sensor has a constant error.
    start : int, default=None
        The row at which the fault begins; by default, the middle.
    size : float, default=None
        The leak in m³/s; the share of the pipe that is clogged at the end; the error of the sensor in standard
        deviations of its readings. By default 4·10⁻⁵, 0.5 and 5.
    sensor : int, default=0
        Index of the sensor that fails.

    Returns
    -------
    X, y : ndarray of shape (n, 8), ndarray of shape (n,)
        Three levels, two inflows, two flows between tanks and the outflow, named by ``TANK_SENSORS``; and 1 while the
        fault is present, else 0.

    Examples
    --------
    >>> from mercer.datasets import three_tanks
    >>> X, y = three_tanks(n=100, fault="step", start=60)
    >>> X.shape, int(y.sum())
    ((100, 8), 40)
    """
    if fault not in TANK_FAULTS:
        raise ValueError(f"fault must be one of {', '.join(map(repr, TANK_FAULTS))}, and {fault!r} was given.")
    rng = np.random.default_rng(random_state)
    start, size = n // 2 if start is None else start, TANK_FAULTS[fault] if size is None else size
    y = (np.arange(n) >= start) & (fault is not None)
    grown = np.clip((np.arange(n) - start) / max(1, n - start), 0, 1)
    X = _tanks(
        _set_points(n, rng),
        leak=np.where(y, size, 0.0) if fault == "step" else np.zeros(n),
        clogged=size * grown if fault == "drift" else np.zeros(n),
    )
    X += TANK_NOISE * rng.standard_normal(X.shape)
    if fault == "sensor":
        X[y, sensor] += size * X[:, sensor].std()
    return X, y.astype(int)


def _set_points(n: int, rng: np.random.Generator, memory: float = 0.9) -> np.ndarray:
    """Draw set points of levels 1 and 2 in metres: autoregressions around 0.45 and 0.20."""
    steps = rng.standard_normal((n, 2)) * np.sqrt(1 - memory**2)
    return np.array([0.45, 0.20]) + np.array([0.05, 0.03]) * lfilter([1], [1, -memory], steps, axis=0)


def _torricelli(opening: float, drop: float) -> float:
    """Return the flow in m³/s through a pipe of 50 mm², open by a share, for a difference ``drop`` of levels."""
    return copysign(opening * 5e-5 * sqrt(2 * 9.81 * abs(drop)), drop)


def _tanks(targets: np.ndarray, leak: np.ndarray, clogged: np.ndarray) -> np.ndarray:
    """Return levels and flows by Euler's method, without the transient of the first rows.

    Tanks have a cross section of 0.0154 m²; the pumps have proportional-integral control of levels 1 and 2.
    """
    (h1, h2), h3, sum1, sum2, rows = targets[0].tolist(), float(targets[0].mean()), 0.0, 0.0, []
    for i in [0] * TANK_TRANSIENT + list(range(len(targets))):
        for _ in range(10):  # steps of dt = 1 s
            short1, short2 = targets[i, 0] - h1, targets[i, 1] - h2
            in1, in2 = (min(max(4e-5 + 1e-3 * e + 2e-6 * s, 0.0), 1.2e-4) for e, s in ((short1, sum1), (short2, sum2)))
            sum1, sum2 = sum1 + short1 * (0 < in1 < 1.2e-4), sum2 + short2 * (0 < in2 < 1.2e-4)
            q13 = _torricelli(0.5 * (1 - clogged[i]), h1 - h3)
            q32, out = _torricelli(0.5, h3 - h2), _torricelli(0.6, h2)
            h1 = max(h1 + (in1 - q13 - leak[i]) / 0.0154, 0.0)
            h2 = max(h2 + (in2 + q32 - out) / 0.0154, 0.0)
            h3 = max(h3 + (q13 - q32) / 0.0154, 0.0)
        rows.append((h1, h2, h3, in1, in2, q13, q32, out))
    return np.array(rows[TANK_TRANSIENT:])


def rings(random_state: int = 0, *, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Draw three rings around the origin.

    Parameters
    ----------
    random_state : int, default=0
        Seed.
    n : int, default=600
        Number of rows.

    Returns
    -------
    X, y : ndarray of shape (n, 2), ndarray of shape (n,)
        The rows, and the index of the ring of each.

    Examples
    --------
    >>> from mercer import datasets
    >>> X, y = datasets.rings(n=30)
    >>> X.shape, set(y.tolist())
    ((30, 2), {0, 1, 2})
    """
    rng = np.random.default_rng(random_state)
    y = np.arange(n) % 3
    radius = np.array([0.2, 0.6, 1.0])[y] + 0.05 * rng.standard_normal(n)
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def moons(random_state: int = 0, *, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Draw two interleaved half circles.

    Parameters
    ----------
    random_state : int, default=0
        Seed.
    n : int, default=400
        Number of rows.

    Returns
    -------
    X, y : ndarray of shape (n, 2), ndarray of shape (n,)
        The rows, and the index of the half circle of each.

    Examples
    --------
    >>> from mercer import datasets
    >>> X, y = datasets.moons(n=30)
    >>> X.shape, set(y.tolist())
    ((30, 2), {0, 1})
    """
    rng = np.random.default_rng(random_state)
    y = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[y == 1] = (1.0, 0.5) - X[y == 1]
    return X + 0.08 * rng.standard_normal(X.shape), y


def clusters(random_state: int = 0, *, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Draw three round Gaussian clusters in the plane.

    Parameters
    ----------
    random_state : int, default=0
        Seed.
    n : int, default=150
        Number of rows.

    Returns
    -------
    X, y : ndarray of shape (n, 2), ndarray of shape (n,)
        The rows, and the index of the cluster of each.

    Examples
    --------
    >>> from mercer import datasets
    >>> X, y = datasets.clusters(n=30)
    >>> X.shape, set(y.tolist())
    ((30, 2), {0, 1, 2})
    """
    rng = np.random.default_rng(random_state)
    y = np.arange(n) % 3
    means = np.array([[-0.55, -0.3], [0.0, 0.6], [0.6, -0.15]])
    return means[y] + 0.1 * rng.standard_normal((n, 2)), y


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's 8 × 8 handwritten digits with pixels in [0, 1].

    Returns
    -------
    X, y : ndarray of shape (1797, 64), ndarray of shape (1797,)
        The pixels, and the digit of each image.

    Examples
    --------
    >>> from mercer import datasets
    >>> X, y = datasets.digits()
    >>> X.shape, float(X.max())
    ((1797, 64), 1.0)
    """
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16, y  # pixels are 0 … 16


def noisy_digits(n: int, random_state: int = 0) -> np.ndarray:
    """Return n digits with noise on every pixel, so that no two rows are equal.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, default=0
        Seed.

    Returns
    -------
    X : ndarray of shape (n, 64)
        The pixels.

    Examples
    --------
    >>> from mercer import datasets
    >>> datasets.noisy_digits(100).shape
    (100, 64)
    """
    rng = np.random.default_rng(random_state)
    X = digits()[0]
    return X[rng.integers(0, len(X), n)] + 0.1 * rng.standard_normal((n, X.shape[1]))
